"""Which cached block gives way when no free block is left.

Source: vLLM 0.6.4.post1, ``vllm/core/evictor.py``.
"""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heapify, heappop, heappush

from pagesim.errors import UsageError


@dataclass(slots=True)
class BlockMetaData:
    """What the evictor knows about a block: content, length of the prefix, time of last use."""

    content_hash: int
    num_hashed_tokens: int
    last_accessed: float
    arrival: int


class LRUEvictor:
    """Blocks without owners whose content is still cached, in order of arrival.

    As in vLLM, this is least recently used only if entries arrive in the order in which they were
    last used: see :meth:`candidate`.
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

    def candidate(self) -> int:
        """The block that :meth:`evict` takes: of those as old as the first, the longest prefix.

        Entries are examined in order of arrival, up to the first that is newer than the best so
        far. UsageError if there are no entries.
        """
        entries = iter(self.free_table.items())
        chosen, best = next(entries, (None, None))
        if chosen is None or best is None:
            raise UsageError("there is no block to evict")
        for block_id, entry in entries:
            if entry.last_accessed > best.last_accessed:
                break
            if entry.num_hashed_tokens > best.num_hashed_tokens:
                chosen, best = block_id, entry
        return chosen

    def evict(self) -> tuple[int, int]:
        """Remove the :meth:`candidate`; returns its id and its content's hash."""
        block_id = self.candidate()
        return block_id, self.remove(block_id).content_hash

    def add(
        self, block_id: int, content_hash: int, num_hashed_tokens: int, last_accessed: float
    ) -> None:
        """Put a block at the end of the queue; one that is already there keeps its place."""
        self._arrivals += 1
        known = self.free_table.get(block_id)
        arrival = self._arrivals if known is None else known.arrival
        entry = BlockMetaData(content_hash, num_hashed_tokens, last_accessed, arrival)
        self.free_table[block_id] = entry

    def update(self, block_id: int, last_accessed: float) -> None:
        """Set a block's time of last use; its place in the queue does not change."""
        self._entry(block_id).last_accessed = last_accessed

    def remove(self, block_id: int) -> BlockMetaData:
        """Remove a block because its content is used again. UsageError if it is not here."""
        entry = self._entry(block_id)
        del self.free_table[block_id]
        return entry

    def put_back(self, block_id: int, entry: BlockMetaData) -> None:
        """Restore an entry that was evicted or removed to its former place."""
        entries = self.free_table | {block_id: entry}
        self.free_table = dict(sorted(entries.items(), key=lambda item: item[1].arrival))

    def _entry(self, block_id: int) -> BlockMetaData:
        entry = self.free_table.get(block_id)
        if entry is None:
            raise UsageError(f"block {block_id!r} is not waiting for eviction")
        return entry


class IndexedLRUEvictor(LRUEvictor):
    """The same choice among N entries in O(log N) steps instead of a scan.

    A heap holds all entries as old as the first, up to the first that is newer. It is built when
    it is needed, and discarded after a change that it cannot follow.
    """

    def __init__(self) -> None:
        super().__init__()
        self._oldest: list[tuple[int, int, int]] = []
        """The heap: (-tokens, arrival, block)."""
        self._time: float | None = None
        """Their common time; None when there is no valid heap."""
        self._newer: int | None = None
        """The first entry that is newer, where the heap ends; None while there is none."""

    def candidate(self) -> int:
        while self.free_table and (self._time is not None or self._gather()):
            while self._oldest:
                _, arrival, block_id = self._oldest[0]
                entry = self.free_table.get(block_id)
                if entry is not None and entry.arrival == arrival:
                    return block_id
                heappop(self._oldest)  # in use again
            self._time = None
        return super().candidate()

    def add(
        self, block_id: int, content_hash: int, num_hashed_tokens: int, last_accessed: float
    ) -> None:
        if block_id in self.free_table:
            self._time = None
        super().add(block_id, content_hash, num_hashed_tokens, last_accessed)
        if self._time is None or self._newer is not None:
            return
        if last_accessed > self._time:
            self._newer = block_id
        elif last_accessed == self._time:
            heappush(self._oldest, (-num_hashed_tokens, self._arrivals, block_id))
        else:
            self._time = None

    def update(self, block_id: int, last_accessed: float) -> None:
        super().update(block_id, last_accessed)
        self._time = None

    def remove(self, block_id: int) -> BlockMetaData:
        if block_id == self._newer:
            self._time = None
        return super().remove(block_id)

    def put_back(self, block_id: int, entry: BlockMetaData) -> None:
        super().put_back(block_id, entry)
        self._time = None

    def _gather(self) -> bool:
        """Collect the entries as old as the first; False if an older one came late."""
        self._oldest, self._newer = [], None
        time = next(iter(self.free_table.values())).last_accessed
        for block_id, entry in self.free_table.items():
            if entry.last_accessed < time:
                return False
            if entry.last_accessed > time:
                self._newer = block_id
                break
            self._oldest.append((-entry.num_hashed_tokens, entry.arrival, block_id))
        heapify(self._oldest)
        self._time = time
        return True
