"""When copies begin and end: stores a step late, flushed ones before any load, queues in order."""

import pytest

from pagesim.v1.offload.worker import OffloadingWorker
from pagesim.v1.transfers import (
    CPULoadStoreSpec,
    GPULoadStoreSpec,
    OffloadingConnectorMetadata,
    TransferJob,
)


def job(number: int, is_store: bool, sync: bool = False) -> TransferJob:
    gpu, cpu = GPULoadStoreSpec([1], (0,)), CPULoadStoreSpec([0])
    ends = (gpu, cpu) if is_store else (cpu, gpu)
    return TransferJob(number, f"r{number}", ["key"], *ends, is_store, sync, 1)


def step(*jobs: TransferJob, flush: tuple[int, ...] = ()) -> OffloadingConnectorMetadata:
    loads = {each.job_id: each for each in jobs if not each.is_store}
    stores = {each.job_id: each for each in jobs if each.is_store}
    return OffloadingConnectorMetadata(loads, stores, set(flush))


@pytest.fixture
def worker() -> OffloadingWorker:
    """Each copy takes 10."""
    return OffloadingWorker(lambda job, now: now + 10)


def ended(worker: OffloadingWorker, now: float) -> list[int]:
    return [each.job_id for each in worker.finish(now)]


def test_a_store_begins_a_step_late_and_a_load_at_once(worker: OffloadingWorker) -> None:
    assert worker.start(step(job(0, True), job(1, False)), 100) == 100
    assert ended(worker, 109) == [] and ended(worker, 110) == [1]
    assert worker.start(step(), 200) == 200
    assert worker.next_end() == 210 and ended(worker, 210) == [0]


def test_a_flushed_store_ends_before_a_load_begins(worker: OffloadingWorker) -> None:
    worker.start(step(job(0, True)), 0)
    assert worker.start(step(job(1, True), job(2, False), flush=(0, 1)), 100) == 120
    assert ended(worker, 129) == [0, 1] and ended(worker, 130) == [2]


def test_a_step_waits_for_the_loads_that_it_computes_with(worker: OffloadingWorker) -> None:
    assert worker.start(step(job(0, False), job(1, False, sync=True)), 0) == 20
