"""A scheduler with a second tier to which anything happens, and a router that hears of it."""

import random
from collections import Counter
from typing import Any

from pagesim.v1 import RequestStatus
from pagesim.v1.kv_event_index import RouterIndex
from pagesim.v1.kv_events import KVCacheEvent
from tests.v1.offload.world import World
from tests.v1.routers import there


class Heard(World):
    """A world whose router hears what is published; ``events`` has all of it."""

    def __init__(self, seed: int, **tier: Any) -> None:
        chance = self.chance = random.Random(seed)
        self.tier_size = chance.choice([3, 6, 40])
        super().__init__(
            chance.randint(12, 16),
            chance.choice([2, 3]),
            self.tier_size,
            lambda job: chance.choice([0, 0, 1, 4]),
            tier | {"enable_kv_cache_events": True},
            max_num_batched_tokens=chance.choice([8, 64]),
        )
        self.index, self.told_of, self.count = RouterIndex(), Counter[str](), 0
        self.events: list[KVCacheEvent] = []
        self.scheduler.publish = self.hear

    def hear(self, events: list[KVCacheEvent]) -> None:
        self.events += events
        self.index.apply(events)
        self.told_of.update(f"{type(e).__name__} {getattr(e, 'medium', '')}" for e in events)

    def act(self) -> None:
        chance, scheduler = self.chance, self.scheduler
        if chance.random() < 0.4 and len(scheduler.requests) < 6:
            self.count += 1
            tokens = [chance.randrange(2)] * chance.randrange(1, 14) + chance.choices([0, 1], k=6)
            self.add(f"r{self.count}", tokens, chance.randrange(1, 6))
        if chance.random() < 0.05 and scheduler.requests:
            name = chance.choice(list(scheduler.requests))
            scheduler.finish_requests(name, RequestStatus.FINISHED_ABORTED)
        if chance.random() < 0.05:
            scheduler.reset_prefix_cache()
        self.step()

    def check(self) -> None:
        """What the router knows is what is there, except chunks that are still being stored."""
        chunks = self.scheduler.connector.manager.policy.chunks  # type: ignore[union-attr]
        copies = there(self.scheduler.kv_cache_manager.block_pool)
        copies["CPU", 0] = Counter(key for key, chunk in chunks.items() if chunk.ref_cnt >= 0)
        known = {place: them for place, them in self.index.copies.items() if them}
        assert known == {place: them for place, them in copies.items() if them}
