"""A wrong call is named and refused, and changes nothing: no raw KeyError, no half-done work."""

import math
from functools import partial
from typing import Any

import numpy as np
import pytest

import pagesim
from pagesim import BlockTable, CpuGpuBlockAllocator, Device, UsageError
from pagesim.errors import UnsupportedError
from pagesim.journal import Journal
from tests.v0.block.scenes import both_kinds, new_allocator, new_table
from tests.v0.block.state import refused

pytestmark = both_kinds

POOLS = {
    "naive": pagesim.NaiveBlockAllocator,
    "prefix_caching": pagesim.PrefixCachingBlockAllocator,
}
BAD_TOKENS = [
    ("12", "'12'"),
    (3, "3"),
    (None, "None"),
    ([1, "2"], r"\[1\].*'2'"),
    ([1.0], r"\[0\].*1\.0"),
    ([None], r"\[0\].*None"),
    ([1, 2, True], r"\[2\].*True"),
    ([np.int64(1)], r"\[0\].*int64"),
    (np.array([1]), r"\[0\].*int64"),
]
BAD_SIZES = [(-1, UsageError, "-1"), (1.0, TypeError, r"1\.0"), ("4", TypeError, "'4'")]
BAD_SIZES += [(True, TypeError, "True"), (None, TypeError, "None")]  # type: ignore[list-item]


def test_a_usage_error_is_what_vllm_would_have_raised_too(kind: str) -> None:
    assert issubclass(UsageError, ValueError)
    assert issubclass(UsageError, AssertionError)
    assert issubclass(UnsupportedError, NotImplementedError)
    assert issubclass(UnsupportedError, UsageError)  # so that a command says it in one line
    refused(UsageError, "4", lambda: POOLS[kind](-4, 4))


@pytest.mark.parametrize(("size", "error", "shown"), BAD_SIZES)
def test_sizes(kind: str, size: Any, error: type[Exception], shown: str) -> None:
    create, pool = CpuGpuBlockAllocator.create, POOLS[kind]
    refused(error, f"num_gpu_blocks.*{shown}", lambda: create(kind, size, 2, 4))
    refused(error, f"num_cpu_blocks.*{shown}", lambda: create(kind, 2, size, 4))
    refused(error, f"block_size.*{shown}", lambda: create(kind, 2, 2, size))
    refused(error, f"num_blocks.*{shown}", lambda: pool(size, 4))
    refused(error, f"block_size.*{shown}", lambda: pool(2, size))
    allocator = new_allocator(kind)
    refused(error, f"block_size.*{shown}", lambda: BlockTable(size, allocator))
    required = BlockTable.get_num_required_blocks
    refused(error, f"num_lookahead_slots.*{shown}", lambda: required([1], 4, size))
    refused(error, f"block_size.*{shown}", lambda: required([1], size))
    if size is not None:
        window = f"max_block_sliding_window.*{shown}"
        refused(error, window, lambda: BlockTable(4, allocator, max_block_sliding_window=size))


def test_a_block_has_at_least_one_slot(kind: str) -> None:
    block_class, pool = POOLS[kind].block_class, POOLS[kind](2, 4)
    refused(UsageError, "block_size.*0", lambda: CpuGpuBlockAllocator.create(kind, 1, 1, 0))
    refused(UsageError, "block_size.*0", lambda: POOLS[kind](2, 0))
    refused(UsageError, "block_size.*0", lambda: BlockTable(0, new_allocator(kind)))
    refused(UsageError, "block_size.*0", lambda: block_class(None, [], 0, pool))
    refused(UsageError, "block_size.*0", lambda: block_class(None, (), 0, pool))


@pytest.mark.parametrize("name", ["lru", "", None, 3, ["naive"]])
def test_an_unknown_allocator(kind: str, name: Any) -> None:
    create = CpuGpuBlockAllocator.create
    refused(UsageError, f"allocator_type.*{name}", lambda: create(name, 1, 1, 4))


