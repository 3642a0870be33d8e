"""The free ids of a pool, in memory that grows with use, not with the pool."""

from collections.abc import Iterator, Sequence


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
