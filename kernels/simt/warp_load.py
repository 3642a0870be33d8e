"""What one instruction of one warp asks of memory, and what memory has to move for it.

A GPU serves the 32 lanes of a warp together. It fetches whole sectors of 32 bytes, four of which
make a line of 128 bytes: lanes that read neighbouring bytes share them (NVIDIA calls it
coalescing). Each instruction is counted on its own, without a cache.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from pagesim.kernels.simt.indices import Ints

SECTOR_BYTES = 32
LINE_BYTES = 128

Tensor = Literal["q", "k", "v"]


@dataclass(frozen=True, slots=True)
class WarpLoad:
    """One load instruction of one warp.

    step: (block of the sequence, i, j) for K, (block, i) for V, (i,) for q, as in the kernel's
    loops. addresses: [32], the byte of the tensor where each lane starts, -1 for a lane that does
    not take part. width: bytes that every lane reads from there.
    """

    tensor: Tensor
    warp: int
    step: tuple[int, ...]
    addresses: Ints
    width: int

    def bytes_read(self) -> Ints:
        """The bytes that any lane reads, each once, ascending."""
        starts = self.addresses[self.addresses >= 0]
        return np.unique(starts[:, None] + np.arange(self.width))

    def sectors(self) -> dict[int, int]:
        """Sector number → how many of its 32 bytes are read."""
        numbers, counts = np.unique(self.bytes_read() // SECTOR_BYTES, return_counts=True)
        return dict(zip(numbers.tolist(), counts.tolist(), strict=True))

    def lines(self) -> list[int]:
        """Numbers of the 128-byte lines touched, ascending."""
        return sorted({sector * SECTOR_BYTES // LINE_BYTES for sector in self.sectors()})

    def efficiency(self) -> float:
        """Bytes read ÷ bytes of the sectors touched, above 0 and up to 1; 1.0 if nothing is."""
        sectors = self.sectors()
        return sum(sectors.values()) / (SECTOR_BYTES * len(sectors)) if sectors else 1.0
