"""Runs with one known trouble, and the same runs without it."""

from collections.abc import Callable
from typing import Any

import pagesim
from pagesim import v1
from pagesim.explain.finding import Finding
from pagesim.explain.history import History
from pagesim.explain.reading import history_of
from pagesim.explain.report import findings
from pagesim.timeline import Timeline

STEP_FIELDS = v1.SchedulerConfig.__dataclass_fields__


class Scene:
    """A recorded scheduler of V1 with blocks of four slots; requests generate 901, 902, …"""

    def __init__(self, num_blocks: int = 40, groups: Any = None, tier: Any = None, **options: Any):
        steps = {name: value for name, value in options.items() if name in STEP_FIELDS}
        cache = {name: value for name, value in options.items() if name not in STEP_FIELDS}
        limits = {"max_num_batched_tokens": 64, "max_num_seqs": 8, "max_model_len": 200}
        config = v1.SchedulerConfig(**limits | steps)
        size = None if groups else 4
        cached = v1.CacheConfig(size, num_blocks, groups=groups, **cache)
        self.scheduler = v1.Scheduler(config, cached, tier)
        self.sampled, self.jobs = 900, []
        self._record = pagesim.record(self.scheduler)
        self.run: Timeline = self._record.__enter__()

    def add(self, name: str, tokens: list[int], max_tokens: int = 8, **options: Any) -> None:
        size = self.scheduler.kv_cache_manager.block_pool.hash_block_size
        request = v1.Request(name, tokens, block_size=size, max_tokens=max_tokens, **options)
        self.scheduler.add_request(request)

    def step(self, times: int = 1, report: Callable[..., Any] | None = None) -> "Scene":
        for _ in range(times):
            output = self.scheduler.schedule()
            requests = self.scheduler.requests
            ready = [n for n in output.num_scheduled_tokens if not requests[n].is_prefill_chunk]
            new = {name: [self.sampled + at] for at, name in enumerate(ready, 1)}
            self.sampled += len(ready)
            answer = report(output, new) if report else new
            self.scheduler.update_from_output(output, answer)
        return self

    def history(self) -> History:
        return history_of(self.run)

    def found(self) -> list[Finding]:
        return findings(self.history())


def text(length: int, first: int = 0) -> list[int]:
    """A text of this length; texts that begin with the same number begin alike."""
    return list(range(first, first + length))
