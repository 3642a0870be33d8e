"""What a cached block holds: its tokens and all that came before them, as a key for a dict."""

from __future__ import annotations


class BlockContent:
    """The tokens of a full block at the end of a chain of full blocks.

    Equal tokens behind different prefixes are different contents, since attention gives them
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
    """The hash of a block behind a prefix: of ints only, hence the same in every process."""
    return hash((prev_hash is None, prev_hash or 0, token_ids))
