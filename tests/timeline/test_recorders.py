"""One recorder, two, none: who sees what, and what is left when the last one is gone."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import pagesim
from pagesim import Device, SequenceStatus, Timeline, record
from pagesim.timeline.hooks import registry as hooks
from pagesim.timeline.tap import TAPS
from pagesim.v0.block.common import BlockIdPool, BlockList
from pagesim.v0.block.pool_allocator import PoolAllocator
from tests.timeline.runs import SOURCES, ManagerRun, comparable, watched
from tests.timeline.scenes import arrive, become, grow, new_manager

HOOKED = {
    *(pagesim.SelfAttnBlockSpaceManager, pagesim.BlockTable, pagesim.CpuGpuBlockAllocator),
    *(pagesim.NaiveBlockAllocator, pagesim.PrefixCachingBlockAllocator, PoolAllocator),
    *(BlockIdPool, BlockList, pagesim.NaiveBlock, pagesim.PrefixCachingBlock),
    pagesim.Scheduler,
}


def methods() -> dict[type, dict[str, Any]]:
    """The classes of the block layer and the scheduler as they are now."""
    return {owner: dict(vars(owner)) for owner in HOOKED}


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    before = methods()
    yield
    assert methods() == before
    assert not TAPS and not hooks._plain


def test_the_classes_listed_here_are_all_that_are_changed() -> None:
    assert {owner for owner, _ in hooks._hooks} <= HOOKED
    before = methods()
    with record(new_manager()):
        during = methods()
        changed = {(o, name) for o in HOOKED for name in during[o] if during[o] != before[o]}
        assert changed
        assert all(during[owner].keys() == before[owner].keys() for owner in HOOKED)
        for owner, name in hooks._hooks:
            assert during[owner][name] is not before[owner][name]
            assert during[owner][name].__doc__ == before[owner][name].__doc__
            assert during[owner][name].__name__ == name
    assert methods() == before


@contextmanager
def frames(seen: set[str]) -> Iterator[None]:
    """Collect the files whose code runs."""

    def profile(frame: FrameType, event: str, arg: object) -> None:
        seen.add(frame.f_code.co_filename)

    old = sys.getprofile()
    sys.setprofile(profile)
    try:
        yield
    finally:
        sys.setprofile(old)


@pytest.mark.parametrize("kind", SOURCES)
def test_no_recorder_is_in_any_code_path_when_nobody_records(kind: str) -> None:
    folder = str(Path(pagesim.timeline.__file__).parent)
    for recording in (True, False):
        seen: set[str] = set()
        source = SOURCES[kind](11)
        with ExitStack() as stack:
            if recording:  # the check itself: it sees our frames when there are some
                source.run = stack.enter_context(record(source.subject))
            with frames(seen):
                for _ in range(80):
                    source.step()
        assert any(path.startswith(folder) for path in seen) is recording
        assert any(path.endswith("pool_allocator.py") for path in seen)


def test_nested_on_one_manager() -> None:
    manager = new_manager()
    with record(manager) as outer:
        seq = arrive(manager, 1, tokens=[1]).seqs[0]
        with record(manager) as inner:
            assert len(inner) == 0 and inner.at(0) == outer.at(1)
            grow(manager, seq, 2)
        grow(manager, seq, 3)
    assert [event.kind for event in outer] == ["allocate", "append_slots", "append_slots"]
    assert list(inner) == list(outer)[1:2]
    assert [inner.at(i) for i in (0, 1)] == [outer.at(i) for i in (1, 2)]
    assert inner.first == outer.first == 0


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_leaving_in_any_order(order: tuple[int, int]) -> None:
    manager = new_manager()
    recorders = [record(manager), record(manager)]
    runs = [recorder.__enter__() for recorder in recorders]
    seq = arrive(manager, 1, tokens=[1]).seqs[0]
    recorders[order[0]].__exit__(None, None, None)
    grow(manager, seq, 2)
    with pytest.raises(pagesim.UsageError):
        runs[order[0]].label(manager.block_tables[1], "late")
    recorders[order[1]].__exit__(None, None, None)
    grow(manager, seq, 3)
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
        for _ in range(40 if first_out == 0 else 80):
            alone.step()
    assert list(run) == list(runs[0])


def test_a_manager_that_nobody_records_works_and_is_in_no_run() -> None:
    expected, _ = watched(ManagerRun(3, True), 60)
    recorded, other, plain = ManagerRun(3, True), ManagerRun(4, True), ManagerRun(4, True)
    for _ in range(60):
        plain.step()
    with record(recorded.manager) as run:
        for _ in range(60):
            recorded.step()
            other.step()
    assert list(run) == list(expected)
    assert other.live() == plain.live()


@pytest.mark.parametrize("kind", SOURCES)
def test_recording_changes_nothing(kind: str) -> None:
    for seed in range(5):
        plain, recorded = SOURCES[kind](seed), SOURCES[kind](seed)
        for _ in range(80):
            plain.step()
        watched(recorded, 80)
        assert recorded.live() == plain.live()
        assert recorded.random.random() == plain.random.random()


def test_leaving_by_an_exception_keeps_what_was_recorded() -> None:
    manager = new_manager()
    with pytest.raises(ZeroDivisionError), record(manager) as run:
        arrive(manager, 1, tokens=[1])
        1 / 0  # noqa: B018
    assert [event.kind for event in run] == ["allocate"]
    arrive(manager, 2, tokens=[1])
    assert len(run) == 1 and list(run.at(1).tables) == [1]


def test_an_exception_inside_of_two() -> None:
    manager, other = new_manager(), new_manager()
    with record(manager) as outer:
        with pytest.raises(KeyboardInterrupt), record(manager) as inner, record(other):
            arrive(manager, 1, tokens=[1])
            raise KeyboardInterrupt
        arrive(manager, 2, tokens=[1])
    assert (len(inner), len(outer)) == (1, 2)


def test_an_interrupt_in_the_middle_of_a_call(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever stops a call, the next one is an event of its own."""
    manager = new_manager()
    with record(manager) as run:
        seq = arrive(manager, 1, tokens=[1]).seqs[0]
        for lookahead in (0, 9):
            with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
                patch.setattr(BlockIdPool, "take", interrupted)
                patch.setattr(pagesim.NaiveBlock, "write", interrupted)
                grow(manager, seq, *([2] * (not lookahead)), lookahead=lookahead)
        grow(manager, seq)
        grow(manager, seq, 3)
    assert [event.kind for event in run] == [
        "allocate",
        *["failed"] * 2,
        *["append_slots"] * 2,
    ]
    assert run[1].error == run[2].error == "KeyboardInterrupt"
    assert run.at(-1).tables[1].token_ids == (1, 2, 3)


