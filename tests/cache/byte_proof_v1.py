"""Does every request of V1 always read its own bytes? The proof for V0, on V1's pages.

The model's key at a position is a hash of all tokens up to there; so is its value, and so is what
it samples next. Each step does what a worker does: follow the tables by the differences in the
scheduler's output, write the new tokens' keys and values, then read all that attention would read.
Asynchronously a step is decided before the last one is computed, and a request that a stop token
has ended is computed once more: that writes noise here. After every step the scheduler must be
consistent, and no step may compute too much.

    python -m tests.cache.byte_proof_v1 [steps]      every scene, and its counts
"""

import sys
from collections import deque
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pagesim.sizing.kv_cache_spec import KVCacheSpec
from pagesim.v1 import (
    CacheConfig,
    FinishReason,
    OffloadingConfig,
    Request,
    RequestStatus,
    Scheduler,
    SchedulerConfig,
    SchedulerOutput,
    why_it_waits_forever,
)
from tests.cache.contents import SALTS, print_counts
from tests.cache.worker_v1 import Step, Worker
from tests.v1.world import check

BLOCK_SIZE = 4
MAX_LEN = 48
SEATS = 8
STOP = 1000
ABORTED = RequestStatus.FINISHED_ABORTED
IDLE = (RequestStatus.WAITING, RequestStatus.PREEMPTED)


@dataclass(frozen=True, slots=True)
class Scene:
    """A scheduler's settings, and the traffic it gets."""

    caching: bool = True
    window: int | None = None
    retention: int | None = None
    groups: tuple[KVCacheSpec, ...] | None = None
    blocks: int = 31
    budget: int = 16
    vocabulary: int = 2
    reset_chance: float = 0.0
    evict_chance: float = 0.0
    steps: dict[str, Any] = field(default_factory=dict)
    """Other fields of `SchedulerConfig`."""


ASYNC: dict[str, Any] = {"async_scheduling": True}
SCENES = {
    "chunks, prefix caching": Scene(),
    "chunks": Scene(caching=False),
    "whole prompts, prefix caching": Scene(budget=64, steps={"enable_chunked_prefill": False}),
    "small chunks, adaptive, no reserve": Scene(
        steps={
            "long_prefill_token_threshold": 5,
            "long_prefill_token_threshold_adaptive": True,
            "scheduler_reserve_full_isl": False,
        }
    ),
    "watermark, eviction, resets": Scene(
        evict_chance=0.1, reset_chance=0.02, steps={"watermark": 0.1}
    ),
    "priority, prefix caching": Scene(blocks=23, steps={"policy": "priority"}),
    "window": Scene(window=10, blocks=23),
    "window, default retention": Scene(window=10, retention=0, blocks=23),
    "window, retention interval": Scene(window=7, retention=12, blocks=17),
    "asynchronous": Scene(steps=ASYNC),
    "asynchronous, resets": Scene(reset_chance=0.05, steps=ASYNC),
    "asynchronous, window": Scene(window=10, blocks=23, steps=ASYNC),
    "asynchronous, priority": Scene(blocks=23, steps=ASYNC | {"policy": "priority"}),
}
# Not among them, because vLLM itself reads wrong bytes: see test_byte_proof_v1.py.
STRUCK = Scene(
    blocks=25,
    steps={
        "policy": "priority",
        "long_prefill_token_threshold": 5,
        "scheduler_reserve_full_isl": False,
    },
)


