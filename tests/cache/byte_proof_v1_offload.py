"""The proof for V1 with a second tier: what is stored, evicted and loaded is read again.

Workers move the bytes of each copy as early or as late as they may (`tests.cache.tier_bytes`), and
copies end after none or several steps. Some loads fail. After every step, each chunk that can be
loaded must hold the keys and values of its tokens in all workers.

    python -m tests.cache.byte_proof_v1_offload [steps]      every scene, and its counts
"""

import random
import sys
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pagesim.v1 import (
    ModelRunnerOutput,
    OffloadingConfig,
    Request,
    RequestStatus,
    Scheduler,
    SchedulerOutput,
)
from pagesim.v1.offload.connector import OffloadingConnector
from pagesim.v1.offload.remote import LOADING
from pagesim.v1.transfers import OffloadingConnectorMetadata, TransferJob
from tests.cache.byte_proof_v1 import ABORTED, ASYNC, BLOCK_SIZE, IDLE, Run, Scene
from tests.cache.contents import LAYERS, Bytes, print_counts
from tests.cache.tier_bytes import Copier, TierBytes, WorkerBytes
from tests.cache.worker_v1 import Step
from tests.v1.world import check


@dataclass(frozen=True, slots=True)
class TierScene(Scene):
    """A scene whose scheduler has a second tier."""

    blocks: int = 23
    chunks: int = 16
    width: int = 1
    """The blocks of a chunk."""
    slowest: int = 3
    """The most steps that a copy takes."""
    failing: float = 0.0
    """How many of the loads fail."""
    forgets: float = 0.0
    """How often the tier forgets all chunks."""
    tier: dict[str, Any] = field(default_factory=dict)
    """Other fields of `OffloadingConfig`."""


ARC: dict[str, Any] = {"cache_policy": "arc"}
OUTPUTS: dict[str, Any] = {"offload_prompt_only": False}
RECOMPUTE: dict[str, Any] = {"kv_load_failure_policy": "recompute"}
TWO: dict[str, Any] = {"num_workers": 2}
SYNC: dict[str, Any] = {"sync_load_budget_tokens": 12}
PRIORITY: dict[str, Any] = {"policy": "priority"}
SCENES = {
    "one block": TierScene(),
    "two blocks, ARC, outputs": TierScene(width=2, chunks=12, tier=ARC | OUTPUTS),
    "three blocks, two workers": TierScene(width=3, chunks=9, tier=TWO),
    "tiny tier, slow, outputs": TierScene(chunks=4, slowest=6, tier=OUTPUTS),
    "tiny tier of two blocks, ARC": TierScene(width=2, chunks=3, tier=ARC | OUTPUTS),
    "copies end at once": TierScene(slowest=0, tier=OUTPUTS),
    "priority, two workers": TierScene(steps=PRIORITY, tier=TWO | OUTPUTS),
    "asynchronous": TierScene(steps=ASYNC, tier=OUTPUTS),
    "asynchronous, two blocks, ARC, two workers": TierScene(
        width=2, chunks=12, steps=ASYNC, tier=ARC | TWO
    ),
    "asynchronous, priority, resets": TierScene(forgets=0.05, steps=ASYNC | PRIORITY, tier=OUTPUTS),
    "asynchronous, tight, evictions on the GPU": TierScene(
        blocks=17, chunks=40, slowest=1, evict_chance=0.3, steps=ASYNC, tier=OUTPUTS
    ),
    "resets": TierScene(reset_chance=0.05, forgets=0.05, tier=OUTPUTS),
    "resets, three blocks, ARC, two workers": TierScene(
        width=3, chunks=9, reset_chance=0.05, forgets=0.05, tier=ARC | TWO | OUTPUTS
    ),
    "failed loads end": TierScene(failing=0.3, tier=TWO),
    "failed loads are computed": TierScene(failing=0.3, tier=RECOMPUTE | OUTPUTS),
    "failed loads, asynchronous, two blocks": TierScene(
        width=2, failing=0.3, steps=ASYNC, tier=RECOMPUTE | TWO
    ),
    "synchronous loads": TierScene(tier=SYNC | OUTPUTS),
    "synchronous loads, asynchronous, two blocks": TierScene(
        width=2, chunks=12, steps=ASYNC, tier=SYNC | OUTPUTS
    ),
    "no caching on the GPU": TierScene(caching=False, tier=OUTPUTS),
    "no caching on the GPU, slow, resets": TierScene(
        caching=False, chunks=30, slowest=6, forgets=0.1, tier=OUTPUTS
    ),
    "a threshold, evictions on the GPU": TierScene(
        evict_chance=0.2, tier={"store_threshold": 2, "max_tracker_size": 40}
    ),
    "small chunks, no reserve": TierScene(
        budget=12, steps={"scheduler_reserve_full_isl": False, "watermark": 0.1}, tier=OUTPUTS
    ),
}


