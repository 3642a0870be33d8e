"""What the block manager remembers about each sequence for prefix caching.

Source: the two trackers in vLLM 0.6.4.post1's ``vllm/core/block/prefix_caching_block.py``.
"""

from __future__ import annotations

from collections.abc import Sequence

from pagesim.journal import Kept
from pagesim.v0.block.cpu_gpu_block_allocator import CpuGpuBlockAllocator
from pagesim.v0.block.interfaces import Device


class ComputedBlocksTracker:
    """Which leading blocks of each sequence are computed; looked up again only as it grows.

    A sequence's answer freezes at its first gap, and a swap does not refresh it.
    """

    def __init__(self, allocator: CpuGpuBlockAllocator) -> None:
        self._allocator = allocator
        self._known: Kept[int, tuple[list[int], bool]] = Kept(allocator.journal)

    def add_seq(self, seq_id: int) -> None:
        """Begin with nothing known."""
        self._known[seq_id] = ([], False)

    def remove_seq(self, seq_id: int) -> None:
        """Forget a sequence."""
        del self._known[seq_id]

    def get_cached_computed_blocks_and_update(
        self, seq_id: int, block_ids: Sequence[int]
    ) -> list[int]:
        """The computed blocks of a sequence whose table is ``block_ids``, without the last one."""
        computed, has_gap = self._known[seq_id]
        to_know = len(block_ids) - 1
        if not has_gap and len(computed) < to_know:
            computed = self._allocator.get_computed_block_ids(list(computed), block_ids, True)
            self._known[seq_id] = (computed, len(computed) < to_know)
        return computed


class LastAccessBlocksTracker:
    """When each sequence was last scheduled; passed on to its blocks when it is freed."""

    def __init__(self, allocator: CpuGpuBlockAllocator) -> None:
        self._allocator = allocator
        self._last_access: Kept[int, float | None] = Kept(allocator.journal)

    def add_seq(self, seq_id: int) -> None:
        """Begin without an access."""
        self._last_access[seq_id] = None

    def remove_seq(self, seq_id: int) -> None:
        """Forget a sequence."""
        del self._last_access[seq_id]

    def update_last_access(self, seq_id: int, when: float) -> None:
        """The sequence was scheduled at ``when``."""
        self._last_access[seq_id] = when

    def update_seq_blocks_last_access(self, seq_id: int, block_ids: Sequence[int]) -> None:
        """Pass the sequence's last access, if any, on to its blocks on either device."""
        when = self._last_access[seq_id]
        if when is None:
            return
        for device in Device:
            allocator = self._allocator.allocator_on(device)
            here = [i for i in block_ids if self._allocator.device_of(i) is device]
            allocator.mark_blocks_as_accessed(here, when)
