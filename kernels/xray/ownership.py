"""From a slot to the sequences that own it.

A block table says where a sequence's tokens lie. Judging an access needs the reverse: which
sequences own this slot, and which slots may this query see? Both answers come from the arguments
alone, in plain loops, and share nothing with the kernels.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

Arguments = Mapping[str, Any]
"""A kernel's, by name."""
Slot = tuple[int, int]  # block, row in the block


@dataclass(frozen=True, slots=True)
class Query:
    """One row of q: its sequence, and the cached positions that it sees."""

    seq: int
    sees: range


@dataclass(frozen=True, slots=True)
class Ownership:
    """The sequences of an attention call: tables, cached tokens, and one `Query` per row of q."""

    block_size: int
    tables: list[list[int]]
    lengths: list[int]
    queries: list[Query]
    owners: dict[Slot, list[int]] = field(default_factory=dict)

    def slot(self, seq: int, position: int) -> Slot:
        """Where a sequence keeps the token at `position`."""
        page, row = divmod(position, self.block_size)
        return self.tables[seq][page], row

    def visible(self, row: int) -> set[Slot]:
        """The slots that row `row` of q sees."""
        query = self.queries[row]
        return {self.slot(query.seq, position) for position in query.sees}

    def sequences(self, rows: Iterable[int]) -> list[int]:
        """The sequences whose queries these rows of q are."""
        return sorted({self.queries[row].seq for row in rows})


def read_ownership(arguments: Arguments) -> Ownership | None:
    """The sequences of a call, from its arguments by name; None for a call without block tables.

    Lengths are `seq_lens`, or `context_lens` where the new token is not cached yet. With
    `query_start_loc` a sequence's queries are its last tokens; otherwise it has one.
    """
    if "block_tables" not in arguments or "k_cache" not in arguments:
        return None
    fused = "context_lens" in arguments
    lengths = arguments["context_lens" if fused else "seq_lens"].tolist()
    window = int(arguments.get("sliding_window") or 0)
    starts = arguments.get("query_start_loc")
    firsts = list(range(len(lengths) + 1)) if starts is None else starts.tolist()
    queries = []
    for seq, length in enumerate(lengths):
        count = firsts[seq + 1] - firsts[seq]
        for place in range(count):
            position = length if fused else length - count + place
            oldest = max(0, position - window + 1) if window else 0
            queries.append(Query(seq, range(oldest, min(position + 1, length))))
    block_size = arguments["k_cache"].shape[1]
    tables = [
        table[: -(-length // block_size)]
        for table, length in zip(arguments["block_tables"].tolist(), lengths, strict=True)
    ]
    found = Ownership(block_size, tables, lengths, queries)
    for seq, length in enumerate(lengths):
        for position in range(length):
            found.owners.setdefault(found.slot(seq, position), []).append(seq)
    return found
