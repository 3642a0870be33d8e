"""A scheduler with a second tier, and workers that copy for it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from pagesim.journal.effects import Name
from pagesim.v1 import (
    CacheConfig,
    ModelRunnerOutput,
    OffloadingConfig,
    Request,
    Scheduler,
    SchedulerConfig,
    SchedulerOutput,
)
from pagesim.v1.offload.worker import OffloadingWorker, reported
from pagesim.v1.transfers import TransferJob

LIMITS = {"max_num_batched_tokens": 64, "max_num_seqs": 8, "max_model_len": 256}


class World:
    """Steps of a scheduler; a copy ends in the step in which it begins, or later."""

    def __init__(
        self,
        num_blocks: int,
        block_size: int = 4,
        chunks: int = 64,
        lasts: Callable[[TransferJob], float] = lambda job: 0,
        tier: dict[str, Any] | None = None,
        caching: bool = True,
        **limits: Any,
    ) -> None:
        self.block_size = block_size
        self.scheduler = Scheduler(
            SchedulerConfig(**LIMITS | limits),
            CacheConfig(block_size, num_blocks, enable_prefix_caching=caching),
            OffloadingConfig(chunks, **tier or {}),
        )
        self.worker = OffloadingWorker(lambda job, now: now + lasts(job))
        self.steps: list[tuple[SchedulerOutput, list[Name]]] = []
        """Each with the requests that it samples a token for."""
        self.told = 0

    def add(self, name: str, tokens: Iterable[int], max_tokens: int = 1, **more: Any) -> Request:
        request = Request(name, tokens, block_size=self.block_size, max_tokens=max_tokens, **more)
        self.scheduler.add_request(request)
        return request

    def schedule(self) -> SchedulerOutput:
        output = self.scheduler.schedule()
        assert output.kv_connector_metadata is not None
        self.worker.start(output.kv_connector_metadata, len(self.steps))
        requests = self.scheduler.requests
        sampled = [x for x in output.num_scheduled_tokens if not requests[x].is_prefill_chunk]
        self.steps.append((output, sampled))
        return output

    def update(self, invalid: Iterable[int] = ()) -> None:
        """The oldest step whose output is not known yet."""
        output, sampled = self.steps[self.told]
        self.told += 1
        tokens = {name: [7] for name in sampled}
        completed, received = reported(self.worker.finish(len(self.steps) - 1))
        report = ModelRunnerOutput(tokens, completed, received, set(invalid))
        self.scheduler.update_from_output(output, report)

    def step(self) -> SchedulerOutput:
        output = self.schedule()
        self.update()
        return output

    def run(self, limit: int = 100) -> int:
        """Step until nothing is left to do; returns the number of steps."""
        for count in range(limit):
            if not self.scheduler.has_requests():
                return count
            self.step()
        return limit
