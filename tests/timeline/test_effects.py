"""What each call does, effect by effect, and the sentence that tells it."""

from __future__ import annotations

import pytest

import pagesim
from pagesim import Device, NoFreeBlocksError, Timeline, record
from pagesim.timeline import Opened
from tests.timeline.scenes import (
    new_group,
    new_story,
    new_table,
    take_until,
    words,
)

PROMPT = [1, 2, 3, 4]


def told(run: Timeline, index: int = -1) -> tuple[str, object, list[tuple[object, ...]], str]:
    """Kind, subject, effects and caption of one event."""
    event = run[index]
    return event.kind, event.subject, words(event), event.caption


def test_allocate() -> None:
    story = new_story()
    with record(story.manager) as run:
        story.arrive([*PROMPT, 5], 1)
    assert told(run) == (
        "allocate",
        1,
        [("take", 0), ("write", 0, 1, *PROMPT), ("take", 1), ("write", 1, 1, 5)],
        "s1 arrives with 5 tokens, which need 2 blocks; "
        "blocks 0 and 1 are taken from the front of the free list.",
    )


def test_allocate_a_group() -> None:
    story = new_story()
    with record(story.manager) as run:
        story.manager.allocate(new_group(1, 2, 3, tokens=PROMPT))
    assert len(run) == 1
    assert told(run) == (
        "allocate",
        1,
        [("take", 0), ("write", 0, 1, *PROMPT), ("share", 0), ("share", 0)],
        "s1 arrives with 4 tokens, which need 1 block; "
        "block 0 is taken from the front of the free list; s2 and s3 share them.",
    )
    assert list(run.at(1).tables) == [1, 2, 3]


def test_allocate_without_tokens() -> None:
    story = new_story()
    with record(story.manager) as run:
        story.arrive([], 1)
    assert told(run) == ("allocate", 1, [], "s1 arrives empty.")
    assert run.at(1).tables[1].block_ids == ()


def test_append_within_a_block() -> None:
    story = new_story()
    seq = story.arrive([1], 1)
    with record(story.manager) as run:
        seq.write([7, 8], at_once=True)
    caption = "s1 writes 2 tokens into block 0, which had room."
    assert told(run) == ("append_slots", 1, [("write", 0, 1, 7, 8)], caption)


def test_append_to_a_full_block() -> None:
    story = new_story()
    seq = story.arrive(PROMPT, 1)
    with record(story.manager) as run:
        seq.write([7])
    assert told(run) == (
        "append_slots",
        1,
        [("take", 1), ("write", 1, 1, 7)],
        "s1 takes block 1 from the front of the free list: its last block is full.",
    )


def test_append_nothing() -> None:
    story = new_story()
    seq = story.arrive(PROMPT[:2], 1)
    with record(story.manager) as run:
        seq.write(lookahead=2)
    caption = "s1 already has room: nothing changes."
    assert told(run) == ("append_slots", 1, [], caption)


def test_lookahead() -> None:
    story = new_story()
    seq = story.arrive(PROMPT[:2], 1)
    with record(story.manager) as run:
        seq.write(lookahead=5)
        seq.write([7], lookahead=7)
    caption = "s1 reserves block 1 for the tokens to come."
    assert told(run, 0) == ("append_slots", 1, [("take", 1)], caption)
    assert told(run, 1) == (
        "append_slots",
        1,
        [("take", 2), ("write", 0, 1, 7)],
        "s1 takes block 2 from the front of the free list: slots are reserved for the next tokens.",
    )


def test_fork_and_copy_on_write() -> None:
    story = new_story()
    parent = story.arrive([*PROMPT, 5], 1)
    take_until(story.manager, 3)
    with record(story.manager) as run:
        child = parent.fork(2)
        parent.write([6])
        child.write([7])
    caption = "s2 shares blocks 0 and 1 with its parent: nothing is copied."
    assert told(run, 0) == ("fork", 2, [("share", 0), ("share", 1)], caption)
    assert run[0].opened == (Opened(2, (*PROMPT, 5), 5),)
    assert told(run, 1) == (
        "append_slots",
        1,
        [("take", 5), ("unshare", 1), ("copy", 1, 5, 2), ("write", 5, 1, 6)],
        "block 1 is shared by 2 tables: s1 copies it to 5 before writing.",
    )
    caption = "s2 writes 1 token into block 1, which had room."
    assert told(run, 2) == ("append_slots", 2, [("write", 1, 2, 7)], caption)


def test_fork_of_nothing() -> None:
    story = new_story()
    with record(story.manager) as run:
        story.manager.fork(*new_group(1, 2, tokens=[1]).seqs)
    assert told(run) == ("fork", 2, [], "s2 has nothing to share: its parent holds no block.")