class Run(Worker):
    """A scene that is stepped: traffic, scheduler, bytes and the comparison."""

    def __init__(self, scene: Scene, seed: int = 0) -> None:
        super().__init__(scene, seed, self.make_scheduler(scene), BLOCK_SIZE)
        self._ended: list[list[int]] = []
        self._in_flight: deque[Step] = deque()

    @staticmethod
    def make_scheduler(scene: Any, tier: OffloadingConfig | None = None) -> Scheduler:
        """The scheduler of a scene."""
        return Scheduler(
            SchedulerConfig(scene.budget, SEATS, MAX_LEN, **scene.steps),
            CacheConfig(
                None if scene.groups else BLOCK_SIZE,  # type: ignore[arg-type]
                scene.blocks,
                enable_prefix_caching=scene.caching,
                sliding_window=scene.window,
                retention_interval=scene.retention,
                groups=scene.groups,
            ),
            tier,
        )

    def step(self) -> None:
        """One step of the engine, and what the world does before the next."""
        self._arrive()
        output = self._schedule()
        self._check_budgets(output)
        self._check_places()
        requests = {name: self.scheduler.requests[name] for name in output.num_scheduled_tokens}
        if self._in_flight:
            self._finish(self._in_flight.popleft())
        self._in_flight.append(self._begin(output, requests))
        if not self.scheduler.scheduler_config.async_scheduling:
            self._finish(self._in_flight.popleft())
        self._disturb(stuck=not requests)
        self._check_places()
        self.counts["steps"] += 1

    def _schedule(self) -> SchedulerOutput:
        return self.scheduler.schedule()

    def end(self) -> None:
        """All leave at once: nobody is left, and no block is held."""
        self.scheduler.finish_requests(list(self.scheduler.requests), ABORTED)
        self._check_places()
        assert self.scheduler.kv_cache_manager.usage == 0
        assert not self.scheduler.get_num_unfinished_requests()

    def _check_budgets(self, output: SchedulerOutput) -> None:
        counts = output.num_scheduled_tokens.values()
        assert sum(counts) == output.total_num_scheduled_tokens <= self.scene.budget
        assert all(count > 0 for count in counts)
        assert len(self.scheduler.running) <= SEATS

    def _check_places(self) -> None:
        """A block is in one place, a request in the queue that its status says."""
        check(self.scheduler.kv_cache_manager)
        running, waiting = self.scheduler.running, list(self.scheduler.waiting)
        ids = [each.request_id for each in (*running, *waiting)]
        assert sorted(ids) == sorted(self.scheduler.requests)
        assert all(each.status is RequestStatus.RUNNING for each in running)
        assert all(each.status in IDLE for each in waiting)
        for manager in self.scheduler.kv_cache_manager.coordinator.single_type_managers:
            assert manager.req_to_blocks.keys() <= set(ids[: len(running)])

    # -- the model ---------------------------------------------------------------------------------

    def _finish(self, step: Step) -> None:
        """Compute a step, and tell the scheduler what it sampled."""
        tokens = self._compute(step)
        sampled = {name: [self._sample(name, tokens[name])] for name in step.batch.sample_ids}
        present = [request for request in step.requests.values() if not request.is_finished()]
        lengths = {name: step.requests[name].num_tokens for name in sampled}
        answer = self.scheduler.update_from_output(step.output, self._report(sampled))
        for each in answer[0].outputs if answer else ():
            if each.finish_reason is FinishReason.ERROR:
                self.counts["failed"] += 1
                continue
            its = step.requests[each.request_id]
            assert its.num_tokens == lengths[each.request_id] + 1
            assert (each.finish_reason is not None) == its.is_finished()
        ended = [request for request in present if request.is_finished()]
        self._ended += [request.all_token_ids for request in ended]
        self.counts["finished"] += len(ended)

    def _report(self, sampled: dict[Any, list[int]]) -> Any:
        """What the workers report of a step."""
        return sampled

    def _sample(self, name: Any, tokens: list[int]) -> int:
        """The same history goes on in the same way, as greedy sampling does."""
        number = int(self.contents.of(name, tokens)[0, -1] ^ SALTS[0, 0].astype(np.int64))
        return STOP if number % 31 == 0 else number // 31 % self.scene.vocabulary

    # -- the world ---------------------------------------------------------------------------------

    def _arrive(self) -> None:
        while len(self.scheduler.waiting) < 2 and self.random.random() < 0.5:
            self.counts["requests"] += 1
            before = [each for each in self._ended[-8:] if len(each) < MAX_LEN // 2]
            opening = self.random.choice(self.openings + before)  # a new text, or a conversation
            prompt = opening + self._words(self.random.randint(1, 8))
            self.scheduler.add_request(
                Request(
                    self.counts["requests"],
                    prompt,
                    block_size=self.hash_size,
                    max_tokens=self.random.randint(1, 24),
                    stop_token_ids=[STOP],
                    priority=self.random.randrange(3),
                    arrival_time=float(self.counts["steps"]),
                )
            )

    def _disturb(self, stuck: bool) -> None:
        """Now and then a request is aborted, the cache forgets, or what waits forever goes."""
        scheduler, chance = self.scheduler, self.random.random
        self._idle = self._idle + 1 if stuck and scheduler.requests else 0
        present = [*scheduler.running, *scheduler.waiting]
        starving = [r for r in scheduler.waiting if why_it_waits_forever(scheduler, r)]
        if self._idle > 3 or (starving and stuck):
            self._abort((starving or present)[0])
        elif present and chance() < 0.02:
            self._abort(self.random.choice(present))
        if chance() < self.scene.reset_chance:
            self.counts["resets"] += self._reset()
        if chance() < self.scene.evict_chance:
            scheduler.kv_cache_manager.evict_blocks([self.random.randrange(self.scene.blocks)])

    def _reset(self) -> bool:
        return self.scheduler.reset_prefix_cache(reset_running_requests=True)

    def _abort(self, request: Request) -> None:
        assert [*self.scheduler.finish_requests(request.request_id, ABORTED)] == [request]
        self.counts["aborts"] += 1


if __name__ == "__main__":
    sys.exit(print_counts(SCENES, Run, int(sys.argv[1]) if len(sys.argv) > 1 else 1000))
