"""A call of a scheduler that fails changes nothing, and a configuration is refused by name."""

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import pytest

import pagesim
from pagesim.errors import UnsupportedError, UsageError
from pagesim.v1 import (
    CacheConfig,
    Request,
    RequestStatus,
    Scheduler,
    SchedulerConfig,
    SchedulerOutput,
)
from tests.v1.test_atomic import SIZE, request
from tests.v1.world import refused

ABORTED = RequestStatus.FINISHED_ABORTED
WHOLE = {"enable_chunked_prefill": False}


def scheduler(**options: Any) -> Scheduler:
    config = SchedulerConfig(32, 4, 64, **options)
    return Scheduler(config, CacheConfig(SIZE, 12))


def with_two() -> Scheduler:
    """One request runs with a step in flight, one waits."""
    its = scheduler()
    its.add_request(request("a", 9))
    its.schedule()
    its.add_request(request("b", 9, 50))
    return its


SCHEDULER_CALLS: list[tuple[type, str, Callable[[Scheduler], object]]] = [
    (TypeError, "request must be a Request", lambda s: s.add_request("a")),
    (UsageError, "already has request 'a'", lambda s: s.add_request(request("a", 3))),
    (UsageError, "'c' is empty", lambda s: s.add_request(request("c", 0))),
    (UsageError, "blocks of 8", lambda s: s.add_request(Request("c", [1], block_size=8))),
    (UsageError, "must be WAITING, not FINISHED", lambda s: s.add_request(ended())),
    (UsageError, "must be a finished one", lambda s: s.finish_requests(["a"], 7)),
    (UsageError, "finished", lambda s: s.finish_requests(["a"], RequestStatus.PREEMPTED)),
    (TypeError, r"\['b'\]\[0\]", lambda s: s.update_from_output(flying(s), {"a": [1], "b": ["x"]})),
    (RuntimeError, "block 11 ", lambda s: s.reset_prefix_cache(reset_running_requests=True)),
    (TypeError, "must be True or False", lambda s: s.reset_prefix_cache("all")),
]


def flying(its: Scheduler) -> SchedulerOutput:
    return next(iter(its._in_flight))


def ended() -> Request:
    its = request("c", 3)
    its.status = ABORTED
    return its


@pytest.mark.parametrize("recorded", [False, True])
@pytest.mark.parametrize(("error", "message", "call"), SCHEDULER_CALLS)
def test_a_scheduler_call_that_raises_changes_nothing(
    error: type, message: str, call: Callable[[Scheduler], object], recorded: bool
) -> None:
    its = with_two()
    pool = its.kv_cache_manager.block_pool
    pool.free_block_queue.remove(pool.blocks[11])
    pool.blocks[11].ref_cnt = 1
    with pagesim.record(its) if recorded else nullcontext() as run:
        refused(its, error, message, call, its)
        assert run is None or run.at(-1) == its.state()


def test_asynchronously_each_token_has_a_place_once() -> None:
    its = scheduler(async_scheduling=True)
    its.add_request(request("a", 9, max_tokens=3, stop_token_ids=[9]))
    output = its.schedule()
    update = its.update_from_output
    refused(its, UsageError, r"'a' samples 1 tokens .* not 2", update, output, {"a": [7, 8]})
    update(output, {"a": [7]})
    refused(its, UsageError, "'a' samples 0 tokens", update, output, {"a": [7]})
    # What is behind the end of a request is cut off, and needs no place.
    answer = update(its.schedule(), {"a": [9, 7, 7]})
    assert answer[0].outputs[0].new_token_ids == [9]


def test_stale_tokens_come_back_once() -> None:
    its = scheduler()
    its.add_request(request("a", 9))
    output = its.schedule()
    assert its.reset_prefix_cache(reset_running_requests=True)
    its.requests["a"].num_stale_output_tokens = 5
    message = "'a' has 5 tokens in flight"
    refused(its, UsageError, message, its.update_from_output, output, {"a": [7]})


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"max_num_seqs": 0}, UsageError, "max_num_seqs must be at least 1"),
        ({"max_num_seqs": 64}, UsageError, "must be at least max_num_seqs"),
        (WHOLE | {"max_num_batched_tokens": 63}, UsageError, r"\(63\).*\(64\)"),
        ({"long_prefill_token_threshold": 65}, UsageError, r"\(65\) must be at most max_model_len"),
        ({"policy": "lifo"}, UsageError, "policy must be 'fcfs' or 'priority', not 'lifo'"),
        ({"watermark": 1.5}, UsageError, "watermark must be between 0 and 1, not 1.5"),
        ({"watermark": "half"}, TypeError, "watermark must be a number"),
        ({"enable_chunked_prefill": 1}, TypeError, "enable_chunked_prefill must be True or False"),
        ({"long_prefill_token_threshold": -1}, UsageError, "must be at least 0"),
        ({"num_gpu_blocks": 0}, UsageError, "num_gpu_blocks must be at least 1"),
        ({"sliding_window": 0}, UsageError, "sliding_window must be at least 1"),
        ({"sliding_window": [4, None]}, UnsupportedError, "a hybrid model"),
        ({"retention_interval": 8}, UsageError, "full attention keeps everything"),
        ({"sliding_window": 4, "retention_interval": 6}, UsageError, "a multiple of block_size"),
    ],
)
def test_a_config_is_refused_by_name(options: dict[str, Any], error: type, message: str) -> None:
    steps = {"max_num_batched_tokens": 32, "max_num_seqs": 4, "max_model_len": 64}
    cache = {"block_size": SIZE, "num_gpu_blocks": 12}
    for name, value in options.items():
        known = name in CacheConfig.__dataclass_fields__
        (cache if known else steps)[name] = value
    with pytest.raises(error, match=message):
        Scheduler(SchedulerConfig(**steps), CacheConfig(**cache))


def test_a_config_at_the_edge() -> None:
    whole = SchedulerConfig(64, 64, 64, **WHOLE)
    assert SchedulerConfig(64, 64, 64, long_prefill_token_threshold=64) and whole
