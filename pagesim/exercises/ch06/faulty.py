"""Evictors with one fault each, for exercise 6.6."""

from __future__ import annotations

from pagesim.v0.evictor import LRUEvictor

CAUSES = {
    "heads": "Of equally old blocks, the one with the shortest prefix is evicted.",
    "newest": "The block that was used last is evicted.",
    "lowest": "The block with the lowest id is evicted, no matter when it was used.",
    "partial": "Blocks that are not full are found as well.",
    "kept": "An evicted block is still found by its old content.",
}


class Heads(LRUEvictor):
    def candidate(self) -> int:
        oldest = super().candidate()
        time = self.free_table[oldest].last_accessed
        equal = {b: e for b, e in self.free_table.items() if e.last_accessed == time}
        return min(equal, key=lambda block: equal[block].num_hashed_tokens)


class Newest(LRUEvictor):
    def candidate(self) -> int:
        super().candidate()  # UsageError if there is none
        return max(self.free_table, key=lambda block: self.free_table[block].last_accessed)


class Lowest(LRUEvictor):
    def candidate(self) -> int:
        super().candidate()
        return min(self.free_table)


Behind = dict[str, tuple[type[LRUEvictor], str]]
FAULTY: Behind = {"A": (Heads, "heads"), "B": (Newest, "newest"), "C": (Lowest, "lowest")}
"""The class behind each letter, and its cause."""
