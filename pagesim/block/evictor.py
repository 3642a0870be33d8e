"""Which cached block gives way when no free block is left.

Source: vLLM 0.6.4.post1, ``vllm/core/evictor.py``.
"""

from __future__ import annotations

from dataclasses import dataclass

from pagesim.block.interfaces import UsageError


@dataclass(slots=True)
class BlockMetaData:
    """What the evictor knows of a block: its content, how long its prefix is, when it was used."""

    content_hash: int
    num_hashed_tokens: int
    last_accessed: float
    arrival: int


class LRUEvictor:
    """Blocks that nobody uses but whose content is still cached, in the order they came.

    As in vLLM it is least-recently-used only if the entries came in order of their time: the scan
    stops at the first entry newer than the best so far, and until then prefers longer prefixes.
    """

    def __init__(self) -> None:
        self.free_table: dict[int, BlockMetaData] = {}
        self._arrivals = 0

    def __contains__(self, block_id: int) -> bool:
        return block_id in self.free_table

    @property
    def num_blocks(self) -> int:
        """How many blocks could be evicted."""
        return len(self.free_table)

    def add(
        self, block_id: int, content_hash: int, num_hashed_tokens: int, last_accessed: float
    ) -> None:
        """Put a block at the end of the queue."""
        self._arrivals += 1
        self.free_table[block_id] = BlockMetaData(
            content_hash, num_hashed_tokens, last_accessed, self._arrivals
        )

    def put_back(self, block_id: int, entry: BlockMetaData) -> None:
        """Return an entry that was evicted or removed to the place where it stood."""
        self.free_table[block_id] = entry
        by_arrival = sorted(self.free_table.items(), key=lambda item: item[1].arrival)
        self.free_table = dict(by_arrival)

    def update(self, block_id: int, last_accessed: float) -> None:
        """Write a block's time of last use; its place in the queue stays."""
        self._entry(block_id).last_accessed = last_accessed

    def remove(self, block_id: int) -> BlockMetaData:
        """Take a block out because its content is used again. UsageError if it is not here."""
        entry = self._entry(block_id)
        del self.free_table[block_id]
        return entry

    def candidate(self) -> int:
        """The block that :meth:`evict` would take: of those as old as the first, the longest."""
        if not self.free_table:
            raise UsageError("there is no block to evict")
        entries = iter(self.free_table.items())
        chosen, best = next(entries)
        for block_id, entry in entries:
            if entry.last_accessed > best.last_accessed:
                break
            if entry.num_hashed_tokens > best.num_hashed_tokens:
                chosen, best = block_id, entry
        return chosen

    def evict(self) -> tuple[int, int]:
        """Take out the :meth:`candidate`; returns its id and its content's hash."""
        block_id = self.candidate()
        return block_id, self.free_table.pop(block_id).content_hash

    def _entry(self, block_id: int) -> BlockMetaData:
        try:
            return self.free_table[block_id]
        except KeyError:
            raise UsageError(f"block {block_id!r} does not wait for eviction") from None
