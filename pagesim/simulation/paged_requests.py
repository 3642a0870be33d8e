"""From a workload's requests to what the paged engines serve, and which of them can be served."""

from __future__ import annotations

from dataclasses import dataclass

from pagesim.v0.block.common import cdiv
from pagesim.v0.config import CacheConfig, SchedulerConfig
from pagesim.workload.request import HASH_BLOCK_TOKENS, Request


@dataclass(frozen=True, slots=True)
class RequestTag:
    """Where a request stands in its workload, and how long it gets: prompt and output tokens.

    It travels as the group's ``sampling_params``: that is where vLLM keeps ``max_tokens``.
    """

    row: int
    goal: int
    token: int
    """What the model samples for this request: no other one gets the same token."""


def prompt_of(request: Request, row: int) -> list[int]:
    """The request's tokens, or some that equal another prompt's just as far as its hash ids do."""
    if request.token_ids:
        return list(request.token_ids)
    if not request.hash_ids:
        return [-1 - row] * request.prompt_tokens
    tokens: list[int] = []
    for hash_id in request.hash_ids:
        tokens += [hash_id] * HASH_BLOCK_TOKENS
    return tokens[: request.prompt_tokens]


def can_ever_serve(
    request: Request, config: SchedulerConfig, cache: CacheConfig, samples: int = 1
) -> bool:
    """Whether the model allows the request's length, and the pool its blocks above the watermark.

    A longer one could grow until vLLM preempts it and then ignores it; its end is told beforehand.
    ``samples`` share the blocks that the prompt fills. Swapped to the CPU and back, nothing is
    shared any more: so each must have room for all its blocks. A chunked prompt that fills the pool
    to its last block would preempt itself again and again. A decode takes a token a sample.
    """
    if request.output_tokens > 1 and samples > config.max_num_batched_tokens:
        return False
    blocks = samples * cdiv(request.total_tokens - 1, cache.block_size)
    blocks += cache.sliding_window is not None  # the null block
    kept_free = max(int(cache.watermark * cache.num_gpu_blocks), config.enable_chunked_prefill)
    return (
        request.total_tokens <= config.max_model_len and cache.num_gpu_blocks - blocks >= kept_free
    )
