"""What the scenes of V0's block layer in pagesim/quirks do not show."""

import pytest

from pagesim import (
    AllocStatus,
    Device,
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
    swap,
)

# -- mended: what fails in vLLM works here, or leaves no trace -------------------------------------


@both_kinds
def test_q05_forked_while_swapped_out_then_swapped_in_and_written_to(kind: str) -> None:
    """vLLM's handles stay bound to the CPU's allocator and its assertion fails; ours move along."""
    allocator = new_allocator(kind)
    table = new_table(allocator, 6)
    swap(allocator, table, Device.GPU)
    fork = table.fork()
    for each in (fork, table):
        swap(allocator, each, Device.CPU)
    fork.append_token_ids([6, 7, 8])
    assert [block.token_ids for block in fork.blocks] == [[0, 1, 2, 3], [4, 5, 6, 7], [8]]
    assert {allocator.device_of(i) for i in fork.physical_block_ids} == {Device.GPU}
    for each in (fork, table):
        each.free()
    assert allocator.get_num_free_blocks(Device.GPU) == 24
    assert allocator.get_num_free_blocks(Device.CPU) == 24


@both_kinds
def test_q09_freeing_a_swapped_out_sequence_that_was_accessed(kind: str) -> None:
    """vLLM with caching raises KeyError for the CPU ids; we write the time where the blocks are."""
    manager = new_manager(kind)
    group = running(manager, 6)
    manager.access_all_blocks_in_seq(group.seqs[0], 5.0)
    manager.swap_out(group)
    manager.free(group.seqs[0])
    assert manager.get_num_free_cpu_blocks() == manager.get_num_free_gpu_blocks() == 24
    if kind == "prefix_caching":
        cpu = manager.block_allocator.allocator_on(Device.CPU)
        assert [entry.last_accessed for entry in cpu.evictor.free_table.values()] == [5.0]


@both_kinds
def test_q11_the_common_computed_ids_of_sequences_without_any(kind: str) -> None:
    """vLLM answers '' for two sequences without computed blocks; we answer []."""
    allocator = new_allocator(kind)
    assert allocator.get_common_computed_block_ids([[], []]) == []
    manager = new_manager(kind)
    seqs = [running(manager, 8, seq_id, 100 * seq_id).seqs[0] for seq_id in (1, 2)]
    assert manager.get_common_computed_block_ids(seqs) == []


@both_kinds
def test_q41_forking_after_blocks_were_dropped(kind: str) -> None:
    """vLLM raises RecursionError; our fork shares the null block and goes on by itself."""
    allocator, table = in_a_window(kind)
    fork = table.fork()
    assert fork.physical_block_ids == table.physical_block_ids
    assert [allocator.get_ref_count(i) for i in (6, 3, 4, 5)] == [1, 2, 2, 2]
    fork.append_token_ids([23, 24], 0, 23)
    assert fork.physical_block_ids[:3] == [6, 6, 6]
    assert [b.num_tokens_total for b in fork.blocks[3:]] == (
        [b.num_tokens_total for b in table.blocks[3:5]] + [24, 25]
    )
    assert fork.num_full_slots == 25
    for each in (table, fork):
        each.free()
    assert allocator.get_num_free_blocks(Device.GPU) == 23


def test_q41_a_fork_keeps_the_prefix_that_was_dropped() -> None:
    """What a fork behind dropped blocks fills is cached behind the whole prefix, not as a start."""
    allocator, table = in_a_window("prefix_caching")
    for each in (table, fork := table.fork()):
        assert [b.num_tokens_total for b in each.blocks[3:]] == [16, 20, 23]
    fork.append_token_ids([23], 0, 23)
    assert fork.blocks[5].content.num_tokens == 24
    stranger = new_table(allocator, 4, 20)
    assert stranger.physical_block_ids[0] not in fork.physical_block_ids


@both_kinds
def test_q42_swapping_after_blocks_were_dropped(kind: str) -> None:
    """vLLM raises ValueError half-way and releases the null block; swapping skips it here."""
    allocator, table = in_a_window(kind)
    assert swap(allocator, table, Device.GPU) == {3: 24, 4: 25, 5: 26}
    assert table.physical_block_ids == [6, 6, 6, 24, 25, 26]
    swap(allocator, table, Device.CPU)
    assert table.physical_block_ids[:3] == [6, 6, 6]
    assert allocator.get_ref_count(6) == 1
    table.append_token_ids([23, 24], 0, 23)
    assert table.num_full_slots == 25
    table.free()
    assert allocator.get_num_free_blocks(Device.CPU) == 24


# -- mirrored: each says what vLLM does, and we with it --------------------------------------------


def test_q14_equal_prompts_in_one_batch_are_not_computed_for_each_other() -> None:
    """They share their blocks at once, but nobody may rely on them before the mark."""
    manager = new_manager("prefix_caching")
    groups = [running(manager, 12, seq_id) for seq_id in (1, 2)]
    seqs = [group.seqs[0] for group in groups]
    assert manager.get_block_table(seqs[0]) == manager.get_block_table(seqs[1]) == [0, 1, 2]
    allocator = manager.block_allocator
    assert allocator.get_computed_block_ids([], [0, 1, 2], True) == []
    manager.mark_blocks_as_computed(groups[0], 12)
    assert allocator.get_computed_block_ids([], [0, 1, 2], True) == [0, 1]


@both_kinds
def test_q16_later_for_ever_and_never_for_the_same_need(kind: str) -> None:
    """Swapping in, NEVER forgets the watermark; admitting the same need, it does not."""
    manager = SelfAttnBlockSpaceManager(4, 10, 10, 0.2, enable_caching=kind == "prefix_caching")
    group = running(manager, 36)
    manager.swap_out(group)
    set_status(group, SequenceStatus.SWAPPED)
    assert manager.get_num_free_gpu_blocks() == 10
    # With caching the 9 blocks are asleep in the GPU's evictor, and count all the same.
    assert manager.watermark_blocks == 2
    assert manager.can_swap_in(group, 0) is AllocStatus.LATER
    assert manager.can_allocate(new_group(new_seq(9, 36))) is AllocStatus.NEVER


@both_kinds
def test_q36_the_null_block_costs_a_gpu_block_for_ever(kind: str) -> None:
    """What leaves the window becomes one shared null block, which is never given back."""
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
