"""vLLM 0.6.4.post1's surprises in the block layer that we mend: what fails there works here.

Each test says what vLLM does and what we do. The ids are those of the project's list of quirks.
"""

from __future__ import annotations

import pytest

from pagesim import (
    BlockTable,
    Device,
    UsageError,
)
from tests.v0.block.quirk_scenes import fails_without_a_trace, in_a_window, running, swap
from tests.v0.block.scenes import (
    KINDS,
    add_tokens,
    new_allocator,
    new_manager,
    new_table,
)
from tests.v0.block.state import everything

pytestmark = pytest.mark.ch02

both_kinds = pytest.mark.parametrize("kind", KINDS)


@both_kinds
def test_q01_allocating_6_blocks_with_4_free(kind: str) -> None:
    """vLLM loses the 4 ids it took before it failed; we give them back, in their order."""
    allocator = new_allocator(kind, gpu=4)
    table = BlockTable(4, allocator)
    fails_without_a_trace(lambda: table.allocate(list(range(24))), allocator, table)
    assert allocator.free_block_ids(Device.GPU) == (0, 1, 2, 3)


@both_kinds
def test_q02_appending_3_blocks_with_2_free(kind: str) -> None:
    """vLLM keeps the 2 blocks it added and records no token; we take nothing."""
    allocator = new_allocator(kind, gpu=3)
    table = new_table(allocator, 4)
    call = lambda: table.append_token_ids(list(range(12)))  # noqa: E731
    fails_without_a_trace(call, allocator, table)
    assert table.physical_block_ids == [0]


@both_kinds
def test_q03_copy_on_write_with_no_free_block(kind: str) -> None:
    """vLLM drops the count, loses the id and keeps the token; with us nothing is written."""
    allocator = new_allocator(kind, gpu=1)
    table = new_table(allocator, 2)
    fork = table.fork()
    fails_without_a_trace(lambda: fork.append_token_ids([9]), allocator, table, fork)
    block = fork.blocks[0]
    fails_without_a_trace(lambda: block.append_token_ids([9]), allocator, table, fork)
    assert (block.block_id, block.token_ids, allocator.get_ref_count(0)) == (0, [0, 1], 2)


@both_kinds
def test_q04_forking_a_long_table(kind: str) -> None:
    """vLLM walks the chain recursively and raises RecursionError near 1,050 blocks; we loop."""
    allocator = new_allocator(kind, gpu=3000)
    table = new_table(allocator, 12_000)
    assert table.fork().physical_block_ids == list(range(3000))
    assert len(allocator.fork(table.blocks[-1])) == 3000


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
def test_q08_freeing_a_swapped_out_table_and_swapping_again(kind: str) -> None:
    """vLLM mixes up its pools of handles and raises IndexError; ours have no such pools."""
    allocator = new_allocator(kind, gpu=4, cpu=4)
    for _ in range(10):
        table = new_table(allocator, 14)
        swap(allocator, table, Device.GPU)
        table.free()
    table = new_table(allocator, 14)
    for source in (Device.GPU, Device.CPU, Device.GPU):
        assert len(swap(allocator, table, source)) == 4


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
def test_q10_swapping_a_full_block_to_no_cpu_blocks(kind: str) -> None:
    """vLLM with caching fails an assertion where naive finds no room; both say the latter here."""
    allocator = new_allocator(kind, gpu=4, cpu=0)
    table = new_table(allocator, 4)
    call = lambda: allocator.swap(table.blocks, Device.GPU, Device.CPU)  # noqa: E731
    fails_without_a_trace(call, allocator, table)


@both_kinds
def test_q11_the_common_computed_ids_of_sequences_without_any(kind: str) -> None:
    """vLLM answers '' for two sequences without computed blocks; we answer []."""
    allocator = new_allocator(kind)
    assert allocator.get_common_computed_block_ids([[], []]) == []
    manager = new_manager(kind)
    seqs = [running(manager, 8, seq_id, 100 * seq_id).seqs[0] for seq_id in (1, 2)]
    assert manager.get_common_computed_block_ids(seqs) == []


@both_kinds
def test_q24_a_block_table_that_was_handed_out(kind: str) -> None:
    """vLLM hands out the live list, which changes later; get_block_table gives a copy."""
    manager = new_manager(kind)
    seq = running(manager, 4).seqs[0]
    ids = manager.get_block_table(seq)
    add_tokens(seq, 4)
    manager.append_slots(seq, 0)
    assert (ids, manager.get_block_table(seq)) == ([0], [0, 1])
    ids.append(99)
    assert manager.get_block_table(seq) == [0, 1]


@both_kinds
def test_q27_freeing_a_block_twice(kind: str) -> None:
    """vLLM fails a bare assertion; ours says what happened, and has changed nothing."""
    allocator = new_allocator(kind)
    block = allocator.allocate_mutable_block(None, Device.GPU)
    allocator.free(block)
    before = everything(allocator)
    with pytest.raises(UsageError, match="already freed"):
        allocator.free(block)
    with pytest.raises(AssertionError):
        allocator.free(block)
    assert everything(allocator) == before


@both_kinds
def test_q33_the_rank_of_an_id_is_looked_up(kind: str) -> None:
    """vLLM sorts all ids of the device for every block; ours touches none but the one asked for."""
    allocator = new_allocator(kind, gpu=3, cpu=10**15)  # sorting these would never end
    wanted = [3, 10**15 + 2, 100_000]
    ranks = [allocator.get_physical_block_id(Device.CPU, i) for i in wanted]
    assert ranks == [0, 10**15 - 1, 99_997]


@both_kinds
def test_q34_a_freed_table_holds_nothing(kind: str) -> None:
    """vLLM leaves num_full_slots as it was; ours is 0, and the table can be used again."""
    table = new_table(new_allocator(kind), 6)
    table.free()
    assert (table.num_full_slots, table.physical_block_ids, table.blocks) == (0, [], [])
    table.allocate([1, 2, 3])
    table.append_token_ids([4, 5])
    assert (table.num_full_slots, len(table.blocks)) == (5, 2)


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
