"""Why a request waits forever: V1 drops nothing, so a simulation has to say it.

Its engine refuses at start-up what could not fit, and prompts of ``max_model_len`` tokens or more;
its scheduler, asked alone, returns empty steps.
"""

from __future__ import annotations

from collections.abc import Callable

from pagesim.checks import explained
from pagesim.v1.config import CacheConfig, SchedulerConfig
from pagesim.v1.request import Request
from pagesim.v1.scheduler import Scheduler
from pagesim.v1.single_type_kv_cache_manager import cdiv


@explained
def why_it_waits_forever(scheduler: Scheduler, request: Request) -> str | None:
    """Why no step can ever compute all of an unfinished request; None if one may.

    Only the needs of this request are considered, not that it may be queued behind one that waits
    forever.
    """
    if request.is_finished():
        return None
    words = what_it_lacks(
        request.num_tokens,
        request.num_computed_tokens,
        lambda: scheduler.kv_cache_manager.get_computed_blocks(request)[1],
        scheduler.scheduler_config,
        scheduler.cache_config,
        scheduler.kv_cache_manager.coordinator.most_blocks_at_once,
    )
    return words and f"request {request.request_id!r} {words}"


def what_it_lacks(
    num_tokens: int,
    num_computed_tokens: int,
    find: Callable[[], int],
    config: SchedulerConfig,
    cache: CacheConfig,
    most_blocks_at_once: Callable[[int], int] | None = None,
) -> str | None:
    """What no step can ever give a request of ``num_tokens`` tokens, in words; None if one may.

    ``find`` looks up how many tokens are in the cache. ``most_blocks_at_once`` says how many blocks
    so many tokens need in all groups; without it, they need a block for each ``block_size``.
    """
    longest = config.max_model_len
    if max(longest - 1, 1) <= num_computed_tokens < num_tokens:
        return f"has {num_tokens} tokens, and no step goes on beyond max_model_len ({longest})"
    tokens = min(num_tokens, longest)
    count = most_blocks_at_once
    needed = count(tokens) if count else cdiv(tokens, cache.block_size)
    usable = cache.num_gpu_blocks - 1
    if needed > usable:
        return (
            f"needs {needed} blocks for its {num_tokens} tokens, and the pool has {usable} without "
            "the null block"
        )
    budget = config.max_num_batched_tokens
    if config.enable_chunked_prefill or num_computed_tokens:
        return None
    if config.long_prefill_token_threshold:
        return None
    if (at_once := num_tokens - find()) <= budget:
        return None
    return (
        f"computes {at_once} tokens at once, because chunked prefill is off, and a step has "
        f"{budget}"
    )
