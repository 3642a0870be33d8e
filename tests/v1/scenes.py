"""Short words for tests of V1 that `pagesim.Engine` has none for: managers, and steps in flight."""

from typing import Any

from pagesim.v1 import (
    CacheConfig,
    KVCacheManager,
    Request,
    RequestStatus,
    Scheduler,
    SchedulerConfig,
)

SIZE = 4


def text(length: int, first: int = 0) -> list[int]:
    """A text of this length; texts that begin with the same number begin alike."""
    return list(range(first, first + length))


def found(manager: KVCacheManager, tokens: list[int], **options: Any) -> int:
    """How many tokens of a text a new request would find."""
    return manager.get_computed_blocks(Request("?", tokens, block_size=SIZE, **options))[1]


def serving(blocks: int, **prompts: range) -> Scheduler:
    """An asynchronous scheduler of two seats, not recorded, to which these requests have come."""
    config = SchedulerConfig(32, 2, 64, async_scheduling=True)
    scheduler = Scheduler(config, CacheConfig(SIZE, blocks))
    for name, prompt in prompts.items():
        scheduler.add_request(Request(name, prompt, block_size=SIZE))
    return scheduler


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
        return found(self.manager, tokens, **options)

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
