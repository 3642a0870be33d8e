"""What must hold after every operation, and a memory that shows whether the ids are to be trusted.

The memory plays the GPU: it holds a token where a kernel would hold the token's keys and values. It
is written only through block ids, copies and swaps, so a block that is handed out twice, freed too
early or found in the cache by mistake shows as a wrong token.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

from pagesim import (
    BlockTable,
    CpuGpuBlockAllocator,
    Device,
    NoFreeBlocksError,
    PrefixCachingBlockAllocator,
    UsageError,
)
from tests.v0.block.state import everything


class Memory:
    """One list of slots for each block id of both devices."""

    def __init__(self, allocator: CpuGpuBlockAllocator, block_size: int) -> None:
        self._pools = [allocator.allocator_on(device) for device in Device]
        self._block_size = block_size
        self._slots = {i: [None] * block_size for i in allocator.all_block_ids}
        self._before: list[tuple[int, dict[int, Any]]] = []

    def watch(self) -> None:
        """Remember what is pending and cached before an operation."""
        self._before = [(len(pool.pending_copies), contents(pool)) for pool in self._pools]

    def compute(self, ids: list[int], tokens: list[int], start: int) -> None:
        """Play what the operation since :meth:`watch` asks for: copies, then ``tokens[start:]``.

        Blocks that were cached before are left alone: they must hold the right tokens already.
        """
        cached: set[int] = set()
        for pool, (num_copies, before) in zip(self._pools, self._before, strict=True):
            self.copy(pool.pending_copies[num_copies:])
            cached |= {i for i, content in contents(pool).items() if before.get(i) is content}
        for at in range(start, len(tokens)):
            block_id = ids[at // self._block_size]
            if block_id not in cached:
                self._slots[block_id][at % self._block_size] = tokens[at]

    def copy(self, pairs: Iterable[tuple[int, int]]) -> None:
        """Copy whole blocks, in order."""
        for source, target in pairs:
            self._slots[target] = list(self._slots[source])

    def read(self, ids: list[int], num_tokens: int) -> list[int | None]:
        """What a kernel finds through a block table."""
        size = self._block_size
        return [self._slots[ids[at // size]][at % size] for at in range(num_tokens)]


def contents(pool: Any) -> dict[int, Any]:
    """What is cached at each id of a pool."""
    return dict(getattr(pool, "_content_at", {}))


class LaterError(Exception):
    """What goes wrong in a larger call, after the smaller one has succeeded."""


def attempt(call: Callable[[], Any], owner: Any, tables: Iterable[BlockTable] = ()) -> list[Any]:
    """[what ``call`` answers]; [] if it was refused, and then nothing may have changed.

    First it is tried inside a larger call that fails in the end: that takes everything back.
    """
    tables, journal = list(tables), getattr(owner, "block_allocator", owner).journal
    before = everything(owner, tables)
    with suppress(LaterError, NoFreeBlocksError, UsageError), journal:
        call()
        raise LaterError
    assert everything(owner, tables) == before
    try:
        return [call()]
    except (NoFreeBlocksError, UsageError) as error:
        assert type(error) in (NoFreeBlocksError, UsageError)
        assert everything(owner, tables) == before
        return []


def check_pools(allocator: CpuGpuBlockAllocator, tables: Iterable[BlockTable]) -> None:
    """Every id is in exactly one place, and counts as many owners as there are handles."""
    null = everything(allocator)["null block"]
    owners = Counter({null: 1} if null is not None else {})
    for table in tables:
        assert table.physical_block_ids == [block.block_id for block in table.blocks]
        owners.update(i for i in table.physical_block_ids if i != null)
    for device in Device:
        pool = allocator.allocator_on(device)
        free, used = list(pool.free_block_ids), [i for i, n in pool.ref_counts.items() if n]
        asleep = list(pool.evictor.free_table) if hasattr(pool, "evictor") else []
        assert sorted(free + used + asleep) == sorted(pool.all_block_ids)
        assert {i: n for i, n in owners.items() if i in pool.all_block_ids} == {
            i: pool.ref_counts[i] for i in used
        }
        assert pool.get_num_free_blocks() == len(free) + len(asleep)
        if isinstance(pool, PrefixCachingBlockAllocator):
            check_cache(pool, asleep)


def check_cache(pool: PrefixCachingBlockAllocator, asleep: list[int]) -> None:
    """What can be found is in use or asleep; what is asleep can be found."""
    state = everything(pool)["pool"]
    assert {i: content for content, i in state["cached"].items()} == state["content at"]
    assert set(asleep) <= pool.cached_block_ids
    assert not pool.cached_block_ids & set(pool.free_block_ids)


def check_tokens(
    allocator: CpuGpuBlockAllocator,
    tables: Iterable[tuple[BlockTable, list[int]]],
    memory: Memory,
    block_size: int,
) -> None:
    """Tables hold the tokens of the model, one id always means one content, and memory agrees."""
    null = everything(allocator)["null block"]
    content_of: dict[int, list[int]] = {}
    for table, tokens in tables:
        assert table.num_full_slots == len(tokens)
        found = memory.read(table.physical_block_ids, len(tokens))
        for index, block in enumerate(table.blocks):
            if block.block_id == null:
                assert not block.token_ids
                continue
            start, end = index * block_size, (index + 1) * block_size
            assert block.token_ids == tokens[start:end]
            assert found[start:end] == tokens[start:end]
            prefix = tokens[:end] if block.token_ids else None
            assert content_of.setdefault(block.block_id, prefix) == prefix


def check_all_free(allocator: CpuGpuBlockAllocator) -> None:
    """Nothing is in use but the null block."""
    null = everything(allocator)["null block"]
    check_pools(allocator, [])
    for device in Device:
        taken = int(null is not None and device is Device.GPU)
        total = allocator.get_num_total_blocks(device)
        assert allocator.get_num_free_blocks(device) == total - taken
