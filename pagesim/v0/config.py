"""The configuration of a scheduler: how big the cache is, and how much one step may do.

Source: vLLM 0.6.4.post1, ``vllm/config.py``: only what blocks and scheduling need.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Annotated

from pagesim.checks import (
    Flag,
    Fraction,
    Natural,
    NaturalCount,
    Number,
    Policy,
    Positive,
    PositiveCount,
    check_choice,
    check_fields,
    check_token_budget,
)
from pagesim.errors import UnsupportedError

Mode = Annotated[str | None, partial(check_choice, known=("swap", "recompute", None))]


@dataclass(frozen=True, slots=True)
class CacheConfig:
    """The two pools. ``watermark`` is the fraction of the GPU pool that admission leaves free.

    ``sliding_window`` is in tokens. TypeError or UsageError names the field and the value; for a
    window together with prefix caching, this error is also a NotImplementedError, as in vLLM.
    """

    block_size: Positive
    num_gpu_blocks: PositiveCount
    num_cpu_blocks: NaturalCount = 0
    _: KW_ONLY
    enable_prefix_caching: Flag = False
    watermark: Fraction = 0.01
    sliding_window: Positive | None = None

    def __post_init__(self) -> None:
        check_fields(self)
        if self.sliding_window is not None and self.enable_prefix_caching:
            raise UnsupportedError(
                "enable_prefix_caching cannot be combined with a sliding_window: the blocks "
                "that fall out of the window are gone, and so is the prefix. Choose one"
            )


@dataclass(frozen=True, slots=True)
class SchedulerConfig:
    """How much one step may compute, and what happens to a group that finds no room.

    ``preemption_mode`` is "swap" or "recompute". None is vLLM's own choice: it would swap a group
    that counts as several sequences, but since 0.6.4 every group counts as one. So it recomputes,
    and a group that has been forked cannot be. ``policy`` is "fcfs", or "priority": the smallest
    `SequenceGroup.priority` first. Priority with "swap" loses keys and values, as in vLLM; see
    `SchedulerOutputs.blocks_lost`. While other groups run, ``delay_factor`` holds prompts back
    until the oldest has waited that many times as long as the last step with prompts took.
    TypeError or UsageError names the field and the value.
    """

    max_num_batched_tokens: Positive
    max_num_seqs: Positive
    max_model_len: Positive
    _: KW_ONLY
    num_lookahead_slots: Natural = 0
    enable_chunked_prefill: Flag = False
    preemption_mode: Mode = None
    policy: Policy = "fcfs"
    delay_factor: Number = 0.0

    def __post_init__(self) -> None:
        check_fields(self)
        longest = 0 if self.enable_chunked_prefill else self.max_model_len
        check_token_budget(self.max_num_batched_tokens, self.max_num_seqs, longest)
