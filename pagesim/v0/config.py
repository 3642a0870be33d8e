"""The configuration of a scheduler: how big the cache is, and how much one step may do.

Source: vLLM 0.6.4.post1, ``vllm/config.py``: only what blocks and scheduling need.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

from pagesim.checks import check_bool, check_count, check_fraction, check_int, check_number
from pagesim.errors import UnsupportedError, UsageError


@dataclass(frozen=True, slots=True)
class CacheConfig:
    """The two pools. ``watermark`` is the fraction of the GPU pool that admission leaves free.

    ``sliding_window`` is in tokens. TypeError or UsageError names the field and the value; a window
    together with prefix caching is also a NotImplementedError, as in vLLM.
    """

    block_size: int
    num_gpu_blocks: int
    num_cpu_blocks: int = 0
    _: KW_ONLY
    enable_prefix_caching: bool = False
    watermark: float = 0.01
    sliding_window: int | None = None

    def __post_init__(self) -> None:
        check_int("block_size", self.block_size, 1)
        check_count("num_gpu_blocks", self.num_gpu_blocks, 1)
        check_count("num_cpu_blocks", self.num_cpu_blocks, 0)
        check_bool("enable_prefix_caching", self.enable_prefix_caching)
        check_fraction("watermark", self.watermark)
        if self.sliding_window is not None:
            check_int("sliding_window", self.sliding_window, 1)
            if self.enable_prefix_caching:
                raise UnsupportedError(
                    "enable_prefix_caching cannot be combined with a sliding_window: the blocks "
                    "that fall out of the window are gone, and so is the prefix. Choose one"
                )


@dataclass(frozen=True, slots=True)
class SchedulerConfig:
    """How much one step may do, and what happens to a group that finds no room.

    ``preemption_mode`` is "swap" or "recompute"; None is vLLM's own choice, which is recompute for
    groups of one sequence. ``policy`` is "fcfs", or "priority": the smallest
    `SequenceGroup.priority` first. Priority with "swap" loses keys and values, as in vLLM; see
    `SchedulerOutputs.blocks_lost`. ``delay_factor`` holds prompts back while others run, until the
    oldest has waited that many times as long as the last step with prompts took. TypeError or
    UsageError names the field and the value.
    """

    max_num_batched_tokens: int
    max_num_seqs: int
    max_model_len: int
    _: KW_ONLY
    num_lookahead_slots: int = 0
    enable_chunked_prefill: bool = False
    preemption_mode: str | None = None
    policy: str = "fcfs"
    delay_factor: float = 0.0

    def __post_init__(self) -> None:
        check_int("max_num_batched_tokens", self.max_num_batched_tokens, 1)
        check_int("max_num_seqs", self.max_num_seqs, 1)
        check_int("max_model_len", self.max_model_len, 1)
        check_int("num_lookahead_slots", self.num_lookahead_slots, 0)
        check_bool("enable_chunked_prefill", self.enable_chunked_prefill)
        if self.preemption_mode not in (None, "swap", "recompute"):
            raise UsageError(
                f"preemption_mode must be 'swap', 'recompute' or None, not {self.preemption_mode!r}"
            )
        if self.policy not in ("fcfs", "priority"):
            raise UsageError(f"policy must be 'fcfs' or 'priority', not {self.policy!r}")
        check_number("delay_factor", self.delay_factor)
        tokens, longest = self.max_num_batched_tokens, self.max_model_len
        if tokens < longest and not self.enable_chunked_prefill:
            raise UsageError(
                f"max_num_batched_tokens ({tokens}) must be at least max_model_len ({longest}): a "
                f"prompt is computed in one step. Raise it, lower max_model_len, or set "
                f"enable_chunked_prefill"
            )
        if tokens < self.max_num_seqs:
            raise UsageError(
                f"max_num_batched_tokens ({tokens}) must be at least max_num_seqs "
                f"({self.max_num_seqs}): each sequence takes one token per step"
            )
