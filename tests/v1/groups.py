"""Several KV cache groups on one pool: a manager or a scheduler for them, and its requests."""

from math import gcd
from typing import Any

from pagesim.sizing.kv_cache_spec import KVCacheSpec
from pagesim.v1 import (
    CacheConfig,
    FullAttentionSpec,
    KVCacheManager,
    MambaSpec,
    Request,
    RequestStatus,
    Scheduler,
    SchedulerConfig,
    SlidingWindowSpec,
)
from tests.v1.world import check

FULL, STATE = FullAttentionSpec(4), MambaSpec(4, mamba_cache_mode="align")


def window(tokens: int, block_size: int = 4) -> SlidingWindowSpec:
    return SlidingWindowSpec(block_size, sliding_window=tokens)


def state(checkpoints: int) -> MambaSpec:
    """States at the ends of blocks, and so many within a chunk."""
    return MambaSpec(
        4,
        mamba_cache_mode="align",
        num_prefill_checkpoint_blocks=checkpoints,
        prefill_checkpoint_alignment=checkpoints or None,
    )


class Model:
    """A manager for these groups, and the requests on it."""

    def __init__(self, *groups: KVCacheSpec, blocks: int = 60, **options: Any) -> None:
        options = {"max_in_flight_tokens": 16, "retention_interval": None} | options
        self.manager = KVCacheManager(blocks, max_model_len=512, groups=groups, **options)
        self.requests: dict[str, Request] = {}

    def found(self, tokens: list[int], name: str = "?") -> tuple[int, int, list[list[int]]]:
        """The tokens that a new request finds, the boundary, and the blocks of each group."""
        size = self.manager.block_pool.hash_block_size
        request = self.requests[name] = Request(name, tokens, block_size=size)
        self.hits = self.manager.get_computed_blocks(request)
        request.shared_prefix_boundary = self.hits[2]
        return self.hits[1], self.hits[2], list(self.hits[0].get_block_ids())

    def grow(self, name: str, count: int, found: int = 0) -> list[list[int]] | None:
        """Room for the next tokens of a request, which are computed; the new blocks."""
        request = self.requests[name]
        hits = self.hits[0] if found else None
        new = self.manager.allocate_slots(request, count, found, hits)
        if new is None:
            return None
        request.num_computed_tokens += found + count
        request.status = RequestStatus.RUNNING
        return list(new.get_block_ids())

    def prompt(self, name: str, tokens: list[int], chunk: int = 512) -> list[list[int]] | None:
        """Compute a whole prompt in chunks; the blocks of the first."""
        found = self.found(tokens, name)[0]
        first = self.grow(name, min(chunk, len(tokens) - found), found)
        request = self.requests[name]
        while first is not None and request.num_computed_tokens < len(tokens):
            self.manager.new_step_starts()
            self.grow(name, min(chunk, len(tokens) - request.num_computed_tokens))
        return first


class Server:
    """A scheduler for these groups, with blocks for all."""

    def __init__(self, *groups: KVCacheSpec, budget: int = 64) -> None:
        config = SchedulerConfig(budget, 2 if budget < 64 else 8, 128)
        cache = CacheConfig(groups=groups, num_gpu_blocks=60)
        self.scheduler = Scheduler(config, cache)
        self.size = gcd(*(group.block_size for group in groups))

    def steps(self, count: int) -> list[dict[str, int]]:
        """How many tokens each request computes in each step."""
        computed = []
        for _ in range(count):
            output = self.scheduler.schedule()
            requests = [self.scheduler.requests[name] for name in output.num_scheduled_tokens]  # type: ignore[index]
            done = {r.request_id: [500 + r.num_tokens] for r in requests if not r.is_prefill_chunk}
            computed.append(dict(output.num_scheduled_tokens))
            self.scheduler.update_from_output(output, done)
            check(self.scheduler.kv_cache_manager)
        return computed  # type: ignore[return-value]
