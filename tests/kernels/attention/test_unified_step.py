"""V1's step: prompts, chunks and decodes in one launch of `paged_prefill`, through V1's tables.

Checked against attention in NumPy over contiguous keys and values, which knows no pages.
"""

from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from pagesim.cache import AttentionMetadata, build_v1_metadata
from pagesim.kernels import backend, kv_pool, kv_pools, paged_prefill, reshape_and_cache
from pagesim.kernels.pool import KVTensors
from pagesim.sizing.kv_cache_spec import FullAttentionSpec, SlidingWindowSpec
from pagesim.story import Engine
from pagesim.v1 import CacheConfig, Request, Scheduler, SchedulerConfig
from tests.v1.scenes import SIZE, text

HEADS, KV_HEADS, DIM = 2, 1, 16
NAN = float("nan")
Array = NDArray[np.float32]


def numbers(kind: int, heads: int, tokens: list[int]) -> Array:
    """A row for each token, which depends on all tokens before it, as a model's would."""
    rows = [np.random.default_rng([kind, *tokens[: i + 1]]) for i in range(len(tokens))]
    return np.stack([rng.standard_normal((heads, DIM), dtype=np.float32) for rng in rows])


def expected(tokens: list[int], context: int, window: int, kv_heads: int = KV_HEADS) -> Array:
    """The textbook's answer for the tokens behind ``context``, without pages."""
    q = numbers(0, HEADS, tokens)
    k, v = (np.repeat(numbers(kind, kv_heads, tokens), HEADS // kv_heads, 1) for kind in (1, 2))
    scores = np.einsum("qhd,khd->hqk", q, k) / np.sqrt(DIM)
    distance = np.arange(len(tokens))[:, None] - np.arange(len(tokens))
    visible = (distance >= 0) & (distance < (window or len(tokens)))
    weights = np.where(visible, np.exp(scores), 0)
    return np.einsum("hqk,khd->qhd", weights / weights.sum(-1, keepdims=True), v)[context:]


class Model:
    """One layer whose keys and values are in pages; NaN where no token was written."""

    def __init__(self, pool: KVTensors, window: int) -> None:
        (self.keys,), (self.values,) = pool
        for cache in (self.keys, self.values):
            cache.fill_(NAN)
        self.window, self.kv_heads = window, self.keys.shape[2]

    def attend(self, batch: AttentionMetadata, tokens: dict[Any, list[int]], **given: int) -> Array:
        """Write the step's keys and values, then one launch for the whole batch."""
        parts = [tokens[i][:n] for i, n in zip(batch.seq_ids, batch.seq_lens, strict=True)]

        def new(kind: int, heads: int) -> Array:
            pairs = zip(parts, batch.context_lens, strict=True)
            return np.concatenate([numbers(kind, heads, part)[context:] for part, context in pairs])

        rows = new(0, HEADS), new(1, self.kv_heads), new(2, self.kv_heads)
        about = batch.slot_mapping, batch.block_tables, batch.query_start_loc, batch.seq_lens
        q, k, v, slots, tables, starts, lengths = (
            torch.from_numpy(array).to(backend.device()) for array in (*rows, *about)
        )
        reshape_and_cache(k, v, self.keys, self.values, slots)
        given = {"sliding_window": self.window} | given
        out = paged_prefill(q, self.keys, self.values, tables, starts, lengths, **given)
        return out.cpu().numpy()

    def check(self, batch: AttentionMetadata, tokens: dict[Any, list[int]]) -> None:
        """Every row of a step is what it is without pages."""
        out = self.attend(batch, tokens)
        rows = zip(batch.seq_ids, batch.context_lens, batch.seq_lens, strict=True)
        for i, (name, context, length) in enumerate(rows):
            begin, end = batch.query_start_loc[i : i + 2]
            right = expected(tokens[name][:length], context, self.window, self.kv_heads)
            np.testing.assert_allclose(out[begin:end], right, rtol=0, atol=1e-5)


def one_layer(num_blocks: int, window: int) -> Model:
    return Model(kv_pool(1, num_blocks, SIZE, KV_HEADS, DIM), window)


def run(engine: Engine, window: int, steps: int) -> tuple[set[tuple[bool, bool]], int]:
    """Step on and check every row; which mixtures of phases there were, and how many nulls."""
    scheduler, model = engine.scheduler, one_layer(24, window)
    mixtures, nulls = set(), 0
    for step in range(steps):
        output = scheduler.schedule()
        batch = build_v1_metadata(output, scheduler)
        tokens = {name: list(scheduler.requests[name].all_token_ids) for name in batch.seq_ids}
        model.check(batch, tokens)
        mixtures.add((batch.num_prefills > 0, batch.num_decode_tokens > 0))
        nulls += engine.table("long").count(0)
        scheduler.update_from_output(output, {name: [step] for name in batch.sample_ids})
    return mixtures, nulls


@pytest.mark.parametrize("window", [0, 6])
def test_prompts_chunks_hits_and_decodes_in_one_launch(window: int) -> None:
    kept = {"sliding_window": window or None, "retention_interval": None}
    engine = Engine(gpu_blocks=24, max_num_batched_tokens=9, **kept)
    engine.add("long", text(23), max_tokens=9)
    engine.add("again", text(21), max_tokens=6)
    engine.add("other", text(6, 60), max_tokens=9)
    mixtures, nulls = run(engine, window, 7)
    assert mixtures == {(True, False), (True, True), (False, True)}
    assert engine.scheduler.kv_cache_manager.prefix_cache_stats.hits > 0
    assert (nulls > 6) == bool(window)


def test_a_forgotten_window_is_refused() -> None:
    """The null block, entry 0, would be read in silence; the metadata's -1 is not."""
    engine = Engine(sliding_window=5)
    engine.add("a", text(11))
    engine.steps(3)
    batch = build_v1_metadata(engine.scheduler.schedule(), engine.scheduler)
    tokens = {"a": engine.requests["a"].all_token_ids}
    model = one_layer(12, 5)
    with pytest.raises(ValueError, match=r"block_tables\[0, 0\] = -1: sequence 0 names a block"):
        model.attend(batch, tokens, sliding_window=0)


def test_two_groups_whose_blocks_differ_in_tokens_and_share_their_bytes() -> None:
    """Blocks of 4 tokens and two heads are blocks of 8 tokens and one head, whoever has them."""
    groups = [FullAttentionSpec(4), SlidingWindowSpec(8, sliding_window=6)]
    cache = CacheConfig(num_gpu_blocks=26, groups=groups, retention_interval=None)
    scheduler = Scheduler(SchedulerConfig(12, 4, 64), cache)
    for name, tokens in {"long": text(23), "again": text(21), "other": text(6, 60)}.items():
        scheduler.add_request(Request(name, tokens, block_size=4, max_tokens=12))
    pools = kv_pools(26, [(1, 4, 2, DIM), (1, 8, 1, DIM)])
    layers = [Model(pools[0], 0), Model(pools[1], 6)]
    held: list[set[int]] = [set(), set()]
    nulls = mixed = 0
    for step in range(14):
        output = scheduler.schedule()
        batch = build_v1_metadata(output, scheduler)
        tokens = {name: list(scheduler.requests[name].all_token_ids) for name in batch.seq_ids}
        for group, layer in enumerate(layers):
            layer.check(batch.groups[group], tokens)
            held[group] |= {*batch.groups[group].block_tables.ravel().tolist()} - {-1}
        nulls += (batch.groups[1].block_tables[:, 0] == -1).sum()
        mixed += 0 < batch.num_prefills < len(batch.seq_ids)
        scheduler.update_from_output(output, {name: [step] for name in batch.sample_ids})
    # Some blocks were of both groups, one after the other.
    assert nulls > 6 and mixed and held[0] & held[1]
