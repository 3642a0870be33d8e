"""V0's pages as a policy: each option is declared once, as a field."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

from pagesim.checks import check_bool, check_int
from pagesim.simulation.fast_forward import FastForwardServer, why_not
from pagesim.simulation.limits import CHUNK, Limits, option
from pagesim.simulation.paged import PagedServer
from pagesim.simulation.policy_configs import configs_of, forwards
from pagesim.simulation.serving import Server
from pagesim.v0.config import CacheConfig, SchedulerConfig
from pagesim.workload.request import Request


@dataclass(frozen=True, slots=True)
class Paged:
    """vLLM's pages, managed by the real scheduler and block manager.

    If ``preemption_mode`` is None, vLLM chooses: a request is recomputed, and one with several
    ``samples`` is swapped. That was so before 0.6.4. Since then a request of several samples is
    split into requests of one, which are recomputed: see :meth:`Workload.split_samples`.

    ``fast_forward`` gives the same result sooner, because a step then visits only the sequences
    that need a block, arrive or finish. None fast-forwards where possible; it is impossible with
    prefix caching, chunked prefill or samples, and when the run is recorded. TypeError or
    UsageError names the field.
    """

    name: ClassVar[str] = "paged"

    block_size: int = option(16, "Slots per block.")
    enable_prefix_caching: bool = option(False, "Reuse full blocks for equal prefixes.")
    enable_chunked_prefill: bool = option(False, "Compute prompts in chunks.")
    samples: int = option(
        1, "Number of outputs per prompt, which share its blocks, as before vLLM 0.6.4."
    )
    preemption_mode: str | None = option(
        None,
        "How a victim gives up its blocks.",
        choices=("recompute", "swap"),
        derived="recompute; swap with --samples",
    )
    num_cpu_blocks: int = option(0, "Blocks on the CPU for swapping.", "--cpu-blocks", minimum=0)
    watermark: float = option(0.01, "Fraction of the blocks that admission keeps free.")
    fast_forward: bool | None = field(default=None)

    def __post_init__(self) -> None:
        check_int("samples", self.samples, 1)
        check_bool("fast_forward", self.fast_forward, None)
        self._configs(check_int("block_size", self.block_size, 1), Limits())

    def server(
        self, slots: int, limits: Limits, requests: Sequence[Request] = (), record: bool = False
    ) -> Server:
        """UsageError if ``fast_forward`` is True and not possible."""
        scheduler, cache = self._configs(slots, limits)
        reason = why_not(scheduler, cache)
        if self.samples != 1:
            reason = "samples that share blocks copy them when they write"
        if forwards(self.fast_forward, reason, record):
            return FastForwardServer(scheduler, cache)
        return PagedServer(scheduler, cache, record, self.samples)

    def _configs(self, slots: int, limits: Limits) -> tuple[SchedulerConfig, CacheConfig]:
        swaps = self.samples != 1 and self.preemption_mode is None
        if self.enable_chunked_prefill and limits.max_num_batched_tokens is None:
            limits = replace(limits, max_num_batched_tokens=CHUNK)
        chosen = replace(self, preemption_mode="swap") if swaps else self
        return configs_of(chosen, limits, slots, SchedulerConfig, CacheConfig)
