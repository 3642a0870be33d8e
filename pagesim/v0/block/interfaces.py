"""What the block layer is made of: devices, blocks, allocators.

vLLM keeps these in ``vllm/core/block/interfaces.py`` (release 0.6.4.post1).
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any, ClassVar, Protocol

from pagesim.errors import NoFreeBlocksError, UsageError
from pagesim.journal import Journal


class Device(enum.Enum):
    """Where a block lives: the GPU pool that kernels read, or the CPU pool it is swapped to."""

    GPU = enum.auto()
    CPU = enum.auto()


class Block(Protocol):
    """A handle on a physical block: the tokens of one logical block, and the id they live at.

    Several handles may have the same ``block_id`` (a fork, a prefix hit). A freed one has None.
    """

    prev_block: Block | None
    block_id: int | None
    token_ids: list[int]
    block_size: int

    @property
    def allocator(self) -> BlockAllocator: ...

    @property
    def is_full(self) -> bool: ...

    @property
    def num_empty_slots(self) -> int: ...

    @property
    def num_tokens_total(self) -> int: ...

    @property
    def content_hash(self) -> int | None: ...

    @property
    def computed(self) -> bool: ...

    @property
    def last_accessed(self) -> float: ...

    def append_token_ids(self, token_ids: Sequence[int]) -> None: ...


class BlockAllocator(Protocol):
    """One device's pool of blocks. Two implementations: naive, and with prefix caching.

    Source: ``BlockAllocator`` in vLLM's ``core/block/interfaces.py``.
    """

    NoFreeBlocksError: ClassVar[type[NoFreeBlocksError]] = NoFreeBlocksError

    journal: Journal
    block_size: int

    block_ids: Sequence[int]
    cow_tracker: Any
    parent: object

    @property
    def all_block_ids(self) -> frozenset[int]: ...

    @property
    def free_block_ids(self) -> tuple[int, ...]: ...

    def allocate_mutable_block(self, prev_block: Block | None) -> Block: ...

    def allocate_immutable_block(
        self, prev_block: Block | None, token_ids: Sequence[int]
    ) -> Block: ...

    def allocate_immutable_blocks(
        self, prev_block: Block | None, block_token_ids: Sequence[Sequence[int]]
    ) -> list[Block]: ...

    def _allocate_immutable_blocks(
        self, prev_block: Block | None, block_token_ids: Sequence[list[int]]
    ) -> list[Block]: ...

    def free(self, block: Block) -> None: ...

    def _free_block_id(self, block: Block) -> None: ...

    def fork(self, last_block: Block) -> list[Block]: ...

    def fork_blocks(self, blocks: Sequence[Block]) -> list[Block]: ...

    def get_ref_count(self, block_id: int) -> int: ...

    def get_num_free_blocks(self) -> int: ...

    def get_num_total_blocks(self) -> int: ...

    def get_physical_block_id(self, absolute_id: int) -> int: ...

    def cow_block_if_not_appendable(self, block: Block) -> int: ...

    def clear_copy_on_writes(self) -> list[tuple[int, int]]: ...

    def swap_out(self, blocks: Sequence[Block]) -> None: ...

    def swap_in(self, blocks: Sequence[Block]) -> None: ...

    def get_num_full_blocks_touched(self, blocks: Sequence[Block]) -> int: ...

    # What only prefix caching does.

    def mark_blocks_as_accessed(self, block_ids: Sequence[int], now: float) -> None:
        """Does nothing: without caching it does not matter when a block was last used."""

    def mark_blocks_as_computed(self, block_ids: Sequence[int]) -> None:
        """Does nothing: without caching no block is used a second time."""

    def get_computed_block_ids(
        self,
        prev_computed_block_ids: list[int],
        block_ids: Sequence[int],
        skip_last_block_id: bool = True,
    ) -> list[int]:
        """[]: no block is known to be computed."""
        return []

    def get_common_computed_block_ids(
        self, computed_seq_block_ids: Sequence[Sequence[int]]
    ) -> list[int]:
        """[]: no block is known to be computed."""
        return []

    def promote_to_immutable_block(self, block: Block) -> int:
        """UsageError: there is no cache."""
        raise UsageError(f"a naive allocator has no cache: block {block.block_id} stays mutable")

    def get_prefix_cache_hit_rate(self) -> float:
        """-1: there is no cache that could be hit."""
        return -1
