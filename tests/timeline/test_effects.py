"""What each call does, effect by effect: a line for an event, with the numbers of its effects."""

from collections.abc import Callable

import pytest

import pagesim
from pagesim import Device, NoFreeBlocksError, Timeline, record
from pagesim.timeline import Opened
from tests.timeline.scenes import new_group, new_story, new_table, take_until, words

PROMPT = [1, 2, 3, 4]


def lines(run: Timeline) -> list[str]:
    """Each event as "kind subject: effect, effect": of a write or a hit with table and tokens."""
    effects = (", ".join(" ".join(map(str, word)) for word in words(event)) for event in run)
    return [f"{event.kind} {event.subject}: {of}" for event, of in zip(run, effects, strict=True)]


def allocate(story: pagesim.Story, run: Timeline) -> list[str]:
    story.arrive([*PROMPT, 5], 1)
    story.manager.allocate(new_group(2, 3, 4, tokens=PROMPT))
    story.arrive([], 5)
    assert list(run.at(2).tables) == [1, 2, 3, 4]
    assert run.at(3).tables[5].block_ids == ()
    return [
        "allocate 1: take 0, write 0 1 1 2 3 4, take 1, write 1 1 5",
        "allocate 2: take 2, write 2 2 1 2 3 4, share 2, share 2",
        "allocate 5: ",
    ]


def append(story: pagesim.Story, run: Timeline) -> list[str]:
    seq = story.arrive([1], 1)
    seq.write([7, 8], at_once=True)
    seq.write([7])
    seq.write([7])
    seq.write(lookahead=2)
    seq.write(lookahead=5)
    seq.write([7], lookahead=7)
    return [
        "allocate 1: take 0, write 0 1 1",
        "append_slots 1: write 0 1 7 8",
        "append_slots 1: write 0 1 7",
        "append_slots 1: take 1, write 1 1 7",
        "append_slots 1: ",
        "append_slots 1: take 2",
        "append_slots 1: take 3, write 1 1 7",
    ]


def fork_and_copy_on_write(story: pagesim.Story, run: Timeline) -> list[str]:
    parent = story.arrive([*PROMPT, 5], 1)
    child = parent.fork(2)
    parent.write([6])
    child.write([7])
    story.manager.fork(*new_group(3, 4, tokens=[1]).seqs)
    assert run[1].opened == (Opened(2, (*PROMPT, 5), 5),)
    return [
        "allocate 1: take 0, write 0 1 1 2 3 4, take 1, write 1 1 5",
        "fork 2: share 0, share 1",
        "append_slots 1: take 2, unshare 1, copy 1 2 2, write 2 1 6",
        "append_slots 2: write 1 2 7",
        "fork 4: ",
    ]


def free_shared_blocks(story: pagesim.Story, run: Timeline) -> list[str]:
    parent = story.arrive([*PROMPT, 5], 1)
    child = parent.fork(2)
    child.write([6])
    child.leave()
    parent.leave()
    story.manager.free(parent.seq)
    assert [event.closed for event in run[3:]] == [(2,), (1,), ()]
    return [
        "allocate 1: take 0, write 0 1 1 2 3 4, take 1, write 1 1 5",
        "fork 2: share 0, share 1",
        "append_slots 2: take 2, unshare 1, copy 1 2 2, write 2 2 6",
        "free 2: unshare 0, free 2",
        "free 1: free 0, free 1",
        "free 1: ",
    ]


def swap(story: pagesim.Story, run: Timeline) -> list[str]:
    seq = story.arrive([*PROMPT, 5], 1)
    seq.swap_out()
    seq.swap_in()
    seq.fork(2)
    seq.swap_out()
    return [
        "allocate 1: take 0, write 0 1 1 2 3 4, take 1, write 1 1 5",
        "swap_out 1: free 0, free 1, take 8, take 9, move 0 8, move 1 9",
        "swap_in 1: free 8, free 9, take 1, take 0, move 8 1, move 9 0",
        "fork 2: share 1, share 0",
        "swap_out 1: unshare 1, unshare 0, take 9, take 8, move 1 9, move 0 8, "
        "free 1, free 0, take 10, take 11, move 1 10, move 0 11",
    ]


def swap_with_a_cache(story: pagesim.Story, run: Timeline) -> list[str]:
    seq, _ = story.arrive(PROMPT, 1), story.arrive(PROMPT, 2)
    seq.swap_out()
    seq.swap_in()
    return [
        "allocate 1: take 0, write 0 1 1 2 3 4, cache 0",
        "allocate 2: hit 0 2 1 2 3 4",
        "swap_out 1: unshare 0, take 8, cache 8, move 0 8",
        "swap_in 1: free 8, computed 8, hit 0 None, move 8 0",
    ]


