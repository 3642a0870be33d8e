"""Engines over pools that are too small, requests that share maps, and answers without pages."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
import torch

from pagesim import kernels
from pagesim.cache import AttentionMetadata, CacheEngine, KVPool, build_attention_metadata
from pagesim.generation.engine import Answer
from pagesim.generation.shadow import ShadowedEngine
from pagesim.kernels.tiny_llm import Config, Model, by_hand, maps
from pagesim.kernels.tiny_llm.config import shapes
from pagesim.kernels.tiny_llm.contiguous import generate
from pagesim.kernels.tiny_llm.sampling import SamplingParams
from pagesim.simulation import PagedServing
from pagesim.simulation.paged import PagedServer
from pagesim.simulation.paged_v1 import PagedV1Server
from pagesim.v0.config import CacheConfig, SchedulerConfig
from pagesim.v0.scheduler_outputs import SequenceGroupMetadata
from pagesim.v0.sequence import SequenceData
from pagesim.v1 import config as v1

MAX_LEN = 512
hand = cache(by_hand)


@dataclass(frozen=True)
class Setting:
    """A server's configuration; a budget makes it cut prompts."""

    mode: str = "recompute"
    caching: bool = False
    budget: int | None = None
    blocks: int = 24
    cpu_blocks: int = 200
    block_size: int = 8
    max_num_seqs: int = 8

    def v0(self, record: bool = False) -> PagedServer:
        config = SchedulerConfig(
            self.budget or MAX_LEN,
            self.max_num_seqs,
            MAX_LEN,
            enable_chunked_prefill=self.budget is not None,
            preemption_mode=self.mode,
        )
        pool = CacheConfig(
            self.block_size,
            self.blocks,
            self.cpu_blocks,
            enable_prefix_caching=self.caching,
            watermark=0.0,
        )
        return PagedServer(config, pool, record=record)

    def v1(self, record: bool = False, asynchronous: bool = False) -> PagedV1Server:
        """V1's: what is preempted is recomputed, and one block is the null block."""
        config = v1.SchedulerConfig(
            self.budget or MAX_LEN,
            self.max_num_seqs,
            MAX_LEN,
            enable_chunked_prefill=self.budget is not None,
            async_scheduling=asynchronous,
        )
        pool = v1.CacheConfig(self.block_size, self.blocks, enable_prefix_caching=self.caching)
        return PagedV1Server(config, pool, record=record)

    def nothing_leaks(self, server: PagedServing) -> bool:
        """Whether every block is free again; V1's null block never is."""
        if isinstance(server, PagedV1Server):
            free = server.scheduler.kv_cache_manager.block_pool.get_num_free_blocks()
            return not any(server.tables().values()) and free == self.blocks - 1
        assert isinstance(server, PagedServer)
        manager = server.scheduler.block_manager
        free = manager.get_num_free_gpu_blocks(), manager.get_num_free_cpu_blocks()
        return server.tables() == {} and free == (self.blocks, self.cpu_blocks)


class Watched(ShadowedEngine):
    """Keeps the logits of every token: by answer and sample, in order. Counts what happens."""

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        self.rows: defaultdict[tuple[int, int], list[torch.Tensor]] = defaultdict(list)
        self.copied = self.swapped = self.mixed = self.cached = 0
        self.begun: set[int] = set()

    def forward(self, batch: Any) -> torch.Tensor:
        moves = self.server.moves
        self.copied += len(moves.blocks_to_copy)
        self.swapped += len(moves.blocks_to_swap_in)
        first = {i for i in batch.seq_ids if i not in self.begun}
        found = zip(batch.seq_ids, batch.context_lens.tolist(), strict=True)
        self.cached += sum(computed for i, computed in found if i in first)
        self.begun |= first
        self.mixed += 0 < batch.num_prefills < len(batch.seq_ids)
        return super().forward(batch)

    def sample(self, ids: Iterable[int], logits: torch.Tensor) -> dict[int, int]:
        for seq_id, row in zip(ids, logits, strict=True):
            sequence = self._sequences[seq_id]
            self.rows[sequence.answer.id, sequence.sample].append(row)
        return super().sample(ids, logits)


def pools(model: Model, block_size: int, *blocks: int) -> list[KVPool]:
    c = model.config
    sizes = block_size, c.num_key_value_heads, c.head_dim
    return [
        KVPool(*kernels.kv_pool(c.num_hidden_layers, n, *sizes, device=model.head.device))
        for n in blocks
    ]


def engine_on(
    server: PagedServing, setting: Setting, model: Model | None = None, backend: Any = "torch"
) -> Watched:
    model = model or hand()
    memory = CacheEngine(*pools(model, setting.block_size, setting.blocks, setting.cpu_blocks))
    return Watched(model, server, memory, backend)


