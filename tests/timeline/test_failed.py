"""A call that raises leaves a failed event without effects, and nothing else."""

import contextlib
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

import pagesim
from pagesim import Device, NoFreeBlocksError, Timeline, record
from pagesim.errors import UsageError
from tests.timeline.runs import SOURCES, reloaded
from tests.timeline.scenes import new_group, new_story, new_table

PROMPT = [1, 2, 3, 4]
Call = Callable[[], object]
SCENES: dict[str, tuple[str, Callable[[pagesim.Story], Call]]] = {
    "no room": ("allocate", lambda s: lambda: s.manager.allocate(new_group(5, tokens=range(9)))),
    "twice": ("allocate", lambda s: partial(s.manager.allocate, s.arrive(PROMPT, 5).group)),
    "full block": ("append_slots", lambda s: partial(s.arrive(range(8), 5).write, [1])),
    "half way, behind a promotion": (
        "append_slots",
        lambda s: partial(s.arrive(range(6), 5).write, [*range(9)], at_once=True),
    ),
    "copy on write": ("append_slots", lambda s: partial(forked(s.arrive(range(6), 5)).write, [1])),
    "no table": (
        "append_slots",
        lambda s: lambda: s.manager.append_slots(new_group(5, tokens=[1]).seqs[0], 0),
    ),
    "lookahead": ("append_slots", lambda s: partial(s.arrive([1], 5).write, [1], lookahead=-1)),
    "a token that only recording refuses": (
        "append_slots",
        lambda s: partial(s.arrive([1], 5).write, [2**70]),
    ),
    "a prompt with one": (
        "allocate",
        lambda s: lambda: s.manager.allocate(new_group(5, tokens=[1, 2**63])),
    ),
    "to a table": (
        "fork",
        lambda s: partial(s.manager.fork, *[s.arrive([1], seq_id).seq for seq_id in (6, 5)]),
    ),
    "no room on the CPU": ("swap_out", lambda s: s.arrive(range(6), 5).swap_out),
    "no room to come back": ("swap_in", lambda s: swapped(s, s.arrive([1], 5)).swap_in),
}


def forked(writer: Any) -> Any:
    writer.fork(6)
    return writer


def swapped(story: pagesim.Story, writer: Any) -> Any:
    writer.swap_out()
    story.arrive(range(8), 7)
    return writer


def assert_failed(run: Timeline, index: int, error: BaseException, called: str) -> None:
    event = run[index]
    assert (event.kind, event.called) == ("failed", called)
    assert event.error and event.error in str(error), "a story says besides whose call it was"
    assert event.effects == event.tables == event.opened == event.closed == ()
    assert event.error.rstrip(".") in event.caption and called in event.caption
    assert run.at(index) == run.at(index + 1)


@pytest.mark.parametrize("seen_before", [True, False])
@pytest.mark.parametrize("scene", SCENES)
def test_calls_of_a_manager(scene: str, seen_before: bool) -> None:
    """`seen_before`: whether the manager is recorded, or its allocator, which knows no table."""
    story = new_story(num_gpu=2, num_cpu=1, caching="promotion" in scene)
    called, make = SCENES[scene]
    manager, call = story.manager, make(story)
    before = manager.state()
    with record(manager if seen_before else manager.block_allocator) as run:
        with pytest.raises((ValueError, TypeError)) as info:
            call()
        assert len(run) == 1
        assert_failed(run, 0, info.value, called)
        assert run[0].subject == 5
        assert manager.state() == before
        for seq_id in list(manager.block_tables):
            manager.free(pagesim.Sequence(seq_id, [], 4))
        manager.allocate(new_group(9, tokens=range(6)))
    assert not any(event.kind == "failed" for event in run[1:])
    assert run.at(-1) == manager.state()
    assert list(run.at(-1).tables) == [9]


def test_a_failed_fork_names_the_table_itself() -> None:
    table = new_table()
    empty = pagesim.BlockTable(4, table._allocator)
    with record(table._allocator) as run:
        table.allocate([1])
        run.label(table.fork(), "child")
        run.label(empty, "empty")
        with pytest.raises(UsageError):
            empty.fork()
    assert run[2].subject == "empty"


def test_calls_of_an_allocator() -> None:
    allocator = pagesim.CpuGpuBlockAllocator.create("prefix_caching", 1, 1, 4)
    block = allocator.allocate_mutable_block(None, Device.GPU)
    calls: list[tuple[str, tuple[Any, ...]]] = [
        ("allocate_mutable_block", (None, Device.GPU)),
        ("allocate_immutable_block", (None, [1], Device.CPU)),
        ("allocate_immutable_blocks", (None, [PROMPT, PROMPT[::-1]], Device.CPU)),
        *(("free", (None,)), ("free", (5,)), ("fork", (None,))),
        ("swap", ([block], Device.CPU, Device.GPU)),
        ("promote_to_immutable_block", (block,)),
        ("allocate_or_get_null_block", ()),
    ]
    with record(allocator) as run:
        for called, args in calls:
            with pytest.raises((ValueError, TypeError)) as info:
                getattr(allocator, called)(*args)
            assert_failed(run, len(run) - 1, info.value, called)
            assert run[-1].subject is None
        assert len(run) == len(calls)
        assert run.at(-1) == allocator.state()
        allocator.free(block)
    assert run.at(-1) == allocator.state()


def test_what_has_no_name() -> None:
    story = new_story()
    with record(story.manager) as run:
        for nonsense in (None, 5, "x"):
            with pytest.raises(TypeError, match="seq must be a Sequence"):
                story.manager.free(nonsense)  # type: ignore[arg-type]
    assert [(event.kind, event.subject) for event in run] == [("failed", None)] * 3


def test_a_message_of_any_length_can_be_saved(tmp_path: Any) -> None:
    table = new_table()
    with record(table._allocator) as run, pytest.raises(TypeError):
        table.allocate("\ud800" * 50_000)
    reloaded(run, tmp_path / "run.jsonl")


@pytest.mark.parametrize("kind", SOURCES)
def test_failures_among_other_calls(kind: str) -> None:
    """In the random runs too: no effects, nothing changed."""
    failed = 0
    for seed in range(6):
        source = SOURCES[kind](seed)
        with record(source.subject) as run:
            source.run = run
            for _ in range(150):
                with contextlib.suppress(NoFreeBlocksError):
                    source.step()
        for i in run.find(kind="failed"):
            failed += 1
            assert run[i].effects == run[i].tables == run[i].opened == run[i].closed == ()
            assert run.at(i) == run.at(i + 1)
    assert failed > 5
