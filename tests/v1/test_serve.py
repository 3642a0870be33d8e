"""`serve` runs a scheduler until nothing is left to do."""

from typing import Any

import pytest

import pagesim
from pagesim.v1 import CacheConfig, OffloadingConfig, Request, Scheduler, SchedulerConfig, serve
from pagesim.v1.offload.worker import OffloadingWorker
from pagesim.v1.transfers import TransferJob


def new_scheduler(num_blocks: int, chunks: int | None = None, **limits: Any) -> Scheduler:
    config = SchedulerConfig(24, 4, 64, **limits)
    tier = None if chunks is None else OffloadingConfig(chunks)
    return Scheduler(config, CacheConfig(4, num_blocks), tier)


def request(name: str, start: int, count: int, max_tokens: int = 3) -> Request:
    return Request(name, range(start, start + count), block_size=4, max_tokens=max_tokens)


@pytest.mark.parametrize("chunks", [None, 8])
@pytest.mark.parametrize("is_async", [False, True])
def test_all_requests_end(chunks: int | None, is_async: bool) -> None:
    scheduler = new_scheduler(12, chunks, async_scheduling=is_async)
    requests = [request(name, start, 9) for name, start in (("a", 0), ("b", 0), ("c", 50))]
    steps = serve(scheduler, requests)
    assert not scheduler.has_requests()
    assert [each.num_output_tokens for each in requests] == [3, 3, 3]
    assert [each.all_token_ids[9:] for each in requests] == [[9, 10, 11]] * 3
    assert sum(step.total_num_scheduled_tokens for step in steps) == 3 * 11 - 8
    assert scheduler.kv_cache_manager.usage == 0


def test_requests_arrive_before_their_steps() -> None:
    scheduler = new_scheduler(12)
    later = {1: [request("a", 0, 5)], 3: [request("b", 50, 5)], 9: [request("c", 70, 5)]}
    steps = serve(scheduler, later, sample=lambda its: 7)
    begun = {new.req_id: i for i, it in enumerate(steps, 1) for new in it.scheduled_new_reqs}
    assert begun == {"a": 1, "b": 3, "c": 9}


def test_a_worker_says_when_copies_end() -> None:
    for lasts, received in ((0, 1), (3, 4)):
        scheduler = new_scheduler(6, 8)
        serve(scheduler, [request("a", 0, 9, 1)])
        serve(scheduler, [request("x", 50, 19, 1)])
        worker = OffloadingWorker(lambda job, now, lasts=lasts: now + lasts)
        with pagesim.record(scheduler) as run:
            serve(scheduler, [request("b", 0, 9, 1)], worker)
        (load,), (receive,) = run.find(kind="load"), run.find(kind="receive")
        assert (run[receive].step or 0) - (run[load].step or 0) == received - 1


@pytest.mark.parametrize(
    ("policy", "status"), [("fail", "FINISHED_ERROR"), ("recompute", "FINISHED_LENGTH_CAPPED")]
)
def test_a_worker_says_which_loads_fail(policy: str, status: str) -> None:
    tier = OffloadingConfig(40, kv_load_failure_policy=policy)
    scheduler = Scheduler(SchedulerConfig(64, 8, 64), CacheConfig(4, 12), tier)
    failed = []

    def fails_once(job: TransferJob) -> bool:
        failed.append(job.job_id)
        return len(failed) == 1

    serve(scheduler, [request("a", 0, 9)])
    assert scheduler.reset_prefix_cache()
    again = request("b", 0, 9)
    serve(scheduler, [again], OffloadingWorker(fails=fails_once))
    assert again.status.name == status and len(failed) == 1 + (policy == "recompute")


def test_who_waits_forever_is_left_waiting() -> None:
    scheduler = new_scheduler(4, 4)
    big = request("big", 0, 15)
    steps = serve(scheduler, [request("a", 0, 5), big])
    assert scheduler.waiting.peek_request() is big and len(steps) < 10
    endless = Scheduler(SchedulerConfig(16, 4, 64), CacheConfig(1, 4), OffloadingConfig(4))
    for name in "ab":  # a prompt of one token is loaded again and again
        its = Request(name, [5], block_size=1, max_tokens=1)
        steps = serve(endless, [its], max_steps=30)
    assert len(steps) == 30 and not its.is_finished()


@pytest.mark.parametrize(
    "wrong",
    [
        {"scheduler": "scheduler"},
        {"requests": ["a"]},
        {"requests": {0: [request("a", 0, 5)]}},
        {"worker": 7},
        {"sample": 7},
        {"max_steps": -1},
    ],
)
def test_a_wrong_argument_is_named_before_anything_happens(wrong: dict[str, Any]) -> None:
    scheduler = new_scheduler(12, 4)
    right = {"scheduler": scheduler, "requests": [request("a", 0, 5)]}
    with pytest.raises((TypeError, ValueError), match=f"{next(iter(wrong))}|request|step"):
        serve(**right | wrong)
    assert not scheduler.has_requests()
