"""vLLM 0.6.4.post1's surprises in the block layer that we keep, down to the exact answer.

Each test says what vLLM does, and we with it. The ids are those of the project's list of quirks.
"""

import pytest

from pagesim import (
    AllocStatus,
    Device,
    PrefixCachingBlockAllocator,
    SelfAttnBlockSpaceManager,
    SequenceStatus,
)
from tests.v0.block.scenes import (
    both_kinds,
    in_a_window,
    new_allocator,
    new_group,
    new_manager,
    new_seq,
    new_table,
    running,
    set_status,
)


def test_q14_equal_prompts_in_one_batch_are_not_computed_for_each_other() -> None:
    """Mirrored: they share their blocks at once, but nobody may rely on them before the mark."""
    manager = new_manager("prefix_caching")
    groups = [running(manager, 12, seq_id) for seq_id in (1, 2)]
    seqs = [group.seqs[0] for group in groups]
    assert manager.get_block_table(seqs[0]) == manager.get_block_table(seqs[1]) == [0, 1, 2]
    allocator = manager.block_allocator
    assert allocator.get_computed_block_ids([], [0, 1, 2], True) == []
    manager.mark_blocks_as_computed(groups[0], 12)
    assert allocator.get_computed_block_ids([], [0, 1, 2], True) == [0, 1]


def test_q15_a_computed_prefix_with_a_hole() -> None:
    """Mirrored: the list of computed blocks does not stop at the first that is not: [0, 2]."""
    pool = PrefixCachingBlockAllocator(4, 1)
    blocks = pool.allocate_immutable_blocks(None, [[1], [2], [3]])
    pool.mark_blocks_as_computed([])
    pool.free(blocks[1])
    pool.allocate_mutable_block(None)  # takes the id 3; the next one evicts 1
    pool.allocate_mutable_block(None)
    assert pool.get_computed_block_ids([], [0, 1, 2], False) == [0, 2]


@both_kinds
def test_q16_later_for_ever_and_never_for_the_same_need(kind: str) -> None:
    """Mirrored: swapping in, NEVER forgets the watermark; admitting the same need, it does not."""
    manager = SelfAttnBlockSpaceManager(4, 10, 10, 0.2, enable_caching=kind == "prefix_caching")
    group = running(manager, 36)
    manager.swap_out(group)
    set_status(group, SequenceStatus.SWAPPED)
    assert manager.get_num_free_gpu_blocks() == 10
    # With caching the 9 blocks are asleep in the GPU's evictor, and count all the same.
    assert manager.watermark_blocks == 2
    assert manager.can_swap_in(group, 0) is AllocStatus.LATER
    assert manager.can_allocate(new_group(new_seq(9, 36))) is AllocStatus.NEVER


def test_q29_evictable_blocks_are_free_and_hits_give_no_discount() -> None:
    """Mirrored: the free count includes the evictor; can_allocate ignores what is cached."""
    manager = new_manager("prefix_caching", gpu=4)
    kept = running(manager, 12)
    assert manager.get_num_free_gpu_blocks() == 1
    # Only one block more is needed, or none, but three are asked for.
    assert manager.can_allocate(new_group(new_seq(2, 12))) is AllocStatus.LATER
    manager.free(kept.seqs[0])
    assert manager.get_num_free_gpu_blocks() == 4
    assert len(manager.block_allocator.free_block_ids(Device.GPU)) == 1


@both_kinds
def test_q36_the_null_block_costs_a_gpu_block_for_ever(kind: str) -> None:
    """Mirrored: what leaves the window becomes one shared null block, which is never given back."""
    allocator, table = in_a_window(kind)
    assert table.physical_block_ids == [6, 6, 6, 3, 4, 5]
    assert allocator.allocate_or_get_null_block().block_id == 6
    other = new_table(allocator, 22, 100, window=2)
    other.append_token_ids([22], 0, 20)
    assert other.physical_block_ids[:3] == [6, 6, 6]
    for each in (table, other):
        each.free()
    assert allocator.get_num_free_blocks(Device.GPU) == 23
    assert allocator.get_ref_count(6) == 1
    with pytest.raises(ValueError, match="null block"):
        allocator.allocate_or_get_null_block().append_token_ids([1])


@both_kinds
def test_q38_writing_nothing_into_a_shared_block(kind: str) -> None:
    """Mirrored: an empty append copies a shared naive block, and leaves a caching one alone."""
    allocator = new_allocator(kind)
    table = new_table(allocator, 2)
    fork = table.fork()
    block = fork.blocks[0]
    block.append_token_ids([])
    assert allocator.clear_copy_on_writes() == ([(0, 1)] if kind == "naive" else [])
    assert block.block_id == (1 if kind == "naive" else 0)
