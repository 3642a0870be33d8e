"""What belongs in every slot, and two pools that hold it.

The key at a position is a hash of all tokens up to there, and so is the value, each layer's own.
"""

import random
from abc import abstractmethod
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from pagesim.cache import CacheEngine, KVPool, slots_of
from pagesim.journal.effects import Name

Pairs = list[tuple[int, int]]
LAYERS = 2
WORD = 2**64 - 1


def mixed(number: int) -> int:
    """64 bits in which every bit depends on every bit of ``number`` (the finaliser of SplitMix)."""
    number = (number ^ number >> 30) * 0xBF58476D1CE4E5B9 & WORD
    number = (number ^ number >> 27) * 0x94D049BB133111EB & WORD
    return number ^ number >> 31


SALTS = np.array([mixed(i + 1) for i in range(2 * LAYERS)], dtype=np.uint64)[:, None]


@dataclass(slots=True)
class Orders:
    """The orders of one step, as far as a cache engine looks."""

    blocks_to_swap_in: Pairs = field(default_factory=list)
    blocks_to_swap_out: Pairs = field(default_factory=list)
    blocks_to_copy: Pairs = field(default_factory=list)


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


class Proof:
    """A scene that is stepped: what both engines' proofs share, the words and the comparison."""

    def __init__(self, scene: Any, seed: int, memory: Bytes, block_size: int) -> None:
        self.scene, self.random = scene, random.Random(seed)
        self.counts: Counter[str] = Counter()
        """What happened; ``reads`` are keys and values compared."""
        self.wrong: list[str] = []
        """Where a key or a value differs."""
        self.bytes, self.contents, self._block_size = memory, Contents(), block_size
        self.openings = [self._words(block_size * n) for n in (1, 3, 5)]
        self._idle = 0

    @abstractmethod
    def step(self) -> None:
        """One step of the engine, and what the world does before the next."""

    def steps(self, count: int) -> Self:
        """Step on."""
        for _ in range(count):
            self.step()
        return self

    def _words(self, count: int) -> list[int]:
        return [self.random.randrange(self.scene.vocabulary) for _ in range(count)]

    def _compare(
        self, name: Any, table: list[int], context: int, contents: NDArray[np.int64]
    ) -> None:
        """Read every position that attention would read; a slot below 0 is wrong."""
        window = self.scene.window
        oldest = 0 if window is None else max(0, context - window + 1)
        slots = slots_of(table, range(oldest, contents.shape[1]), self._block_size)
        differs = (self.bytes.read(slots) != contents[:, oldest:]).any(axis=0) | (slots < 0)
        self._note(name, table, contents.shape[1], oldest, differs)

    def _note(
        self, name: Any, table: list[int], length: int, oldest: int, differs: NDArray[np.bool_]
    ) -> None:
        """Positions from ``oldest`` on were read, and these differ."""
        self.counts["reads"] += differs.size * 2 * LAYERS
        if differs.any():
            places = [oldest + int(i) for i in np.flatnonzero(differs)]
            self.wrong.append(
                f"step {self.counts['steps']}: {name}, {length} tokens in blocks "
                f"{table}, reads wrong bytes at positions {places}"
            )


def print_counts(scenes: dict[str, Any], run: Any, steps: int) -> int:
    """A line a scene; 1 if a byte was wrong."""
    total = 0
    for name, scene in scenes.items():
        proof = run(scene).steps(steps)
        total += len(proof.wrong)
        counted = [f"{count} {what}" for what, count in proof.counts.items()]
        print(f"{name}\n    {', '.join(counted)}, {len(proof.wrong)} wrong", *proof.wrong[:2])
    return 1 if total else 0
