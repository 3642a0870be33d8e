"""A call that raises leaves a failed event without effects, and nothing else."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import pytest

import pagesim
from pagesim import Device, NoFreeBlocksError, Timeline, record
from pagesim.errors import UsageError
from tests.timeline.runs import SOURCES
from tests.timeline.scenes import new_group, new_story, new_table

PROMPT = [1, 2, 3, 4]
Call = Callable[[], object]
Scene = Callable[[], tuple[Any, Call]]


def scarce(**options: Any) -> pagesim.Story:
    """A story that runs out of blocks soon."""
    return new_story(num_gpu=2, num_cpu=1, **options)


def allocate() -> tuple[Any, Call]:
    story = scarce()
    return story.manager, lambda: story.manager.allocate(new_group(5, tokens=range(9)))


def allocate_twice() -> tuple[Any, Call]:
    story = scarce()
    manager = story.manager
    group = new_group(5, tokens=PROMPT)
    manager.allocate(group)
    return manager, lambda: manager.allocate(group)


def append_to_a_full_block() -> tuple[Any, Call]:
    story = scarce()
    seq = story.arrive(range(8), 5)
    return story.manager, lambda: seq.write([1])


def append_half_way() -> tuple[Any, Call]:
    """The block that becomes full is promoted before the next one is missing."""
    story = scarce(caching=True)
    seq = story.arrive(range(6), 5)
    return story.manager, lambda: seq.write([*range(9)], at_once=True)


def copy_on_write() -> tuple[Any, Call]:
    story = scarce()
    seq = story.arrive(range(6), 5)
    seq.fork(6)
    return story.manager, lambda: seq.write([1])


def append_without_a_table() -> tuple[Any, Call]:
    story = scarce()
    return story.manager, lambda: story.manager.append_slots(new_group(5, tokens=[1]).seqs[0], 0)


def append_a_bad_lookahead() -> tuple[Any, Call]:
    story = scarce()
    seq = story.arrive([1], 5)
    return story.manager, lambda: seq.write([1], lookahead=-1)


def append_a_huge_token() -> tuple[Any, Call]:
    """The one thing that only recording refuses, before anything has changed."""
    story = scarce()
    seq = story.arrive([1], 5)
    return story.manager, lambda: seq.write([2**70])


def allocate_a_huge_token() -> tuple[Any, Call]:
    story = scarce()
    return story.manager, lambda: story.manager.allocate(new_group(5, tokens=[1, 2**63]))


def fork_to_a_table() -> tuple[Any, Call]:
    story = scarce()
    seqs = [story.arrive([1], seq_id).seq for seq_id in (6, 5)]
    return story.manager, lambda: story.manager.fork(*seqs)


def swap_out() -> tuple[Any, Call]:
    story = scarce()
    group = story.arrive(range(6), 5)
    return story.manager, lambda: group.swap_out()


def swap_in() -> tuple[Any, Call]:
    story = scarce()
    group = story.arrive([1], 5)
    group.swap_out()
    story.arrive(range(8), 7)
    return story.manager, lambda: group.swap_in()


MANAGER_SCENES: list[Scene] = [
    *(allocate, allocate_twice, append_to_a_full_block, append_half_way, copy_on_write),
    *(append_without_a_table, append_a_bad_lookahead, append_a_huge_token, allocate_a_huge_token),
    *(fork_to_a_table, swap_out, swap_in),
]


def assert_failed(run: Timeline, index: int, error: BaseException, called: str) -> None:
    event = run[index]
    assert (event.kind, event.called) == ("failed", called)
    assert event.error and event.error in str(error), "a story says besides whose call it was"
    assert event.effects == event.tables == event.opened == event.closed == ()
    assert event.error.rstrip(".") in event.caption and called in event.caption
    assert run.at(index) == run.at(index + 1)


@pytest.mark.parametrize("seen_before", [True, False])
@pytest.mark.parametrize("scene", MANAGER_SCENES)
def test_calls_of_a_manager(scene: Scene, seen_before: bool) -> None:
    """`seen_before`: whether the manager is recorded, or its allocator, which knows no table."""
    manager, call = scene()
    allocator = manager.block_allocator
    before = manager.state()
    with record(manager if seen_before else allocator) as run:
        with pytest.raises((ValueError, TypeError)) as info:
            call()
        assert len(run) == 1
        called = scene.__name__.split("_")[0]
        called = {"append": "append_slots", "copy": "append_slots", "swap": scene.__name__}.get(
            called, called
        )
        assert_failed(run, 0, info.value, called)
        assert run[0].subject == 5
        assert manager.state() == before
        for seq_id in list(manager.block_tables):
            manager.free(pagesim.Sequence(seq_id, [], 4))
        manager.allocate(new_group(9, tokens=range(6)))
    assert not any(event.kind == "failed" for event in run[1:])
    assert run.at(-1) == manager.state()
    assert list(run.at(-1).tables) == [9]


TABLE_CALLS: list[tuple[str, Call | Any]] = [
    ("allocate", lambda table: table.allocate(range(99))),
    ("allocate", lambda table: table.allocate([])),
    ("allocate", lambda table: table.allocate(5)),
    ("allocate", lambda table: table.allocate("text")),
    ("allocate", lambda table: table.allocate(b"text")),
    ("allocate", lambda table: table.allocate([1, None])),
    ("allocate", lambda table: table.allocate([1], "GPU")),
    ("append_token_ids", lambda table: table.append_token_ids([1])),
    ("append_token_ids", lambda table: table.append_token_ids(None)),
    ("append_token_ids", lambda table: table.append_token_ids([1], -1)),
    ("append_token_ids", lambda table: table.append_token_ids([1], 0, 0, 0)),
    ("ensure_num_empty_slots", lambda table: table.ensure_num_empty_slots(5)),
    ("ensure_num_empty_slots", lambda table: table.ensure_num_empty_slots(-5)),
    ("fork", lambda table: table.fork()),
    ("free", lambda table: table.free()),
    ("update", lambda table: table.update(5)),
]
ALLOCATED = [
    *(
        ("allocate", lambda table, tokens=tokens: table.allocate(tokens))
        for tokens in ([1], 5, b"x", [])
    ),
    *(
        ("append_token_ids", lambda table, tokens=tokens: table.append_token_ids(tokens))
        for tokens in (range(99), 5, "text", b"text", [1, None], [1, 2.0])
    ),
    ("append_token_ids", lambda table: table.append_token_ids([1], 99)),
    ("append_token_ids", lambda table: table.append_token_ids([1], None)),
    ("ensure_num_empty_slots", lambda table: table.ensure_num_empty_slots(99)),
    ("ensure_num_empty_slots", lambda table: table.ensure_num_empty_slots("9")),
]


@pytest.mark.parametrize("kind", ["naive", "prefix_caching"])
@pytest.mark.parametrize(
    ("called", "call", "filled"),
    [(*case, False) for case in TABLE_CALLS] + [(*case, True) for case in ALLOCATED],
)
def test_calls_of_a_table(called: str, call: Any, filled: bool, kind: str) -> None:
    """The same error as without a recorder, and a failed event that tells it."""
    said = []
    for recording in (False, True):
        table = new_table(kind, num_gpu=3)
        if filled:
            table.allocate(PROMPT[:3])
        context = record(table._allocator) if recording else contextlib.nullcontext()
        with context as run, pytest.raises((ValueError, TypeError)) as info:
            if filled and run is not None:
                run.label(table, "t0")
            call(table)
        said.append((type(info.value), str(info.value)))
    assert said[0] == said[1]
    assert run is not None and len(run) == 1
    assert_failed(run, 0, info.value, called)
    assert run[0].subject == "t0"
    assert run.at(1).tables == {}


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
    calls: dict[str, list[Call]] = {
        "allocate_mutable_block": [lambda: allocator.allocate_mutable_block(None, Device.GPU)],
        "allocate_immutable_block": [
            lambda: allocator.allocate_immutable_block(None, [1], Device.CPU)
        ],
        "allocate_immutable_blocks": [
            lambda: allocator.allocate_immutable_blocks(None, [PROMPT, PROMPT[::-1]], Device.CPU)
        ],
        "free": [lambda: allocator.free(None), lambda: allocator.free(5)],  # type: ignore[arg-type]
        "fork": [lambda: allocator.fork(None)],  # type: ignore[arg-type]
        "swap": [lambda: allocator.swap([block], Device.CPU, Device.GPU)],
        "promote_to_immutable_block": [lambda: allocator.promote_to_immutable_block(block)],
        "allocate_or_get_null_block": [lambda: allocator.allocate_or_get_null_block()],
    }
    with record(allocator) as run:
        for called, some in calls.items():
            for call in some:
                with pytest.raises((ValueError, TypeError)) as info:
                    call()
                assert_failed(run, len(run) - 1, info.value, called)
                assert run[-1].subject is None
        assert len(run) == 9
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
    run.save(tmp_path / "run.jsonl")
    assert list(pagesim.load(tmp_path / "run.jsonl")) == list(run)


@pytest.mark.parametrize("kind", SOURCES)
def test_failures_among_other_calls(kind: str) -> None:
    """In the random runs too: no effects, nothing changed."""
    failed = 0
    for seed in range(12):
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