def test_ids_and_sizes_of_the_pools(kind: str) -> None:
    pool, mine = POOLS[kind], partial(POOLS[kind], journal=Journal())
    refused(UsageError, r"block_ids.*\[1, 1\]", lambda: pool(2, 4, [1, 1]))
    refused(UsageError, r"block_ids.*3", lambda: pool(3, 4, [1, 2]))
    refused(UsageError, "block_ids.*-1", lambda: pool(2, 4, [-1, 2]))
    refused(TypeError, r"block_ids\[0\].*'a'", lambda: pool(2, 4, ["a", "b"]))
    both = CpuGpuBlockAllocator
    refused(UsageError, "block 0 ", lambda: both(mine(1, 4), mine(1, 4)))
    refused(UsageError, "journal", lambda: both(pool(1, 4, [1]), pool(1, 4)))
    refused(UsageError, "8 on the CPU", lambda: both(mine(1, 8, [1]), mine(1, 4)))
    refused(UsageError, "block_size.*4.*8", lambda: BlockTable(8, new_allocator(kind)))
    refused(TypeError, "block_allocator", lambda: BlockTable(4, pool(2, 4)))
    refused(TypeError, "block_allocator.*None", lambda: BlockTable(4, None))


@pytest.mark.parametrize(("tokens", "shown"), BAD_TOKENS)
def test_tokens(kind: str, tokens: Any, shown: str) -> None:
    allocator = new_allocator(kind)
    pool, table = allocator.allocator_on(Device.GPU), new_table(allocator, 5)
    empty = BlockTable(4, allocator)
    for call in (
        lambda: empty.allocate(tokens),
        lambda: table.append_token_ids(tokens),
        lambda: pool.allocate_immutable_block(None, tokens),
        lambda: pool.allocate_immutable_blocks(None, [[1, 2, 3, 4], tokens]),
        lambda: allocator.allocate_immutable_block(None, tokens, Device.CPU),
        lambda: pool.block_class(None, tokens, 4, pool),
        lambda: pagesim.PrefixCachingBlock.hash_block_tokens(True, None, tokens),
    ):
        refused(TypeError, shown, call, allocator, table)


def test_tokens_that_do_not_fit(kind: str) -> None:
    allocator = new_allocator(kind)
    pool, table = allocator.allocator_on(Device.GPU), new_table(allocator, 5)
    block = table.blocks[1]
    refused(UsageError, "4 tokens.*3 of", lambda: block.append_token_ids([1] * 4), allocator, table)
    refused(UsageError, "5 tokens", lambda: pool.allocate_immutable_block(None, [1] * 5), allocator)
    refused(UsageError, "5 tokens", lambda: pool.block_class(None, [1] * 5, 4, pool))
    if kind == "prefix_caching":
        for prev_block, tokens in [(None, [1, 2]), (block, [1, 2, 3, 4])]:
            call = partial(pool.allocate_immutable_block, prev_block, tokens)
            refused(UsageError, "immutable", call, allocator, table)


def test_tables_used_out_of_order(kind: str) -> None:
    allocator = new_allocator(kind)
    table, empty = new_table(allocator, 5), BlockTable(4, allocator)
    refused(UsageError, "2 blocks", lambda: table.allocate([1]), allocator, table)
    refused(UsageError, "token_ids is empty", lambda: empty.allocate([]), allocator)
    for call in (
        lambda: empty.append_token_ids([1]),
        lambda: empty.append_token_ids([]),
        lambda: empty.ensure_num_empty_slots(1),
        empty.fork,
        empty.free,
    ):
        refused(UsageError, "allocate it first", call, allocator, table, empty)


@pytest.mark.parametrize(("slots", "error", "shown"), BAD_SIZES)
def test_slots(kind: str, slots: Any, error: type[Exception], shown: str) -> None:
    allocator = new_allocator(kind)
    table = new_table(allocator, 5)
    touched = table.get_num_blocks_touched_by_append_slots
    for call in (
        lambda: table.append_token_ids([1], slots),
        lambda: table.ensure_num_empty_slots(slots),
        lambda: touched([1], slots),
    ):
        refused(error, f"(lookahead|empty)_slots.*{shown}", call, allocator, table)
    if slots is not None:
        windowed = new_table(allocator, 5, 50, window=1)
        call = lambda: windowed.append_token_ids([1], 0, slots)  # noqa: E731
        refused(error, f"num_computed_slots.*{shown}", call, allocator, windowed)


