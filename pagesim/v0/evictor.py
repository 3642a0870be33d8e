"""Which cached block gives way when no free block is left.

Source: vLLM 0.6.4.post1, ``vllm/core/evictor.py``.
"""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heapify, heappop, heappush

from pagesim.errors import UsageError


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
        self._oldest: list[tuple[int, int, int]] = []
        """A heap of (-tokens, arrival, block) that has all entries before the first newer one."""
        self._time: float | None = None
        """Their common time; None when the heap must be made anew."""
        self._newer: int | None = None
        """The first entry that is newer: the scan ends there. None while there is none."""

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
        if block_id in self.free_table:  # it keeps its place
            arrival, self._time = self.free_table[block_id].arrival, None
        else:
            self._arrivals = arrival = self._arrivals + 1
        self.free_table[block_id] = BlockMetaData(
            content_hash, num_hashed_tokens, last_accessed, arrival
        )
        if self._time is None or self._newer is not None:
            return
        if last_accessed > self._time:
            self._newer = block_id
        elif last_accessed == self._time:
            heappush(self._oldest, (-num_hashed_tokens, arrival, block_id))
        else:
            self._time = None

    def put_back(self, block_id: int, entry: BlockMetaData) -> None:
        """Return an entry that was evicted or removed to the place where it stood."""
        self.free_table[block_id] = entry
        by_arrival = sorted(self.free_table.items(), key=lambda item: item[1].arrival)
        self.free_table = dict(by_arrival)
        self._time = None

    def update(self, block_id: int, last_accessed: float) -> None:
        """Write a block's time of last use; its place in the queue stays."""
        self._entry(block_id).last_accessed = last_accessed
        self._time = None

    def remove(self, block_id: int) -> BlockMetaData:
        """Take a block out because its content is used again. UsageError if it is not here."""
        entry = self._entry(block_id)
        del self.free_table[block_id]
        if block_id == self._newer:
            self._time = None
        return entry

    def candidate(self) -> int:
        """The block that :meth:`evict` would take: of those as old as the first, the longest."""
        if not self.free_table:
            raise UsageError("there is no block to evict")
        if self._time is not None or self._gather():
            oldest = self._oldest
            while oldest:
                _, arrival, block_id = oldest[0]
                entry = self.free_table.get(block_id)
                if entry is not None and entry.arrival == arrival:
                    return block_id
                heappop(oldest)  # it is used again meanwhile
            self._time = None
            return self.candidate()
        return self._scan()

    def evict(self) -> tuple[int, int]:
        """Take out the :meth:`candidate`; returns its id and its content's hash."""
        block_id = self.candidate()
        return block_id, self.remove(block_id).content_hash

    def _gather(self) -> bool:
        """Collect the entries as old as the first, up to a newer one, so that each is seen once.

        False if an older one is among them, which is rare: it came late.
        """
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

    def _scan(self) -> int:
        """The rule itself, entry by entry."""
        entries = iter(self.free_table.items())
        chosen, best = next(entries)
        for block_id, entry in entries:
            if entry.last_accessed > best.last_accessed:
                break
            if entry.num_hashed_tokens > best.num_hashed_tokens:
                chosen, best = block_id, entry
        return chosen

    def _entry(self, block_id: int) -> BlockMetaData:
        try:
            return self.free_table[block_id]
        except KeyError:
            raise UsageError(f"block {block_id!r} does not wait for eviction") from None
