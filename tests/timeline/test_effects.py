"""What each call does, effect by effect: a line for an event, with the numbers of its effects."""

from collections.abc import Callable

import pytest
from syrupy.assertion import SnapshotAssertion

import pagesim
from pagesim import Device, NoFreeBlocksError, Timeline, record
from pagesim.timeline import Opened
from tests.timeline.scenes import new_group, new_story, new_table, take_until, words

PROMPT = [1, 2, 3, 4]


def lines(run: Timeline) -> list[str]:
    """Each event as "kind subject: effect, effect": of a write or a hit with table and tokens."""
    effects = (", ".join(" ".join(map(str, word)) for word in words(event)) for event in run)
    return [f"{event.kind} {event.subject}: {of}" for event, of in zip(run, effects, strict=True)]


def allocate(story: pagesim.Story, run: Timeline) -> None:
    story.arrive([*PROMPT, 5], 1)
    story.manager.allocate(new_group(2, 3, 4, tokens=PROMPT))
    story.arrive([], 5)
    assert list(run.at(2).tables) == [1, 2, 3, 4]
    assert run.at(3).tables[5].block_ids == ()


def append(story: pagesim.Story, run: Timeline) -> None:
    seq = story.arrive([1], 1)
    seq.write([7, 8], at_once=True)
    seq.write([7])
    seq.write([7])
    seq.write(lookahead=2)
    seq.write(lookahead=5)
    seq.write([7], lookahead=7)


def fork_and_copy_on_write(story: pagesim.Story, run: Timeline) -> None:
    parent = story.arrive([*PROMPT, 5], 1)
    child = parent.fork(2)
    parent.write([6])
    child.write([7])
    story.manager.fork(*new_group(3, 4, tokens=[1]).seqs)
    assert run[1].opened == (Opened(2, (*PROMPT, 5), 5),)


def free_shared_blocks(story: pagesim.Story, run: Timeline) -> None:
    parent = story.arrive([*PROMPT, 5], 1)
    child = parent.fork(2)
    child.write([6])
    child.leave()
    parent.leave()
    story.manager.free(parent.seq)
    assert [event.closed for event in run[3:]] == [(2,), (1,), ()]


def swap(story: pagesim.Story, run: Timeline) -> None:
    seq = story.arrive([*PROMPT, 5], 1)
    seq.swap_out()
    seq.swap_in()
    seq.fork(2)
    seq.swap_out()


def swap_with_a_cache(story: pagesim.Story, run: Timeline) -> None:
    seq, _ = story.arrive(PROMPT, 1), story.arrive(PROMPT, 2)
    seq.swap_out()
    seq.swap_in()


def hits_and_promotions(story: pagesim.Story, run: Timeline) -> None:
    story.arrive(PROMPT, 1)
    seq = story.arrive([*PROMPT, 5, 6, 7], 2)
    seq.write([8])
    for _ in range(2):  # marking nothing is no event
        story.manager.mark_blocks_as_computed(new_group(9, tokens=[1]), 1)
    assert (run.at(3).computed, run.at(4).computed) == (set(), {0, 1})
    story.arrive(PROMPT[:3], 3).write([4])  # cached already
    assert run.at(6).tables[3].block_ids == (0,)


def a_copy_that_turns_out_to_be_cached(story: pagesim.Story, run: Timeline) -> None:
    """Take, copy, write, promote and hit in one call, in the order in which they happen."""
    story.arrive(PROMPT, 1)
    story.arrive(PROMPT[:3], 2).fork(3).write([4, 5], at_once=True)


def evictions(story: pagesim.Story, run: Timeline) -> None:
    story.arrive([*PROMPT, 5, 6, 7, 8], 1).leave()
    take_until(story.manager, 2)
    story.arrive([9], 2).write([9, 9, 9, 9], at_once=True)


def a_failure(story: pagesim.Story, run: Timeline) -> None:
    with pytest.raises(NoFreeBlocksError):
        story.arrive(range(99), 1)


SCENES: list[Callable[[pagesim.Story, Timeline], None]] = [
    *(allocate, append, fork_and_copy_on_write, free_shared_blocks, swap, swap_with_a_cache),
    *(hits_and_promotions, a_copy_that_turns_out_to_be_cached, evictions, a_failure),
]
CACHED = {swap_with_a_cache, hits_and_promotions, a_copy_that_turns_out_to_be_cached, evictions}


@pytest.mark.parametrize("scene", SCENES)
def test_calls(
    scene: Callable[[pagesim.Story, Timeline], None], snapshot: SnapshotAssertion
) -> None:
    story = new_story(caching=scene in CACHED)
    with record(story.manager) as run:
        scene(story, run)
    assert lines(run) == snapshot


def test_a_sliding_window(snapshot: SnapshotAssertion) -> None:
    story = new_story(num_gpu=12, sliding_window=4)
    seq = story.arrive(range(24), 1)
    with record(story.manager) as run:
        seq.write([30])
        seq.seq.data.update_num_computed_tokens(21)
        seq.write([31])
    assert lines(run) == snapshot
    assert run.at(2).tables[1].fill == (0, 0, 4, 4, 4, 4, 2)


def test_a_bare_table(snapshot: SnapshotAssertion) -> None:
    table = new_table()
    with record(table._allocator) as run:
        table.allocate(PROMPT)
        run.label(table, "a")
        table.append_token_ids([5])
        table.ensure_num_empty_slots(4)
        run.label(table.fork(), "b")
        blocks = table.blocks
        table._allocator.swap(blocks, Device.GPU, Device.CPU)
        table.update(blocks)
        table._allocator.allocate_immutable_block(None, PROMPT, Device.GPU)
        table.free()
    assert lines(run) == snapshot
    assert run[5].tables[0].block_ids == (8, 9, 10)


def test_blocks_in_no_table(snapshot: SnapshotAssertion) -> None:
    allocator = pagesim.CpuGpuBlockAllocator.create("prefix_caching", 4, 4, 4)
    with record(allocator) as run:
        mutable = allocator.allocate_mutable_block(None, Device.GPU)
        allocator.allocate_immutable_block(None, PROMPT, Device.GPU)
        (twin,) = allocator.fork(mutable)
        twin.append_token_ids([1])
        mutable.append_token_ids(PROMPT)
        allocator.free(twin)
        allocator.allocate_or_get_null_block()
        allocator.fork_blocks([mutable])
        allocator.allocator_on(Device.CPU).allocate_immutable_block(None, PROMPT)
        allocator.fork_blocks([])
        allocator.allocate_immutable_blocks(None, [PROMPT[::-1]] * 2, Device.CPU)
    assert {effect.first for event in run for effect in event.effects} == {0, None}
    assert lines(run)[:-1] == snapshot
