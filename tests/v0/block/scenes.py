"""Allocators, managers, tables and sequences for tests, in few words."""

from typing import Any

import pytest

import pagesim
from pagesim import BlockTable, CpuGpuBlockAllocator, Device, SelfAttnBlockSpaceManager

BLOCK_SIZE = 4
KINDS = ("naive", "prefix_caching")
both_kinds = pytest.mark.parametrize("kind", KINDS)


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


def swap(allocator: CpuGpuBlockAllocator, table: BlockTable, source: Device) -> dict[int, int]:
    """Move a whole table to the other device."""
    blocks = table.blocks
    target = Device.CPU if source is Device.GPU else Device.GPU
    mapping = allocator.swap(blocks, source, target)
    table.update(blocks)
    return mapping


def running(manager: Any, num_tokens: int, seq_id: int = 1, first: int = 0) -> Any:
    """An allocated group of one, RUNNING."""
    group = new_group(new_seq(seq_id, num_tokens, first))
    manager.allocate(group)
    set_status(group, pagesim.SequenceStatus.RUNNING)
    return group


def in_a_window(kind: str, gpu: int = 24) -> tuple[CpuGpuBlockAllocator, BlockTable]:
    """A table of 6 blocks whose first 3 fell out of the window: [24-th free id] is the null one."""
    allocator = new_allocator(kind, gpu=gpu)
    table = new_table(allocator, 22, window=2)
    table.append_token_ids([22], 0, 20)
    return allocator, table
