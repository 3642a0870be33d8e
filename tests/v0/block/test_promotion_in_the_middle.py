"""Why a failed call is undone rather than asked about first: a block can come back half-way.

A block that becomes full and turns out to be cached gives its own id back, so a call may succeed
with fewer free blocks than it touches.
"""

from __future__ import annotations

import pytest

from pagesim import (
    Device,
    NoFreeBlocksError,
    SelfAttnBlockSpaceManager,
    SequenceGroup,
    SequenceStatus,
)
from tests.v0.block.scenes import add_tokens, new_group, new_manager, new_seq, set_status

pytestmark = pytest.mark.ch02


def two_sharers(kind: str, num_free: int) -> tuple[SelfAttnBlockSpaceManager, SequenceGroup]:
    """The forks share a partial and a reserved block, and will write both; a third has been there.

    The third sequence holds tokens 0 … 7; the forks hold 0 … 6 and a block for the tokens from 8.
    """
    manager = new_manager(kind)
    third, first = new_group(new_seq(3, 8)), new_group(new_seq(1, 7))
    for group in (third, first):
        manager.allocate(group)
        set_status(group, SequenceStatus.RUNNING)
    manager.append_slots(first.seqs[0], 2)
    second = new_group(first.seqs[0].fork(2))
    manager.fork(first.seqs[0], second.seqs[0])
    add_tokens(first.seqs[0], 7, 8)
    pool = manager.block_allocator.allocator_on(Device.GPU)
    while pool.get_num_free_blocks() > num_free:
        pool.allocate_mutable_block(None)
    return manager, first


def test_two_touched_blocks_fit_into_one_free_block() -> None:
    manager, group = two_sharers("prefix_caching", num_free=1)
    assert not manager.can_append_slots(group, 0)
    assert manager.block_tables[1].physical_block_ids == [0, 2, 3]
    # Token 7 moves block 2 to the free block 23; that is block 1 by content, so 23 is free again,
    # and token 8 moves block 3 there: the same destination twice, in this order (q39).
    assert manager.append_slots(group.seqs[0], 0) == [(2, 23), (3, 23)]
    assert manager.block_tables[1].physical_block_ids == [0, 1, 23]
    assert manager.block_tables[2].physical_block_ids == [0, 2, 3]
    assert manager.get_num_free_gpu_blocks() == 0


def test_without_a_cache_both_blocks_must_be_free() -> None:
    manager, group = two_sharers("naive", num_free=1)
    assert not manager.can_append_slots(group, 0)
    with pytest.raises(NoFreeBlocksError):
        manager.append_slots(group.seqs[0], 0)
    assert manager.block_tables[1].num_full_slots == 7


def test_with_none_free_even_the_first_copy_fails() -> None:
    manager, group = two_sharers("prefix_caching", num_free=0)
    with pytest.raises(NoFreeBlocksError):
        manager.append_slots(group.seqs[0], 0)
    assert manager.block_tables[1].physical_block_ids == [0, 2, 3]
