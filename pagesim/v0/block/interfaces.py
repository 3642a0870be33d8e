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
    computed: bool
    """Whether the handle was given a block whose content was cached: False without caching."""
    allocator: BlockAllocator

    @property
    def is_full(self) -> bool:
        """Whether every slot of the block holds a token."""

    @property
    def num_empty_slots(self) -> int:
        """How many tokens the block still has room for."""

    @property
    def num_tokens_total(self) -> int:
        """Tokens from the start of the sequence up to the end of this block."""

    @property
    def content_hash(self) -> int | None:
        """None: without caching no block is looked up by its content."""

    @property
    def last_accessed(self) -> float:
        """-1: without caching it does not matter when a block was used."""

    def append_token_ids(self, token_ids: Sequence[int]) -> None:
        """Write ``token_ids`` into the next empty slots; an empty list still copies a shared block.

        UsageError if they do not fit, NoFreeBlocksError if the block is shared and there is no room
        for a copy. In both cases nothing is written.
        """


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
    def all_block_ids(self) -> frozenset[int]:
        """The ids of this pool, free or not."""

    @property
    def free_block_ids(self) -> tuple[int, ...]:
        """The free ids in the order in which they will be taken (evictable ones not included)."""

    def allocate_mutable_block(self, prev_block: Block | None) -> Block:
        """Take an empty block after ``prev_block``. NoFreeBlocksError if none is free."""

    def allocate_immutable_block(self, prev_block: Block | None, token_ids: Sequence[int]) -> Block:
        """Take a block for ``token_ids``, which fill it. NoFreeBlocksError if none is free."""

    def allocate_immutable_blocks(
        self, prev_block: Block | None, block_token_ids: Sequence[Sequence[int]]
    ) -> list[Block]:
        """Take a chain of blocks, one for each list of tokens; on an error, take none."""

    def _allocate_immutable_block(
        self, prev_block: Block | None, token_ids: Sequence[int]
    ) -> Block: ...

    def free(self, block: Block) -> None:
        """Give up this handle's share of its block; UsageError if it was already freed."""

    def _free_block_id(self, block: Block) -> None: ...

    def fork(self, last_block: Block) -> list[Block]:
        """Make new handles, with the same ids, on the chain that ends at ``last_block``."""

    def fork_blocks(self, blocks: Sequence[Block]) -> list[Block]:
        """Make new handles on ``blocks``, chained to each other, with the same ids and tokens.

        The first handle has the same predecessor as the first of ``blocks``, which has one if older
        blocks fell out of a sliding window.
        """

    def get_ref_count(self, block_id: int) -> int:
        """Return the number of handles that refer to ``block_id``; 0 if it is free."""

    def get_num_free_blocks(self) -> int:
        """Return the number of blocks that could be taken now."""

    def get_num_total_blocks(self) -> int:
        """Return the number of blocks in the pool."""

    def get_physical_block_id(self, absolute_id: int) -> int:
        """Return the rank of an id among this device's ids, its index in a cache tensor."""

    def cow_block_if_not_appendable(self, block: Block) -> int:
        """Return the id at which ``block`` may be written: its own, or a copy's if it is shared.

        The copy is recorded for :meth:`clear_copy_on_writes`.
        """

    def clear_copy_on_writes(self) -> list[tuple[int, int]]:
        """Return the copies (source, target) recorded since the last call, and forget them."""

    def swap_out(self, blocks: Sequence[Block]) -> None:
        """Release the ids of ``blocks``, first to last; the handles remain, without an id."""

    def swap_in(self, blocks: Sequence[Block]) -> None:
        """Give each of ``blocks`` an id of this pool, first to last, or give none at all."""

    def get_num_full_blocks_touched(self, blocks: Sequence[Block]) -> int:
        """Return the number of distinct full handles; each needs a block on the other device."""

    # What only prefix caching does.

    def mark_blocks_as_accessed(self, block_ids: Sequence[int], now: float) -> None:
        """Do nothing: without caching, it does not matter when a block was last used."""

    def mark_blocks_as_computed(self, block_ids: Sequence[int]) -> None:
        """Do nothing: without caching, no block is used a second time."""

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
        """Raise UsageError: there is no cache."""
        raise UsageError(f"a naive allocator has no cache: block {block.block_id} stays mutable")

    def get_prefix_cache_hit_rate(self) -> float:
        """Return -1: there is no cache that could be hit."""
        return -1
