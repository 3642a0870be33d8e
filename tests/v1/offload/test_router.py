"""A router that hears all events knows both tiers: the pool's blocks and the CPU's chunks."""

import random
from collections import Counter
from typing import Any

import pytest

from pagesim.v1 import RequestStatus
from pagesim.v1.kv_event_index import RouterIndex
from pagesim.v1.kv_events import KVCacheEvent
from tests.v1.offload.world import World
from tests.v1.routers import there

TIERS: dict[str, dict[str, Any]] = {
    "lru": {},
    "arc": {"cache_policy": "arc"},
    "chunks": {"blocks_per_chunk": 2},
    "outputs": {"offload_prompt_only": False, "self_describing_kv_events": True},
}


class Heard(World):
    """A world whose router hears what is published."""

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
        self.scheduler.publish = self.hear

    def hear(self, events: list[KVCacheEvent]) -> None:
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


@pytest.mark.parametrize("name", TIERS)
def test_after_every_step_it_equals_pool_and_tier(name: str) -> None:
    told_of: Counter[str] = Counter()
    for seed in range(4):
        world = Heard(seed, **TIERS[name])
        for _ in range(120):
            world.act()
            world.check()
        told_of += world.told_of
    events = ["BlockStored GPU", "BlockRemoved GPU", "AllBlocksCleared ", "BlockStored CPU"]
    assert set(told_of) == {*events, "BlockRemoved CPU"}


def test_a_reset_of_the_tier_is_not_told() -> None:
    """So a router goes on sending requests to chunks that are gone."""
    world = next(world for world in map(Heard, range(9)) if world.tier_size == 40)
    world.add("a", range(20))
    world.run()
    assert world.index.copies["CPU", 0].total() > 5
    assert world.scheduler.reset_prefix_cache(reset_connector=True)
    world.step()
    assert not world.scheduler.connector.manager.policy.chunks  # type: ignore[union-attr]
    assert world.index.copies["CPU", 0].total() > 5
