"""Evictors with one fault each, for exercise 6.6, whose page says what the causes mean."""

from pagesim.v0.evictor import LRUEvictor


class Heads(LRUEvictor):
    def candidate(self) -> int:
        time = self.free_table[super().candidate()].last_accessed
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


CAUSES = ["heads", "newest", "lowest", "partial", "kept"]
Behind = dict[str, tuple[type[LRUEvictor], str]]
FAULTY: Behind = {"A": (Heads, "heads"), "B": (Newest, "newest"), "C": (Lowest, "lowest")}
"""The class behind each letter, and its cause."""
