"""Why a request waits forever: V1 drops nothing, so a simulation has to say it.

Its engine refuses at start-up what could not fit; its scheduler, asked alone, returns empty steps.
"""

from __future__ import annotations

from pagesim.v1.request import Request
from pagesim.v1.scheduler import Scheduler
from pagesim.v1.single_type_kv_cache_manager import cdiv


def why_it_waits_forever(scheduler: Scheduler, request: Request) -> str | None:
    """Why no step can ever compute all of an unfinished request; None if one may.

    Only what the request itself needs is looked at: behind one that waits forever, all others do.
    """
    config, manager = scheduler.scheduler_config, scheduler.kv_cache_manager
    if request.is_finished():
        return None
    tokens = min(request.num_tokens, config.max_model_len)
    most = manager.single_type_manager.max_admission_blocks
    needed = min(cdiv(tokens, manager.block_size), most)
    usable = manager.block_pool.num_gpu_blocks - 1
    if needed > usable:
        return (
            f"request {request.request_id!r} needs {needed} blocks for its {request.num_tokens} "
            f"tokens, and the pool has {usable}"
        )
    budget = config.max_num_batched_tokens
    if config.enable_chunked_prefill or request.num_computed_tokens:
        return None
    if 0 < config.long_prefill_token_threshold <= budget:
        return None
    found = manager.get_computed_blocks(request)[1]
    if request.num_tokens - found <= budget:
        return None
    return (
        f"request {request.request_id!r} computes {request.num_tokens - found} tokens at once, "
        f"because chunked prefill is off, and a step has {budget}"
    )