def test_free_with_shared_blocks() -> None:
    story = new_story()
    parent = story.arrive([*PROMPT, 5], 1)
    child = parent.fork(2)
    child.write([6])
    with record(story.manager) as run:
        child.leave()
        parent.leave()
        story.manager.free(parent.seq)
    assert told(run, 0) == (
        "free",
        2,
        [("unshare", 0), ("free", 2)],
        "s2 returns its blocks; block 2 has no owner left and can be taken again; "
        "block 0 stays: others use it.",
    )
    assert run[0].closed == (2,)
    assert told(run, 1) == (
        "free",
        1,
        [("free", 0), ("free", 1)],
        "s1 returns its blocks; "
        "blocks 0 and 1 have no owner left: they return one by one in this order.",
    )
    assert told(run, 2) == ("free", 1, [], "s1 has no blocks to return.")


def test_swap_out_and_in() -> None:
    story = new_story(num_gpu=4)
    group = story.arrive([*PROMPT, 5], 1)
    with record(story.manager) as run:
        group.swap_out()
        group.swap_in()
    out = [("free", 0), ("free", 1), ("take", 4), ("take", 5)]
    back = [("free", 4), ("free", 5), ("take", 1), ("take", 0)]
    assert told(run, 0) == (
        "swap_out",
        1,
        [*out, ("move", 0, 4), ("move", 1, 5)],
        "s1 moves to the CPU: 0 → 4, 1 → 5.",
    )
    assert told(run, 1) == (
        "swap_in",
        1,
        [*back, ("move", 4, 1), ("move", 5, 0)],
        "s1 moves to the GPU: 4 → 1, 5 → 0.",
    )


def test_swap_of_what_others_share() -> None:
    story = new_story(num_gpu=4, caching=True)
    group, _ = story.arrive(PROMPT, 1), story.arrive(PROMPT, 2)
    with record(story.manager) as run:
        group.swap_out()
        group.swap_in()
    assert told(run, 0) == (
        "swap_out",
        1,
        [("unshare", 0), ("take", 4), ("cache", 4), ("move", 0, 4)],
        "s1 moves to the CPU: 0 → 4; block 0 stays in place for the sequences that share it.",
    )
    assert told(run, 1) == (
        "swap_in",
        1,
        [("free", 4), ("computed", 4), ("hit", 0, None), ("move", 4, 0)],
        "s1 moves to the GPU: 4 → 0; "
        "block 0 holds the same tokens after the same prefix and is reused.",
    )


def test_swap_of_two_that_share_says_nothing_stays() -> None:
    story = new_story(num_gpu=4)
    seq = story.arrive(PROMPT, 1)
    seq.fork(2)
    with record(story.manager) as run:
        seq.swap_out()
    assert words(run[0])[0] == ("unshare", 0)
    assert run[0].caption == "s1 moves to the CPU: 0 → 4, 0 → 5."


def test_hit_and_promote() -> None:
    story = new_story(caching=True)
    with record(story.manager) as run:
        story.arrive(PROMPT, 1)
        seq = story.arrive([*PROMPT, 5, 6, 7], 2)
        seq.write([8])
        for _ in range(2):
            story.manager.mark_blocks_as_computed(new_group(9, tokens=[1]), 1)
    assert words(run[0]) == [("take", 0), ("write", 0, 1, *PROMPT), ("cache", 0)]
    assert told(run, 1) == (
        "allocate",
        2,
        [("hit", 0, 2, *PROMPT), ("take", 1), ("write", 1, 2, 5, 6, 7)],
        "s2 arrives with 7 tokens, which need 2 blocks; block 0 holds the same tokens after the "
        "same prefix and is reused; block 1 is taken from the front of the free list.",
    )
    assert told(run, 2) == (
        "append_slots",
        2,
        [("write", 1, 2, 8), ("cache", 1)],
        "s2 writes 1 token into block 1, which had room; "
        "block 1 became full and can now be found by content.",
    )
    assert len(run) == 4, "marking nothing is no event"
    assert told(run, 3) == (
        "mark_blocks_as_computed",
        None,
        [("computed", 0), ("computed", 1)],
        "The step has run: the blocks cached in it now hold their keys and values.",
    )
    assert not run.at(3).computed
    assert run.at(4).computed == {0, 1}


def test_promotion_of_what_is_cached_already() -> None:
    story = new_story(caching=True)
    story.arrive(PROMPT, 1)
    seq = story.arrive(PROMPT[:3], 2)
    with record(story.manager) as run:
        seq.write([4])
    assert told(run) == (
        "append_slots",
        2,
        [("write", 1, 2, 4), ("free", 1), ("hit", 0, None)],
        "s2 writes 1 token into block 1, which had room; block 0 already holds what s2 "
        "wrote into block 1, and s2 uses it instead.",
    )
    assert run.at(1).tables[2].block_ids == (0,)


