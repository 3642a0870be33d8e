"""Random things that happen to V1's scheduler with a second tier, and to its copies."""

import contextlib

from pagesim import v1
from pagesim.journal.effects import Name
from pagesim.v1.offload.worker import OffloadingWorker
from pagesim.v1.transfers import TransferJob
from tests.timeline.random_calls.groups import V1Run
from tests.timeline.random_calls.source import rare


class OffloadRun(V1Run):
    """With workers; the seed says which tier."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        choice = self.random.choice
        self.late = self.random.random() < 0.4
        config = v1.SchedulerConfig(
            choice([9, 16, 40]),
            choice([2, 5]),
            40,
            async_scheduling=self.late,
            policy=choice(["fcfs", "fcfs", "priority"]),
        )
        cache = v1.CacheConfig(2, choice([14, 20, 40]), enable_prefix_caching=not rare(self.random))
        self.offload = v1.OffloadingConfig(
            choice([1, 4, 12]),
            blocks_per_chunk=1 + seed % 3,
            cache_policy=choice(["lru", "arc"]),
            store_threshold=choice([0, 0, 2]),
            offload_prompt_only=choice([True, False]),
            sync_load_budget_tokens=choice([0, 0, 8]),
            num_workers=choice([1, 2]),
            kv_load_failure_policy=choice(["fail", "recompute"]),
        )
        self.subject = self.scheduler = v1.Scheduler(config, cache, self.offload)
        self.now = 0.0
        slow = choice([0, 1, 4])
        self.workers = [
            OffloadingWorker(lambda job, now: now + self.random.randint(0, slow))
            for _ in range(self.offload.num_workers)
        ]
        self.done: dict[int, int] = {}

    def forget(self) -> None:
        """Caches are forgotten, which a request that loads may forbid."""
        running, connector = self.random.choices([True, False], [1, 3], k=2)
        with contextlib.suppress(RuntimeError):
            self.scheduler.reset_prefix_cache(running and not self.in_flight, connector)

    def schedule(self) -> None:
        output = self.scheduler.schedule()
        self.now += 1
        for worker in self.workers:
            self.now = max(self.now, worker.start(output.kv_connector_metadata, self.now))
        requests, tokens = self.scheduler.requests, output.num_scheduled_tokens
        names = [name for name in tokens if not requests[name].is_prefill_chunk]
        self.in_flight.append((output, names))

    def update(self) -> None:
        output, names = self.in_flight.pop(0)
        ended = [job for worker in self.workers for job in worker.finish(self.now)]
        report = v1.ModelRunnerOutput(
            {name: [self.random.randrange(3)] for name in names},
            [(job.job_id, 1) for job in ended],
            received := [job.req_id for job in ended if self.is_load(job)],
            self.invalid(received),
        )
        self.scheduler.update_from_output(output, report)

    def is_load(self, job: TransferJob) -> bool:
        """Whether all workers are done with a load that its request waits for."""
        self.done[job.job_id] = self.done.get(job.job_id, 0) + 1
        is_done = self.done[job.job_id] == self.offload.num_workers
        return is_done and not job.is_store and not job.sync

    def invalid(self, received: list[Name]) -> set[int]:
        """Blocks whose load has failed."""
        if not received or not rare(self.random):
            return set()
        table = self.scheduler.kv_cache_manager.get_block_ids(self.random.choice(received))[0]
        return {self.random.choice(table)} if table else set()
