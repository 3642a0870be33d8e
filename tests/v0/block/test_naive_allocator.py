"""The pool itself: which id comes next, who owns it, what is copied, where it is swapped to."""

from __future__ import annotations

import pytest

from pagesim import (
    BlockAllocator,
    Device,
    NaiveBlockAllocator,
    NoFreeBlocksError,
    RefCounter,
    UsageError,
)
from tests.v0.block.scenes import KINDS, new_allocator, new_table

pytestmark = pytest.mark.ch02

both_kinds = pytest.mark.parametrize("kind", KINDS)


@both_kinds
def test_ids_are_global_and_taken_in_order(kind: str) -> None:
    allocator = new_allocator(kind, gpu=3, cpu=2)
    gpu = [allocator.allocate_mutable_block(None, Device.GPU).block_id for _ in range(3)]
    cpu = [allocator.allocate_mutable_block(None, Device.CPU).block_id for _ in range(2)]
    assert (gpu, cpu) == ([0, 1, 2], [3, 4])
    assert allocator.all_block_ids == {0, 1, 2, 3, 4}
    assert [allocator.device_of(i) for i in (2, 3)] == [Device.GPU, Device.CPU]
    assert allocator.get_physical_block_id(Device.CPU, 4) == 1
    assert allocator.get_num_total_blocks(Device.CPU) == 2


@both_kinds
def test_the_block_freed_last_is_taken_next(kind: str) -> None:
    allocator = new_allocator(kind, gpu=6)
    table = new_table(allocator, 10)
    blocks = [allocator.allocate_mutable_block(None, Device.GPU) for _ in range(2)]
    for block in blocks:
        allocator.free(block)
    assert allocator.free_block_ids(Device.GPU) == (4, 3, 5)
    table.free()
    # With caching the two full blocks are asleep, and only the partial one is free.
    free = (2, 1, 0, 4, 3, 5) if kind == "naive" else (2, 4, 3, 5)
    assert allocator.free_block_ids(Device.GPU) == free


@both_kinds
def test_running_out_says_so_under_one_name(kind: str) -> None:
    pool = new_allocator(kind, gpu=0).allocator_on(Device.GPU)
    assert BlockAllocator.NoFreeBlocksError is NoFreeBlocksError
    with pytest.raises(pool.NoFreeBlocksError, match="no free block: all 0"):
        pool.allocate_mutable_block(None)


@both_kinds
def test_a_fork_shares_every_block_reserved_ones_too(kind: str) -> None:
    allocator = new_allocator(kind)
    table = new_table(allocator, 6)
    table.ensure_num_empty_slots(6)
    handles = allocator.fork(table.blocks[-1])
    assert [block.block_id for block in handles] == [0, 1, 2]
    assert [block.token_ids for block in handles] == [[0, 1, 2, 3], [4, 5], []]
    assert [block.prev_block for block in handles] == [None, *handles[:-1]]
    assert [allocator.get_ref_count(i) for i in range(4)] == [2, 2, 2, 0]


@both_kinds
def test_copies_pile_up_until_they_are_taken(kind: str) -> None:
    allocator = new_allocator(kind)
    table = new_table(allocator, 2)
    forks = [table.fork(), table.fork()]
    for token, fork in enumerate(forks):
        fork.append_token_ids([token])
    assert allocator.clear_copy_on_writes() == [(0, 1), (0, 2)]
    assert allocator.clear_copy_on_writes() == []


@both_kinds
def test_full_shared_blocks_are_not_copied(kind: str) -> None:
    allocator = new_allocator(kind)
    table = new_table(allocator, 4)
    fork = table.fork()
    fork.append_token_ids([9])
    assert fork.physical_block_ids == [0, 1]
    assert allocator.clear_copy_on_writes() == []


def test_swapping_keeps_handles_and_reverses_ids() -> None:
    allocator = new_allocator("naive", gpu=4, cpu=4)
    table = new_table(allocator, 10)
    handles = table.blocks
    assert allocator.swap(handles, Device.GPU, Device.CPU) == {0: 4, 1: 5, 2: 6}
    table.update(handles)
    assert table.blocks == handles
    assert allocator.swap(handles, Device.CPU, Device.GPU) == {4: 2, 5: 1, 6: 0}
    table.update(handles)
    assert table.physical_block_ids == [2, 1, 0]
    assert allocator.get_and_reset_swaps() == [(0, 4), (1, 5), (2, 6), (4, 2), (5, 1), (6, 0)]
    assert allocator.get_and_reset_swaps() == []


def test_a_later_swap_of_the_same_id_overwrites_the_value_and_not_the_place() -> None:
    allocator = new_allocator("naive", gpu=4, cpu=4)
    first, second = new_table(allocator, 4), new_table(allocator, 4)
    for table in (first, second):
        allocator.swap(table.blocks, Device.GPU, Device.CPU)
        table.update(table.blocks)
    assert [t.physical_block_ids for t in (first, second)] == [[4], [5]]
    third = new_table(allocator, 8)
    assert third.physical_block_ids == [1, 0]
    allocator.swap(third.blocks, Device.GPU, Device.CPU)
    assert allocator.get_and_reset_swaps() == [(0, 7), (1, 6)]


@both_kinds
def test_a_shared_block_loses_one_owner_when_a_sharer_is_swapped_out(kind: str) -> None:
    allocator = new_allocator(kind)
    table = new_table(allocator, 6)
    fork = table.fork()
    allocator.swap(fork.blocks, Device.GPU, Device.CPU)
    assert [allocator.get_ref_count(i) for i in (0, 1, 24, 25)] == [1, 1, 1, 1]
    assert table.physical_block_ids == [0, 1]


def test_two_forks_of_a_full_block_count_twice_without_a_cache() -> None:
    allocator = new_allocator("naive")
    table = new_table(allocator, 10)
    blocks = table.blocks + table.fork().blocks
    assert allocator.get_num_full_blocks_touched(blocks, Device.CPU) == 4
    assert allocator.get_num_full_blocks_touched(table.blocks * 2, Device.CPU) == 2


def test_reference_counts() -> None:
    counter = RefCounter([3, 5])
    assert (counter.incr(3), counter.incr(3), counter.decr(3)) == (1, 2, 1)
    view = counter.as_readonly()
    assert (view.get(3), view.get(5)) == (1, 0)
    for change in (view.incr, view.decr):
        with pytest.raises(ValueError, match="read-only: block 3"):
            change(3)
    for call, shown in [
        (lambda: counter.decr(5), "block 5 is free: it has no owner"),
        (lambda: counter.incr(4), "block 4 does not"),
        (lambda: counter.get("a"), "block 'a' does not"),  # type: ignore[arg-type]
    ]:
        with pytest.raises(UsageError, match=shown):
            call()
    assert (counter.get(3), counter.get(5)) == (1, 0)


def test_ids_may_be_any() -> None:
    pool = NaiveBlockAllocator(3, 4, [9, 2, 7])
    assert [pool.allocate_mutable_block(None).block_id for _ in range(3)] == [9, 2, 7]
    assert [pool.get_physical_block_id(i) for i in (2, 7, 9)] == [0, 1, 2]
