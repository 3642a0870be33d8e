"""Every backend answers a ragged batch as attention without a cache does."""

import math
import os

import numpy as np
import pytest
import torch

from pagesim.cache import AttentionMetadata, KVPool
from pagesim.kernels.tiny_llm import causal
from pagesim.kernels.tiny_llm.paged_attend import BACKENDS
from tests.generation.serving import batch_of, pools, scrambled

BLOCK_SIZE, BLOCKS = 4, 30
# Two prompts, one of them half computed, and three decodes; a block has one token, or is full.
COMPUTED = [(0, 7), (6, 13), (8, 9), (3, 4), (15, 16)]


def batch(tables: list[list[int]]) -> AttentionMetadata:
    """The step that computes each sequence up to its length."""
    parts = zip(COMPUTED, tables, strict=True)
    sequences = [([0] * length, computed, table) for (computed, length), table in parts]
    return batch_of(sequences, 2, BLOCK_SIZE)


def scattered() -> list[list[int]]:
    """Tables without any order; the last block of the pool is in none."""
    ids = np.random.default_rng(0).permutation(BLOCKS - 1).tolist()
    return [[ids.pop() for _ in range(-(-length // BLOCK_SIZE))] for _, length in COMPUTED]


def answers(pool: KVPool, backend: str) -> tuple[torch.Tensor, torch.Tensor]:
    """Rows of both layers: over pages, and without a cache."""
    torch.manual_seed(1)
    tables = scattered()
    whole = [
        [torch.randn(length, heads, 16) for heads in (4, 2, 2)]
        for _ in range(2)
        for _, length in COMPUTED
    ]
    step = batch(tables)
    attend = BACKENDS[backend](pool, step)
    found, wanted = [], []
    for layer in range(2):
        parts = whole[layer * len(COMPUTED) :][: len(COMPUTED)]
        for (computed, _), (_, k, v), table in zip(COMPUTED, parts, tables, strict=True):
            for position in range(computed):
                slot = table[position // BLOCK_SIZE], position % BLOCK_SIZE
                pool.keys[layer][slot], pool.values[layer][slot] = k[position], v[position]
        new = [
            torch.cat([p[i][computed:] for (computed, _), p in zip(COMPUTED, parts, strict=True)])
            for i in range(3)
        ]
        found.append(attend(layer, *new))
        everything = causal([n for _, n in COMPUTED])(
            layer, *(torch.cat([p[i] for p in parts]) for i in range(3))
        ).split([n for _, n in COMPUTED])
        wanted.append(torch.cat([o[c:] for (c, _), o in zip(COMPUTED, everything, strict=True)]))
    return torch.cat(found), torch.cat(wanted)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_batch_of_chunks_and_decodes_over_scattered_pages(backend: str) -> None:
    (pool,) = pools(scrambled(), BLOCK_SIZE, BLOCKS)
    found, wanted = answers(pool, backend)
    assert (found - wanted).abs().max() < 5e-6


LEFT = [math.nan, -math.inf]
"""What is read by mistake spreads; `make nightly` leaves other numbers as well."""


@pytest.mark.parametrize("left", [*LEFT, *[math.inf, 1e4] * ("PAGESIM_LLM_MATRIX" in os.environ)])
@pytest.mark.parametrize("backend", BACKENDS)
def test_slots_beyond_a_sequence_and_blocks_of_others_do_not_matter(
    backend: str, left: float
) -> None:
    (pool,) = pools(scrambled(), BLOCK_SIZE, BLOCKS)
    for array in (*pool.keys, *pool.values):
        array.fill_(left)
    found, wanted = answers(pool, backend)
    assert (found - wanted).abs().max() < 5e-6


def test_tables_are_looked_at_once_a_step() -> None:
    """The plans of the first layer serve the second."""
    (pool,) = pools(scrambled(), BLOCK_SIZE, BLOCKS)
    attend = BACKENDS["triton"](pool, batch(scattered()))
    new = sum(length - computed for computed, length in COMPUTED)
    q, kv = torch.randn(new, 4, 16), torch.randn(new, 2, 16)
    attend(0, q, kv, kv)
    plans = dict(attend.plans)  # type: ignore[attr-defined]
    attend(1, q, kv, kv)
    assert attend.plans == plans  # type: ignore[attr-defined]
    assert len(plans) == 3
