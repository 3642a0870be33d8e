"""A fact is four tokens of a page: damage the page, and exactly its facts are answered wrongly."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from pagesim.cache import KVPool
from pagesim.kernels.tiny_llm import Model, maps, walk
from pagesim.kernels.tiny_llm.contiguous import Contiguous
from pagesim.kernels.tiny_llm.paged_attend import Torch
from tests.generation.serving import batch_of, hand, pools, scrambled

FACTS = 32
BLOCKS = 70


@dataclass(frozen=True)
class Written:
    """A map in pages, and one question about each of its places, on a page of its own."""

    model: Model
    block_size: int
    given: maps.Map
    pool: KVPool
    table: tuple[int, ...]
    """Of the map."""

    @property
    def facts(self) -> list[int]:
        return maps.prompt(self.given, 0)[:-2]

    @property
    def pages(self) -> range:
        return range(len(self.table))

    def places_on(self, page: int) -> set[int]:
        """The places whose facts are on a page."""
        each = self.block_size // 4
        return {place for place, _ in self.given.facts[page * each : (page + 1) * each]}

    def ask(self, attend: type[Torch] = Torch) -> tuple[torch.Tensor, Torch]:
        """The logits [places, vocab] of all questions, and what they were read by."""
        own = range(BLOCKS - FACTS, BLOCKS)
        questions = [
            ([*self.facts, maps.ASK, place], len(self.facts) + 1, [*self.table, own[i]])
            for i, (place, _) in enumerate(self.given.facts)
        ]
        return self.run(questions, 0, attend)

    def run(
        self,
        sequences: list[tuple[list[int], int, list[int]]],
        prefills: int,
        backend: type[Torch] = Torch,
    ) -> tuple[torch.Tensor, Torch]:
        batch = batch_of(sequences, prefills, self.block_size)
        attend = backend(self.pool, batch)
        tokens = torch.from_numpy(batch.input_tokens), torch.from_numpy(batch.input_positions)
        with torch.inference_mode():
            return self.model.logits(self.model(*tokens, attend)[batch.sample_rows]), attend

    def wrong(self) -> set[int]:
        """The places whose question is not answered with their fact."""
        found = self.ask()[0].argmax(-1).tolist()
        pairs = zip(self.given.facts, found, strict=True)
        return {place for (place, to), token in pairs if token != to}

    def damaged(self, page: int, other: int | None = None, layers: slice = slice(None)) -> Written:
        """The same over a copy of the pool, a page of it zeroed, or with another page's bytes."""
        pool = KVPool(*([a.clone() for a in half] for half in (self.pool.keys, self.pool.values)))
        for array in (*pool.keys[layers], *pool.values[layers]):
            array[self.table[page]] = 0 if other is None else array[self.table[other]]
        return replace(self, pool=pool)


