"""Short words for what the surprises of V1 need: blocks of 4 tokens, texts that are counts."""

from typing import Any

from pagesim.v1 import (
    CacheConfig,
    KVCacheManager,
    Request,
    RequestStatus,
    Scheduler,
    SchedulerConfig,
    SchedulerOutput,
)

SIZE = 4
STEP_FIELDS = SchedulerConfig.__dataclass_fields__


def text(length: int, first: int = 0) -> list[int]:
    """A text of this length; texts that begin with the same number begin alike."""
    return list(range(first, first + length))


class Cache:
    """A manager and the requests on it."""

    def __init__(self, num_blocks: int, **options: Any) -> None:
        options = {"retention_interval": None} | options
        self.manager = KVCacheManager(num_blocks, SIZE, 64, **options)
        self.requests: dict[str, Request] = {}

    def new(self, name: str, tokens: list[int], **options: Any) -> Request:
        self.requests[name] = Request(name, tokens, block_size=SIZE, **options)
        return self.requests[name]

    def found(self, tokens: list[int], **options: Any) -> int:
        """How many tokens of a text a new request would find."""
        return self.manager.get_computed_blocks(Request("?", tokens, block_size=SIZE, **options))[1]

    def admit(self, name: str, tokens: list[int] | None = None) -> int | None:
        """Give a request room for its whole prompt; how many tokens it found, None without room."""
        its = self.requests[name] if tokens is None else self.new(name, tokens)
        hits, found, _ = self.manager.get_computed_blocks(its)
        if self.manager.allocate_slots(its, its.num_tokens - found, found, hits) is None:
            return None
        its.num_computed_tokens, its.status = its.num_tokens, RequestStatus.RUNNING
        return found

    def write(self, name: str, token: int) -> None:
        """A request generates a token, and the next step stores it."""
        self.requests[name].append_output_token_ids(token)
        assert self.manager.allocate_slots(self.requests[name], 1) is not None
        self.requests[name].num_computed_tokens += 1

    def free(self, name: str) -> None:
        self.manager.free(self.requests[name])

    def table(self, name: str) -> list[int]:
        return self.manager.get_block_ids(name)[0]

    @property
    def queue(self) -> list[int]:
        return [b.block_id for b in self.manager.block_pool.free_block_queue.get_all_free_blocks()]

    @property
    def cached(self) -> list[int]:
        return [b.block_id for b in self.manager.block_pool.blocks if b.block_hash is not None]


class Engine(Cache):
    """A scheduler whose requests generate 901, 902, …; asynchronously a step is in flight."""

    def __init__(self, num_blocks: int = 12, **options: Any) -> None:
        steps = {name: value for name, value in options.items() if name in STEP_FIELDS}
        cache = {name: value for name, value in options.items() if name not in STEP_FIELDS}
        limits = {"max_num_batched_tokens": 32, "max_num_seqs": 4, "max_model_len": 64}
        self.scheduler = Scheduler(
            SchedulerConfig(**limits | steps),
            CacheConfig(SIZE, num_blocks, **{"retention_interval": None} | cache),
        )
        self.manager = self.scheduler.kv_cache_manager
        self.requests, self.sampled = {}, 900
        self.in_flight: list[tuple[SchedulerOutput, list[str]]] = []

    def add(self, name: str, tokens: list[int], max_tokens: int = 8, **options: Any) -> None:
        self.scheduler.add_request(self.new(name, tokens, max_tokens=max_tokens, **options))

    def step(self) -> dict[str, int]:
        """How many tokens each request computes."""
        output = self.scheduler.schedule()
        tokens = dict(output.num_scheduled_tokens)
        samples = [name for name in tokens if not self.requests[name].is_prefill_chunk]
        self.in_flight.append((output, samples))
        if len(self.in_flight) > self.scheduler.scheduler_config.async_scheduling:
            output, samples = self.in_flight.pop(0)
            new = {name: [self.sampled + at] for at, name in enumerate(samples, 1)}
            self.sampled += len(samples)
            self.scheduler.update_from_output(output, new)
        return tokens

    def steps(self, count: int) -> list[dict[str, int]]:
        return [self.step() for _ in range(count)]

    @property
    def waiting(self) -> list[str]:
        return [request.request_id for request in self.scheduler.waiting]

    @property
    def running(self) -> list[str]:
        return [request.request_id for request in self.scheduler.running]
