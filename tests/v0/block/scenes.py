"""A call that may run out of blocks, the world it happens in, and how to make room scarce.

A test builds the same scene again and again, each time with another number of free blocks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pagesim
from pagesim import BlockTable, CpuGpuBlockAllocator, Device, SelfAttnBlockSpaceManager
from pagesim.v0.block.interfaces import BlockAllocator
from tests.v0.block.state import State, everything

BLOCK_SIZE = 4
KINDS = ("naive", "prefix_caching")
# How the free blocks lie: on the free list, in the evictor, or half and half.
SUPPLIES = {"naive": ("free",), "prefix_caching": ("free", "evictor", "mixed")}


@dataclass
class Scene:
    """``call`` is what is tried; ``pool`` is the device whose blocks it needs."""

    owner: Any
    call: Callable[[], Any]
    pool: BlockAllocator
    tables: list[BlockTable] = field(default_factory=list)
    handles: list[Any] = field(default_factory=list)
    seqs: list[pagesim.Sequence] = field(default_factory=list)
    held: list[Any] = field(default_factory=list)

    def state(self) -> State:
        """All that a failing call must not change."""
        return everything(self.owner, self.tables, self.handles + self.held, self.seqs)

    def leave_free(self, num_free: int, supply: str) -> None:
        """Take blocks until ``num_free`` are left, lying as ``supply`` says."""
        while self.pool.get_num_free_blocks() > num_free:
            self.held.append(self.pool.allocate_mutable_block(None))
        free_list = len(self.pool.free_block_ids)
        to_cache = {"free": 0, "evictor": free_list, "mixed": (free_list + 1) // 2}[supply]
        self._cache_and_free(to_cache)

    def release_held(self) -> None:
        """Give back what :meth:`leave_free` took."""
        while self.held:
            self.pool.free(self.held.pop())

    def _cache_and_free(self, num_blocks: int) -> None:
        """Move blocks from the free list to the evictor, with ages and prefixes that differ."""
        chains: list[list[Any]] = [[], []]
        for number in range(num_blocks):
            blocks = chains[number % 2]
            tokens = [9000 + number] * BLOCK_SIZE
            prev_block = blocks[-1] if blocks else None
            blocks.append(self.pool.allocate_immutable_block(prev_block, tokens))
        blocks = chains[0] + chains[1]
        for age, block in enumerate(reversed(blocks)):
            self.pool.mark_blocks_as_accessed([block.block_id], float(age % 3))
        for block in blocks:
            self.pool.free(block)


def new_allocator(kind: str, gpu: int = 24, cpu: int = 24) -> CpuGpuBlockAllocator:
    """Two pools of blocks with BLOCK_SIZE slots."""
    return CpuGpuBlockAllocator.create(kind, gpu, cpu, BLOCK_SIZE)


def new_manager(
    kind: str, gpu: int = 24, cpu: int = 24, sliding_window: int | None = None
) -> SelfAttnBlockSpaceManager:
    """A manager without a watermark."""
    return SelfAttnBlockSpaceManager(
        BLOCK_SIZE, gpu, cpu, 0.0, sliding_window, enable_caching=kind == "prefix_caching"
    )


def new_table(
    allocator: CpuGpuBlockAllocator,
    num_tokens: int,
    first: int = 0,
    device: Device = Device.GPU,
    window: int | None = None,
) -> BlockTable:
    """A table of the tokens ``first``, ``first + 1``, …"""
    table = BlockTable(BLOCK_SIZE, allocator, max_block_sliding_window=window)
    table.allocate(list(range(first, first + num_tokens)), device)
    return table


def new_seq(seq_id: int, num_tokens: int, first: int = 0) -> pagesim.Sequence:
    """A sequence whose prompt is ``first``, ``first + 1``, …"""
    return pagesim.Sequence(seq_id, list(range(first, first + num_tokens)), BLOCK_SIZE)


def new_group(*seqs: pagesim.Sequence) -> pagesim.SequenceGroup:
    """A group named after its first sequence."""
    return pagesim.SequenceGroup(str(seqs[0].seq_id), list(seqs))


def set_status(group: pagesim.SequenceGroup, status: pagesim.SequenceStatus) -> None:
    """Give every member the same status: the caller's job in vLLM too."""
    for seq in group.seqs:
        seq.status = status


def add_tokens(seq: pagesim.Sequence, *tokens: int) -> None:
    """Let a sequence have generated ``tokens``."""
    for token in tokens:
        seq.append_token_id(token, {token: pagesim.Logprob(0.0)})
