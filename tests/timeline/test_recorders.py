"""One recorder, two, none: who sees what, and what is left when the last one is gone."""

import re
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

import pagesim
from pagesim import Timeline, record
from pagesim.journal import Journal
from tests.timeline.random_calls.manager import ManagerRun
from tests.timeline.runs import SOURCES, comparable, watched
from tests.timeline.scenes import interrupted, new_story

ASKED = r"journal\.record"


@pytest.fixture
def noted(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Journal, str]]:
    """Which methods of which journal are called: a story that is collected has one of its own."""
    seen: list[tuple[Journal, str]] = []

    def watched(name: str) -> Any:
        plain = getattr(Journal, name)

        def call(self: Journal, *args: Any) -> Any:
            seen.append((self, name))
            return plain(self, *args)

        return call

    for name in ("append", "close", "fail", "listen"):
        monkeypatch.setattr(Journal, name, watched(name))
    return seen


@pytest.mark.parametrize("engine", ["v0", "v1"])
def test_an_engine_never_asks_who_listens(engine: str) -> None:
    sources = sorted(Path(pagesim.__file__).with_name(engine).rglob("*.py"))
    asked = {path.name for path in sources if re.search(ASKED, path.read_text(encoding="utf-8"))}
    assert sources and not asked, "note_all, decided: the journal knows whether to listen"


@pytest.mark.parametrize("kind", SOURCES)
def test_a_journal_is_idle_when_nothing_listens(
    kind: str, noted: list[tuple[Journal, str]]
) -> None:
    """No row, no event, and after each call no inverse; while recorded there are all of them."""
    for recording in (True, False):
        noted.clear()
        source = SOURCES[kind](11)
        journal = source.subject.journal
        with ExitStack() as stack:
            if recording:  # the check itself: it sees something when there is something to see
                source.run = stack.enter_context(record(source.subject))
            for _ in range(80):
                source.step()
                assert journal.active is journal.wants_events is recording
                assert not (journal._rows or journal._closed or journal._inverses)
        called = {name for of, name in noted if of is journal}
        assert ("close" in called) is ("listen" in called) is recording
        assert "fail" not in called or recording
        assert not (journal.active or journal.wants_events) and journal.recorder is None


