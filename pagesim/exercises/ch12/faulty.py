"""Tiers with one fault each, for exercise 12.4, whose page says what the causes mean."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from pagesim.exercises.ch12.tiers import Copies, Tier
from pagesim.v1 import CPUOffloadingManager, ReqContext
from pagesim.v1.offload.base import KeySet, OffloadKey, Pair
from pagesim.v1.offload.lru import LRUCachePolicy
from pagesim.v1.transfers import OffloadingConnectorMetadata


class _EarlyCopies(Copies):
    def start(self, metadata: OffloadingConnectorMetadata, now: float = 0.0) -> float:
        for job in metadata.store_jobs.values():
            self._begin(self._stores, job, now)
        return super().start(replace(metadata, store_jobs={}), now)


class _ReadOrNot(LRUCachePolicy):
    def idle(self, keys: Iterable[OffloadKey], protected: KeySet) -> Iterator[Pair]:
        of = self.chunks
        return ((k, of[k]) for k in keys if of[k].ref_cnt >= 0 and k not in protected)

    def has_idle(self, n: int, protected: KeySet) -> bool:
        return sum(1 for _ in self.idle(self.chunks, protected)) >= n


class _Careless(CPUOffloadingManager):
    def complete_load(self, keys: Iterable[OffloadKey], req_context: ReqContext) -> None:
        of = self.policy.chunks
        super().complete_load([k for k in keys if k in of and of[k].ref_cnt > 0], req_context)


class Early(Tier):
    def __init__(self, num_chunks: int) -> None:
        super().__init__(num_chunks)
        self.copies = _EarlyCopies()


class Unwatched(Tier):
    def __init__(self, num_chunks: int) -> None:
        super().__init__(num_chunks)
        connector: Any = self.scheduler.connector
        connector._watch = lambda job: None


class Evicted(Tier):
    def __init__(self, num_chunks: int) -> None:
        super().__init__(num_chunks)
        manager = _Careless(num_chunks)
        manager.policy = _ReadOrNot(num_chunks)
        connector: Any = self.scheduler.connector
        connector.manager = manager


CAUSES = ["early", "unwatched", "evicted", "pending", "own tokens"]
FAULTY: dict[str, tuple[type[Tier], str]] = {
    "A": (Early, "early"),
    "B": (Unwatched, "unwatched"),
    "C": (Evicted, "evicted"),
}
"""The class behind each letter, and its cause."""
