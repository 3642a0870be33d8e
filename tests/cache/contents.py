"""What belongs in every slot, and two pools that hold it.

The key at a position is a hash of all tokens up to there, and so is the value, each layer's own.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pagesim.cache import CacheEngine, KVPool
from pagesim.journal.effects import Name

LAYERS = 2
WORD = 2**64 - 1


def mixed(number: int) -> int:
    """64 bits in which every bit depends on every bit of ``number`` (the finaliser of SplitMix)."""
    number = (number ^ number >> 30) * 0xBF58476D1CE4E5B9 & WORD
    number = (number ^ number >> 27) * 0x94D049BB133111EB & WORD
    return number ^ number >> 31


SALTS = np.array([mixed(i + 1) for i in range(2 * LAYERS)], dtype=np.uint64)[:, None]


class Contents:
    """What belongs at each position of a sequence: int64 [2 · layers, positions]."""

    def __init__(self) -> None:
        self._chains: dict[Name, list[int]] = {}

    def of(self, seq_id: Name, tokens: list[int]) -> NDArray[np.int64]:
        """A sequence's tokens must only ever grow."""
        chain = self._chains.setdefault(seq_id, [])
        for token in tokens[len(chain) :]:
            chain.append(mixed((chain[-1] if chain else 0) + token + 1))
        return (np.array(chain[: len(tokens)], dtype=np.uint64) ^ SALTS).view(np.int64)


def noise(num_blocks: int, block_size: int, seed: int) -> NDArray[np.float32]:
    """Caches [2 · layers, num_blocks, block_size, 1, 2]: a slot is 64 bits, at first any."""
    shape = (2 * LAYERS, num_blocks, block_size, 1, 1)
    bits = np.random.default_rng(seed).integers(WORD, size=shape, dtype=np.uint64)
    return bits.view(np.float32)


class Bytes:
    """The engine with its two pools, NumPy's; a slot is one 64-bit word in each array."""

    def __init__(self, block_size: int, num_gpu_blocks: int, num_cpu_blocks: int = 0) -> None:
        gpu, cpu = noise(num_gpu_blocks, block_size, 0), noise(num_cpu_blocks, block_size, 1)
        self.engine = CacheEngine(KVPool(gpu[0::2], gpu[1::2]), KVPool(cpu[0::2], cpu[1::2]))
        self._words = gpu.view(np.int64).reshape(2 * LAYERS, -1)

    def write(self, slots: NDArray[np.int64], contents: NDArray[np.int64]) -> None:
        """Store contents [2 · layers, T] at T slots of the GPU pool."""
        self._words[:, slots] = contents

    def read(self, slots: NDArray[np.int64]) -> NDArray[np.int64]:
        """What the GPU pool holds at T slots, [2 · layers, T]."""
        return self._words[:, slots]
