"""The content of a cached block (its tokens and all before them), and a handle that knows it.

Source: vLLM 0.6.4.post1, the handles of ``vllm/core/block/prefix_caching_block.py``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from pagesim.checks import check_token_ids
from pagesim.errors import UsageError
from pagesim.v0.block.interfaces import Block
from pagesim.v0.block.naive_block import NaiveBlock

NEVER_ACCESSED = -1.0


class BlockContent:
    """The tokens of a full block at the end of a chain of full blocks.

    Equal tokens after different prefixes are different contents, because attention gives them
    different keys and values. ``hash`` finds an entry of a dict fast; equality is decided by the
    tokens of the whole chain, so two contents that happen to share a hash never share a block.
    """

    __slots__ = ("hash", "num_tokens", "parent", "token_ids")

    def __init__(self, parent: BlockContent | None, token_ids: list[int]) -> None:
        self.parent = parent
        self.token_ids = tuple(token_ids)
        self.num_tokens: int = len(token_ids) + (parent.num_tokens if parent else 0)
        self.hash: int = hash_tokens(parent.hash if parent else None, self.token_ids)

    def __hash__(self) -> int:
        return self.hash

    def __eq__(self, other: object) -> bool:
        """Compare the chains from their ends back to where they become one object."""
        mine: BlockContent | None = self
        theirs: BlockContent | None = other if isinstance(other, BlockContent) else None
        while mine is not theirs:
            if mine is None or theirs is None or mine.token_ids != theirs.token_ids:
                return False
            mine, theirs = mine.parent, theirs.parent
        return True


def hash_tokens(prev_hash: int | None, token_ids: tuple[int, ...]) -> int:
    """The hash of a block after a prefix: of ints only, hence the same in every process."""
    return hash((prev_hash is None, prev_hash or 0, token_ids))


class PrefixCachingBlock(NaiveBlock):
    """A handle that knows its content: its own tokens and, through the chain, all before them."""

    __slots__ = ("_content", "computed")

    def __init__(
        self,
        prev_block: Block | None,
        token_ids: Iterable[int],
        block_size: int,
        allocator: Any,
        block_id: int | None = None,
        computed: bool = False,
    ) -> None:
        super().__init__(prev_block, token_ids, block_size, allocator, block_id)
        self._content: BlockContent | None = None
        self.computed = computed

    @property
    def last_accessed(self) -> float:
        """When the block was last used, according to its pool; -1 if never."""
        if self.block_id is None:
            return NEVER_ACCESSED
        return self.allocator.get_last_accessed(self.block_id)  # type: ignore[no-any-return]

    @property
    def content(self) -> BlockContent | None:
        """The key for caching the block; None unless it and all its predecessors are full."""
        if self._content is None and self.is_full:
            self._find_content()
        return self._content

    @property
    def content_hash(self) -> int | None:
        """The hash of :attr:`content`, or None if that is None; it is the same in every process."""
        content = self.content
        return None if content is None else content.hash

    @property
    def num_tokens_total(self) -> int:
        content = self.content
        return super().num_tokens_total if content is None else content.num_tokens

    @staticmethod
    def hash_block_tokens(
        is_first_block: bool, prev_block_hash: int | None, cur_block_token_ids: Sequence[int]
    ) -> int:
        """Return the hash of a full block after a prefix; the first block has no prefix (None)."""
        if is_first_block != (prev_block_hash is None):
            raise UsageError(
                f"prev_block_hash must be None for the first block and only for it, "
                f"not {prev_block_hash!r} with is_first_block={is_first_block}"
            )
        if prev_block_hash is not None and type(prev_block_hash) is not int:
            raise TypeError(f"prev_block_hash must be an int or None, not {prev_block_hash!r}")
        tokens = check_token_ids("cur_block_token_ids", cur_block_token_ids)
        return hash_tokens(prev_block_hash, tuple(tokens))

    def append_token_ids(self, token_ids: Sequence[int]) -> None:
        """Write ``token_ids`` into the next empty slots; a block that becomes full is promoted.

        Errors as in :class:`NaiveBlock`; an empty list does nothing.
        """
        if not len(token_ids):
            return
        NaiveBlock.append_token_ids(self, token_ids)
        if len(self.token_ids) == self.block_size:
            self.allocator.journal.was(self, "_content")
            if self.block_id is not None and self.content is not None:
                self.allocator.promote_to_immutable_block(self)

    def _find_content(self) -> None:
        """Fill in the contents of the full blocks up to this one, without recursion."""
        unknown: list[PrefixCachingBlock] = []
        block: Any = self
        while block is not None and block._content is None:
            unknown.append(block)
            block = block.prev_block
        content = None if block is None else block._content
        for block in reversed(unknown):
            if not block.is_full:
                return
            content = block._content = BlockContent(content, block.token_ids)
