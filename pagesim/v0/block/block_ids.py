"""The ids of a pool and its free ids, in memory that grows with use, not with the pool."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from itertools import takewhile
from operator import index
from typing import Any

from pagesim.checks import check_count, check_int, check_token_ids
from pagesim.errors import UsageError


class BlockIds:
    """The ids of a pool. A range stays a range, which costs the same at any length."""

    __slots__ = ("_ascending",)

    def __init__(self, block_ids: Iterable[int]) -> None:
        self._ascending: Sequence[int]
        if isinstance(block_ids, range) and block_ids.step > 0:
            self._ascending = block_ids
        else:
            self._ascending = sorted(set(block_ids))

    def __len__(self) -> int:
        return len(self._ascending)

    def __iter__(self) -> Iterator[int]:
        return iter(self._ascending)

    def __contains__(self, block_id: object) -> bool:
        return self._find(block_id) is not None

    def rank(self, block_id: int) -> int:
        """How many ids are smaller. UsageError if the pool does not have this id."""
        rank = self._find(block_id)
        if rank is None:
            raise UsageError(f"block {block_id!r} does not belong to this pool")
        return rank

    def first_shared(self, other: BlockIds) -> int | None:
        """The smallest id that ``other`` also has; None if there is none."""
        few, many = sorted((self._ascending, other._ascending), key=len)
        start = bisect_left(few, many[0]) if many else 0
        within = takewhile(lambda block_id: block_id <= many[-1], few[start:])
        return next((i for i in within if i in self and i in other), None)

    def _find(self, block_id: Any) -> int | None:
        ids = self._ascending
        try:
            rank = bisect_left(ids, index(block_id))
        except TypeError:
            return None
        return rank if rank < len(ids) and ids[rank] == block_id else None


class FreeBlockIds:
    """The free ids of a pool: vLLM's deque, but only ids that were taken once use memory.

    Ids are taken and returned at the left, so those never taken always come last, in the order of
    ``block_ids``.
    """

    __slots__ = ("_block_ids", "num_fresh", "returned")

    def __init__(self, block_ids: Sequence[int]) -> None:
        self._block_ids = block_ids
        self.num_fresh = len(block_ids)
        """How many ids were never taken: the last ones of ``block_ids``."""
        self.returned: list[int] = []
        """The ids given back; the last one is taken first."""

    def __len__(self) -> int:
        return len(self.returned) + self.num_fresh

    def __iter__(self) -> Iterator[int]:
        yield from reversed(self.returned)
        yield from self._block_ids[len(self._block_ids) - self.num_fresh :]

    def popleft(self) -> int:
        """Take the first id. IndexError if there is none."""
        if self.returned or not self.num_fresh:
            return self.returned.pop()
        block_id = self._block_ids[-self.num_fresh]
        self.num_fresh -= 1
        return block_id

    def take(self, count: int) -> list[int]:
        """What ``count`` calls of :meth:`popleft` return."""
        if not 0 < count <= len(self.returned):
            return [self.popleft() for _ in range(count)]
        taken = self.returned[: -count - 1 : -1]
        del self.returned[-count:]
        return taken

    def appendleft(self, block_id: int) -> None:
        """Give an id back: it is now the first one."""
        self.returned.append(block_id)


def check_block_ids(num_blocks: int, block_ids: Iterable[int] | None) -> Sequence[int]:
    """The ids of a pool, checked: one per block, distinct, none below 0."""
    check_count("num_blocks", num_blocks, 0)
    ids = range(num_blocks) if block_ids is None else block_ids
    if not isinstance(ids, range):  # a range is not unrolled: the pool may be large
        ids = check_token_ids("block_ids", ids)
    if not len(ids) == len(BlockIds(ids)) == num_blocks:
        raise UsageError(f"block_ids must be {num_blocks} distinct ids, not {ids[:8]}…")
    check_int("the smallest of block_ids", next(iter(BlockIds(ids)), 0), 0)
    return ids
