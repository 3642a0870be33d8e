r"""A call's arguments as one value, and what the host found out about them once a step.

    public function --> checks --> PagedInputs --> launch      (the kernel)
                                        |     \--> fallback    (no triton)
                                        v      \-> compare     (is the answer right?)
                                      Plan

A kernel must not be started on a wrong block id: tables and lengths are copied to the host and
checked first. On a GPU that copy waits for all work queued there. Yet all layers of a model share
them: a `Plan` holds what one look has found, and a call that brings one along does not look again.

Nothing here needs torch: `kernels.simt` passes NumPy arrays.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import torch

Call = Literal["decode", "prefill", "fused decode", "cache write"]
NO_WINDOW = 2**31 - 1
Numbers = NDArray[np.int64]

Tensor = Any
"""One of torch, or an array of NumPy."""
Facts = Mapping[str, Any]
"""The arguments of a call that a plan was made for, or what is known of them."""


@dataclass(frozen=True, slots=True)
class Options:
    """The keywords that all attention kernels share, as `paged_attention_v1` explains them.

    Checked, defaults are filled in and k_scale and v_scale are float32 [Hkv] or None.
    """

    scale: float | None = None
    alibi_slopes: torch.Tensor | None = None
    sliding_window: int = 0
    softcap: float = 0.0
    k_scale: float | torch.Tensor | None = None
    v_scale: float | torch.Tensor | None = None

    @property
    def window(self) -> int:
        """The sliding window as a kernel takes it: a number of keys, more than any for all."""
        return min(self.sliding_window or NO_WINDOW, NO_WINDOW)


@dataclass(frozen=True, slots=True)
class Plan:
    """What one look at a step's tables, lengths and slots has found; serves all of its layers.

    made_for: the arguments it holds for, by name; tables, lengths: block_tables and seq_lens on the
    CPU; counts: query tokens of each sequence; num_partitions: how many, of `span` tokens each, v2
    cuts a sequence into; 0 as long as they have not been chosen.
    """

    made_for: Facts
    tables: Tensor = None
    lengths: Tensor = None
    counts: Tensor = None
    num_partitions: int = 0
    span: int = 0
    # Kept alive, or another tensor could get the address that made_for knows it by.
    tensors: tuple[torch.Tensor, ...] = ()

    def __repr__(self) -> str:
        return f"Plan({', '.join(f'{k} = {_words(v)}' for k, v in self.made_for.items())})"


@dataclass(frozen=True, slots=True)
class PagedInputs:
    """The tensors of a checked attention call, its options, and its plan.

    lens: seq_lens, or what fused_decode calls context_lens. Only a prefill has query_start_loc,
    only a fused decode k_new and v_new.
    """

    call: Call
    q: Tensor
    k_cache: Tensor
    v_cache: Tensor
    block_tables: Tensor
    lens: Tensor
    options: Options = Options()
    query_start_loc: Tensor = None
    k_new: Tensor = None
    v_new: Tensor = None
    plan: Plan | None = None

    @property
    def found(self) -> Plan:
        """The plan, which every checked call has."""
        assert self.plan is not None
        return self.plan

    @property
    def group(self) -> int:
        """Query heads that share a KV head."""
        return int(self.q.shape[1] // self.k_cache.shape[2])

    @property
    def kernel_arguments(self) -> list[Any]:
        """What every attention kernel takes after its outputs, in its order."""
        given = (self.q, self.k_new, self.v_new, self.k_cache, self.v_cache, self.block_tables)
        tensors = [t for t in (*given, self.query_start_loc, self.lens) if t is not None]
        options = self.options
        scales = [options.alibi_slopes, options.k_scale, options.v_scale]
        return [*tensors, *scales, options.scale, options.window]

    def strides(self, out: torch.Tensor, *, alike: bool = False) -> list[int | None]:
        """Steps in elements from one token, sequence, block, row or head to the next.

        Of out, q, the new tokens, K, V and the table, in this order. alike: V's steps from block to
        block and from row to row are None where they are K's, so that one offset serves both.
        """
        rows = [t for t in (out, self.q, self.k_new, self.v_new) if t is not None]
        steps = [step for tensor in rows for step in tensor.stride()[:2]]
        k, v = (cache.stride()[:3] for cache in (self.k_cache, self.v_cache))
        if alike and k[:2] == v[:2]:
            v = (None, None, v[2])
        return [*steps, *k, *v, self.block_tables.stride(0)]


def require(plan: Plan, facts: Facts) -> None:
    """Raise ValueError, naming both sides, unless the plan was made for these arguments."""
    if not isinstance(plan, Plan):
        raise TypeError(f"plan must come from one of kernels.plan_…, got {plan!r}")
    for name, here in facts.items():
        there = plan.made_for.get(name)
        if here != there:
            raise ValueError(
                f"plan was made for {name} = {_words(there)}, but this call has {_words(here)}: "
                "a plan serves the layers of one step; make one for every step"
            )


def _words(fact: object) -> str:
    return " ".join(map(str, fact)) if isinstance(fact, tuple) else str(fact)
