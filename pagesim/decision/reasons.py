"""Why a request waits: the number that the step lacked, or who stands before it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pagesim import v1
from pagesim.decision.build import AnyScheduler
from pagesim.decision.decision import ADMITTED, IGNORED, RETURNS, SWAPPED, WAITS, Queues
from pagesim.decision.watch import ADMIT, GROW, SWAP_IN, SWAP_OUT, Check
from pagesim.journal.effects import Name
from pagesim.v0.scheduler import Scheduler

ENTRY = (ADMIT, SWAP_IN)


def reasons(
    scheduler: AnyScheduler,
    request: Name | None,
    verdict: str,
    checks: Sequence[Check],
    before: Queues,
    after: Queues,
    output: Any,
) -> tuple[str, ...]:
    """In sentences: the comparisons that decided, and what else kept the request from running."""
    own = [check for check in checks if check.request == request]
    entry = [check for check in own if check.kind in ENTRY]
    found = [str(entry[-1])] if entry else []
    if verdict in (ADMITTED, RETURNS):
        return tuple(found)
    if verdict not in (WAITS, SWAPPED, IGNORED):  # it ran: what made it or others make room
        return tuple(str(check) for check in own if check.kind in (GROW, SWAP_OUT))
    if isinstance(scheduler, v1.Scheduler) and request in scheduler.requests:
        forever = v1.why_it_waits_forever(scheduler, scheduler.requests[request])
        found += [f"{forever}: it waits forever, and so do all behind it"] if forever else []
    if entry and not entry[-1].fits:
        return tuple(found)
    return (*found, *_others(scheduler, request, verdict, checks, after, output))


def _others(
    scheduler: AnyScheduler,
    request: Name | None,
    verdict: str,
    checks: Sequence[Check],
    after: Queues,
    output: Any,
) -> list[str]:
    """It was not blocks: a step that preempts, a request before it, or the limits of a step."""
    config = scheduler.scheduler_config
    budget, most = config.max_num_batched_tokens, config.max_num_seqs
    if isinstance(scheduler, Scheduler):
        computed = output[1].num_batched_tokens
        if verdict == IGNORED:
            return [f"its tokens are more than a step may compute, {budget:,}, or than the model"]
        if scheduler.swapped and verdict != SWAPPED and not config.enable_chunked_prefill:
            return ["no prompt is admitted while a request waits on the CPU"]
    else:
        computed = output.total_num_scheduled_tokens
        if output.preempted_req_ids:
            return ["a step of V1 that preempts a request admits none"]
    queue = after["swapped" if verdict == SWAPPED else "waiting"]
    ahead = queue[: queue.index(request)] if request in queue else ()
    refused = {check.request: check for check in checks if check.kind in ENTRY and not check.fits}
    for name in ahead:
        if name in refused:
            return [f"it waits behind {name}, and the queue is not overtaken", str(refused[name])]
    if len(after["running"]) >= most:
        return [f"{len(after['running'])} requests run, and max_num_seqs is {most}"]
    return [
        f"the step computes {computed:,} tokens, and max_num_batched_tokens is {budget:,}: what is "
        "left is not enough for it" + (f", or for {ahead[0]} before it" if ahead else "")
    ]
