"""Two groups of one batch: a table each, block sizes of 16 and 32, and one pool for all bytes."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from pagesim.kernels import (
    GroupStep,
    assert_matches_reference,
    backend,
    kv_pools,
    paged_attention_groups,
    paged_attention_v2,
    plan_decode,
    reshape_and_cache,
)
from pagesim.kernels.pool import GroupShape
from tests.kernels.attention.test_plan import Waits

HEADS, DIM, WINDOW = 4, 16, 20
LENGTHS = [75, 20, 5]
FULL, NARROW = GroupShape(2, 16, 2, DIM), GroupShape(2, 32, 1, DIM)
"""Their blocks have the same bytes: 16 tokens of two heads, or 32 of one."""
GROUP_OF = [1, 0, 1, 0]
NULL, BLOCKS = -1, 30


class Step:
    """A decode step with hand-made tables, whose ids are dealt out to both groups in turn."""

    def __init__(self) -> None:
        self.pools = kv_pools(BLOCKS, [FULL, NARROW])
        for pool in self.pools:
            for cache in (*pool.keys, *pool.values):
                cache.fill_(np.nan)
        ids = iter(np.random.default_rng(0).permutation(np.arange(1, BLOCKS)).tolist())
        self.tables: list[list[list[int]]] = [[], []]
        for length in LENGTHS:
            gone = max(0, length - WINDOW) // NARROW.block_size
            for group, (shape, nulls) in enumerate(((FULL, 0), (NARROW, gone))):
                pages = -(-length // shape.block_size)
                own = [next(ids) for _ in range(pages - nulls)]
                self.tables[group].append([NULL] * nulls + own)
        self.generator = torch.Generator().manual_seed(0)
        self.written = [self.write(layer) for layer in range(len(GROUP_OF))]
        self.queries = [self.random(len(LENGTHS), HEADS, DIM) for _ in GROUP_OF]
        self.lengths = torch.tensor(LENGTHS, dtype=torch.int32, device=backend.device())
        self.groups = [
            GroupStep(pool, self.tensor(tables), window)
            for pool, tables, window in zip(self.pools, self.tables, (0, WINDOW), strict=True)
        ]

    def random(self, *shape: int) -> torch.Tensor:
        return torch.randn(shape, generator=self.generator).to(backend.device())

    @staticmethod
    def tensor(tables: list[list[int]]) -> torch.Tensor:
        width = max(map(len, tables))
        rows = [table + [NULL] * (width - len(table)) for table in tables]
        return torch.tensor(rows, dtype=torch.int32, device=backend.device())

    def write(self, layer: int) -> list[tuple[torch.Tensor, torch.Tensor]]:
        """Random keys and values of every sequence, written through the table of the layer."""
        group = GROUP_OF[layer]
        shape, pool = (FULL, NARROW)[group], self.pools[group]
        place = GROUP_OF[:layer].count(group)
        made = []
        for table, length in zip(self.tables[group], LENGTHS, strict=True):
            k, v = (self.random(length, shape.num_kv_heads, DIM) for _ in "kv")
            blocks = [table[i // shape.block_size] for i in range(length)]
            slots = [
                -1 if block == NULL else block * shape.block_size + i % shape.block_size
                for i, block in enumerate(blocks)
            ]
            where = torch.tensor(slots, device=backend.device())
            reshape_and_cache(k, v, pool.keys[place], pool.values[place], where)
            made.append((k, v))
        return made

    def expected(self, layer: int) -> np.ndarray[Any, Any]:
        """The textbook's answer in float64, from keys and values that were never in pages."""
        out = []
        for q, (k, v) in zip(self.queries[layer], self.written[layer], strict=True):
            seen = slice(-WINDOW, None) if GROUP_OF[layer] else slice(None)
            query, keys, values = (t.cpu().double().numpy() for t in (q, k[seen], v[seen]))
            group = HEADS // keys.shape[1]
            scores = np.einsum("hd,thd->ht", query, keys.repeat(group, 1)) * DIM**-0.5
            weights = np.exp(scores - scores.max(1, keepdims=True))
            weights /= weights.sum(1, keepdims=True)
            out.append(np.einsum("ht,thd->hd", weights, values.repeat(group, 1)))
        return np.stack(out)

    def answers(self) -> list[torch.Tensor]:
        return paged_attention_groups(self.queries, GROUP_OF, self.groups, self.lengths)


