"""Least recently used; within a request the tail goes first, because a prefix needs its head.

Source: vLLM 0.33.0, ``vllm/v1/kv_offload/cpu/policies/lru.py``.
"""

from __future__ import annotations

from heapq import nsmallest
from weakref import WeakKeyDictionary

from pagesim.v1.offload.base import (
    CachePolicy,
    ChunkStatus,
    Keys,
    KeySet,
    OffloadKey,
    ReqContext,
    Victim,
)


class LRUCachePolicy(CachePolicy):
    """Each chunk has a rank, a time and a place in its request; the lowest rank goes first."""

    def clear(self) -> None:
        super().clear()
        self.ranks: dict[OffloadKey, tuple[int, int]] = {}
        self.time = 0
        self.times: WeakKeyDictionary[ReqContext, int] = WeakKeyDictionary()

    def _now(self) -> int:
        self.time += 1
        return self.time

    def _time_of(self, request: ReqContext) -> int:
        """When it first needed a chunk: the time of all its chunks, until it ends."""
        if request not in self.times:
            self.times[request] = self._now()
        return self.times[request]

    def insert(self, key: OffloadKey, chunk: ChunkStatus, req_context: ReqContext) -> None:
        """Add a chunk."""
        time, end = self._time_of(req_context), req_context.get_offload_key_position(key)
        self.chunks[key] = chunk
        self.ranks[key] = (self._now(), 0) if end is None else (time, -end)

    def remove(self, key: OffloadKey) -> None:
        """Take a chunk out."""
        del self.chunks[key], self.ranks[key]

    def touch(self, keys: Keys) -> None:
        """These keys are used now, the head last."""
        for key in reversed(keys):
            if key in self.chunks:
                self.ranks[key] = self._now(), 0

    def on_request_access(self, keys: Keys, req_context: ReqContext) -> None:
        time = self._time_of(req_context)
        for key in keys:
            end = req_context.get_offload_key_position(key)
            if key in self.chunks and end is not None:  # a later time is never taken back
                self.ranks[key] = max(self.ranks[key], (time, -end))

    def on_request_finished(
        self, keys: Keys, inserted: KeySet, reused: KeySet, req_context: ReqContext
    ) -> None:
        """A request has ended that needed ``keys``."""
        self.touch(keys)

    def evict(self, n: int, protected: KeySet) -> list[Victim] | None:
        """Take out ``n`` idle chunks; None, and no change, if there are fewer."""
        idle = self.idle(self.chunks, protected)
        victims = nsmallest(n, idle, lambda victim: self.ranks[victim[0]])
        if len(victims) < n:
            return None
        for key, _ in victims:
            self.remove(key)
        return victims

    def state(self) -> dict[str, list[OffloadKey]]:
        """Return the keys in the order in which they go."""
        return {"order": sorted(self.chunks, key=self.ranks.__getitem__)}