@pytest.mark.parametrize("computed", [None, 12, 10**9])
def test_a_window_never_passes_the_block_that_is_written_next(
    kind: str, computed: int | None
) -> None:
    allocator = new_allocator(kind)
    table = new_table(allocator, 5, window=1)
    call = lambda: table.append_token_ids([5], 0, computed)  # noqa: E731
    refused(UsageError, "num_computed_slots", call, allocator, table)


def test_freed_twice(kind: str) -> None:
    allocator = new_allocator(kind)
    table = new_table(allocator, 9)
    alias = BlockTable(4, allocator, table.blocks)
    pool, block = allocator.allocator_on(Device.GPU), table.blocks[1]
    allocator.free(block)
    for call in (
        lambda: allocator.free(block),
        lambda: pool.free(block),
        lambda: pool.fork(block),
        lambda: allocator.fork(block),
        lambda: pool.cow_block_if_not_appendable(block),
        lambda: allocator.swap([block], Device.GPU, Device.CPU),
        lambda: pool.swap_out([block]),
        lambda: allocator.fork(table.blocks[2]),  # a hole in the middle of the chain
        table.fork,
        table.free,
        alias.free,
    ):
        refused(UsageError, "freed", call, allocator, table, alias)
    refused(UsageError, "freed", lambda: table.update(table.blocks), allocator)
    refused(UsageError, "freed", lambda: BlockTable(4, allocator, table.blocks), allocator)


def test_handles_made_by_hand_on_ids_that_are_not_theirs(kind: str) -> None:
    pool = POOLS[kind](4, 4)
    first = pool.allocate_immutable_block(None, [1, 2, 3, 4])
    for block_id, shown in [(3, "3 is free"), (99, "99 does not belong"), (-1, "-1 does not")]:
        block = pool.block_class(first, [1], 4, pool, block_id)
        for call in (
            lambda b=block: pool.free(b),
            lambda b=block: pool.fork(b),
            lambda b=block: pool.swap_out([first, b]),
            lambda b=block: b.append_token_ids([1]),
            lambda b=block: pool.cow_block_if_not_appendable(b),
        ):
            refused(UsageError, shown, call, pool)
        assert first.block_id == 0
        assert block.token_ids == [1]


@pytest.mark.parametrize("thing", [None, 3, "block"])
def test_what_is_no_block(kind: str, thing: Any) -> None:
    allocator = new_allocator(kind)
    pool, table = allocator.allocator_on(Device.GPU), new_table(allocator, 4)
    for call in (
        lambda: pool.free(thing),
        lambda: allocator.free(thing),
        lambda: pool.fork(thing),
        lambda: allocator.fork(thing),
        lambda: allocator.swap([*table.blocks, thing], Device.GPU, Device.CPU),
        lambda: pool.swap_out([*table.blocks, thing]),
        lambda: pool.swap_in([thing]),
    ):
        refused(TypeError, f"block.*{thing}", call, allocator, table)


def test_swapping_between_the_wrong_places(kind: str) -> None:
    allocator = new_allocator(kind)
    here, there = new_table(allocator, 5), new_table(allocator, 5, device=Device.CPU)
    swap, gpu = allocator.swap, allocator.allocator_on(Device.GPU)
    for device in Device:
        call = partial(swap, here.blocks, device, device)
        refused(UsageError, f"{device}", call, allocator, here)
    for call in (
        lambda: swap(here.blocks, Device.CPU, Device.GPU),
        lambda: swap(here.blocks + there.blocks, Device.GPU, Device.CPU),
        lambda: gpu.swap_out(there.blocks),
        lambda: gpu.free(there.blocks[0]),
        lambda: gpu.fork(there.blocks[-1]),
    ):
        refused(UsageError, "does not belong", call, allocator, here, there)
    refused(UsageError, "swap it out", lambda: gpu.swap_in(here.blocks), allocator, here)
    refused(UsageError, "swap it out", lambda: gpu.swap_in(there.blocks), allocator, there)
    twice = here.blocks[:1] * 2
    refused(UsageError, "freed", lambda: swap(twice, Device.GPU, Device.CPU), allocator, here)


