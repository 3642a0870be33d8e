"""vLLM 0.6.4.post1's surprises in the block layer that we mend: what fails there works here,
or leaves no trace. The ids are those of the project's list of quirks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pagesim import AllocStatus, BlockTable, Device, NoFreeBlocksError
from tests.v0.block.scenes import (
    KINDS,
    in_a_window,
    new_allocator,
    new_group,
    new_manager,
    new_seq,
    new_table,
    running,
    swap,
)
from tests.v0.block.state import everything

pytestmark = pytest.mark.ch02

both_kinds = pytest.mark.parametrize("kind", KINDS)
Scene = tuple[Any, list[BlockTable], Callable[[], object]]


# -- what finds no room changes nothing: in vLLM blocks are lost, tokens kept, counts dropped ------


def q01_allocate_6_blocks_with_4_free(kind: str) -> Scene:
    allocator = new_allocator(kind, gpu=4)
    table = BlockTable(4, allocator)
    return allocator, [table], lambda: table.allocate(list(range(24)))


def q02_append_3_blocks_with_2_free(kind: str) -> Scene:
    allocator = new_allocator(kind, gpu=3)
    table = new_table(allocator, 4)
    return allocator, [table], lambda: table.append_token_ids(list(range(12)))


def q03_copy_on_write_with_no_free_block(kind: str) -> Scene:
    allocator = new_allocator(kind, gpu=1)
    table = new_table(allocator, 2)
    fork = table.fork()
    return allocator, [table, fork], lambda: fork.blocks[0].append_token_ids([9])


def q07_swap_out_reserved_blocks_that_can_swap_out_does_not_count(kind: str) -> Scene:
    manager = new_manager(kind, cpu=2)
    group = running(manager, 7)
    manager.append_slots(group.seqs[0], 6)
    assert len(manager.get_block_table(group.seqs[0])) == 4 and manager.can_swap_out(group)
    return manager, [], lambda: manager.swap_out(group)


def q10_swap_a_full_block_to_no_cpu_blocks(kind: str) -> Scene:
    allocator = new_allocator(kind, gpu=4, cpu=0)
    table = new_table(allocator, 4)
    return allocator, [table], lambda: allocator.swap(table.blocks, Device.GPU, Device.CPU)


def q40_allocate_a_prompt_longer_than_its_window_shows(kind: str) -> Scene:
    manager = new_manager(kind, gpu=5, sliding_window=4)
    group = new_group(new_seq(1, 24))
    assert manager.max_block_sliding_window == 3
    assert manager.can_allocate(group) is AllocStatus.OK
    return manager, [], lambda: manager.allocate(group)


QUIRKS = [
    *(q01_allocate_6_blocks_with_4_free, q02_append_3_blocks_with_2_free),
    *(q03_copy_on_write_with_no_free_block, q10_swap_a_full_block_to_no_cpu_blocks),
    q07_swap_out_reserved_blocks_that_can_swap_out_does_not_count,
    q40_allocate_a_prompt_longer_than_its_window_shows,
]


@both_kinds
@pytest.mark.parametrize("quirk", QUIRKS)
def test_no_room_and_no_trace(quirk: Callable[[str], Scene], kind: str) -> None:
    owner, tables, call = quirk(kind)
    before = everything(owner, tables)
    with pytest.raises(NoFreeBlocksError) as caught:
        call()
    assert type(caught.value) is NoFreeBlocksError
    assert everything(owner, tables) == before


# -- what fails in vLLM and works here -------------------------------------------------------------


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