def interrupted(*_: object) -> None:
    raise KeyboardInterrupt


def test_again_later_on_the_same_manager() -> None:
    manager = new_manager()
    with record(manager) as first:
        seq = arrive(manager, 1, tokens=[1]).seqs[0]
    grow(manager, seq, 2)
    with record(manager) as second:
        grow(manager, seq, 3)
    assert (len(first), len(second)) == (1, 1)
    assert second.at(0).tables[1].token_ids == (1, 2)
    assert second.at(1).tables[1].token_ids == (1, 2, 3)
    assert first.at(1).tables[1].token_ids == (1,)


def test_a_run_holds_no_live_object_when_it_is_over() -> None:
    """A table that is gone can be collected, while it is recorded and after."""
    import gc
    import weakref

    manager = new_manager()
    with record(manager) as run:
        group = arrive(manager, 1, tokens=[1])
        freed = weakref.ref(manager.block_tables[1])
        manager.free(group.seqs[0])
        gc.collect()
        assert freed() is None
        arrive(manager, 2, tokens=[1])
        alive = weakref.ref(manager.block_tables[2])
    manager.block_tables.clear()
    gc.collect()
    assert alive() is None and len(run) == 3


def test_what_cannot_be_recorded() -> None:
    for nonsense in (None, 5, pagesim.BlockTable, "manager"):
        with pytest.raises(TypeError, match="record a scheduler, a block manager or an allocator"):
            record(nonsense).__enter__()  # type: ignore[arg-type]


def test_many_short_lives_take_no_longer_each() -> None:
    """20,000 tables come and go: naming one looks at no other (it would take minutes)."""
    manager = new_manager()
    with record(manager) as run:
        for seq_id in range(20_000):
            manager.free(arrive(manager, seq_id, tokens=[1]).seqs[0])
    assert len(run) == 40_000
    assert run.at(-1) == run.at(0)


def test_swaps_of_bare_handles_and_all_else_in_one_run() -> None:
    manager = new_manager(num_gpu=6)
    with record(manager) as run:
        group = arrive(manager, 1, tokens=[1, 2, 3])
        handle = manager.block_allocator.allocate_mutable_block(None, Device.CPU)
        manager.swap_out(group)
        become(group, SequenceStatus.SWAPPED)
        manager.block_allocator.swap([handle], Device.CPU, Device.GPU)
        manager.swap_in(group)
    assert [(event.kind, event.subject) for event in run] == [
        *(("allocate", 1), ("allocate_mutable_block", None), ("swap_out", 1)),
        *(("swap", None), ("swap_in", 1)),
    ]


def test_recording_one_device_of_a_pair_records_both() -> None:
    manager = pagesim.SelfAttnBlockSpaceManager(4, 4, 4)
    group = pagesim.SequenceGroup("a", [pagesim.Sequence(0, [1, 2, 3, 4, 5], 4)])
    gpu = manager.block_allocator.allocator_on(pagesim.Device.GPU)
    with pagesim.record(gpu) as run:
        manager.allocate(group)
        group.first_seq.status = pagesim.SequenceStatus.RUNNING
        manager.swap_out(group)
    assert run.at(-1).free_cpu == manager.block_allocator.free_block_ids(pagesim.Device.CPU)
    assert run.at(-1).free_gpu == gpu.free_block_ids
