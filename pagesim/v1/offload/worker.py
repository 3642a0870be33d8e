"""When the copies of the second tier begin and end.

A load begins in the step that plans it. A store begins one step later, when the step that computes
its blocks has run. Each direction is a queue, so its copies end in order. A step waits for nothing
but what it must flush, and for the loads that it computes with.

Source: vLLM 0.33.0, ``vllm/distributed/kv_transfer/kv_connector/v1/offloading/worker.py``.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from pagesim.journal.effects import Name
from pagesim.v1.transfers import Copier, OffloadingConnectorMetadata, TransferJob


class OffloadingWorker:
    """The copies under way. ``ends_at`` is when a copy ends that begins now, if none is before it.

    Times are of any unit. By default, a copy ends in the step in which it begins. ``copy`` is told
    of each copy that begins, and moves the bytes if there are any. ``fails`` says which loads bring
    nothing, although they end; by default none.
    """

    def __init__(
        self,
        ends_at: Callable[[TransferJob, float], float] | None = None,
        copy: Copier | None = None,
        fails: Callable[[TransferJob], bool] | None = None,
    ) -> None:
        self.ends_at = ends_at or (lambda job, now: now)
        self.copy = copy or (lambda job: None)
        self.fails = fails or (lambda job: False)
        self._planned: list[TransferJob] = []
        self._stores: deque[tuple[float, TransferJob]] = deque()
        self._loads: deque[tuple[float, TransferJob]] = deque()

    def start(self, metadata: OffloadingConnectorMetadata, now: float = 0.0) -> float:
        """Begin what a step begins; returns when it can compute."""
        return self._load(metadata, self._store(metadata, now))

    def _store(self, metadata: OffloadingConnectorMetadata, now: float) -> float:
        """Begin stores, and wait for those whose blocks are needed: before a load fills them."""
        flushed, new = metadata.jobs_to_flush, metadata.store_jobs.values()
        for job in (*self._planned, *(job for job in new if job.job_id in flushed)):
            self._begin(self._stores, job, now)
        self._planned = [job for job in new if job.job_id not in flushed]
        under_way = (*self._stores, *self._loads)
        return max((end for end, job in under_way if job.job_id in flushed), default=now)

    def _load(self, metadata: OffloadingConnectorMetadata, now: float) -> float:
        """Begin loads, and wait for those that the step computes with."""
        for job in metadata.load_jobs.values():
            self._begin(self._loads, job, now)
        return max((end for end, job in self._loads if job.sync), default=now)

    def _begin(self, queue: deque[tuple[float, TransferJob]], job: TransferJob, now: float) -> None:
        self.copy(job)
        free = max(now, queue[-1][0]) if queue else now
        queue.append((self.ends_at(job, free), job))

    def finish(self, now: float = 0.0) -> list[TransferJob]:
        """Return the copies that have ended by now, each once."""
        ended = []
        for queue in (self._stores, self._loads):
            while queue and queue[0][0] <= now:
                ended.append(queue.popleft()[1])
        return sorted(ended, key=lambda job: job.job_id)

    def invalid(self, jobs: list[TransferJob]) -> set[int]:
        """Return the blocks that these should have filled, and did not."""
        failed = [job for job in jobs if not job.is_store and self.fails(job)]
        return {block_id for job in failed for block_id in job.dst_spec.block_ids}

    def next_end(self) -> float | None:
        """Return when the next copy ends; None if none is under way, or only planned."""
        return min((queue[0][0] for queue in (self._stores, self._loads) if queue), default=None)


def reported(jobs: list[TransferJob]) -> tuple[list[tuple[int, int]], list[Name]]:
    """What all workers report of these: ``completed`` and ``received`` of a `ModelRunnerOutput`."""
    completed = [(job.job_id, job.num_pending) for job in jobs]
    return completed, [job.req_id for job in jobs if not job.is_store and not job.sync]
