"""What a KV cache group has in a buffer that it shares with the other groups.

A block is as many words in each array as any group's block has tokens. So a token of a group with
smaller blocks takes several words, and a state takes all words of its block.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pagesim.cache import slots_of
from pagesim.sizing.kv_cache_spec import KVCacheSpec, MambaSpec, SlidingWindowSpec
from tests.cache.contents import Bytes, mixed

Contents = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class GroupBytes:
    """A group's part of the buffer; every group writes something else about the same tokens."""

    group_id: int
    spec: KVCacheSpec
    memory: Bytes
    places: int
    """The words of a block in each array."""

    @property
    def is_state(self) -> bool:
        """Whether a block is a state, and not slots."""
        return isinstance(self.spec, MambaSpec)

    def slots(self, table: list[int], begin: int, end: int) -> NDArray[np.int64]:
        """What tokens are written to, or the state after them: slots, or one block."""
        if self.is_state:
            return np.array([table[(end - 1) // self.spec.block_size]], dtype=np.int64)
        return slots_of(table, range(begin, end), self.spec.block_size)

    def blocks(self, slots: NDArray[np.int64]) -> set[int]:
        """The blocks of slots, or of a state."""
        return set((slots if self.is_state else slots // self.spec.block_size).tolist())

    def oldest(self, context_len: int) -> int:
        """The first token that the token behind the context attends to."""
        window = self.spec.sliding_window if isinstance(self.spec, SlidingWindowSpec) else None
        return 0 if window is None else max(0, context_len - window + 1)

    def write(self, slots: NDArray[np.int64], contents: Contents) -> None:
        """Store contents [2 · layers, T] at T slots."""
        words, width = self._words(slots)
        self.memory.write(words, np.repeat(contents ^ self._salt, width, axis=1))

    def differs(self, slots: NDArray[np.int64], contents: Contents) -> NDArray[np.bool_]:
        """Which of T slots do not hold their contents [2 · layers, T]; one below 0 does not."""
        words, width = self._words(slots)
        held = self.memory.read(words) != np.repeat(contents ^ self._salt, width, axis=1)
        return held.any(axis=0).reshape(-1, width).any(axis=1) | (slots < 0)

    def _words(self, slots: NDArray[np.int64]) -> tuple[NDArray[np.int64], int]:
        width = self.places if self.is_state else self.places // self.spec.block_size
        return (slots[:, None] * width + np.arange(width)).reshape(-1), width

    @property
    def _salt(self) -> np.int64:
        return np.uint64(mixed(self.group_id)).astype(np.int64)  # 0 in the first group

    def checkpoint(
        self, table: list[int], begin: int, end: int, hash_size: int, hit_size: int
    ) -> tuple[int, NDArray[np.int64]] | None:
        """The state that a kernel keeps inside a chunk: after how many tokens, and in which block.

        A kernel keeps one wherever there is a block for it.
        """
        if not isinstance(self.spec, MambaSpec):
            return None
        position = (end - 1) // hit_size * hit_size
        if (
            not self._is_kept(hash_size, begin, end, position)
            or (block := table[-(-end // self.spec.block_size) - 2]) < 0
        ):
            return None
        return position, np.array([block], dtype=np.int64)

    def _is_kept(self, hash_size: int, begin: int, end: int, position: int) -> bool:
        """Whether a chunk can keep the state after ``position`` tokens, which lie inside it."""
        spec = self.spec
        assert isinstance(spec, MambaSpec)
        every = spec.prefill_checkpoint_alignment
        if not spec.num_prefill_checkpoint_blocks or every is None:
            return False
        is_inside = begin < position < end and begin + hash_size <= position
        has_entry = -(-end // spec.block_size) - 2 > (begin - 1) // spec.block_size
        return is_inside and has_entry and begin % hash_size == (position - begin) % every == 0
