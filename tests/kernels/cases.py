"""Tensors for attention tests: random where a sequence may look, NaN everywhere else.

One `Case` serves every attention kernel, named as in KERNELS, so that a trap is laid once for all.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

import pytest
import torch

from pagesim import kernels
from pagesim.kernels import assert_matches_reference, backend
from tests.kernels.pages import Pages, fragmented

NAN = float("nan")
FP8 = torch.float8_e4m3fn
# What runs, and with which keywords. v2 is tested whole and cut into partitions that no tile fits.
KERNELS: dict[str, tuple[str, dict[str, Any]]] = {
    "v1": ("paged_attention_v1", {}),
    "v2": ("paged_attention_v2", {"return_lse": True}),
    "v2 in 3": ("paged_attention_v2", {"num_partitions": 3, "return_lse": True}),
    "prefill": ("paged_prefill", {"return_lse": True}),
    "fused": ("fused_decode", {"return_lse": True}),
}


NIGHTLY = "PAGESIM_KERNELS" in os.environ
# `make test` takes v2 in partitions; as a whole it is one of them, and `test_partitions` has it.
TRIED = [name for name in KERNELS if NIGHTLY or name != "v2"]
each_kernel = pytest.mark.parametrize("kernel", TRIED)


def with_kernels(*values: Any) -> list[tuple[str, Any]]:
    """Every kernel with every value in `make nightly`; in `make test` each of both occurs."""
    if NIGHTLY:
        return list(product(KERNELS, values))
    kernels = TRIED
    count = max(len(kernels), len(values))
    return [(kernels[i % len(kernels)], values[i % len(values)]) for i in range(count)]


@dataclass(frozen=True, slots=True)
class Case:
    """The tensors of a call, and the pages they came from."""

    q: torch.Tensor
    k_cache: torch.Tensor
    v_cache: torch.Tensor
    pages: Pages
    kernel: str = "v1"
    # query_start_loc for prefill; k_new and v_new for fused.
    others: dict[str, torch.Tensor] = field(default_factory=dict)

    @property
    def arguments(self) -> tuple[torch.Tensor, ...]:
        pages = self.pages
        return self.q, self.k_cache, self.v_cache, pages.block_tables(), pages.seq_lens()

    @property
    def named(self) -> dict[str, torch.Tensor]:
        """All arguments by name, as the kernel calls them."""
        lengths = "context_lens" if self.kernel == "fused" else "seq_lens"
        names = ("q", "k_cache", "v_cache", "block_tables", lengths)
        return {**dict(zip(names, self.arguments, strict=True)), **self.others}

    def answer(self, **options: Any) -> Any:
        """What the kernel returns: a tensor, or one and its LSE."""
        name, keywords = KERNELS[self.kernel]
        return getattr(kernels, name)(**self.named, **{**keywords, **options})

    def run(self, **options: Any) -> torch.Tensor:
        answer = self.answer(**options)
        return answer[0] if isinstance(answer, tuple) else answer

    def compare(self, answer: Any, **options: Any) -> float:
        keywords = {**KERNELS[self.kernel][1], **options}
        return assert_matches_reference(answer, *self.arguments, **self.others, **keywords)

    def check(self, **options: Any) -> float:
        """Run the kernel and compare it with the reference; the error."""
        return self.compare(self.answer(**options), **options)

    def only(self, seq: int) -> Case:
        """The same caches, one sequence."""
        pages = replace(
            self.pages, tables=[self.pages.tables[seq]], lengths=[self.pages.lengths[seq]]
        )
        return replace(self, q=self.q[seq : seq + 1], pages=pages)


def make_case(
    pages: Pages,
    *,
    kernel: str = "v1",
    queries: Sequence[int] | None = None,
    heads: int = 8,
    kv_heads: int = 2,
    head_dim: int = 64,
    dtype: torch.dtype = torch.float32,
    cache_dtype: torch.dtype | None = None,
    window: int = 0,
    seed: int = 0,
) -> Case:
    """Random q, K and V. Every slot that no query may read holds NaN, in K and in V.

    queries: for prefill, how many of each sequence's tokens are queries; by default about half.
    """
    generator = torch.Generator().manual_seed(seed)
    num_slots = pages.num_blocks * pages.block_size
    counts = [1] * len(pages.lengths)
    if kernel == "fused":
        counts = [0] * len(pages.lengths)
    elif kernel == "prefill":
        counts = list(queries or [length - length // 2 for length in pages.lengths])
    readable = torch.zeros(num_slots, dtype=torch.bool)
    for seq, (length, count) in enumerate(zip(pages.lengths, counts, strict=True)):
        if kernel == "prefill" and count == 0:
            continue
        first = max(0, length - count + 1 - window) if window else 0
        readable[torch.tensor(pages.slots(seq, first), dtype=torch.long)] = True

    def random(*shape: int) -> torch.Tensor:
        return torch.randn(shape, generator=generator).to(dtype)

    def cache() -> torch.Tensor:
        rows = random(num_slots, kv_heads, head_dim)
        rows[~readable] = NAN
        shape = (pages.num_blocks, pages.block_size, kv_heads, head_dim)
        return rows.to(cache_dtype or dtype).reshape(shape).to(backend.device())

    num_rows = sum(counts) if kernel == "prefill" else len(counts)
    q = random(num_rows, heads, head_dim).to(backend.device())
    others = {}
    if kernel == "prefill":
        starts = torch.tensor([0, *counts], dtype=torch.int32).cumsum(0, dtype=torch.int32)
        others["query_start_loc"] = starts.to(backend.device())
    elif kernel == "fused":
        for name in ("k_new", "v_new"):
            others[name] = random(num_rows, kv_heads, head_dim).to(backend.device())
    return Case(q, cache(), cache(), pages, kernel, others)


def small_case(kernel: str = "v1", dtype: torch.dtype = torch.float32, **keywords: Any) -> Case:
    """A sequence of three pages, and one that is empty."""
    made = fragmented([18, 0], block_size=8)
    return make_case(made, kernel=kernel, heads=4, head_dim=32, dtype=dtype, **keywords)