def test_the_call_of_every_token_is_no_transaction_when_nothing_listens(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    story = new_story()
    seq = story.arrive([1, 2], 1)
    for name in ("append", "__enter__"):
        monkeypatch.setattr(Journal, name, interrupted)
    for token in range(9):
        seq.write([token])
    assert seq.block_ids == [0, 1, 2]


def test_nested_on_one_manager() -> None:
    story = new_story()
    with record(story.manager) as outer:
        seq = story.arrive([1], 1)
        with record(story.manager) as inner:
            assert len(inner) == 0 and inner.at(0) == outer.at(1)
            seq.write([2])
        seq.write([3])
    assert [event.kind for event in outer] == ["allocate", "append_slots", "append_slots"]
    assert list(inner) == list(outer)[1:2]
    assert [inner.at(i) for i in (0, 1)] == [outer.at(i) for i in (1, 2)]
    assert inner.first == outer.first == 0


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_leaving_in_any_order(order: tuple[int, int]) -> None:
    story = new_story()
    manager = story.manager
    recorders = [record(manager), record(manager)]
    runs = [recorder.__enter__() for recorder in recorders]
    seq = story.arrive([1], 1)
    recorders[order[0]].__exit__(None, None, None)
    seq.write([2])
    with pytest.raises(pagesim.UsageError):
        runs[order[0]].label(manager.block_tables[1], "late")
    recorders[order[1]].__exit__(None, None, None)
    seq.write([3])
    assert (len(runs[order[0]]), len(runs[order[1]])) == (1, 2)
    assert runs[order[1]].at(2).tables[1].token_ids == (1, 2)


@pytest.mark.parametrize("first_out", [0, 1])
def test_two_managers_at_once(first_out: int) -> None:
    sources = [ManagerRun(1, False), ManagerRun(2, True)]
    recorders = [record(source.manager) for source in sources]
    runs: list[Timeline] = [recorder.__enter__() for recorder in recorders]
    for _ in range(40):
        for source in sources:
            source.step()
    ends = [source.live() for source in sources]
    recorders[first_out].__exit__(None, None, None)
    for _ in range(40):
        for source in sources:
            source.step()
    ends[1 - first_out] = sources[1 - first_out].live()
    recorders[1 - first_out].__exit__(None, None, None)
    for run, end in zip(runs, ends, strict=True):
        assert comparable(run.at(-1)) == comparable(end)
    alone = ManagerRun(1, False)
    with record(alone.manager) as run:
        alone.steps(40 if first_out == 0 else 80)
    assert list(run) == list(runs[0])


@pytest.mark.parametrize("kind", SOURCES)
def test_recording_changes_nothing(kind: str) -> None:
    for seed in range(3):
        plain, recorded = SOURCES[kind](seed), SOURCES[kind](seed)
        plain.steps(80)
        watched(recorded, 80)
        assert recorded.live() == plain.live()
        assert recorded.random.random() == plain.random.random()


def test_leaving_by_an_exception_keeps_what_was_recorded() -> None:
    story = new_story()
    with pytest.raises(ZeroDivisionError), record(story.manager) as run:
        story.arrive([1], 1)
        1 / 0  # noqa: B018
    assert [event.kind for event in run] == ["allocate"]
    story.arrive([1], 2)
    assert len(run) == 1 and list(run.at(1).tables) == [1]


def test_an_interrupt_in_the_middle_of_a_call(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever stops a call, the next one is an event of its own."""
    story = new_story()
    with record(story.manager) as run:
        seq = story.arrive([1], 1)
        for lookahead in (0, 9):
            with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
                patch.setattr(pagesim.NaiveBlockAllocator, "_allocate_block_id", interrupted)
                patch.setattr(pagesim.NaiveBlock, "append_token_ids", interrupted)
                seq.write([2] * (not lookahead), lookahead=lookahead)
        seq.write([2])
        seq.write([3])
    assert [event.kind for event in run] == ["allocate", *["failed"] * 2, *["append_slots"] * 2]
    assert run[1].error == run[2].error == "KeyboardInterrupt"
    assert run.at(-1).tables[1].token_ids == (1, 2, 3)


def test_a_run_holds_no_live_object_when_it_is_over() -> None:
    """A table that is gone can be collected, while it is recorded and after."""
    import gc
    import weakref

    story = new_story()
    manager = story.manager
    with record(manager) as run:
        group = story.arrive([1], 1)
        freed = weakref.ref(manager.block_tables[1])
        group.leave()
        gc.collect()
        assert freed() is None
        story.arrive([1], 2)
        alive = weakref.ref(manager.block_tables[2])
    manager.block_tables.clear()
    gc.collect()
    assert alive() is None and len(run) == 3


def test_what_cannot_be_recorded() -> None:
    for nonsense in (None, 5, pagesim.BlockTable, "manager"):
        with pytest.raises(TypeError, match="record takes a scheduler, block manager or allocator"):
            record(nonsense).__enter__()  # type: ignore[arg-type]


def test_many_short_lives_take_no_longer_each() -> None:
    """4,000 tables come and go: naming one looks at no other (it would take a minute)."""
    story = new_story()
    with record(story.manager) as run:
        for seq_id in range(4_000):
            story.arrive([1], seq_id).leave()
    assert len(run) == 8_000
    assert run.at(-1) == run.at(0)


def test_recording_one_device_of_a_pair_records_both() -> None:
    story = new_story(4, 4)
    manager = story.manager
    gpu = manager.block_allocator.allocator_on(pagesim.Device.GPU)
    with pagesim.record(gpu) as run:
        story.arrive([1, 2, 3, 4, 5]).swap_out()
    assert run.at(-1).free_cpu == manager.block_allocator.free_block_ids(pagesim.Device.CPU)
    assert run.at(-1).free_gpu == gpu.free_block_ids
