"""The pool that remembers: lookups, promotion, sleep and eviction, and what is marked computed."""

from __future__ import annotations

from typing import Any

import pytest

from pagesim import BlockTable, Device, PrefixCachingBlockAllocator
from tests.v0.block.scenes import new_allocator, new_table

pytestmark = pytest.mark.ch02

A, B, C = [1, 1, 1, 1], [2, 2, 2, 2], [3, 3, 3, 3]


def new_pool(num_blocks: int = 6) -> PrefixCachingBlockAllocator:
    return PrefixCachingBlockAllocator(num_blocks, 4)


def ids(blocks: list[Any]) -> list[int]:
    return [block.block_id for block in blocks]


def test_a_hit_after_a_miss_is_possible() -> None:
    pool = new_pool(3)
    head, tail = pool.allocate_immutable_blocks(None, [A, B])
    filler = pool.allocate_mutable_block(None)
    pool.free(head)
    pool.allocate_immutable_block(None, C)  # evicts the head
    pool.free(filler)
    assert ids(pool.allocate_immutable_blocks(None, [A, B])) == [2, tail.block_id]
    assert pool.get_prefix_cache_hit_rate() == 1 / 5


def test_only_full_blocks_behind_full_blocks_have_a_hash() -> None:
    pool = new_pool()
    first = pool.allocate_mutable_block(None)
    second = pool.allocate_mutable_block(first)
    second.append_token_ids(B)
    assert (first.content_hash, second.content_hash) == (None, None)
    first.append_token_ids(A[:3])
    assert first.content_hash is None
    first.append_token_ids(A[3:])
    assert first.content_hash == type(first).hash_block_tokens(True, None, A)
    assert second.content_hash == type(first).hash_block_tokens(False, first.content_hash, B)


def test_a_freed_block_sleeps_if_it_is_cached_and_is_free_if_not() -> None:
    pool = new_pool()
    full, partial = pool.allocate_immutable_block(None, A), pool.allocate_mutable_block(None)
    pool.mark_blocks_as_accessed([0], 7.0)
    pool.free(full)
    pool.free(partial)
    assert pool.free_block_ids == (1, 2, 3, 4, 5)
    entry = pool.evictor.free_table[0]
    assert (entry.num_hashed_tokens, entry.last_accessed) == (4, 7.0)
    assert pool.get_num_free_blocks() == 6


def test_the_hit_rate_is_hits_by_lookups() -> None:
    pool = new_pool()
    assert pool.get_prefix_cache_hit_rate() == 0.0
    for tokens, rate in [(A, 0.0), (A, 1 / 2), (A, 2 / 3), (B, 2 / 4)]:
        pool.allocate_immutable_block(None, tokens)
        assert pool.get_prefix_cache_hit_rate() == rate
    pool.allocate_mutable_block(None)
    assert pool.get_prefix_cache_hit_rate() == 2 / 4
    assert new_allocator("naive").get_prefix_cache_hit_rate(Device.GPU) == -1


def test_marking_computed_takes_all_that_was_touched_and_looks_at_no_argument() -> None:
    pool = new_pool()
    pool.allocate_immutable_blocks(None, [A, B])
    assert [pool.block_is_computed(i) for i in (0, 1)] == [False, False]
    pool.mark_blocks_as_computed([5])
    assert [pool.block_is_computed(i) for i in (0, 1, 5)] == [True, True, False]
    assert not pool.touched_block_ids
    pool.allocate_immutable_block(None, C)
    assert not pool.block_is_computed(2)


def test_a_woken_block_is_computed_and_has_no_access_time() -> None:
    pool = new_pool()
    block = pool.allocate_immutable_block(None, A)
    pool.mark_blocks_as_accessed([0], 7.0)
    assert block.last_accessed == 7.0
    pool.free(block)
    assert pool.block_is_computed(0)  # asleep: its values exist
    woken = pool.allocate_immutable_block(None, A)
    assert (woken.computed, pool.block_is_computed(0), woken.last_accessed) == (True, True, -1.0)


def test_an_evicted_id_starts_anew() -> None:
    pool = new_pool(1)
    block = pool.allocate_immutable_block(None, A)
    pool.mark_blocks_as_accessed([0], 7.0)
    pool.mark_blocks_as_computed([])
    pool.free(block)
    fresh = pool.allocate_mutable_block(None)
    assert (fresh.computed, pool.block_is_computed(0), fresh.last_accessed) == (False, False, -1.0)


def test_access_is_written_to_the_block_or_to_its_place_in_the_evictor() -> None:
    pool = new_pool()
    blocks = pool.allocate_immutable_blocks(None, [A, B])
    pool.free(blocks[1])
    pool.mark_blocks_as_accessed([0, 1], 3.0)
    assert blocks[0].last_accessed == 3.0
    assert pool.evictor.free_table[1].last_accessed == 3.0


def test_computed_ids_are_added_in_place_and_the_last_may_be_left_out() -> None:
    pool = new_pool()
    pool.allocate_immutable_blocks(None, [A, B, C])
    pool.mark_blocks_as_computed([])
    known = [0]
    assert pool.get_computed_block_ids(known, [0, 1, 2], True) is known
    assert known == [0, 1]
    assert pool.get_computed_block_ids([], [0, 1, 2], False) == [0, 1, 2]
    assert pool.get_computed_block_ids([0, 1], [0, 1, 2], True) == [0, 1]


def test_the_common_prefix_of_the_lists_that_are_not_empty() -> None:
    common = new_pool().get_common_computed_block_ids
    assert common([[1, 2, 3]]) == [1, 2, 3]
    assert common([[1, 2, 3], [1, 2, 4], [1, 2]]) == [1, 2]
    assert common([[1, 2], [], [1]]) == [1]
    assert common([[1], [2]]) == []
    assert new_allocator("naive").get_common_computed_block_ids([[1], [1]]) == []


def test_full_blocks_touched_are_those_not_cached_or_asleep() -> None:
    allocator = new_allocator("prefix_caching")
    table = new_table(allocator, 14)
    touched = allocator.get_num_full_blocks_touched
    assert touched(table.blocks, Device.CPU) == 3
    assert touched(table.blocks, Device.GPU) == 0
    copy = BlockTable(4, allocator)
    copy.allocate(list(range(8)), Device.CPU)
    assert touched(table.blocks, Device.CPU) == 1
    copy.free()
    assert touched(table.blocks, Device.CPU) == 3