def test_copy_that_turns_out_to_be_cached() -> None:
    """Take, copy, write, promote and hit in one call, in the order in which they happen."""
    story = new_story(caching=True)
    story.arrive(PROMPT, 1)
    parent = story.arrive(PROMPT[:3], 2)
    child = parent.fork(3)
    with record(story.manager) as run:
        child.write([4, 5], at_once=True)
    effects = [("take", 2), ("take", 3), ("unshare", 1), ("copy", 1, 3, 2), ("write", 3, 3, 4)]
    assert words(run[0]) == [*effects, ("free", 3), ("hit", 0, None), ("write", 2, 3, 5)]
    assert run[0].caption == (
        "block 1 is shared by 2 tables: s3 copies it to 3 before writing; "
        "s3 takes block 2 from the front of the free list: its last block is full; "
        "block 0 already holds what s3 wrote into block 3, and s3 uses it instead."
    )


def test_evict() -> None:
    story = new_story(num_gpu=2, caching=True)
    story.arrive([*PROMPT, 5, 6, 7, 8], 1).leave()
    with record(story.manager) as run:
        seq = story.arrive([9], 2)
        seq.write([9, 9, 9, 9], at_once=True)
    assert told(run, 0) == (
        "allocate",
        2,
        [("evict", 1), ("take", 1), ("write", 1, 2, 9)],
        "s2 arrives with 1 token, which needs 1 block; "
        "no block was free, so block 1 gives up its cached content and is taken.",
    )
    effects = [("evict", 0), ("take", 0), ("write", 1, 2, 9, 9, 9), ("cache", 1)]
    assert told(run, 1) == (
        "append_slots",
        2,
        [*effects, ("write", 0, 2, 9)],
        "no block was free, so block 0 gives up its cached content and is taken by s2; "
        "block 1 became full and can now be found by content.",
    )


def test_a_sliding_window() -> None:
    story = new_story(num_gpu=12, sliding_window=4)
    seq = story.arrive(range(24), 1)
    with record(story.manager) as run:
        seq.write([30])
        seq.seq.data.update_num_computed_tokens(21)
        seq.write([31])
    assert told(run, 0) == (
        "append_slots",
        1,
        [("take", 6), ("null", 6, None, None), ("take", 7), ("write", 7, 1, 30)],
        "block 6 becomes the null block: s1 has a sliding window; "
        "s1 takes block 7 from the front of the free list: its last block is full.",
    )
    null = [("free", 0), ("null", 6, 1, 0), ("free", 1), ("null", 6, 1, 1)]
    assert told(run, 1) == (
        "append_slots",
        1,
        [*null, ("write", 7, 1, 31)],
        "entries 0 and 1 of s1 fell out of the sliding window: the null block 6 takes "
        "their place; s1 writes 1 token into block 7, which had room.",
    )
    assert run.at(2).tables[1].fill == (0, 0, 4, 4, 4, 4, 2)


def test_failed() -> None:
    story = new_story(num_gpu=2)
    with record(story.manager) as run, pytest.raises(NoFreeBlocksError):
        story.arrive(range(9), 1)
    assert told(run) == (
        "failed",
        1,
        [],
        "allocate for s1 failed, and nothing has changed: "
        "no free block: all 2 of this pool are taken.",
    )


def test_a_bare_table() -> None:
    table = new_table()
    with record(table._allocator) as run:
        table.allocate(PROMPT)
        run.label(table, "a")
        table.append_token_ids([5])
        table.ensure_num_empty_slots(4)
        other = table.fork()
        run.label(other, "b")
        blocks = table.blocks
        table._allocator.swap(blocks, Device.GPU, Device.CPU)
        table.update(blocks)
        table.free()
    assert [(event.kind, event.subject) for event in run] == [
        *(("allocate", "a"), ("append_token_ids", "a"), ("ensure_num_empty_slots", "a")),
        *(("fork", "b"), ("swap", None), ("update", "a"), ("free", "a")),
    ]
    assert words(run[1]) == [("take", 1), ("write", 1, "a", 5)]
    assert run[2].caption == "a reserves block 2 for the tokens to come."
    assert words(run[3]) == [("share", 0), ("share", 1), ("share", 2)]
    assert run[4].caption == (
        "The blocks move to the CPU: 0 → 8, 1 → 9, 2 → 10; "
        "blocks 0, 1 and 2 stay in place for the sequences that share them."
    )
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
    assert [(event.kind, words(event)) for event in run] == [
        ("allocate_mutable_block", [("take", 0)]),
        ("allocate_immutable_block", [("take", 1), ("write", 1, None), ("cache", 1)]),
        ("fork", [("share", 0)]),
        ("cow_block_if_not_appendable", [("take", 2), ("unshare", 0), ("copy", 0, 2, 2)]),
        ("promote_to_immutable_block", [("free", 0), ("hit", 1, None)]),
        ("free", [("free", 2)]),
        ("allocate_or_get_null_block", [("take", 2), ("null", 2, None, None)]),
        ("fork_blocks", [("share", 1)]),
        ("allocate_immutable_block", [("take", 4), ("write", 4, None), ("cache", 4)]),
        ("fork_blocks", []),
    ]
    assert {event.subject for event in run} == {None}
    assert run[3].caption.startswith(
        "A block is about to be written; block 0 has 2 owners: its writer"
    )
    assert run[5].caption == (
        "A block is released; block 2 has no owner left and can be taken again."
    )