@pytest.fixture(scope="module")
def step() -> Step:
    return Step()


def test_a_block_is_one_groups_and_no_null_block_is_anyones(step: Step) -> None:
    used = [block for tables in step.tables for table in tables for block in table if block > 0]
    assert len(used) == len(set(used))
    assert [table.count(NULL) for table in step.tables[1]] == [1, 0, 0]


def test_every_layer_reads_its_own_group(step: Step) -> None:
    answers = step.answers()
    places = [GROUP_OF[:layer].count(group) for layer, group in enumerate(GROUP_OF)]
    for layer, (out, index, place) in enumerate(zip(answers, GROUP_OF, places, strict=True)):
        group = step.groups[index]
        caches = group.caches.keys[place], group.caches.values[place]
        assert_matches_reference(
            out, step.queries[layer], *caches, group.block_tables, step.lengths,
            sliding_window=group.sliding_window,
        )  # fmt: skip
        np.testing.assert_allclose(out.cpu().numpy(), step.expected(layer), rtol=0, atol=5e-6)


def test_a_step_is_planned_once_for_each_group(step: Step) -> None:
    if backend.decide().mode == "reference":
        pytest.skip("the reference itself copies to the host")
    with Waits() as counter:
        step.answers()
    assert counter.count == len(step.groups) < len(GROUP_OF)


def test_the_plan_of_one_group_is_refused_by_another(step: Step) -> None:
    full, narrow = step.groups
    caches = full.caches.keys[0], full.caches.values[0]
    plan = plan_decode(step.queries[1], *caches, full.block_tables, step.lengths)
    other = replace(full, block_tables=full.block_tables.clone())
    for group, message in ((other, "block_tables = "), (narrow, "k_cache = ")):
        caches = group.caches.keys[0], group.caches.values[0]
        with pytest.raises(ValueError, match=message):
            paged_attention_v2(
                step.queries[0], *caches, group.block_tables, step.lengths, plan=plan
            )


@pytest.mark.parametrize("group_of", [[1, 0, 1], [1, 0, 1, 1], [1, 0, 1, 2], [1, 0, 1, 0, 0]])
def test_layers_that_are_not_those_of_the_groups(step: Step, group_of: list[int]) -> None:
    with pytest.raises(ValueError, match="group_of = "):
        paged_attention_groups(step.queries, group_of, step.groups, step.lengths)


def test_one_buffer_has_the_bytes_of_all_groups() -> None:
    full, narrow = kv_pools(5, [FULL, NARROW._replace(layers=3)])
    assert [len(half) for half in (*full, *narrow)] == [2, 2, 3, 3]
    assert list(full.keys[0].shape) == [5, 16, 2, DIM]
    assert list(narrow.keys[0].shape) == [5, 32, 1, DIM]
    for mine, its in zip(
        (*full.keys, *full.values), (*narrow.keys[:2], *narrow.values[:2]), strict=True
    ):
        mine[3] = 7
        assert (its[3] == 7).all() and not its[2].any() and not its[4].any()
    whole = full.keys[0]._base
    assert whole is not None and whole is narrow.values[2]._base
    assert whole.numel() == 2 * 3 * 5 * 16 * 2 * DIM


def test_blocks_of_different_sizes_share_no_pool() -> None:
    with pytest.raises(ValueError, match="512 or 256 numbers"):
        kv_pools(5, [FULL, NARROW._replace(block_size=16)])
    with pytest.raises(ValueError, match="groups is empty"):
        kv_pools(5, [])
    with pytest.raises(ValueError, match="blocks = -1"):
        kv_pools(-1, [FULL, NARROW])