def written(model: Model, block_size: int) -> Written:
    """A map whose pages lie in no order, and "?" behind it on the page of every question."""
    rng = np.random.default_rng(block_size)
    given = maps.make_map(rng, FACTS)
    (pool,) = pools(model, block_size, BLOCKS)
    table = rng.permutation(BLOCKS - FACTS)[: FACTS * 4 // block_size].tolist()
    one = Written(model, block_size, given, pool, tuple(table))
    one.run([(one.facts, 0, table)], prefills=1)
    asks = [(maps.prompt(given, 0)[:-1], len(one.facts), [*table, BLOCKS - FACTS + i])
            for i in range(FACTS)]  # fmt: skip
    one.run(asks, prefills=0)
    return one


FIRST, LAST = slice(0, 1), slice(-1, None)
BLOCK_SIZES = [4, 8, 16]


class Watching(Torch):
    """Keeps every layer's weights of each sequence's last query, added up page by page."""

    def __init__(self, pool: Any, batch: Any) -> None:
        super().__init__(pool, batch)
        self.weights: list[torch.Tensor] = []
        """For each layer, [sequences, Hq, longest table]."""
        self.tables = torch.from_numpy(batch.gather_tables()[0])
        self.last = torch.from_numpy(batch.query_start_loc[1:] - 1)
        self.lens = torch.from_numpy(batch.seq_lens)

    def __call__(self, layer: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        out = super().__call__(layer, q, k, v)
        keys = self.pool.keys[layer][self.tables].flatten(1, 2)  # [S, W · block_size, Hkv, D]
        grouped = q[self.last].unflatten(1, (self.kv_heads, -1))  # [S, Hkv, G, D]
        scores = torch.einsum("shgd,slhd->shgl", grouped, keys) / q.shape[2] ** 0.5
        hidden = torch.arange(keys.shape[1]) >= self.lens[:, None]
        weights = scores.masked_fill(hidden[:, None, None], float("-inf")).softmax(-1).flatten(1, 2)
        self.weights.append(weights.unflatten(-1, (-1, self.block_size)).sum(-1))
        return out


MODELS = [(hand, 4), (hand, 8), (hand, 16), (walk, 8)]


@pytest.mark.parametrize(("model", "block_size"), MODELS)
def test_exactly_the_facts_of_a_damaged_page_go_wrong(
    model: Callable[[], Model], block_size: int
) -> None:
    one = written(model(), block_size)
    assert one.wrong() == set()
    for page in one.pages:
        lost = one.places_on(page)
        assert len(lost) == block_size // 4
        other = (page + 3) % len(one.table)
        assert one.damaged(page).wrong() == lost
        assert one.damaged(page, layers=LAST).wrong() == lost
        assert one.damaged(page, other).wrong() == lost
        entries = [*one.table[:page], one.table[other], *one.table[page + 1 :]]
        assert replace(one, table=tuple(entries)).wrong() == lost


@pytest.mark.parametrize(("model", "block_size"), MODELS)
def test_the_heaviest_page_is_the_page_of_the_fact(
    model: Callable[[], Model], block_size: int
) -> None:
    one = written(model(), block_size)
    attend = one.ask(Watching)[1]
    assert isinstance(attend, Watching)
    for (place, _), heads in zip(one.given.facts, attend.weights[-1], strict=True):
        assert heads.sum(-1).tolist() == pytest.approx([1.0] * len(heads))
        looks_up = heads[int(heads.max(-1).values.argmax())]
        assert place in one.places_on(int(looks_up.argmax()))
        assert looks_up.max() > (0.99 if model is hand else 0.5)


@pytest.mark.parametrize("block_size", BLOCK_SIZES)
def test_full_pages_in_another_order_change_nothing(block_size: int) -> None:
    """Attention is a sum over a set, and a key carries its position."""
    one = written(hand(), block_size)
    shuffled = tuple(np.random.default_rng(1).permutation(one.table).tolist())
    assert shuffled != one.table
    assert replace(one, table=shuffled).wrong() == set()


def test_the_last_partial_page_must_stay_last() -> None:
    """Swapped with a full page, its empty slots are read, and a question's tokens are not."""
    one = written(hand(), 8)
    logits, _ = one.ask()
    sequences = [
        ([*one.facts, maps.ASK, place], len(one.facts) + 1, [BLOCKS - FACTS + i, *one.table[1:], 0])
        for i, (place, _) in enumerate(one.given.facts)
    ]
    moved, _ = one.run(sequences, prefills=0)
    assert (moved.argmax(-1) != logits.argmax(-1)).any()


@pytest.mark.parametrize("block_size", BLOCK_SIZES)
def test_layer_0_is_proved_by_logits(block_size: int) -> None:
    """No walk notices a damaged page of layer 0, which only looks back by two tokens."""
    one = written(hand(), block_size)
    other = written(scrambled(), block_size)
    right = Contiguous(other.model, 4 * FACTS + 2)
    place = other.given.facts[0][0]
    wanted = right.logits([*other.facts, maps.ASK, place])
    largest = wanted.abs().max()
    assert (other.ask()[0][0] - wanted).abs().max() < 1e-4 * largest
    for page in one.pages:
        assert one.damaged(page, layers=FIRST).wrong() == set()
        found = other.damaged(page, layers=FIRST).ask()[0][0]
        assert (found - wanted).abs().max() > 1e-3 * largest