class TierRun(Run):
    """A scene with a second tier that is stepped."""

    bytes: TierBytes
    pools: Any = WorkerBytes
    """What a worker has."""

    def __init__(self, scene: TierScene, seed: int = 0) -> None:
        super().__init__(scene, seed)
        self.clock = 0.0
        self.luck = random.Random(-1 - seed)
        self._left: dict[int, int] = {}
        """By number of a copy under way: how many workers have not ended it."""
        self._belongs: dict[Any, NDArray[np.int64]] = {}
        """By key: what a chunk holds."""
        self._arrivals = True
        self._decided: OffloadingConnectorMetadata | None = None
        """Asynchronously: what the next step copies."""

    @staticmethod
    def make_scheduler(scene: Any, tier: OffloadingConfig | None = None) -> Scheduler:
        tier = OffloadingConfig(scene.chunks, blocks_per_chunk=scene.width, **scene.tier)
        return Run.make_scheduler(scene, tier)

    def make_bytes(self, scene: TierScene, places: int) -> Bytes:
        sizes = places, scene.blocks, scene.chunks, scene.width
        count = scene.tier.get("num_workers", 1)
        return TierBytes([Copier(i, self.pools(*sizes), scene.slowest) for i in range(count)])

    @property
    def tier(self) -> OffloadingConnector:
        """What is stored and loaded."""
        assert self.scheduler.connector is not None
        return self.scheduler.connector

    def end(self) -> None:
        """All leave; the copies end, and then no block is held and nobody is left."""
        self.scheduler.finish_requests(list(self.scheduler.requests), ABORTED)
        self._arrivals = False
        for _ in range(200):
            if not self.scheduler.has_requests():
                break
            self.step()
        assert not self.scheduler.has_requests()
        assert not self._left and not self.tier._watched and not self.tier._states
        super().end()

    # -- a step ------------------------------------------------------------------------------------

    def _schedule(self) -> SchedulerOutput:
        tier, counts = self.tier, self.counts
        before = set(tier.manager.policy.chunks)
        output = self.scheduler.schedule()
        copies = output.kv_connector_metadata
        assert copies is not None
        counts["evictions"] += len(before - tier.manager.policy.chunks.keys())
        counts["stores"] += len(copies.store_jobs)
        counts["loads"] += len(copies.load_jobs)
        counts["sync_loads"] += sum(job.sync for job in copies.load_jobs.values())
        counts["flushes"] += len(copies.jobs_to_flush)
        for name in output.preempted_req_ids:
            counts["preempted_storing"] += name in tier._states and bool(tier._states[name].jobs)
        for job in (*copies.load_jobs.values(), *copies.store_jobs.values()):
            self._left[job.job_id] = len(self.bytes.workers)
        for job in copies.store_jobs.values():
            self._note_chunks(job)
        for job in copies.load_jobs.values():
            blocks = job.dst_spec.block_ids
            if blocks and not job.sync and self.luck.random() < self.scene.failing:
                worker = self.luck.choice(self.bytes.workers)
                worker.failing[job.job_id] = {self.luck.choice(blocks)}
        self._decided = copies if self._in_flight else None
        return output

    def _note_chunks(self, job: TransferJob) -> None:
        state = self.tier._states[job.req_id]
        contents = self.contents.of(job.req_id, state.request.all_token_ids)
        for key in job.keys:
            end = state.context.positions[key]
            found = contents[:, end - self.tier.chunk_size : end]
            parts = found.reshape(2 * LAYERS, self.scene.width, BLOCK_SIZE)
            self._belongs[key] = parts.swapaxes(0, 1)

    def _finish(self, step: Step) -> None:
        copies = step.output.kv_connector_metadata
        assert copies is not None
        self.clock += 1
        self.clock = max(worker.start(copies, self.clock) for worker in self.bytes.workers)
        if self._decided:
            for worker in self.bytes.workers:
                worker.begin_loads(self._decided)
        super()._finish(step)
        self._check_chunks()

    def _report(self, sampled: dict[Any, list[int]]) -> ModelRunnerOutput:
        completed, received, invalid = Counter[int](), [], set[int]()
        for worker in self.bytes.workers:
            for job in worker.finish(self.clock):
                completed[job.job_id] += 1
                self._left[job.job_id] -= 1
                invalid |= worker.failed.pop(job.job_id, set())
                if not self._left[job.job_id]:
                    del self._left[job.job_id]
                    if not job.is_store and not job.sync:
                        received.append(job.req_id)
        self.counts["invalid"] += len(invalid)
        return ModelRunnerOutput(sampled, list(completed.items()), received, invalid)

    # -- what must hold ----------------------------------------------------------------------------

    def _check_chunks(self) -> None:
        """Every chunk that can be loaded holds what belongs there."""
        chunks = self.tier.manager.policy.chunks
        ready = {key: chunk.chunk_id for key, chunk in chunks.items() if chunk.ref_cnt >= 0}
        if not ready:
            return
        held = self.bytes.read_chunks([*ready.values()])
        expected = np.stack([self._belongs[key] for key in ready])
        self.counts["chunks_read"] += len(ready)
        if (held != expected).any():
            bad = [
                chunk for i, chunk in enumerate(ready.values()) if (held[i] != expected[i]).any()
            ]
            self.wrong.append(f"step {self.counts['steps']}: chunks {bad} hold wrong bytes")

    def _check_places(self) -> None:
        scheduler = self.scheduler
        holding = list(scheduler.kv_holding_waiting)
        if scheduler.remote._deferred:
            self.counts["deferred"] += 1
        else:
            check(scheduler.kv_cache_manager)
        queued = [*scheduler.running, *scheduler.waiting, *holding]
        leaving = [each for each in scheduler.requests.values() if each.is_finished()]
        ids = [each.request_id for each in (*queued, *leaving)]
        assert sorted(ids) == sorted(scheduler.requests)
        assert all(each.status is RequestStatus.RUNNING for each in scheduler.running)
        assert all(each.status in (LOADING, *IDLE) for each in holding)
        (tables,) = scheduler.kv_cache_manager.coordinator.single_type_managers
        owners = {each.request_id for each in (*scheduler.running, *holding, *leaving)}
        assert {name for name, table in tables.req_to_blocks.items() if table} <= owners

    # -- the world ---------------------------------------------------------------------------------

    def _arrive(self) -> None:
        if self._arrivals:
            super()._arrive()

    def _disturb(self, stuck: bool) -> None:
        scheduler, chance = self.scheduler, self.luck.random
        super()._disturb(stuck and not self.tier.has_pending_push_work())
        if scheduler.kv_holding_waiting and chance() < 0.05:
            self.counts["aborted_holding"] += 1
            self._abort(self.luck.choice(list(scheduler.kv_holding_waiting)))
        if chance() < self.scene.forgets:
            self.counts["forgotten"] += 1
            scheduler.reset_prefix_cache(reset_connector=True)

    def _reset(self) -> bool:
        try:
            return self.scheduler.reset_prefix_cache(
                reset_running_requests=True, reset_connector=self.luck.random() < 0.5
            )
        except RuntimeError:  # blocks are being loaded
            self.counts["resets_refused"] += 1
            return False

    def _abort(self, request: Request) -> None:
        self.counts["aborted_loading"] += request.status is LOADING
        super()._abort(request)


HAPPENS = (
    *("stores", "loads", "sync_loads", "evictions", "flushes", "deferred", "preempted_storing"),
    *("late", "early", "ahead", "aborted_loading", "aborted_holding"),
    *("forgotten", "resets", "invalid", "failed"),
)
"""What all scenes together must have had many of."""


def counts_of(runs: list[TierRun]) -> Counter[str]:
    """What happened in all of them, and when their copies moved the bytes."""
    counts = sum((run.counts for run in runs), Counter[str]())
    return sum((worker.counts for run in runs for worker in run.bytes.workers), counts)


def main(steps: int) -> int:
    """Run every scene; 1 if a byte was wrong, or if something never happened."""
    runs: list[TierRun] = []

    def begun(scene: TierScene) -> TierRun:
        runs.append(TierRun(scene))
        return runs[-1]

    is_wrong = print_counts(SCENES, begun, steps)
    counts = counts_of(runs)
    print(f"all: {counts['steps']} steps,", ", ".join(f"{counts[each]} {each}" for each in HAPPENS))
    return is_wrong or int(not all(counts[each] for each in HAPPENS))


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 600))