def hits_and_promotions(story: pagesim.Story, run: Timeline) -> list[str]:
    story.arrive(PROMPT, 1)
    seq = story.arrive([*PROMPT, 5, 6, 7], 2)
    seq.write([8])
    for _ in range(2):  # marking nothing is no event
        story.manager.mark_blocks_as_computed(new_group(9, tokens=[1]), 1)
    assert (run.at(3).computed, run.at(4).computed) == (set(), {0, 1})
    story.arrive(PROMPT[:3], 3).write([4])  # cached already
    assert run.at(6).tables[3].block_ids == (0,)
    return [
        "allocate 1: take 0, write 0 1 1 2 3 4, cache 0",
        "allocate 2: hit 0 2 1 2 3 4, take 1, write 1 2 5 6 7",
        "append_slots 2: write 1 2 8, cache 1",
        "mark_blocks_as_computed None: computed 0, computed 1",
        "allocate 3: take 2, write 2 3 1 2 3",
        "append_slots 3: write 2 3 4, free 2, hit 0 None",
    ]


def a_copy_that_turns_out_to_be_cached(story: pagesim.Story, run: Timeline) -> list[str]:
    """Take, copy, write, promote and hit in one call, in the order in which they happen."""
    story.arrive(PROMPT, 1)
    story.arrive(PROMPT[:3], 2).fork(3).write([4, 5], at_once=True)
    return [
        "allocate 1: take 0, write 0 1 1 2 3 4, cache 0",
        "allocate 2: take 1, write 1 2 1 2 3",
        "fork 3: share 1",
        "append_slots 3: take 2, take 3, unshare 1, copy 1 3 2, write 3 3 4, free 3, hit 0 None, "
        "write 2 3 5",
    ]


def evictions(story: pagesim.Story, run: Timeline) -> list[str]:
    story.arrive([*PROMPT, 5, 6, 7, 8], 1).leave()
    take_until(story.manager, 2)
    story.arrive([9], 2).write([9, 9, 9, 9], at_once=True)
    return [
        "allocate 1: take 0, write 0 1 1 2 3 4, cache 0, take 1, write 1 1 5 6 7 8, cache 1",
        "free 1: free 0, computed 0, free 1, computed 1",
        *(f"allocate_mutable_block None: take {block}" for block in range(2, 8)),
        "allocate 2: evict 1, take 1, write 1 2 9",
        "append_slots 2: evict 0, take 0, write 1 2 9 9 9, cache 1, write 0 2 9",
    ]


def a_failure(story: pagesim.Story, run: Timeline) -> list[str]:
    with pytest.raises(NoFreeBlocksError):
        story.arrive(range(99), 1)
    return ["failed 1: "]


SCENES: list[Callable[[pagesim.Story, Timeline], list[str]]] = [
    *(allocate, append, fork_and_copy_on_write, free_shared_blocks, swap, swap_with_a_cache),
    *(hits_and_promotions, a_copy_that_turns_out_to_be_cached, evictions, a_failure),
]
CACHED = {swap_with_a_cache, hits_and_promotions, a_copy_that_turns_out_to_be_cached, evictions}


@pytest.mark.parametrize("scene", SCENES)
def test_calls(scene: Callable[[pagesim.Story, Timeline], list[str]]) -> None:
    story = new_story(caching=scene in CACHED)
    with record(story.manager) as run:
        expected = scene(story, run)
    assert lines(run) == expected


def test_a_sliding_window() -> None:
    story = new_story(num_gpu=12, sliding_window=4)
    seq = story.arrive(range(24), 1)
    with record(story.manager) as run:
        seq.write([30])
        seq.seq.data.update_num_computed_tokens(21)
        seq.write([31])
    assert lines(run) == [
        "append_slots 1: take 6, null 6 None None, take 7, write 7 1 30",
        "append_slots 1: free 0, null 6 1 0, free 1, null 6 1 1, write 7 1 31",
    ]
    assert run.at(2).tables[1].fill == (0, 0, 4, 4, 4, 4, 2)


def test_a_bare_table() -> None:
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
    assert lines(run) == [
        "allocate a: take 0, write 0 a 1 2 3 4",
        "append_token_ids a: take 1, write 1 a 5",
        "ensure_num_empty_slots a: take 2",
        "fork b: share 0, share 1, share 2",
        "swap None: unshare 0, unshare 1, unshare 2, take 8, take 9, take 10, "
        "move 0 8, move 1 9, move 2 10",
        "update a: ",
        "allocate_immutable_block None: take 3, write 3 None",
        "free a: free 8, free 9, free 10",
    ]
    assert run[5].tables[0].block_ids == (8, 9, 10)


def test_blocks_in_no_table() -> None:
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
    assert lines(run)[:-1] == [
        "allocate_mutable_block None: take 0",
        "allocate_immutable_block None: take 1, write 1 None, cache 1",
        "fork None: share 0",
        "cow_block_if_not_appendable None: take 2, unshare 0, copy 0 2 2",
        "promote_to_immutable_block None: free 0, hit 1 None",
        "free None: free 2",
        "allocate_or_get_null_block None: take 2, null 2 None None",
        "fork_blocks None: share 1",
        "allocate_immutable_block None: take 4, write 4 None, cache 4",
        "fork_blocks None: ",
    ]
