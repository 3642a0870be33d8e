"""What blocks live through: when it begins and ends, what is an access, who is watched."""

import random
from typing import Any

import pytest

from pagesim.v1 import KVCacheEvictionEvent, KVCacheManager, KVCacheMetricsCollector
from tests.v1.scenes import Cache, text


class Watched(Cache):
    """A manager whose blocks are all watched, and a clock in seconds."""

    def __init__(self, num_blocks: int, **options: Any) -> None:
        self.now = 0.0
        self.watch = KVCacheMetricsCollector(1.0, clock=lambda: int(self.now * 1e9))
        super().__init__(num_blocks, metrics_collector=self.watch, **options)

    def ended(self) -> list[tuple[float, float, tuple[float, ...]]]:
        return [
            (each.lifetime_seconds, each.idle_seconds, each.reuse_gaps_seconds)
            for each in self.watch.drain_events()
        ]


def test_without_caching_nothing_is_ever_reported() -> None:
    cache = Watched(4, enable_caching=False)
    for name in "abc":
        cache.admit(name, text(9))
        cache.now += 1
        cache.free(name)
    assert cache.ended() == [] and sorted(cache.watch.block_metrics) == [1, 2, 3]


def test_hits_are_accesses_and_the_last_four_make_gaps() -> None:
    cache = Watched(4)
    cache.admit("0", text(5))
    cache.free("0")
    for name, wait in zip("12345", (1, 2, 3, 4, 5), strict=True):
        cache.now += wait
        assert cache.admit(name, text(5)) == 4
        cache.free(name)
    cache.now += 0.5
    cache.watch.drain_events()
    cache.admit("x", text(12, 50))
    assert (15.5, 0.5, (3.0, 4.0, 5.0)) in cache.ended()


def test_what_is_evicted_ends_although_it_is_in_use() -> None:
    cache = Watched(4)
    cache.admit("a", text(6))
    cache.now = 2
    cache.manager.evict_blocks([1, 2, 3])
    assert cache.ended() == [(2.0, 2.0, ())] * 2  # one has a hash and one has none


def test_a_reset_drops_all_and_one_that_fails_drops_nothing() -> None:
    cache = Watched(4)
    cache.admit("a", text(5))
    cache.manager.evict_blocks([1])
    assert not cache.manager.reset_prefix_cache()
    assert list(cache.watch.block_metrics) == [2]
    cache.free("a")
    assert cache.manager.reset_prefix_cache()
    assert cache.ended() == [] and cache.watch.block_metrics == {}


def test_a_longer_hash_of_the_same_content_ends_nothing() -> None:
    cache = Watched(8)
    pool, its = cache.manager.block_pool, cache.new("a", text(8))
    (block,) = pool.get_new_blocks(1)
    pool.hash_block_size = its.block_size or 0
    pool.cache_partial_block(its, block, 4, 0, 8)
    pool.cache_full_blocks(its, [block], 0, 1, 8)
    assert cache.ended() == [] and list(cache.watch.block_metrics) == [block.block_id]


def test_one_draw_decides_for_each_block_that_is_taken() -> None:
    draws = random.Random(5)
    expected = [i for i in range(1, 40) if draws.random() < 0.3]
    collector = KVCacheMetricsCollector(0.3, rng=random.Random(5).random)
    manager = KVCacheManager(40, 4, metrics_collector=collector)
    manager.block_pool.get_new_blocks(39)
    assert sorted(collector.block_metrics) == expected and 5 < len(expected) < 20


def test_time_passes_by_itself() -> None:
    collector = KVCacheMetricsCollector(1)
    manager = KVCacheManager(3, 4, metrics_collector=collector)
    manager.block_pool.get_new_blocks(2)
    manager.evict_blocks([1])
    (ended,) = collector.drain_events()
    assert isinstance(ended, KVCacheEvictionEvent) and 0 <= ended.idle_seconds < 60
    assert ended.idle_seconds <= ended.lifetime_seconds + 1


@pytest.mark.parametrize("rate", [0, -0.1, 1.5, float("nan")])
def test_a_wrong_rate_is_refused_as_by_vllm(rate: float) -> None:
    with pytest.raises(AssertionError, match=r"sample_rate must be .*, not "):
        KVCacheMetricsCollector(rate)


def test_a_wrong_collector_is_named() -> None:
    with pytest.raises(TypeError, match="metrics_collector must be a KVCacheMetricsCollector"):
        KVCacheManager(8, 4, metrics_collector=0.5)  # type: ignore[arg-type]
