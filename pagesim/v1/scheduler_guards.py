"""Checks of what a scheduler is given: requests, and what a step is said to have sampled.

vLLM takes any output, even of a step that is known already, or that was never scheduled. What it
asserts is refused here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Mapping, Sequence
from itertools import chain

from pagesim.checks import check_new_request, misfit
from pagesim.errors import UsageError
from pagesim.journal.effects import Name
from pagesim.v1.config import SchedulerConfig
from pagesim.v1.kv_cache_manager import KVCacheManager
from pagesim.v1.offload.connector import OffloadingConnector
from pagesim.v1.offload.remote import ModelRunnerOutput, RemoteKVs
from pagesim.v1.output import SchedulerOutput
from pagesim.v1.request import Request, RequestStatus, check_block_size, check_tokens


def check_new(request: Request, known: Container[Name], block_size: int) -> None:
    """TypeError or UsageError unless a request is new, not empty, and fits the cache."""
    name = f"request {request.request_id!r}"
    if request.request_id in known:
        raise UsageError(f"the scheduler already has {name}: give each request a unique id")
    check_new_request(name, request.status, RequestStatus.WAITING, request.num_tokens)
    check_block_size(request, block_size)
    check_tokens(f"the tokens of {name}", request.all_token_ids)


def check_finished(status: RequestStatus) -> None:
    """UsageError unless this is the status of a finished request."""
    if not (isinstance(status, RequestStatus) and RequestStatus.is_finished(status)):
        raise UsageError(f"finished_status must be a finished one, not {status!r}")


def check_made_by_hand(output: SchedulerOutput) -> None:
    """TypeError or UsageError for an output that no step can have."""
    if wrong := misfit("scheduler_output", output, SchedulerOutput):
        raise TypeError(wrong)
    for request_id, num_scheduled in output.num_scheduled_tokens.items():
        if num_scheduled < 1:
            raise UsageError(
                f"num_scheduled_tokens[{request_id!r}] must be at least 1, not {num_scheduled}"
            )


def check_sampled(
    output: SchedulerOutput,
    sampled: Mapping[Name, Sequence[int]],
    requests: Mapping[Name, Request],
    config: SchedulerConfig,
) -> None:
    """TypeError or UsageError for a sample without a token, or without a place in its request."""
    check_tokens("sampled_token_ids", list(chain.from_iterable(sampled.values())))
    for request_id, num_scheduled in output.num_scheduled_tokens.items():
        if (request := requests.get(request_id)) is None:
            continue
        if (stale := request.num_stale_output_tokens) > 0:
            if num_scheduled > stale:
                raise UsageError(
                    f"request {request_id!r} has {stale} tokens in flight from before it was "
                    f"preempted, not {num_scheduled}: give each step's output once"
                )
        elif config.async_scheduling:
            tokens, expected = sampled.get(request_id, ()), request.num_output_placeholders
            if len(tokens) > expected and _num_kept(request, tokens, config) > expected:
                raise UsageError(
                    f"request {request_id!r} samples {expected} tokens in the steps in flight, not "
                    f"{len(tokens)}: give each step's output once, with one token for each request"
                )


def check_reported(
    report: ModelRunnerOutput,
    connector: OffloadingConnector | None,
    requests: Mapping[Name, Request],
) -> None:
    """UsageError for a copy that is not under way."""
    if connector is None:
        if report.completed or report.received or report.invalid:
            raise UsageError("there is no second tier, so no copy can be reported")
        return
    counts = Counter[int]()
    for job_id, num_reports in report.completed:
        counts[job_id] += num_reports
        left = connector.num_pending(job_id)
        if num_reports < 1 or (counts[job_id] > left and not connector.is_stale(job_id)):
            raise UsageError(
                f"job {job_id} waits for {left} workers, not for "
                f"{counts[job_id]}: report each copy once"
            )
    for request_id in report.received:
        if request_id not in requests:
            raise UsageError(f"request {request_id!r} loads nothing: report each load once")


def check_all_owned_by_running(
    running: Sequence[Request], manager: KVCacheManager, remote: RemoteKVs
) -> None:
    """RuntimeError if a block would still be owned after all running requests were preempted."""
    for request in running:
        if not remote.can_be_freed(request):
            raise RuntimeError(
                f"a step in flight writes the blocks of request {request.request_id!r}: give "
                "its output first"
            )
    owners: dict[int, int] = {}
    for request in running:
        for block_id in chain(*manager.get_block_ids(request.request_id)):
            owners[block_id] = owners.get(block_id, 0) + 1
    for block in manager.block_pool.blocks:
        if not block.is_null and block.ref_cnt != owners.get(block.block_id, 0):
            raise RuntimeError(
                f"block {block.block_id} is owned outside the running requests: free it first"
            )


def _num_kept(request: Request, tokens: Sequence[int], config: SchedulerConfig) -> int:
    """How many of these tokens the request takes before it ends."""
    room = min(
        config.max_model_len - request.num_tokens, request.max_tokens - request.num_output_tokens
    )
    stops = (at for at, token in enumerate(tokens, 1) if token in request.stop_token_ids)
    return min(max(room, 1), next(stops, len(tokens)), len(tokens))
