"""Tensors for attention tests: random where a sequence may look, NaN everywhere else."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import torch

from kernels import assert_matches_reference, backend, paged_attention_v1
from tests.kernels.pages import Pages

NAN = float("nan")


@dataclass(frozen=True, slots=True)
class Case:
    """The five tensors of a decode call, and the pages they came from."""

    q: torch.Tensor
    k_cache: torch.Tensor
    v_cache: torch.Tensor
    pages: Pages

    @property
    def arguments(self) -> tuple[torch.Tensor, ...]:
        return (
            self.q,
            self.k_cache,
            self.v_cache,
            self.pages.block_tables(),
            self.pages.seq_lens(),
        )

    def run(self, **options: Any) -> torch.Tensor:
        return paged_attention_v1(*self.arguments, **options)

    def check(self, **options: Any) -> float:
        """Run the kernel and compare it with the reference; the error."""
        return assert_matches_reference(self.run(**options), *self.arguments, **options)

    def only(self, seq: int) -> Case:
        """The same caches, one sequence."""
        pages = replace(
            self.pages, tables=[self.pages.tables[seq]], lengths=[self.pages.lengths[seq]]
        )
        return replace(self, q=self.q[seq : seq + 1], pages=pages)


def make_case(
    pages: Pages,
    *,
    heads: int = 8,
    kv_heads: int = 2,
    head_dim: int = 64,
    dtype: torch.dtype = torch.float32,
    window: int = 0,
    seed: int = 0,
) -> Case:
    """Random q, K and V. Every slot that no sequence may read holds NaN, in K and in V."""
    generator = torch.Generator().manual_seed(seed)
    num_slots = pages.num_blocks * pages.block_size
    readable = torch.zeros(num_slots, dtype=torch.bool)
    for seq, length in enumerate(pages.lengths):
        first = max(0, length - window) if window else 0
        readable[torch.tensor(pages.slots(seq, first), dtype=torch.long)] = True

    def random(*shape: int) -> torch.Tensor:
        return torch.randn(shape, generator=generator).to(dtype)

    def cache() -> torch.Tensor:
        rows = random(num_slots, kv_heads, head_dim)
        rows[~readable] = NAN
        shape = (pages.num_blocks, pages.block_size, kv_heads, head_dim)
        return rows.reshape(shape).to(backend.device())

    q = random(len(pages.lengths), heads, head_dim).to(backend.device())
    return Case(q, cache(), cache(), pages)
