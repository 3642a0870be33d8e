"""A router that hears all events knows both tiers: the pool's blocks and the CPU's chunks."""

from collections import Counter
from typing import Any

import pytest

from tests.v1.offload.routers import Heard

TIERS: dict[str, dict[str, Any]] = {
    "lru": {},
    "arc": {"cache_policy": "arc"},
    "chunks": {"blocks_per_chunk": 2},
    "outputs": {"offload_prompt_only": False, "self_describing_kv_events": True},
}


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
