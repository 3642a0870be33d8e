"""What a student's function is given in place of a cache: it gives one block at a time."""

import math
from typing import Any

import numpy as np

from pagesim.exercises.ch03.looks import SecondLookError
from pagesim.exercises.kit import Array


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
