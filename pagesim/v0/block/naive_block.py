"""The naive allocator: a stack of free ids and reference counts; nothing is remembered.

Source: vLLM 0.6.4.post1, ``vllm/core/block/naive_block.py``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from pagesim.checks import check_int, check_token_ids
from pagesim.errors import UsageError
from pagesim.v0.block.common import block_tokens, chain_of, check_room
from pagesim.v0.block.interfaces import Block
from pagesim.v0.block.pool_allocator import PoolAllocator, check_homeless, owned_id
from pagesim.v0.block.undo import UndoLog

NO_TOKENS: tuple[int, ...] = ()
"""What a new block holds: known to be right, so that it need not be checked."""


class NaiveBlock:
    """A handle on one physical block: which tokens it holds and under which id.

    ``token_ids`` holds at most ``block_size`` tokens; ``block_id`` is None once it was freed.
    Writing to a block that another handle shares moves this handle to a block of its own first.
    """

    __slots__ = ("allocator", "block_id", "block_size", "prev_block", "token_ids")

    def __init__(
        self,
        prev_block: Block | None,
        token_ids: Iterable[int],
        block_size: int,
        allocator: Any,
        block_id: int | None = None,
    ) -> None:
        self.prev_block = prev_block
        self.token_ids: list[int] = []
        if token_ids is not NO_TOKENS or block_size < 1:
            check_int("block_size", block_size, 1)
            self.token_ids = block_tokens(token_ids, block_size)
        self.block_size = block_size
        self.allocator = allocator
        self.block_id = block_id

    @property
    def is_full(self) -> bool:
        """Whether every slot of the block holds a token."""
        return len(self.token_ids) == self.block_size

    @property
    def num_empty_slots(self) -> int:
        """How many tokens the block still has room for."""
        return self.block_size - len(self.token_ids)

    @property
    def num_tokens_total(self) -> int:
        """Tokens from the start of the sequence up to the end of this block."""
        return sum(len(block.token_ids) for block in chain_of(self))

    @property
    def content_hash(self) -> int | None:
        """None: without caching no block is looked up by its content."""
        return None

    @property
    def computed(self) -> bool:
        """False: without caching no block is used a second time."""
        return False

    @property
    def last_accessed(self) -> float:
        """-1: without caching the time of use does not matter."""
        return -1.0

    def append_token_ids(self, token_ids: Sequence[int]) -> None:
        """Write ``token_ids`` into the next empty slots; an empty list still copies a shared block.

        Raises UsageError if they do not fit, TypeError if one is not an int, NoFreeBlocksError if
        the block is shared and there is no room for a copy. Nothing is written then.
        """
        tokens = check_token_ids("token_ids", token_ids)
        check_room(self, len(tokens))
        if self.block_id is not None:
            owned_id(self, self.allocator)
        self.write(tokens)

    def write(self, tokens: list[int]) -> None:
        """:meth:`append_token_ids` for tokens that were checked already."""
        block_id = self.block_id
        if block_id is not None and self.allocator.ref_counts[block_id] > 1:
            self.allocator.cow_block_if_not_appendable(self)
        self.token_ids += tokens

    def twin(self, prev_block: Block | None) -> NaiveBlock:
        """A second handle on the same id, with the same tokens, behind ``prev_block``."""
        twin = NaiveBlock(prev_block, (), self.block_size, self.allocator, self.block_id)
        twin.token_ids = self.token_ids.copy()
        return twin

    def keep(self, undo: UndoLog) -> None:
        """Note in ``undo`` how to bring this handle back to what it is now."""
        undo.note(self._restore, self.block_id, self.allocator, len(self.token_ids))

    def _restore(self, block_id: int | None, allocator: Any, num_tokens: int) -> None:
        self.block_id = block_id
        self.allocator = allocator
        del self.token_ids[num_tokens:]

    def __repr__(self) -> str:
        return f"{type(self).__name__}(block_id={self.block_id}, token_ids={self.token_ids})"


class NaiveBlockAllocator(PoolAllocator):
    """The pool without a memory: a freed block is forgotten, and taken again first."""

    block_class = NaiveBlock

    def swap_in(self, blocks: Sequence[Block]) -> None:
        """Give each of ``blocks``, first to last, an id of this pool; all of them or none."""
        with self.undo:
            for block in blocks:
                check_homeless(block)
                block.keep(self.undo)
                block.block_id = self._pool.take()
                block.allocator = self

    def get_num_full_blocks_touched(self, blocks: Sequence[Block]) -> int:
        """How many distinct full handles there are: each needs a block where it is swapped to."""
        return len({id(block) for block in blocks if block.is_full})

    # -- what only prefix caching knows ----------------------------------------------------------

    def mark_blocks_as_accessed(self, block_ids: Sequence[int], now: float) -> None:
        """Nothing: without caching the time of use does not matter."""

    def mark_blocks_as_computed(self, block_ids: Sequence[int]) -> None:
        """Nothing: without caching no block is used a second time."""

    def get_computed_block_ids(
        self,
        prev_computed_block_ids: list[int],
        block_ids: Sequence[int],
        skip_last_block_id: bool = True,
    ) -> list[int]:
        """No block is known to be computed: always []."""
        return []

    def get_common_computed_block_ids(
        self, computed_seq_block_ids: Sequence[Sequence[int]]
    ) -> list[int]:
        """No block is known to be computed: always []."""
        return []

    def promote_to_immutable_block(self, block: Block) -> int:
        """There is no cache to promote a block to: UsageError."""
        raise UsageError(f"a naive allocator has no cache: block {block.block_id} stays mutable")

    def get_prefix_cache_hit_rate(self) -> float:
        """-1: there is no cache that could be hit."""
        return -1
