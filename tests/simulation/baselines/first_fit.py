"""An allocator without buddies, to see what the paper's baselines owe to theirs."""

from bisect import bisect_left

from pagesim.checks import check_int
from pagesim.errors import UsageError
from pagesim.simulation.baselines.buddy import Allocator


class FirstFitAllocator(Allocator):
    """Stretches of exactly the size asked for, at the lowest address where they fit."""

    def __init__(self, pool: int) -> None:
        self.largest = check_int("pool", pool, 1)
        self._holes: list[tuple[int, int]] = [(0, pool)]
        self._given: dict[int, int] = {}

    def allocate(self, size: int) -> tuple[int, int] | None:
        """The granted size is ``size``."""
        check_int("size", size, 1)
        for i, (start, hole) in enumerate(self._holes):
            if hole >= size:
                self._holes[i : i + 1] = [(start + size, hole - size)] if hole > size else []
                self._given[start] = size
                return start, size
        return None

    def free(self, start: int) -> None:
        """The hole merges with the holes beside it."""
        if start not in self._given:
            raise UsageError(f"no granted stretch begins at slot {start}")
        end = start + self._given.pop(start)
        i = bisect_left(self._holes, (start, 0))
        first = last = i
        if last < len(self._holes) and self._holes[last][0] == end:
            end += self._holes[last][1]
            last += 1
        if first and sum(self._holes[first - 1]) == start:
            first -= 1
            start = self._holes[first][0]
        self._holes[first:last] = [(start, end - start)]

    def free_stretches(self) -> list[tuple[int, int]]:
        """First slot and size of every hole, in order."""
        return list(self._holes)
