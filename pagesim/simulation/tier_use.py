"""What a second tier was used for: every copy, and what steps waited for."""

from __future__ import annotations

from typing import NamedTuple

from pagesim.files.jsonl import JsonObject


class Copy(NamedTuple):
    """A copy of blocks that has ended. Times are in seconds of the simulation."""

    row: int
    """The request that stored or loads them."""
    out: bool
    """To the CPU, or back."""
    num_blocks: int
    step: int
    """The step that began it, counted from 1; steps that compute nothing count as well."""
    begins: float
    ends: float


class TierUse:
    """The copies of a run, in the order in which they ended, and the waiting for them.

    ``flushed`` copies had to end before a step began, because it needs their blocks;
    ``waited_seconds`` is how much later these steps began. In ``empty_steps`` nothing was computed,
    for ``empty_seconds``: the scheduler was asked, and all that was left to do were copies.
    """

    def __init__(self, num_blocks: int, block_bytes: float | None) -> None:
        self.num_blocks = num_blocks
        """The size of the tier."""
        self.block_bytes = block_bytes
        """The bytes of a block; None if copies take steps instead of seconds."""
        self.copies: list[Copy] = []
        self.flushed = 0
        self.waited_seconds = 0.0
        self.empty_steps = 0
        self.empty_seconds = 0.0
        self.num_kept = 0
        """Blocks that are in the tier at the end."""
        self.loads: dict[int, tuple[int, float]] = {}
        """By row: tokens that were loaded, and seconds that the request waited for them."""

    def blocks(self, *, out: bool) -> int:
        """Blocks that were copied to the CPU, or back."""
        return sum(copy.num_blocks for copy in self.copies if copy.out is out)

    def summary(self) -> JsonObject:
        """Return the counts as numbers that JSON can hold.

        ``pinned`` blocks cannot be told here: see `pagesim.v1.CPUOffloadingManager.get_stats`.
        """
        ways = {"out": self.blocks(out=True), "in": self.blocks(out=False)}
        size = self.block_bytes
        return {
            "cpu_blocks": self.num_blocks,
            **{f"blocks_{way}": number for way, number in ways.items()},
            **{f"bytes_{way}": number * size if size else None for way, number in ways.items()},
            "evicted_blocks": ways["out"] - self.num_kept,
            "flushed_copies": self.flushed,
            "waited_s": self.waited_seconds,
            "empty_steps": self.empty_steps,
            "empty_s": self.empty_seconds,
        }
