"""Turns a workload's requests into those of the paged servers, and refuses hopeless ones."""

from __future__ import annotations

from dataclasses import dataclass

from pagesim.v0.block.common import cdiv
from pagesim.v0.config import CacheConfig, SchedulerConfig
from pagesim.workload.request import HASH_BLOCK_TOKENS, Request


@dataclass(frozen=True, slots=True)
class RequestTag:
    """A request's row in its workload, and its final length: prompt and output tokens.

    It is the group's ``sampling_params``, where vLLM keeps ``max_tokens``.
    """

    row: int
    goal: int
    token: int
    """What the model samples for this request: no other request gets the same token."""


def prompt_of(request: Request, row: int) -> list[int]:
    """The request's tokens, or stand-ins that are equal as far as the hash ids are."""
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

    vLLM would let a longer request grow, preempt it, and then ignore it; here it is refused before
    it starts. ``samples`` share the blocks that the prompt fills, but not after a swap to the CPU
    and back, so each needs room for all its blocks. A chunked prompt that fills the pool to its
    last block would preempt itself again and again. A decode takes one token per sample.
    """
    if request.output_tokens > 1 and samples > config.max_num_batched_tokens:
        return False
    blocks = samples * cdiv(request.total_tokens - 1, cache.block_size)
    blocks += cache.sliding_window is not None  # the null block
    kept_free = max(int(cache.watermark * cache.num_gpu_blocks), config.enable_chunked_prefill)
    return (
        request.total_tokens <= config.max_model_len and cache.num_gpu_blocks - blocks >= kept_free
    )
