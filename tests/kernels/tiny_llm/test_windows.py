"""Layers with a window beside layers without: over pages as without pages, in groups of one pool.

The pages are dealt out by hand: a table for each group, all ids of one pool, whose tensors the n-th
layers of all groups share. What a window has left is dropped before each step and holds NaN until
another group gets it. (tests/generation has the same with V1's own manager.)
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from pagesim import kernels
from pagesim.cache import AttentionMetadata, KVPool
from pagesim.kernels.tiny_llm import Config, Contiguous, Model, by_hand, maps, save
from pagesim.kernels.tiny_llm.config import shapes
from pagesim.kernels.tiny_llm.contiguous import generate
from pagesim.kernels.tiny_llm.paged_attend import BACKENDS, of_step
from pagesim.kernels.tiny_llm.sampling import SamplingParams
from pagesim.sizing.kv_cache_spec import FullAttentionSpec, KVCacheSpec, SlidingWindowSpec
from tests.generation.serving import batch_of
from tools.walk_exam import logits_of

BLOCK_SIZE, BLOCKS, NULL = 4, 40, -1
PLAIN = Config("llama", 4, 64, 96, 4, 2, 16, 66)
GEMMA = replace(
    PLAIN,
    model_type="gemma3_text",
    gemma=True,
    qk_norm=True,
    tie_word_embeddings=True,
    rope_local_theta=100.0,
    query_pre_attn_scalar=20.0,
    final_logit_softcapping=5.0,
)
CONFIGS = {
    "all": replace(PLAIN, sliding_windows=(6,) * 4),
    "beside": replace(PLAIN, sliding_windows=(6, 0, 6, 0)),
    "one token": replace(PLAIN, sliding_windows=(0, 1, 1, 0)),
    "two windows": replace(PLAIN, sliding_windows=(4, 9, 0, 100)),
    "gemma": replace(GEMMA, sliding_windows=(7, 7, 7, 0)),
}


@cache
def random_model(name: str) -> Model:
    config = CONFIGS[name]
    generator = torch.Generator().manual_seed(0)
    return Model(
        config,
        {
            n: torch.randn(s, generator=generator) * (s[-1] ** -0.5 * 2 if len(s) > 1 else 0.3)
            for n, s in shapes(config).items()
        },
    )


def spec_of(window: int) -> KVCacheSpec:
    if window:
        return SlidingWindowSpec(BLOCK_SIZE, sliding_window=window)
    return FullAttentionSpec(BLOCK_SIZE)


@dataclass
class Pages:
    """Tables of each group over one pool; group_of: the group of each layer."""

    model: Model
    group_of: Sequence[int]
    windows: Sequence[int]
    """Of each group."""
    tables: dict[int, list[list[int]]] = field(default_factory=dict)
    """Of each sequence, one for each group."""

    def __post_init__(self) -> None:
        c = self.model.config
        size = max(Counter(self.group_of).values())
        shape = BLOCK_SIZE, c.num_key_value_heads, c.head_dim
        halves = kernels.kv_pool(size, BLOCKS, *shape, device="cpu")
        for tensor in (*halves.keys, *halves.values):
            tensor.fill_(np.nan)
        places = [list(self.group_of[:i]).count(g) for i, g in enumerate(self.group_of)]
        self.pool = KVPool(*([half[place] for place in places] for half in halves))
        # Block 0 is the null block, in which the NaN stays.
        self.free = (1 + np.random.default_rng(1).permutation(BLOCKS - 1)).tolist()

    def step(self, sequences: list[tuple[int, list[int], int]], prefills: int) -> AttentionMetadata:
        """The step that completes (sequence, tokens, how many are computed)."""
        for name, tokens, computed in sequences:
            tables = self.tables.setdefault(name, [[] for _ in self.windows])
            for table, window in zip(tables, self.windows, strict=True):
                gone = max(0, computed + 1 - window) // BLOCK_SIZE if window else 0
                for page in range(min(gone, len(table))):
                    if (block := table[page]) != NULL:
                        for tensor in (*self.pool.keys, *self.pool.values):
                            tensor[block] = np.nan
                        self.free.append(block)
                        table[page] = NULL
                while len(table) * BLOCK_SIZE < len(tokens):
                    table.append(self.free.pop())
        batches = [
            batch_of(
                [(t, n, list(self.tables[i][g])) for i, t, n in sequences], prefills, BLOCK_SIZE
            )
            for g in range(len(self.windows))
        ]
        first, *others = (
            replace(batch, kv_cache_spec=spec_of(window))
            for batch, window in zip(batches, self.windows, strict=True)
        )
        return replace(first, others=tuple(others))

    def logits(self, batch: AttentionMetadata, backend: Any) -> torch.Tensor:
        tokens = torch.from_numpy(batch.input_tokens), torch.from_numpy(batch.input_positions)
        attend = of_step(backend, self.pool, batch, self.model.config.sliding_windows)
        with torch.inference_mode():
            return self.model.logits(self.model(*tokens, attend)[batch.sample_rows])


def text(seed: int, length: int) -> list[int]:
    return np.random.default_rng(seed).integers(0, 66, length).tolist()


LONG, SHORT = text(1, 31), text(2, 14)
# What is computed of both before and after each step; the first sequences prefill.
STEPS = [
    ([(0, 0, 11)], 1),
    ([(0, 11, 22), (1, 0, 3)], 2),
    ([(1, 3, 12), (0, 22, 23)], 1),
    *[([(0, i, i + 1)], 0) for i in (23, 24)],
    ([(0, 25, 26), (1, 12, 13)], 0),
    ([(0, 26, 27), (1, 13, 14)], 0),
]


def one_of_each(name: str) -> Pages:
    """A group for each window, and one pool of blocks for all."""
    model = random_model(name)
    windows = list(dict.fromkeys(model.config.sliding_windows))
    return Pages(model, [windows.index(w) for w in model.config.sliding_windows], windows)


def differ(pages: Pages, backend: Any) -> tuple[float, int]:
    """The largest deviation from contiguous caches ÷ the largest logit; the null blocks seen."""
    right = {i: Contiguous(pages.model, 40) for i in (0, 1)}
    deviation, largest, nulls = 0.0, 0.0, 0
    for parts, prefills in STEPS:
        given = [(i, (LONG, SHORT)[i][:end], start) for i, start, end in parts]
        batch = pages.step(given, prefills)
        nulls += sum((np.asarray(t) == NULL).sum() for own in pages.tables.values() for t in own)
        rows = pages.logits(batch, backend)
        assert rows.isfinite().all(), "a slot that nobody may look at was read"
        found = iter(rows)
        for i, tokens, computed in given:
            wanted = right[i].logits(tokens[computed:])
            if i in batch.sample_ids:
                deviation = max(deviation, float((next(found) - wanted).abs().max()))
                largest = max(largest, float(wanted.abs().max()))
    return deviation / largest, int(nulls)


# Every backend, and every model; `make nightly` takes all pairs.
PAIRS = [
    (name, backend)
    for name in CONFIGS
    for backend in BACKENDS
    if name == "beside" or backend == "torch" or "PAGESIM_LLM_MATRIX" in os.environ
]


@pytest.mark.parametrize(("name", "backend"), PAIRS)
def test_chunks_and_decodes_over_groups(name: str, backend: str) -> None:
    pages = one_of_each(name)
    deviation, nulls = differ(pages, BACKENDS[backend])
    assert deviation < 1e-5 and nulls > 10


@pytest.mark.parametrize("name", ["beside", "gemma"])
def test_groups_of_like_layers_take_turns(name: str) -> None:
    """As V1 deals a kind's layers out to several groups."""
    model = random_model(name)
    groups = sorted(model.config.sliding_windows)
    turns = {w: iter([i for i, its in enumerate(groups) if its == w]) for w in groups}
    pages = Pages(model, [next(turns[w]) for w in model.config.sliding_windows], groups)
    assert differ(pages, BACKENDS["torch"])[0] < 1e-5


