"""What a student's function is given in place of a list or an array, to see how it looks at it."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from pagesim.exercises.kit import Array


class SecondLookError(LookupError):
    """What was asked for is gone, or too much at once."""


class OneByOne(Sequence[float]):
    """Elements that come one after the other: none can be read again after a later one."""

    def __init__(self, numbers: Sequence[float]) -> None:
        self._numbers, self._last = numbers, -1

    def __len__(self) -> int:
        return len(self._numbers)

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, slice):
            return [self[i] for i in range(len(self))[place]]
        number, place = self._numbers[place], range(len(self))[place]
        if place < self._last:
            problem = f"score {place} is read after score {self._last}"
            raise SecondLookError(f"{problem}, but the scores can be read only once, in order")
        self._last = place
        return number


class OnePage(np.ndarray[tuple[int, ...], np.dtype[np.float64]]):
    """A cache [num_blocks, block_size, head_dim] that gives the numbers of one block at a time."""

    page = math.inf

    def __array_finalize__(self, other: Any) -> None:
        self.page = getattr(other, "page", math.inf)

    def __getitem__(self, key: Any) -> Any:
        found = np.asarray(super().__getitem__(key))
        if found.size > self.page:
            problem = f"{found.size} elements of the cache are read at once, but a block has"
            raise SecondLookError(f"{problem} {self.page}: take one block after the other")
        return found


def one_page(cache: Array) -> OnePage:
    """The cache as a student is given it."""
    given = cache.view(OnePage)
    given.page = cache[0].size
    return given
