"""A second tier that remembers bytes, for exercise 12.4; its faults are in `faulty`."""

from collections import deque

from pagesim.exercises.kit import Value, counted
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
from pagesim.v1.transfers import OffloadingConnectorMetadata, TransferJob

BLOCK, COPY, LATEST = 2, 2, 30
"""The tokens of a block, the steps of a copy, and the last step in which a request may arrive."""
Arrivals = list[tuple[int, list[int]]]
Place = tuple[str, int]
"""A block of the GPU, or a chunk of the CPU."""


class Copies(OffloadingWorker):
    """Copies that take their time, and remember what they read when they began."""

    def __init__(self) -> None:
        super().__init__(lambda job, now: now + COPY)
        self.memory: dict[Place, Value] = {}
        self.began_with: dict[int, list[Value]] = {}
        self.log: list[str] = []
        self.flushed: list[TransferJob] = []

    def _load(self, metadata: OffloadingConnectorMetadata, now: float) -> float:
        self.flushed = self.end(now)
        return super()._load(metadata, now)

    def _begin(self, queue: deque[tuple[float, TransferJob]], job: TransferJob, now: float) -> None:
        super()._begin(queue, job, now)
        sources, targets = places(job)
        self.began_with[job.job_id] = [self.memory.get(place) for place in sources]
        self.memory |= dict.fromkeys(targets, "half a copy")
        self.log.append(f"{told(job)} begins")

    def end(self, now: float) -> list[TransferJob]:
        """The copies that have ended; of what has changed since they began, they have a mixture."""
        jobs = self.finish(now)
        for job in jobs:
            for source, target, first in zip(
                *places(job), self.began_with[job.job_id], strict=True
            ):
                last = self.memory.get(source)
                self.memory[target] = last if last == first else "a mixture"
            self.log.append(f"{told(job)} ends")
        return jobs


def places(job: TransferJob) -> tuple[list[Place], list[Place]]:
    """Where a copy reads, and where it writes."""
    kinds = ("block", "chunk") if job.is_store else ("chunk", "block")
    sources, targets = job.src_spec.block_ids, job.dst_spec.block_ids
    return [(kinds[0], number) for number in sources], [(kinds[1], number) for number in targets]


def told(job: TransferJob) -> str:
    pairs = (f"{a[0]} {a[1]} -> {b[0]} {b[1]}" for a, b in zip(*places(job), strict=True))
    return f"{'store' if job.is_store else 'load'} of {job.req_id} ({', '.join(pairs)})"


class Tier:
    """A scheduler with a tier of ``num_chunks``, and workers with a memory. The GPU keeps nothing.

    ``wrong`` has what was loaded and is not what the request's own tokens give.
    """

    def __init__(self, num_chunks: int) -> None:
        cache = CacheConfig(BLOCK, 4 * num_chunks + 1, enable_prefix_caching=False)
        self.scheduler = Scheduler(
            SchedulerConfig(1000, 100, 1000), cache, OffloadingConfig(num_chunks)
        )
        self.copies = Copies()
        self.wrong: list[str] = []
        self.now = 0.0

    def serve(self, arrivals: Arrivals) -> list[str]:
        """Serve requests that arrive in these steps, with these prompts; one line for each step."""
        log, scheduler = list[str](), self.scheduler
        for step in range(10 * LATEST):
            for number, (arrives, prompt) in enumerate(arrivals):
                if arrives == step:
                    name = f"s{number}"
                    scheduler.add_request(Request(name, prompt, block_size=BLOCK, max_tokens=1))
            if not scheduler.has_requests() and all(arrives < step for arrives, _ in arrivals):
                break
            self._step()
            log += [f"step {step:2}: {'; '.join(self.copies.log)}"] * bool(self.copies.log)
            self.copies.log.clear()
        return log

    def _step(self) -> None:
        output, requests = self.scheduler.schedule(), {**self.scheduler.requests}
        assert output.kv_connector_metadata is not None
        self.now = self.copies.start(output.kv_connector_metadata, self.now)
        jobs = self.copies.flushed + self.copies.end(self.now)  # what the step waited for
        self._compute(output, requests)
        self.now += 1
        jobs += self.copies.end(self.now)
        for job in jobs:
            self._look_at(job, requests)
        completed, received = reported(jobs)
        sampled = {name: [7] for name in output.num_scheduled_tokens}
        self.scheduler.update_from_output(output, ModelRunnerOutput(sampled, completed, received))

    def _compute(self, output: SchedulerOutput, requests: dict[Name, Request]) -> None:
        for name, num_new in output.num_scheduled_tokens.items():
            self.copies.log.append(f"{name} computes {counted(num_new, 'token')}")
            end = requests[name].num_computed_tokens
            table = self.scheduler.kv_cache_manager.get_block_ids(name)[0]
            for index in range((end - num_new) // BLOCK, len(table)):
                written = content(requests[name], index)
                self.copies.memory["block", table[index]] = written

    def _look_at(self, job: TransferJob, requests: dict[Name, Request]) -> None:
        """Every load must give what the request would have computed."""
        for index, place in enumerate(places(job)[1]):
            if not job.is_store and self.copies.memory[place] != content(
                requests[job.req_id], index
            ):
                self.wrong.append(f"{job.req_id} loads wrong bytes into block {place[1]}")
                self.copies.log.append(self.wrong[-1])


def content(request: Request, index: int) -> tuple[int, ...]:
    """What a block holds: its keys and values depend on all tokens up to its end."""
    return tuple(request.all_token_ids[: (index + 1) * BLOCK])