def test_promoting_what_cannot_be_promoted(kind: str) -> None:
    allocator = new_allocator(kind)
    gpu, cpu = (allocator.allocator_on(device) for device in Device)
    partial = gpu.allocate_mutable_block(None)
    promote = allocator.promote_to_immutable_block
    refused(UsageError, "(no cache|not full)", lambda: promote(partial), allocator)
    null = allocator.allocate_or_get_null_block()
    refused(UsageError, "(no cache|not full)", lambda: promote(null), allocator)
    full = cpu.allocate_immutable_block(None, [1, 2, 3, 4])
    promote = gpu.promote_to_immutable_block
    refused(UsageError, "(no cache|belong)", lambda: promote(full), allocator)
    assert allocator.fork(null) == [null]
    assert allocator.get_ref_count(null.block_id) == 1


@pytest.mark.parametrize("device", ["gpu", 1, None, "Device.GPU"])
def test_devices(kind: str, device: Any) -> None:
    allocator = new_allocator(kind)
    table = new_table(allocator, 5)
    for call in (
        lambda: allocator.get_num_free_blocks(device),
        lambda: allocator.get_physical_block_id(device, 0),
        lambda: allocator.allocate_mutable_block(None, device),
        lambda: allocator.swap(table.blocks, Device.GPU, device),
        lambda: allocator.swap(table.blocks, device, Device.GPU),
        lambda: BlockTable(4, allocator).allocate([1], device),
        lambda: allocator.get_prefix_cache_hit_rate(device),
    ):
        refused(TypeError, f"device.*{device}", call, allocator, table)


def test_one_device_has_no_choice(kind: str) -> None:
    pool = POOLS[kind](4, 4)
    for call in (
        lambda: pool.allocate_mutable_block(None, device=Device.GPU),
        lambda: pool.allocate_immutable_block(None, [1] * 4, device=Device.CPU),
        lambda: pool.allocate_immutable_blocks(None, [[1] * 4], device=Device.GPU),
    ):
        refused(UsageError, "device=Device", call, pool)


def test_ids_that_do_not_exist(kind: str) -> None:
    allocator = new_allocator(kind, 4, 4)
    gpu = allocator.allocator_on(Device.GPU)
    for bad in (99, -1, "a", None):
        for call in (
            lambda b=bad: gpu.get_physical_block_id(b),
            lambda b=bad: gpu.get_ref_count(b),
            lambda b=bad: allocator.get_physical_block_id(Device.CPU, b),
        ):
            refused(UsageError, f"block {bad!r} does not belong", call, allocator)
        refused(UsageError, "block", lambda b=bad: allocator.get_ref_count(b), allocator)
        refused(UsageError, "block", lambda b=bad: allocator.device_of(b), allocator)
    refused(UsageError, "4", lambda: allocator.get_physical_block_id(Device.GPU, 4), allocator)


def test_marks(kind: str) -> None:
    allocator = new_allocator(kind)
    pool = allocator.allocator_on(Device.GPU)
    used = pool.allocate_mutable_block(None).block_id
    if kind == "naive":
        pool.mark_blocks_as_accessed([used], 1.0)  # does nothing, for want of a cache
        return
    mark = allocator.mark_blocks_as_accessed
    refused(UsageError, "block 5 is free", lambda: mark([used, 5], 1.0), allocator)
    refused(UsageError, "block 99", lambda: mark([used, 99], 1.0), allocator)
    refused(TypeError, "now.*'1'", lambda: mark([used], "1"), allocator)
    refused(TypeError, "now.*True", lambda: mark([used], True), allocator)
    refused(UsageError, "now.*nan", lambda: mark([used], math.nan), allocator)
    computed = allocator.get_computed_block_ids
    refused(UsageError, "block 99", lambda: computed([], [used, 99, used], True), allocator)
    refused(UsageError, "3 computed", lambda: computed([1, 2, 3], [used], True), allocator)


def test_hashing_asks_for_a_prefix_or_none(kind: str) -> None:
    hash_block = POOLS["prefix_caching"].block_class.hash_block_tokens
    refused(UsageError, "prev_block_hash.*7", lambda: hash_block(True, 7, [1]))
    refused(UsageError, "prev_block_hash.*None", lambda: hash_block(False, None, [1]))
    refused(TypeError, "prev_block_hash.*'7'", lambda: hash_block(False, "7", [1]))
