"""How far a request has come while the outputs of its steps are not known yet.

A scheduled token counts as computed at once, so that the next step can be scheduled. Asynchronously
it is scheduled before the output is known: then a request counts on tokens that steps in flight
will sample, its placeholders. If it is preempted meanwhile, what is in flight becomes stale.

Source: vLLM 0.33.0, ``vllm/v1/core/sched/scheduler.py`` and ``async_scheduler.py``.
"""

from __future__ import annotations

from pagesim.v1.request import Request


def last_step_in_flight(request: Request) -> bool:
    """Whether the steps in flight sample all that the request may still generate."""
    sampled = request.num_computed_tokens + 2 - request.num_output_placeholders
    return sampled >= request.num_prompt_tokens + request.max_tokens


def take_as_computed(request: Request, num_tokens: int, is_async: bool) -> None:
    """A step with so many tokens of the request begins."""
    request.num_computed_tokens += num_tokens
    request.num_in_flight_tokens += num_tokens
    end = len(request.all_token_ids) + request.num_output_placeholders
    request.is_prefill_chunk = request.num_computed_tokens < end
    if is_async and not request.is_prefill_chunk:
        request.num_output_placeholders += 1


def come_back(request: Request, num_tokens: int) -> bool:
    """The output of a step with so many tokens is known; True if it is stale."""
    request.num_in_flight_tokens -= num_tokens
    is_stale = request.num_stale_output_tokens > 0
    if is_stale:
        request.num_stale_output_tokens -= num_tokens
    return is_stale


def begin_again(request: Request, discard_stale_output: bool) -> None:
    """The request loses all that is computed; what is in flight becomes stale.

    Once its output is to be thrown away, this remains so until none is stale.
    """
    stale = request.num_stale_output_tokens > 0 and request.discard_stale_output
    request.discard_stale_output = discard_stale_output or stale
    request.num_stale_output_tokens = request.num_in_flight_tokens
    request.num_output_placeholders = 0
    request.num_computed_tokens = 0
