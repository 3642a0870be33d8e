"""Contiguous stretches of a pool: a buddy allocator, and first fit to compare it with.

A buddy allocator hands out powers of two only, and finds the neighbour to merge with by flipping
one bit of the address. That is fast, and it is how the paper built its Orca baselines ("we assume
Orca uses the buddy allocation algorithm", section 6.1).
"""

from bisect import bisect_left
from typing import Protocol

from pagesim.checks import check_int
from pagesim.errors import UsageError


def power_of_two_from(n: int) -> int:
    """The smallest power of two that is at least ``n``."""
    return 1 << (n - 1).bit_length()


class Allocator(Protocol):
    """Grants contiguous stretches of slots, and takes them back."""

    largest: int
    """The longest stretch that could ever be granted."""

    def allocate(self, size: int) -> tuple[int, int] | None:
        """First slot and granted size (at least ``size``) of a stretch; None if there is none."""

    def free(self, start: int) -> None:
        """Take back the stretch that begins at ``start``."""


class BuddyAllocator(Allocator):
    """Stretches of powers of two, the largest ``root`` slots.

    If the pool is not a multiple of ``root``, it ends in smaller roots: 15,728 slots are seven
    roots of 2,048 and one each of 1,024, 256, 64, 32 and 16. Of the smallest stretches that fit,
    the one at the lowest address is taken, and halved as long as the half fits.
    """

    def __init__(self, pool: int, root: int) -> None:
        check_int("pool", pool, 1)
        if check_int("root", root, 1) != power_of_two_from(root):
            raise UsageError(f"root must be a power of two, not {root}")
        self._root = root
        self._free: dict[int, set[int]] = {1 << n: set() for n in range(root.bit_length())}
        self._given: dict[int, int] = {}
        self._fresh = range(0, pool // root * root, root)
        """The roots of full size that were never divided or granted: not listed in ``_free``."""
        start = self._fresh.stop
        for size in sorted(self._free, reverse=True):
            if pool % root & size:
                self._free[size].add(start)
                start += size
        self.largest = min(root, 1 << pool.bit_length() - 1)

    def allocate(self, size: int) -> tuple[int, int] | None:
        """The granted size is the next power of two."""
        wanted = found = power_of_two_from(check_int("size", size, 1))
        while not self._free.get(found):
            if found < self._root:
                found *= 2
            elif found == self._root and self._fresh:
                self._free[found].add(self._fresh[0])
                self._fresh = self._fresh[1:]
            else:
                return None
        start = min(self._free[found])
        self._free[found].remove(start)
        while found > wanted:
            found //= 2
            self._free[found].add(start + found)
        self._given[start] = wanted
        return start, wanted

    def free(self, start: int) -> None:
        """Free buddies are merged up to their root."""
        if start not in self._given:
            raise UsageError(f"no granted stretch begins at slot {start}")
        size = self._given.pop(start)
        # A root begins at a multiple of its size, so one bit tells two buddies apart.
        while size < self._root and start ^ size in self._free[size]:
            self._free[size].remove(start ^ size)
            start &= ~size
            size *= 2
        self._free[size].add(start)

    def free_stretches(self) -> list[tuple[int, int]]:
        """First slot and size of every free stretch, in order."""
        free = [(start, size) for size, starts in self._free.items() for start in starts]
        return sorted(free + [(start, self._root) for start in self._fresh])


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
