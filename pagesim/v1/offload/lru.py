"""Least recently used; within a request the tail goes first, because a prefix needs its head.

Source: vLLM 0.33.0, ``vllm/v1/kv_offload/cpu/policies/lru.py``.
"""

from heapq import nsmallest
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


class LRUCachePolicy(CachePolicy):
    """A chunk's rank is a time and, in a request, minus its place; the lowest rank goes first."""

    def clear(self) -> None:
        super().clear()
        self.ranks: dict[OffloadKey, tuple[int, int]] = {}
        self.time = 0
        self.times: WeakKeyDictionary[ReqContext, int] = WeakKeyDictionary()

    def _now(self) -> int:
        self.time += 1
        return self.time

    def insert(self, key: OffloadKey, chunk: ChunkStatus, req_context: ReqContext) -> None:
        """Add a chunk; its time is when the request first needed any, if its place is known."""
        time, end = self.times.setdefault(req_context, self._now()), req_context.positions.get(key)
        self.ranks[key] = (self._now(), 0) if end is None else (time, -end)
        self.chunks[key] = chunk

    def on_request_access(self, keys: KeyList, req_context: ReqContext) -> None:
        time, ends = self.times.setdefault(req_context, self._now()), req_context.positions
        for key in keys:
            if key in self.chunks and key in ends:  # a later time is never taken back
                self.ranks[key] = max(self.ranks[key], (time, -ends[key]))

    def touch(self, keys: KeyList) -> None:
        """These keys are used now, the head last."""
        for key in reversed(keys):
            if key in self.chunks:
                self.ranks[key] = self._now(), 0

    def on_request_finished(
        self, keys: KeyList, inserted: KeySet, reused: KeySet, req_context: ReqContext
    ) -> None:
        """A request has ended that needed ``keys``."""
        self.touch(keys)

    def remove(self, key: OffloadKey) -> None:
        """Take a chunk out."""
        del self.chunks[key], self.ranks[key]

    def evict(self, n: int, protected: KeySet) -> list[Pair] | None:
        """Take out ``n`` idle chunks; None, and no change, if there are fewer."""
        idle = self.idle(self.chunks, protected)
        victims = nsmallest(n, idle, lambda pair: self.ranks[pair[0]])
        if len(victims) < n:
            return None
        for key, _ in victims:
            self.remove(key)
        return victims

    def state(self) -> dict[str, list[OffloadKey]]:
        """Return the keys in the order in which they go."""
        return {"order": sorted(self.chunks, key=self.ranks.__getitem__)}
