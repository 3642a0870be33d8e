"""Every call that can run out of blocks, each in a world where it has something to spoil.

``SCENES`` names the free blocks that each of them takes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pagesim import BlockTable, Device, SequenceStatus
from tests.v0.block.scenes import (
    BLOCK_SIZE,
    Scene,
    add_tokens,
    new_allocator,
    new_group,
    new_manager,
    new_seq,
    new_table,
    set_status,
)

Build = Callable[[str], Scene]


# -- one device's allocator ------------------------------------------------------------------------


def mutable_block(kind: str) -> Scene:
    pool = new_allocator(kind).allocator_on(Device.GPU)
    return Scene(pool, lambda: pool.allocate_mutable_block(None).block_id, pool)


def immutable_block(kind: str) -> Scene:
    pool = new_allocator(kind).allocator_on(Device.GPU)
    return Scene(pool, lambda: pool.allocate_immutable_block(None, [1, 2, 3, 4]).block_id, pool)


def immutable_blocks(kind: str) -> Scene:
    pool = new_allocator(kind).allocator_on(Device.GPU)
    # With caching the first chunk is a hit, and its block must be asleep again after a failure.
    pool.free(pool.allocate_immutable_block(None, [1] * 4))
    chunks = [[1] * 4, [2] * 4, [3] * 4, [4] * 4]
    return Scene(
        pool, lambda: [b.block_id for b in pool.allocate_immutable_blocks(None, chunks)], pool
    )


def write_to_shared_block(kind: str) -> Scene:
    pool = new_allocator(kind).allocator_on(Device.GPU)
    block = pool.allocate_mutable_block(None)
    block.append_token_ids([1, 2])
    twin = pool.fork(block)[0]

    def call() -> int | None:
        twin.append_token_ids([3, 4])
        return twin.block_id

    return Scene(pool, call, pool, handles=[block, twin])


def copy_shared_block(kind: str) -> Scene:
    pool = new_allocator(kind).allocator_on(Device.GPU)
    block = pool.allocate_mutable_block(None)
    twin = pool.fork(block)[0]
    return Scene(pool, lambda: pool.cow_block_if_not_appendable(twin), pool, handles=[block, twin])


# -- both devices ----------------------------------------------------------------------------------


def null_block(kind: str) -> Scene:
    allocator = new_allocator(kind)
    return Scene(
        allocator,
        lambda: allocator.allocate_or_get_null_block().block_id,
        allocator.allocator_on(Device.GPU),
    )


def swap(kind: str, source: Device, target: Device, forked: bool) -> Scene:
    allocator = new_allocator(kind)
    table = new_table(allocator, 14, device=source)
    tables = [table, table.fork()] if forked else [table]
    # A swap before leaves entries in the mapping that this one overwrites.
    earlier = new_table(allocator, 5, 500, device=source)
    allocator.swap(earlier.blocks, source, target)
    earlier.update(earlier.blocks)
    blocks = [block for each in tables for block in each.blocks]
    return Scene(
        allocator,
        lambda: allocator.swap(blocks, source, target),
        allocator.allocator_on(target),
        [*tables, earlier],
    )


def swap_out(kind: str) -> Scene:
    return swap(kind, Device.GPU, Device.CPU, forked=False)


def swap_in(kind: str) -> Scene:
    return swap(kind, Device.CPU, Device.GPU, forked=False)


def swap_out_two_forks(kind: str) -> Scene:
    return swap(kind, Device.GPU, Device.CPU, forked=True)


def swap_in_to_one_device(kind: str) -> Scene:
    allocator = new_allocator(kind)
    gpu, cpu = allocator.allocator_on(Device.GPU), allocator.allocator_on(Device.CPU)
    blocks = new_table(allocator, 14).blocks
    gpu.swap_out(blocks)

    def call() -> list[int | None]:
        cpu.swap_in(blocks)
        return [block.block_id for block in blocks]

    return Scene(allocator, call, cpu, handles=blocks)


def swap_meets_itself_again(kind: str) -> Scene:
    allocator = new_allocator(kind)
    table, copy = new_table(allocator, 14), new_table(allocator, 9, device=Device.CPU)
    copy.free()  # with caching its two full blocks wait in the CPU's evictor
    return Scene(
        allocator,
        lambda: allocator.swap(table.blocks, Device.GPU, Device.CPU),
        allocator.allocator_on(Device.CPU),
        [table],
    )


# -- tables ----------------------------------------------------------------------------------------


def table_scene(
    allocator: Any, call: Callable[[], Any], *tables: BlockTable, device: Device = Device.GPU
) -> Scene:
    def call_and_tell() -> list[list[int]]:
        call()
        return [list(table.physical_block_ids) for table in tables]

    return Scene(allocator, call_and_tell, allocator.allocator_on(device), list(tables))


def allocate_table(kind: str, device: Device = Device.GPU) -> Scene:
    allocator = new_allocator(kind)
    table = BlockTable(BLOCK_SIZE, allocator)
    return table_scene(
        allocator, lambda: table.allocate(list(range(14)), device), table, device=device
    )


def allocate_table_on_the_cpu(kind: str) -> Scene:
    return allocate_table(kind, Device.CPU)


def allocate_table_with_hits(kind: str) -> Scene:
    allocator = new_allocator(kind)
    in_use, asleep = new_table(allocator, 8), new_table(allocator, 15)
    asleep.free()
    table = BlockTable(BLOCK_SIZE, allocator)
    return table_scene(allocator, lambda: table.allocate(list(range(18))), table, in_use)


def append_to_shared_block(kind: str) -> Scene:
    allocator = new_allocator(kind)
    table = new_table(allocator, 6)
    fork = table.fork()
    return table_scene(allocator, lambda: fork.append_token_ids([6]), fork, table)


def append_across_blocks(kind: str) -> Scene:
    allocator = new_allocator(kind)
    table = new_table(allocator, 6)
    return table_scene(allocator, lambda: table.append_token_ids(list(range(6, 18))), table)


def append_at_a_boundary(kind: str) -> Scene:
    allocator = new_allocator(kind)
    table = new_table(allocator, 8)
    return table_scene(allocator, lambda: table.append_token_ids([8]), table)


def append_shared_across_blocks(kind: str) -> Scene:
    allocator = new_allocator(kind)
    table = new_table(allocator, 6)
    fork = table.fork()
    return table_scene(allocator, lambda: fork.append_token_ids(list(range(6, 15)), 3), fork, table)


def append_with_lookahead(kind: str) -> Scene:
    allocator = new_allocator(kind)
    table = new_table(allocator, 7)
    return table_scene(allocator, lambda: table.append_token_ids([7], 9), table)


def append_through_shared_lookahead(kind: str) -> Scene:
    allocator = new_allocator(kind)
    table = new_table(allocator, 6)
    table.ensure_num_empty_slots(9)
    fork = table.fork()
    return table_scene(allocator, lambda: fork.append_token_ids(list(range(6, 16))), fork, table)


def append_in_place_and_then_to_shared_lookahead(kind: str) -> Scene:
    allocator = new_allocator(kind)
    table = new_table(allocator, 5)
    table.ensure_num_empty_slots(9)
    fork = table.fork()
    fork.append_token_ids([5])  # moves away: only the reserved blocks are still shared
    return table_scene(allocator, lambda: fork.append_token_ids(list(range(6, 14))), fork, table)


def append_what_is_cached(kind: str) -> Scene:
    allocator = new_allocator(kind)
    longer, table = new_table(allocator, 13), new_table(allocator, 6)
    fork = table.fork()
    return table_scene(
        allocator, lambda: fork.append_token_ids(list(range(6, 15))), fork, table, longer
    )


def reserve_slots(kind: str) -> Scene:
    allocator = new_allocator(kind)
    table = new_table(allocator, 6)
    return table_scene(allocator, lambda: table.ensure_num_empty_slots(11), table)


def first_append_in_a_window(kind: str) -> Scene:
    allocator = new_allocator(kind)
    table = new_table(allocator, 18, window=2)
    fork = table.fork()  # so that dropping gives nothing back
    return table_scene(
        allocator, lambda: fork.append_token_ids([18, 19, 20, 21], 4, 18), fork, table
    )


def later_append_in_a_window(kind: str) -> Scene:
    allocator = new_allocator(kind)
    table = new_table(allocator, 14, window=1)
    table.append_token_ids([14, 15], 0, 8)
    return table_scene(allocator, lambda: table.append_token_ids(list(range(16, 30)), 0, 16), table)


# -- the manager -----------------------------------------------------------------------------------


def manager_scene(
    manager: Any, call: Callable[[], Any], *groups: Any, device: Device = Device.GPU
) -> Scene:
    seqs = [seq for group in groups for seq in group.seqs]

    def call_and_tell() -> Any:
        answer = call()
        return answer, {i: list(t.physical_block_ids) for i, t in manager.block_tables.items()}

    pool = manager.block_allocator.allocator_on(device)
    return Scene(manager, call_and_tell, pool, seqs=seqs)


def manager_allocate(kind: str) -> Scene:
    manager, group = new_manager(kind), new_group(new_seq(1, 14))
    return manager_scene(manager, lambda: manager.allocate(group), group)


def manager_allocate_two(kind: str) -> Scene:
    manager, first = new_manager(kind), new_seq(1, 14)
    group = new_group(first, first.fork(2))
    return manager_scene(manager, lambda: manager.allocate(group), group)


def running(kind: str, num_tokens: int, window: int | None = None) -> tuple[Any, Any]:
    manager, group = new_manager(kind, sliding_window=window), new_group(new_seq(1, num_tokens))
    manager.allocate(group)
    set_status(group, SequenceStatus.RUNNING)
    return manager, group


def running_fork(kind: str, num_tokens: int) -> tuple[Any, Any]:
    manager, group = running(kind, num_tokens)
    child = group.seqs[0].fork(2)
    manager.fork(group.seqs[0], child)
    return manager, new_group(group.seqs[0], child)


def manager_append_slots(kind: str) -> Scene:
    manager, group = running(kind, 8)
    add_tokens(group.seqs[0], 8)
    return manager_scene(manager, lambda: manager.append_slots(group.seqs[0], 5), group)


def manager_append_slots_shared(kind: str) -> Scene:
    manager, group = running_fork(kind, 7)
    add_tokens(group.seqs[1], 7, 8)
    return manager_scene(manager, lambda: manager.append_slots(group.seqs[1], 0), group)


def manager_append_slots_in_a_window(kind: str) -> Scene:
    manager, group = running(kind, 24, window=4)
    group.seqs[0].data.update_num_computed_tokens(24)
    child = group.seqs[0].fork(2)
    manager.fork(group.seqs[0], child)
    add_tokens(child, 24)
    return manager_scene(manager, lambda: manager.append_slots(child, 0), group, new_group(child))


def manager_swap_out(kind: str) -> Scene:
    manager, group = running(kind, 14)
    return manager_scene(manager, lambda: manager.swap_out(group), group, device=Device.CPU)


def manager_swap_out_two(kind: str) -> Scene:
    manager, group = running_fork(kind, 14)
    return manager_scene(manager, lambda: manager.swap_out(group), group, device=Device.CPU)


def manager_swap_in(kind: str) -> Scene:
    manager, group = running(kind, 14)
    manager.swap_out(group)
    set_status(group, SequenceStatus.SWAPPED)
    return manager_scene(manager, lambda: manager.swap_in(group), group)


def manager_swap_in_two(kind: str) -> Scene:
    manager, group = running_fork(kind, 14)
    manager.swap_out(group)
    set_status(group, SequenceStatus.SWAPPED)
    return manager_scene(manager, lambda: manager.swap_in(group), group)


# Each scene, and the free blocks it takes: (naive, with caching).
SCENES: dict[Build, tuple[int, int]] = {
    mutable_block: (1, 1),
    immutable_block: (1, 1),
    immutable_blocks: (4, 4),
    write_to_shared_block: (1, 1),
    copy_shared_block: (1, 1),
    null_block: (1, 1),
    swap_out: (4, 4),
    swap_in: (4, 4),
    swap_out_two_forks: (8, 5),
    swap_in_to_one_device: (4, 4),
    swap_meets_itself_again: (4, 4),
    allocate_table: (4, 4),
    allocate_table_on_the_cpu: (4, 4),
    allocate_table_with_hits: (5, 3),
    append_to_shared_block: (1, 1),
    append_across_blocks: (3, 3),
    append_at_a_boundary: (1, 1),
    append_shared_across_blocks: (4, 4),
    append_with_lookahead: (3, 3),
    append_through_shared_lookahead: (3, 3),
    append_in_place_and_then_to_shared_lookahead: (2, 2),
    append_what_is_cached: (3, 3),
    reserve_slots: (3, 3),
    first_append_in_a_window: (4, 4),
    later_append_in_a_window: (2, 2),
    manager_allocate: (4, 4),
    manager_allocate_two: (4, 4),
    manager_append_slots: (2, 2),
    manager_append_slots_shared: (2, 2),
    manager_append_slots_in_a_window: (2, 2),
    manager_swap_out: (4, 4),
    manager_swap_out_two: (8, 5),
    manager_swap_in: (4, 4),
    manager_swap_in_two: (8, 5),
}
