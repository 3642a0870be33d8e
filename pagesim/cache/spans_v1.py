"""What each request computes in a step of V1, and through which table: `metadata_v1` batches it.

Source: vLLM 0.33.0, ``GPUModelRunner`` in ``vllm/v1/worker/gpu_model_runner.py``.
"""

from pagesim.cache.spans import Span
from pagesim.errors import UsageError
from pagesim.sizing.kv_cache_spec import MambaSpec
from pagesim.v1.kv_cache_manager import KVCacheManager
from pagesim.v1.output import SchedulerOutput
from pagesim.v1.request import Request
from pagesim.v1.scheduler import Scheduler


def spans_of_step(output: SchedulerOutput, scheduler: Scheduler) -> list[list[Span]]:
    """The requests of a step that ``scheduler.schedule()`` has just returned, in each group.

    UsageError as from :func:`pagesim.cache.build_v1_metadata`.
    """
    manager, known = scheduler.kv_cache_manager, output.scheduled_cached_reqs
    computed = list(zip(known.req_ids, known.num_computed_tokens, strict=True))
    computed += [(new.req_id, new.num_computed_tokens) for new in output.scheduled_new_reqs]
    spans = []
    for request_id, context_len in computed:
        if (request := scheduler.requests.get(request_id)) is None:
            continue
        num_scheduled = output.num_scheduled_tokens[request_id]
        if request.num_in_flight_tokens < num_scheduled:
            raise UsageError(
                f"the step of request {request_id!r} is over: build the batch of a step before "
                f"calling update_from_output() for that step"
            )
        spans.append(spans_of(request, manager, context_len, context_len + num_scheduled))
    return spans


def spans_of(
    request: Request, manager: KVCacheManager, context_len: int, seq_len: int
) -> list[Span]:
    """A request that computes its tokens from ``context_len`` to ``seq_len``, in each group."""
    request_id = request.request_id
    tables = [
        _table(request, manager, group, ids, context_len, seq_len)
        for group, ids in enumerate(manager.get_block_ids(request_id))
    ]
    if seq_len > request.num_tokens:
        raise UsageError(
            f"token {request.num_tokens} of request {request_id!r} has not been sampled yet: call "
            "update_from_output() for the step before, then build this batch"
        )
    samples = seq_len == request.num_tokens
    decodes = samples and seq_len - context_len == 1 and context_len >= request.num_prompt_tokens
    tokens = request.all_token_ids[context_len:seq_len]
    return [
        Span(request_id, not decodes, table, tokens, context_len, seq_len, samples)
        for table in tables
    ]


def _table(
    request: Request,
    manager: KVCacheManager,
    group: int,
    ids: list[int],
    context_len: int,
    seq_len: int,
) -> list[int]:
    """A request's table in one group, checked, with -1 for the null block."""
    spec, null = manager.kv_cache_groups[group], manager.block_pool.null_block.block_id
    name, block_size = f"request {request.request_id!r}", spec.block_size
    if len(manager.kv_cache_groups) > 1:
        name += f", group {group},"
    if len(ids) * block_size < seq_len:
        raise UsageError(
            f"{name} has {len(ids)} blocks of {block_size} slots, too few for its {seq_len} "
            "tokens: build the batch of a step before scheduling the next step"
        )
    if null not in ids:
        return ids
    if isinstance(spec, MambaSpec):  # the state to go on from, if there is one, and the next
        used = [ids[(n - 1) // block_size] for n in (context_len, seq_len) if n]
        gone = "goes on from a state, but that state is gone"
    else:
        managers = manager.coordinator.single_type_managers
        oldest = managers[group].get_num_skipped_tokens(context_len)
        used = ids[oldest // block_size :]
        gone = f"attends to token {oldest}, but that token has left the window"
    if null in used:
        raise UsageError(
            f"{name} computes token {context_len}, which {gone}: build a batch in every step"
        )
    return [-1 if block_id == null else block_id for block_id in ids]