def test_layers_with_a_window_over_tables_that_keep_all() -> None:
    """As where the hybrid manager is off: one table for all layers."""
    pages = Pages(random_model("two windows"), [0] * 4, [0])
    deviation, nulls = differ(pages, BACKENDS["torch"])
    assert deviation < 1e-5 and nulls == 0


@pytest.mark.parametrize("name", CONFIGS)
def test_without_pages_in_steps_as_at_once(name: str) -> None:
    model = random_model(name)
    whole, cache = logits_of(model, LONG), Contiguous(model, 40)
    for start, end in ((0, 11), (11, 12), (12, 30), (30, 31)):
        found = cache.logits(LONG[start:end])
        assert (found - whole[end - 1]).abs().max() < 1e-5 * whole.abs().max()


@pytest.mark.parametrize(("name", "groups"), [("beside", 2), ("two windows", 4), ("all", 1)])
def test_a_step_is_planned_once_for_each_group(
    name: str, groups: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: Counter[str] = Counter()

    def counted(plan: str) -> Callable[..., Any]:
        real = getattr(kernels, plan)

        def make(*given: Any, **named: Any) -> Any:
            made[plan] += 1
            return real(*given, **named)

        return make

    for plan in ("plan_write", "plan_prefill", "plan_decode"):
        monkeypatch.setattr(kernels, plan, counted(plan))
    pages = one_of_each(name)
    pages.logits(pages.step([(0, LONG[:11], 0)], 1), BACKENDS["triton"])
    pages.logits(pages.step([(1, SHORT, 0), (0, LONG[:12], 11)], 1), BACKENDS["triton"])
    assert made == {"plan_write": 2 * groups, "plan_prefill": 2 * groups, "plan_decode": groups}


def test_a_layer_whose_blocks_are_not_kept_is_named() -> None:
    for windows, message in (([9], "layer 0 attends to 6"), ([6], "layer 1 attends to all")):
        pages = Pages(random_model("beside"), [0] * 4, windows)
        with pytest.raises(ValueError, match=message):
            pages.logits(pages.step([(0, LONG[:11], 0)], 1), BACKENDS["torch"])


@pytest.mark.parametrize("window", [2, 3, 8])
def test_the_circuit_by_hand_needs_three_tokens_in_layer_0(window: int) -> None:
    model = by_hand(window=window)
    one = maps.make_map(np.random.default_rng(0), 12)
    right = []
    for place in one.starts:
        answers = generate(model, maps.prompt(one, place), SamplingParams(max_tokens=20))
        right.append(answers == [maps.answer(one, place)])
    assert all(right) == (window >= 3)


def test_a_model_with_windows_is_not_saved_as_a_llama(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="only a Llama"):
        save(by_hand(window=3), tmp_path / "x")
