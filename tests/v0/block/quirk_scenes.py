"""Small histories that the tests of vLLM's surprises share."""

from __future__ import annotations

from typing import Any

import pytest

from pagesim import (
    BlockTable,
    CpuGpuBlockAllocator,
    Device,
    NoFreeBlocksError,
    SequenceGroup,
    SequenceStatus,
)
from tests.v0.block.scenes import (
    new_allocator,
    new_group,
    new_seq,
    new_table,
    set_status,
)
from tests.v0.block.state import everything


def swap(allocator: CpuGpuBlockAllocator, table: BlockTable, source: Device) -> dict[int, int]:
    """Move a whole table to the other device."""
    blocks = table.blocks
    target = Device.CPU if source is Device.GPU else Device.GPU
    mapping = allocator.swap(blocks, source, target)
    table.update(blocks)
    return mapping


def running(manager: Any, num_tokens: int, seq_id: int = 1, first: int = 0) -> SequenceGroup:
    """An allocated group of one, RUNNING."""
    group = new_group(new_seq(seq_id, num_tokens, first))
    manager.allocate(group)
    set_status(group, SequenceStatus.RUNNING)
    return group


def fails_without_a_trace(call: Any, owner: Any, *tables: BlockTable) -> None:
    """``call`` finds no room and changes nothing."""
    before = everything(owner, tables)
    with pytest.raises(NoFreeBlocksError) as caught:
        call()
    assert type(caught.value) is NoFreeBlocksError
    assert everything(owner, tables) == before


def in_a_window(kind: str, gpu: int = 24) -> tuple[CpuGpuBlockAllocator, BlockTable]:
    """A table of 6 blocks whose first 3 fell out of the window: [24-th free id] is the null one."""
    allocator = new_allocator(kind, gpu=gpu)
    table = new_table(allocator, 22, window=2)
    table.append_token_ids([22], 0, 20)
    return allocator, table
