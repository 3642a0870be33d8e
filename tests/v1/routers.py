"""Schedulers with many kinds of caches, to which anything happens, and a router for each."""

import random
from collections import Counter
from typing import Any

from pagesim.v1 import (
    BlockPool,
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


def window(tokens: int, block_size: int = 4) -> SlidingWindowSpec:
    return SlidingWindowSpec(block_size, sliding_window=tokens)


FULL, STATE = FullAttentionSpec(4), MambaSpec(4, mamba_cache_mode="align")
CACHES: dict[str, dict[str, Any]] = {
    "full": {"block_size": 2},
    "no caching": {"block_size": 2, "enable_prefix_caching": False},
    "window": {"block_size": 2, "sliding_window": 5, "retention_interval": None},
    "window of one": {"block_size": 2, "sliding_window": 1, "retention_interval": None},
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
    """A scheduler with whatever happens to it, and a router that hears of it, in ``events``."""

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
        self.events: list[KVCacheEvent] = []
        self.salts: dict[Any, str] = {}

    def request(self) -> Request:
        """Prompts that often begin alike."""
        r, size = self.r, self.manager.block_pool.hash_block_size
        tokens = [r.randrange(3)] * r.randrange(12) + r.choices([0, 1], k=r.randrange(20))
        self.count += 1
        caching, salt = self.manager.enable_caching, r.choice([None, None, None, "x"])
        if salt:
            self.salts[f"r{self.count}"] = salt
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
        self.events += events
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
