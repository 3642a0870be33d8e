"""A router that hears all events knows what the pool has, and what a request would find."""

import os
import random
from collections import Counter
from typing import Any

import pytest

from pagesim.v1 import (
    AllBlocksCleared,
    BlockPool,
    BlockRemoved,
    BlockStored,
    CacheConfig,
    FullAttentionSpec,
    MambaSpec,
    Request,
    RequestStatus,
    Scheduler,
    SchedulerConfig,
    SlidingWindowSpec,
)
from pagesim.v1.kv_event_index import RouterIndex
from pagesim.v1.kv_events import KVCacheEvent

RUNS = max(1, int(os.environ.get("PAGESIM_V1_EXAMPLES", "12")) // 4)
"""Of 150 operations each, for every cache; `make nightly` sets it."""


def window(tokens: int, block_size: int = 4) -> SlidingWindowSpec:
    return SlidingWindowSpec(block_size, sliding_window=tokens)


FULL, STATE = FullAttentionSpec(4), MambaSpec(4, mamba_cache_mode="align")
CACHES: dict[str, dict[str, Any]] = {
    "full": {"block_size": 2},
    "no caching": {"block_size": 2, "enable_prefix_caching": False},
    "window": {"block_size": 2, "sliding_window": 5, "retention_interval": None},
    "masked window": {"block_size": 2, "sliding_window": 5},
    "sparse window": {"block_size": 2, "sliding_window": 4, "retention_interval": 6},
    "two groups": {"groups": (FULL, window(7)), "hash_block_size": 4},
    "masked groups": {"groups": (FULL, window(9), window(6, 8)), "hash_block_size": 4},
    "all cached": {
        "groups": (window(6, 8), FULL, window(9)),
        "hash_block_size": 4,
        "retention_interval": None,
    },
    "states": {"groups": (FULL, STATE), "hash_block_size": 4, "retention_interval": None},
    "fine hashes": {
        "groups": (FullAttentionSpec(8), STATE),
        "hash_block_size": 2,
    },
}


def there(pool: BlockPool) -> dict[tuple[str, int], Counter[Any]]:
    """The blocks that the pool finds, as a router would count them."""
    copies: dict[tuple[str, int], Counter[Any]] = {}
    for key, blocks in pool.cached_block_hash_to_block._blocks.items():
        place = "GPU", getattr(key, "group_id", 0)
        copies.setdefault(place, Counter())[getattr(key, "block_hash", key)] += len(blocks)
    return copies


class Engine:
    """A scheduler with whatever happens to it, and a router that hears of it."""

    def __init__(self, seed: int, is_async: bool, **cache: Any) -> None:
        self.r, self.asynchronous = random.Random(seed), is_async
        many = "groups" in cache
        num_blocks = self.r.choice([26, 40, 60] if many else [18, 24, 34])
        config = SchedulerConfig(
            self.r.choice([8, 16, 40]), 4, 64, async_scheduling=is_async, watermark=0.05
        )
        self.scheduler = Scheduler(config, CacheConfig(num_gpu_blocks=num_blocks, **cache))
        self.manager = self.scheduler.kv_cache_manager
        self.manager.block_pool.enable_kv_cache_events = True
        self.index, self.in_flight, self.count = RouterIndex(), list[Any](), 0
        self.published: list[KVCacheEvent] = []
        self.scheduler.publish = self.published.extend
        self.told: Counter[str] = Counter()

    def request(self) -> Request:
        """Prompts that often begin alike."""
        r, size = self.r, self.manager.block_pool.hash_block_size
        tokens = [r.randrange(3)] * r.randrange(12) + r.choices([0, 1], k=r.randrange(20))
        self.count += 1
        caching, salt = self.manager.enable_caching, r.choice([None, None, None, "x"])
        return Request(
            f"r{self.count}",
            tokens or [7],
            block_size=size if caching else None,
            max_tokens=r.randrange(1, 12),
            cache_salt=salt,
            skip_reading_prefix_cache=r.random() < 0.3,
        )

    def act(self) -> None:
        r, scheduler = self.r, self.scheduler
        what = r.choices(["add", "step", "abort", "evict", "reset"], [4, 12, 1, 1, 1])[0]
        if what == "add" and len(scheduler.requests) < 6:
            scheduler.add_request(self.request())
        elif what == "step":
            self.step()
        elif what == "abort" and scheduler.requests:
            name = r.choice(list(scheduler.requests))
            scheduler.finish_requests(name, RequestStatus.FINISHED_ABORTED)
        elif what == "evict":
            self.manager.evict_blocks(r.sample(range(self.manager.block_pool.num_gpu_blocks), 2))
        elif what == "reset":
            scheduler.reset_prefix_cache(r.random() < 0.3)

    def step(self) -> None:
        output = self.scheduler.schedule()
        self.hear()
        requests, tokens = self.scheduler.requests, output.num_scheduled_tokens
        samples = [name for name in tokens if not requests[name].is_prefill_chunk]
        self.in_flight.append((output, samples))
        if len(self.in_flight) > self.asynchronous:
            output, samples = self.in_flight.pop(0)
            new = {name: [self.r.randrange(2)] for name in samples}
            self.scheduler.update_from_output(output, new)

    def hear(self) -> None:
        events = [*self.published, *self.manager.take_events()]
        self.published.clear()
        self.told.update(type(event).__name__ for event in events)
        self.told["empty"] += sum(isinstance(e, BlockStored) and not e.block_hashes for e in events)
        self.index.apply(events)
        copies = {place: known for place, known in self.index.copies.items() if known}
        assert copies == there(self.manager.block_pool)
        self.told["copies"] += any(n > 1 for known in copies.values() for n in known.values())

    def ask(self) -> None:
        request = self.request()
        request.skip_reading_prefix_cache = False
        size = self.manager.block_pool.hash_block_size
        hashes = request.block_hashes[: (request.num_tokens - 1) // size]
        found = self.manager.get_computed_blocks(request)[1]
        assert self.index.longest_prefix(hashes, size) == found
        self.told["found"] += found > 0


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("name", CACHES)
def test_after_every_step_it_equals_the_pool(name: str, is_async: bool) -> None:
    told: Counter[str] = Counter()
    for seed in range(RUNS):
        engine = Engine(seed, is_async, **CACHES[name])
        for _ in range(150):
            engine.act()
            engine.hear()
            engine.ask()
        told += engine.told
    kinds = ["BlockStored", "BlockRemoved", "AllBlocksCleared", "copies", "found"]
    if name == "no caching":
        assert set(told) == {"AllBlocksCleared"}
        return
    assert all(told[kind] for kind in kinds), told
    assert told["empty"] or name not in ("masked window", "sparse window", "masked groups")


# -- by hand -----------------------------------------------------------------------------------

A, B, C = b"a", b"b", b"c"


def test_a_copy_goes_and_another_stays() -> None:
    index = RouterIndex()
    index.apply([BlockStored([A, B], None, [], 4, group_idx=0)] * 2)
    index.apply([BlockRemoved([A], group_idx=0)])
    assert index.copies["GPU", 0] == {A: 1, B: 2} and index.longest_prefix([A, B], 4) == 8
    index.apply([BlockRemoved([A], group_idx=0)])
    assert index.longest_prefix([A, B], 4) == 0


def test_a_reset_of_the_gpu_leaves_the_cpu() -> None:
    index = RouterIndex()
    index.apply([BlockStored([A, B], None, [], 4), BlockStored([B], None, [], 0, medium="CPU")])
    assert index.longest_prefix([A, B, C], 4, ["GPU", "CPU"]) == 8
    index.apply([AllBlocksCleared(), BlockStored([A], None, [], 4)])
    assert index.longest_prefix([A, B, C], 4) == 4
    assert index.longest_prefix([A, B, C], 4, ["GPU", "CPU"]) == 8


def test_who_listens_late_misses_what_was_stored_before() -> None:
    index = RouterIndex()
    assert index.longest_prefix([A], 4) == 0
    index.apply([BlockRemoved([A]), BlockStored([A], None, [], 4)])
    assert index.longest_prefix([A], 4) == 4


def test_a_window_needs_its_last_blocks_alone_and_a_state_one() -> None:
    index = RouterIndex()
    kind = {"kv_cache_spec_kind": "sliding_window", "kv_cache_spec_sliding_window": 6}
    index.apply([BlockStored([B, C], A, [], 4, group_idx=0, **kind)])  # type: ignore[arg-type]
    assert index.longest_prefix([A, B, C], 4) == 12 and index.longest_prefix([A, B], 4) == 0
    index = RouterIndex()
    index.apply([BlockStored([B], A, [], 4, group_idx=0, kv_cache_spec_kind="mamba")])
    assert index.longest_prefix([A, B, C], 4) == 8
