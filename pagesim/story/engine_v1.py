"""The loop around V1's scheduler, asynchronous steps and copies to a second tier included."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from pagesim.errors import UnsupportedError
from pagesim.story.options import Options, roomy, shared_out
from pagesim.story.pages_v1 import NO_FORKS
from pagesim.v1.config import CacheConfig, SchedulerConfig
from pagesim.v1.group_words import parse_groups
from pagesim.v1.offload.config import OffloadingConfig
from pagesim.v1.offload.worker import OffloadingWorker
from pagesim.v1.request import Request, RequestStatus
from pagesim.v1.scheduler import Scheduler
from pagesim.v1.serve import Loop


class V1Engine:
    """Release 0.33.0."""

    def __init__(self, gpu_blocks: int, cpu_blocks: int, block_size: int, options: Options) -> None:
        worker = options.pop("worker", None) or OffloadingWorker()
        kinds = SchedulerConfig, CacheConfig, *((OffloadingConfig,) if cpu_blocks else ())
        limits, cache, *tier = shared_out(options, *kinds)
        size: Any = block_size
        if cache.get("groups") is not None:
            caching = cache.get("enable_prefix_caching", True)
            size, cache["groups"] = None, parse_groups(cache["groups"], block_size, caching)
        self.scheduler = Scheduler(
            SchedulerConfig(**roomy(limits, limits.get("enable_chunked_prefill", True))),
            CacheConfig(size, gpu_blocks, **cache),
            OffloadingConfig(cpu_blocks, **tier[0]) if tier else None,
        )
        pool = self.scheduler.kv_cache_manager.block_pool
        self._pool, self._hash_block_size = pool, pool.hash_block_size
        self._sampled = 1_000_000
        self._loop = Loop(self.scheduler, worker, self._sample)

    def _sample(self, _: Request) -> int:
        self._sampled += 1
        return self._sampled

    def add(self, name: str, tokens: list[int], max_tokens: int, options: Options) -> Request:
        size: Options = {"block_size": self._hash_block_size}
        request = Request(name, tokens, max_tokens=max_tokens, **size | options)
        self.scheduler.add_request(request)
        return request

    def step(self) -> dict[str, int]:
        self._loop.step()
        return {f"{name}": num for name, num in self._loop.steps.pop().num_scheduled_tokens.items()}

    def new_tables(self) -> Iterator[tuple[Any, str]]:
        """None: V1's tables have the names of their requests."""
        return iter(())

    def fork(self, _: Request) -> None:
        raise UnsupportedError(NO_FORKS)

    def abort(self, name: str) -> None:
        self.scheduler.finish_requests(name, RequestStatus.FINISHED_ABORTED)

    def waiting(self) -> list[str]:
        return _names(self.scheduler.waiting)

    def running(self) -> list[str]:
        return _names(self.scheduler.running)

    def swapped(self) -> list[str]:
        return []

    def holding(self) -> list[str]:
        return _names(self.scheduler.kv_holding_waiting)

    def free(self) -> int:
        return self._pool.get_num_free_blocks()

    def preemptions(self, request: Request) -> int:
        return request.num_preemptions

    def tables(self, request: Request) -> list[list[int]]:
        return list(self.scheduler.kv_cache_manager.get_block_ids(request.request_id))

    def status(self, request: Request) -> str:
        return request.status.name


def _names(queue: Iterable[Request]) -> list[str]:
    return [f"{request.request_id}" for request in queue]
