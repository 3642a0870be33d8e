"""Least recently used; within a request the tail goes first, because a prefix needs its head.

Source: vLLM 0.33.0, ``vllm/v1/kv_offload/cpu/policies/lru.py``.
"""

from heapq import heapify, heappop, heappush
from weakref import WeakKeyDictionary

from pagesim.v1.offload.base import (
    CachePolicy,
    ChunkStatus,
    KeyList,
    KeySet,
    OffloadKey,
    Pair,
    ReqContext,
)

Rank = tuple[int, int, int]


class LRUCachePolicy(CachePolicy):
    """The lowest rank goes first: a time, in a request minus the place, and a unique number."""

    def clear(self) -> None:
        super().clear()
        self.ranks: dict[OffloadKey, Rank] = {}
        self.heap: list[tuple[Rank, OffloadKey]] = []  # and ranks that chunks had before
        self.time = 0
        self.times: WeakKeyDictionary[ReqContext, int] = WeakKeyDictionary()

    def _now(self) -> int:
        self.time += 1
        return self.time

    def _raise(self, key: OffloadKey, time: int, place: int = 0) -> None:
        """Give a chunk this rank, unless it has a higher one."""
        rank = (time, place, self._now())
        if key not in self.ranks or rank > self.ranks[key]:
            self.ranks[key] = rank
            heappush(self.heap, (rank, key))
            if len(self.heap) > 3 * len(self.ranks) + 9:
                self.heap = [(rank, key) for key, rank in self.ranks.items()]
                heapify(self.heap)

    def insert(self, key: OffloadKey, chunk: ChunkStatus, req_context: ReqContext) -> None:
        """Add a chunk."""
        self._add(key, chunk)
        self._place([key], req_context)
        if key not in self.ranks:  # nobody knows its place in the request
            self._raise(key, self._now())

    def on_request_access(self, keys: KeyList, req_context: ReqContext) -> None:
        self._place(keys, req_context)

    def _place(self, keys: KeyList, req_context: ReqContext) -> None:
        """All chunks of a request have the time when it first needed one."""
        time, ends = self.times.setdefault(req_context, self._now()), req_context.positions
        for key in keys:
            if key in self.chunks and key in ends:
                self._raise(key, time, -ends[key])

    def touch(self, keys: KeyList, req_context: ReqContext) -> None:
        """A request uses these keys now, the head last."""
        for key in reversed(keys):
            if key in self.chunks:
                self._raise(key, self._now())

    def on_request_finished(
        self, keys: KeyList, inserted: KeySet, reused: KeySet, req_context: ReqContext
    ) -> None:
        """A request has ended that needed ``keys``."""
        self.touch(keys, req_context)

    def remove(self, key: OffloadKey) -> None:
        """Take a chunk out."""
        self._drop(key)
        del self.ranks[key]

    def evict(self, n: int, protected: KeySet) -> list[Pair] | None:
        """Take out ``n`` idle chunks; None, and no change, if there are fewer."""
        if not self.has_idle(n, protected):
            return None
        popped, victims = [], list[Pair]()
        while self.heap and len(victims) < n:
            rank, key = entry = heappop(self.heap)
            if self.ranks.get(key) == rank:  # not one that it had before
                popped.append(entry)
                victims += self.idle([key], protected)
        for entry in popped:
            heappush(self.heap, entry)
        for key, _ in victims:
            self.remove(key)
        return victims

    def state(self) -> dict[str, list[OffloadKey]]:
        """Return the keys in the order in which they go."""
        return {"order": sorted(self.chunks, key=self.ranks.__getitem__)}