def batch_of(
    sequences: list[tuple[list[int], int, list[int]]], prefills: int, block_size: int
) -> AttentionMetadata:
    """The step that completes (tokens, how many are computed, table); prefills come first."""
    groups = []
    for i, (tokens, computed, table) in enumerate(sequences):
        data = SequenceData(list(tokens))
        data.num_computed_tokens = computed
        about = {i: data}, None, {i: table}, True, len(tokens) - computed, []
        groups.append(SequenceGroupMetadata(str(i), i < prefills, *about))
    return build_attention_metadata(groups, block_size)


@dataclass(frozen=True)
class Asked:
    """Requests, and their answers by one contiguous cache each."""

    model: Model
    prompts: list[list[int]]
    params: list[SamplingParams]
    answers: list[list[list[int]]] = field(default_factory=list)
    rows: list[list[torch.Tensor]] = field(default_factory=list)

    def answered(self) -> Asked:
        for prompt, params in zip(self.prompts, self.params, strict=True):
            seen: list[list[torch.Tensor]] = [[] for _ in range(params.n)]
            self.answers.append(
                generate(self.model, prompt, params, lambda k, row, seen=seen: seen[k].append(row))
            )
            self.rows.append(seen[0])
        return self

    def asked_of(self, engine: Watched) -> list[Answer]:
        for prompt, params in zip(self.prompts, self.params, strict=True):
            engine.add(prompt, params)
        return engine.run()

    def wrong(self, answers: list[Answer]) -> list[int]:
        """The requests with other tokens than without pages."""
        both = zip(answers, self.answers, strict=True)
        return [answer.id for answer, right in both if answer.samples != right]

    def furthest(self, engine: Watched) -> float:
        """How far logits of greedy requests are from those without pages ÷ the largest logit."""
        largest = max(float(row.abs().max()) for rows in self.rows for row in rows)
        pairs = [
            (row, right)
            for i, params in enumerate(self.params)
            if params == SamplingParams(params.max_tokens)
            for row, right in zip(engine.rows[i, 0], self.rows[i], strict=True)
        ]
        return max(float((row - right).abs().max()) for row, right in pairs) / largest

    def margin(self) -> float:
        """The least lead of a greedy token over the second."""
        best = [row.topk(2).values for rows in self.rows for row in rows]
        return min(float(values[0] - values[1]) for values in best)


@cache
def questions(
    count: int, seed: int = 0, facts: tuple[int, int] = (6, 14)
) -> list[tuple[maps.Map, int]]:
    """Maps and places to start from: eight maps, which the requests share."""
    rng = np.random.default_rng(seed)
    shared = [maps.make_map(rng, int(rng.integers(*facts))) for _ in range(8)]
    chosen = [shared[i % 8] for i in range(count)]
    return [(one, int(rng.choice([place for place, _ in one.facts]))) for one in chosen]


def walked(count: int) -> list[list[int]]:
    """The right answers."""
    return [maps.answer(*question) for question in questions(count)]


@cache
def walks(
    count: int,
    seed: int = 0,
    facts: tuple[int, int] = (6, 14),
    most: int = 40,
    model: Callable[[], Model] = hand,
) -> Asked:
    """Greedy walks, without pages."""
    prompts = [maps.prompt(*question) for question in questions(count, seed, facts)]
    return Asked(model(), prompts, [SamplingParams(max_tokens=most)] * count).answered()


@cache
def scrambled(layers: int = 2) -> Model:
    """Random weights, in which every key and value matters: 4 query heads on 2 KV heads."""
    config = Config(
        model_type="llama",
        num_hidden_layers=layers,
        hidden_size=64,
        intermediate_size=96,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=16,
        vocab_size=maps.NUM_TOKENS,
    )
    torch.manual_seed(0)
    weights = {
        name: torch.randn(shape) / max(1, shape[-1]) ** 0.5 * (3 if len(shape) > 1 else 1)
        for name, shape in shapes(config).items()
    }
    return Model(config, weights)


@cache
def texts(
    count: int, seed: int = 0, facts: tuple[int, int] = (6, 14), most: int = 20, layers: int = 2
) -> Asked:
    """Greedy texts by the random model behind the same prompts."""
    prompts = [maps.prompt(*question) for question in questions(count, seed, facts)]
    params = [SamplingParams(max_tokens=most - i % (most - 2)) for i in range(count)]
    return Asked(scrambled(layers), prompts, params).answered()


def served(given: Asked, setting: Setting, server: PagedServing, backend: Any = "torch") -> Watched:
    """The engine that has answered all as without pages, misread nothing, and holds no block."""
    engine = engine_on(server, setting, given.model, backend)
    answers = given.asked_of(engine)
    assert {answer.state for answer in answers} == {"finished"}
    assert given.wrong(answers) == []
    assert engine.misread == []
    assert setting.nothing_leaks(server)
    return engine
