"""The pool itself: which id comes next, who owns it, what is copied, where it is swapped to."""

from __future__ import annotations

import pytest

from pagesim import (
    BlockAllocator,
    Device,
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
def test_running_out_says_so_under_one_name(kind: str) -> None:
    pool = new_allocator(kind, gpu=0).allocator_on(Device.GPU)
    assert BlockAllocator.NoFreeBlocksError is NoFreeBlocksError
    with pytest.raises(pool.NoFreeBlocksError, match="no free block: all 0"):
        pool.allocate_mutable_block(None)


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
