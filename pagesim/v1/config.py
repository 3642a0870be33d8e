"""What a scheduler is told: how big the cache is, and how much one step may do.

Source: vLLM 0.33.0, ``vllm/config/cache.py`` and ``vllm/config/scheduler.py``.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

from pagesim.checks import (
    Flag,
    Fraction,
    Natural,
    Policy,
    Positive,
    PositiveCount,
    check_fields,
    check_int,
    check_token_budget,
)
from pagesim.errors import UnsupportedError, UsageError


@dataclass(frozen=True, slots=True)
class CacheConfig:
    """The pool of blocks, and which of them are cached.

    ``sliding_window`` is a number of tokens, or None for full attention. With a window,
    ``retention_interval`` says which blocks are cached: 0 caches the blocks that the prompt's last
    token needs; a multiple ``n`` of the block size also caches the blocks that are needed after
    every ``n`` tokens; None caches every block. TypeError or UsageError names the field and the
    value.
    """

    block_size: Positive
    num_gpu_blocks: PositiveCount
    _: KW_ONLY
    enable_prefix_caching: Flag = True
    sliding_window: int | None = None
    retention_interval: int | None = 0

    def __post_init__(self) -> None:
        check_fields(self)
        check_window(self.sliding_window, self.retention_interval, self.block_size)


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


def check_window(sliding_window: Any, retention_interval: Any, block_size: int) -> None:
    """UsageError unless the window and what is cached of it go together."""
    if isinstance(sliding_window, list | tuple | dict):
        raise UnsupportedError(
            "sliding_window must be one number, for all layers, or None, not "
            f"{sliding_window!r}: hybrid models, with several KV cache groups, are not served "
            "here"
        )
    if sliding_window is not None:
        check_int("sliding_window", sliding_window, 1)
    if retention_interval is None or check_int("retention_interval", retention_interval, 0) == 0:
        return
    if sliding_window is None:
        raise UsageError(
            "retention_interval needs a sliding_window, because full attention keeps "
            f"everything: set it to 0 or None, not {retention_interval}"
        )
    if retention_interval % block_size:
        raise UsageError(
            f"retention_interval must be a multiple of block_size ({block_size}), "
            f"not {retention_interval}"
        )
