"""What a scheduler is told: how big the cache is, and how much one step may do.

Source: vLLM 0.33.0, ``vllm/config/cache.py`` and ``vllm/config/scheduler.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from math import lcm

from pagesim.checks import (
    Flag,
    Fraction,
    Natural,
    Policy,
    Positive,
    PositiveCount,
    check_fields,
    check_token_budget,
)
from pagesim.errors import UsageError
from pagesim.sizing.kv_cache_spec import KVCacheSpec
from pagesim.v1.groups import cache_groups, check_groups


@dataclass(frozen=True, slots=True)
class CacheConfig:
    """The pool of blocks, and which of them are cached.

    ``num_gpu_blocks`` counts block 0, the null block, which no request can hold.
    ``sliding_window`` is a number of tokens, or None for full attention. A hybrid model has
    several ``groups`` of layers instead of the ``block_size`` and the window, and
    ``hash_block_size`` divides the block sizes of all groups; then ``block_size`` becomes the
    number of tokens after which blocks of all groups end. With a window,
    ``retention_interval`` says which blocks are cached: 0 caches the blocks that the prompt's last
    token needs; a multiple ``n`` of the block size also caches the blocks that are needed after
    every ``n`` tokens; None caches every block. With ``enable_kv_cache_events``, a scheduler
    publishes what a router should hear. TypeError or UsageError names the field and the
    value.
    """

    block_size: int = None  # type: ignore[assignment]
    num_gpu_blocks: PositiveCount = 0
    _: KW_ONLY
    enable_prefix_caching: Flag = True
    sliding_window: int | None = None
    retention_interval: int | None = 0
    groups: Sequence[KVCacheSpec] | None = None
    hash_block_size: int | None = None
    enable_kv_cache_events: Flag = False

    def __post_init__(self) -> None:
        check_fields(self)
        groups, hash_block_size = cache_groups(
            self.block_size, self.sliding_window, self.groups, self.hash_block_size
        )
        check_groups(groups, hash_block_size, self.enable_prefix_caching, self.retention_interval)
        if self.groups is not None:
            object.__setattr__(self, "groups", groups)
            object.__setattr__(self, "block_size", lcm(*(group.block_size for group in groups)))


@dataclass(frozen=True, slots=True)
class SchedulerConfig:
    """How much one step may compute, and which request goes first.

    ``policy`` is "fcfs", or "priority": the smallest `Request.priority` first.
    ``long_prefill_token_threshold`` is the maximum number of tokens per step for a request that
    shares the step with others; 0 is no limit, and ``…_adaptive`` raises it to an equal share of
    the budget. ``watermark`` is the fraction of the pool that admission keeps free while other
    requests run. With ``scheduler_reserve_full_isl``, a prompt is admitted only if all of it would
    fit. With ``async_scheduling``, a step is scheduled before the output of the previous one is
    known. TypeError or UsageError names the field and the value.
    """

    max_num_batched_tokens: Positive
    max_num_seqs: Positive
    max_model_len: Positive
    _: KW_ONLY
    enable_chunked_prefill: Flag = True
    long_prefill_token_threshold: Natural = 0
    long_prefill_token_threshold_adaptive: Flag = False
    policy: Policy = "fcfs"
    watermark: Fraction = 0.0
    scheduler_reserve_full_isl: Flag = True
    async_scheduling: Flag = False

    def __post_init__(self) -> None:
        check_fields(self)
        if self.long_prefill_token_threshold > self.max_model_len:
            raise UsageError(
                f"long_prefill_token_threshold ({self.long_prefill_token_threshold}) must be at "
                f"most max_model_len ({self.max_model_len}), or 0 for no limit"
            )
        longest = 0 if self.enable_chunked_prefill else self.max_model_len
        check_token_budget(self.max_num_batched_tokens, self.max_num_seqs, longest)

    @property
    def max_tokens_in_flight(self) -> int:
        """The most tokens of all steps whose output is not known."""
        return self.max_num_batched_tokens * (2 if self.async_scheduling else 1)

    @property
    def max_chunk(self) -> int:
        """The most tokens that a step computes of a prompt that shares it with others."""
        most = self.max_num_batched_tokens
        return min(most, self.long_prefill_token_threshold or most)

    def threshold_among(self, num_requests: int) -> int:
        """The most tokens of a step for one of so many unfinished requests; 0 is no limit."""
        threshold = self.long_prefill_token_threshold
        if threshold and self.long_prefill_token_threshold_adaptive:
            threshold = max(threshold, self.max_num_batched_tokens // max(num_requests, 1))
        return threshold if num_requests > 1 else 0
