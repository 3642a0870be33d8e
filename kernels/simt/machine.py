"""The parts of a GPU that the kernel relies on: shuffles, shared memory, barriers.

A *register* is an array [num_warps, 32, …]: every lane of every warp has its own. Lanes of a warp
can read each other's registers (a shuffle); other threads communicate through shared memory, where
only a barrier ensures that what one thread wrote is there when another reads it.
"""

from collections.abc import Callable, Iterable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from pagesim.kernels.simt.config import WARP_SIZE
from pagesim.kernels.simt.indices import Ints

Floats: TypeAlias = NDArray[np.float32]
Flags: TypeAlias = NDArray[np.bool_]

LOWEST = float(np.finfo(np.float32).min)  # where a maximum starts
_NONE, _SEVERAL = -1, -2  # in the place of a thread's number


class RaceError(RuntimeError):
    """Two threads accessed a word of shared memory without a barrier between them."""


def shuffle_xor(register: Floats, mask: int) -> Floats:
    """What every lane gets from the lane whose number differs in the bits of `mask`."""
    return register[:, np.arange(WARP_SIZE) ^ mask]


def halving(first: int, last: int = 1) -> list[int]:
    """first, first / 2, … down to `last`; nothing if `first` is below `last`."""
    return [first >> step for step in range(first.bit_length()) if first >> step >= last]


def xor_reduce(register: Floats, masks: Iterable[int], combine: Callable[..., Floats]) -> Floats:
    """Combine every lane with its partner, mask after mask; then all partners hold the same."""
    for mask in masks:
        register = combine(register, shuffle_xor(register, mask))
    return register


class SharedMemory:
    """float32 words that all threads of a thread block see.

    It starts as NaN, and records which thread accessed each word since the last barrier: access by
    another thread raises RaceError. A GPU would silently give a wrong result, sometimes.
    """

    def __init__(self, num_words: int) -> None:
        self.words: Floats = np.full(num_words, np.nan, dtype=np.float32)
        self._writer = np.full(num_words, _NONE, dtype=np.int64)
        self._reader = np.full(num_words, _NONE, dtype=np.int64)

    def store(self, threads: Ints, places: Ints, values: Floats) -> None:
        """Thread threads[n] writes values[n] into word places[n]; shapes broadcast."""
        threads, places = np.broadcast_arrays(threads, places)
        self._refuse_others(self._writer, threads, places, "writes", "wrote")
        self._refuse_others(self._reader, threads, places, "writes", "read")
        self._writer[places] = threads
        # Several threads may write in this instruction: only one of them is recorded.
        self._refuse_others(self._writer, threads, places, "writes", "wrote")
        self.words[places] = values

    def load(self, threads: Ints, places: Ints) -> Floats:
        """What thread threads[n] finds in word places[n]."""
        threads, places = np.broadcast_arrays(threads, places)
        self._refuse_others(self._writer, threads, places, "reads", "wrote")
        before = self._reader[places]
        alone = (before == _NONE) | (before == threads)
        self._reader[places] = np.where(alone, threads, _SEVERAL)
        self._reader[places[self._reader[places] != threads]] = _SEVERAL
        return self.words[places]

    def barrier(self) -> None:
        """All threads have arrived: from here on each sees what the others wrote."""
        self._writer[:] = _NONE
        self._reader[:] = _NONE

    @staticmethod
    def _refuse_others(last: Ints, threads: Ints, places: Ints, does: str, did: str) -> None:
        found = last[places]
        clash = (found != _NONE) & (found != threads)
        if clash.any():
            thread, place, other = (int(a[clash].flat[0]) for a in (threads, places, found))
            name = "more than one other thread" if other == _SEVERAL else f"thread {other}"
            raise RaceError(
                f"thread {thread} {does} word {place} of shared memory, which {name} {did} "
                "since the last barrier"
            )
