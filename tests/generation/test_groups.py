"""V1's engine with a group for each kind of layers: each answers as it does without pages."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
import torch

import pagesim
from pagesim.generation.groups import held_by_group
from pagesim.generation.setup import engine_on_pages, memory_for
from pagesim.kernels.tiny_llm import Model, by_hand, maps
from pagesim.kernels.tiny_llm.sampling import SamplingParams
from pagesim.simulation import PagedV1
from pagesim.simulation.paged_v1 import PagedV1Server
from pagesim.sizing.kv_cache_spec import FullAttentionSpec, MambaSpec, SlidingWindowSpec
from pagesim.v1.config import CacheConfig, SchedulerConfig
from tests.generation.serving import Asked, Watched, questions
from tests.kernels.tiny_llm.test_windows import random_model

SIZE, MAX_LEN = 8, 512
FULL = FullAttentionSpec(SIZE)


def window(tokens: int) -> SlidingWindowSpec:
    return SlidingWindowSpec(SIZE, sliding_window=tokens)


def engine_on(
    model: Model, groups: Sequence[Any], blocks: int, backend: str = "torch", **given: Any
) -> Watched:
    steps = {name: given.pop(name) for name in [*given] if name == "async_scheduling"}
    scheduler = SchedulerConfig(given.pop("budget", MAX_LEN), 8, MAX_LEN, **steps)
    server = PagedV1Server(scheduler, CacheConfig(num_gpu_blocks=blocks, groups=groups, **given))
    return Watched(model, server, memory_for(model, server), backend)


@cache
def asked(name: str, count: int = 12, most: int = 12) -> Asked:
    """Requests that share eight maps, and their texts by a random model without pages."""
    prompts = [maps.prompt(*question) for question in questions(count)]
    params = [SamplingParams(max_tokens=most - i % 5) for i in range(count)]
    return Asked(random_model(name), prompts, params).answered()


def served(given: Asked, engine: Watched) -> Watched:
    answers = given.asked_of(engine)
    assert {answer.state for answer in answers} == {"finished"}
    assert given.wrong(answers) == [] and engine.misread == []
    manager = engine.server.scheduler.kv_cache_manager
    assert manager.usage == 0
    return engine


GROUPS = {
    "all": [window(6)],
    "beside": [window(6), FULL],
    "two windows": [window(4), window(9), FULL, window(100)],
    "gemma": [FULL, window(7), window(7), window(7)],
}
# As the cache is set: whole prompts, chunks, hits, dense or sparse windows, asynchronous.
SETTINGS: dict[str, dict[str, Any]] = {
    "chunks": {"budget": 20, "enable_prefix_caching": False},
    "hits": {"retention_interval": None},
    "chunks and hits": {"budget": 20, "retention_interval": 0},
    "asynchronous": {"async_scheduling": True, "budget": 40},
}


# Every setting, and every model; `make nightly` takes all pairs.
PAIRS = [
    (name, setting)
    for name in GROUPS
    for setting in SETTINGS
    if name == "beside" or setting == "chunks and hits" or "PAGESIM_LLM_MATRIX" in os.environ
]


@pytest.mark.parametrize(("name", "setting"), PAIRS)
def test_answers_are_those_without_pages(name: str, setting: str) -> None:
    given = asked(name)
    groups = GROUPS[name]
    engine = served(given, engine_on(given.model, groups, 80 * len(groups), **SETTINGS[setting]))
    assert given.furthest(engine) < 1e-5
    if "hits" in setting:
        assert engine.cached > 0


@pytest.mark.parametrize("backend", ["triton", "numpy"])
def test_other_backends(backend: str) -> None:
    given = asked("beside", 2, 6)
    engine = served(given, engine_on(given.model, GROUPS["beside"], 40, backend, budget=30))
    assert given.furthest(engine) < 1e-5


def test_a_pool_that_is_too_small_for_all() -> None:
    given = asked("beside", 8, 30)
    engine = served(given, engine_on(given.model, GROUPS["beside"], 20, retention_interval=None))
    assert engine.preemptions > 0
    assert given.furthest(engine) < 1e-5


def test_layers_in_one_group_of_full_attention() -> None:
    """As with disable_hybrid_kv_cache_manager: layers still look no further than their window."""
    given = asked("gemma")
    engine = served(given, engine_on(given.model, [FULL], 60))
    assert given.furthest(engine) < 1e-5


@pytest.mark.parametrize(
    ("name", "groups"),
    [
        ("all", [("window:6", 4)]),
        ("beside", [("window:6", 2), ("full", 2)]),
        ("gemma", [("window:7 (1)", 1), ("window:7 (2)", 1), ("window:7 (3)", 1), ("full", 1)]),
    ],
)
def test_a_model_has_the_groups_of_its_layers(name: str, groups: list[tuple[str, int]]) -> None:
    given = asked(name)
    policy = PagedV1(SIZE)
    engine = served(given, engine_on_pages(given.model, policy, blocks=300, engine=Watched))
    held = held_by_group(engine)
    if len(groups) == 1:
        assert not held
        assert engine.server.scheduler.cache_config.sliding_window == 6
        return
    assert [(each.name, each.layers) for each in held] == groups
    assert engine.server.scheduler.cache_config.num_gpu_blocks == 300
    full = max(each.blocks for each in held if each.name == "full")
    assert all(0 < each.blocks <= full for each in held)
    as_one = PagedV1(SIZE, groups=[FULL])
    assert held_by_group(engine_on_pages(given.model, as_one, blocks=300))[0].layers == 4


def test_the_circuit_by_hand_walks_on_two_groups() -> None:
    model = by_hand(window=3)
    asks = questions(12)
    prompts = [maps.prompt(*question) for question in asks]
    given = Asked(model, prompts, [SamplingParams(max_tokens=40)] * 12).answered()
    assert [samples[0] for samples in given.answers] == [maps.answer(*one) for one in asks]
    engine = served(given, engine_on(model, [window(3), FULL], 40, budget=20))
    pool = engine.cache.gpu
    assert pool.keys[0].data_ptr() == pool.keys[1].data_ptr()


def test_a_window_that_drops_too_much_is_seen() -> None:
    """The shadow notices a group that keeps less than its layers look at."""
    given = asked("beside")
    engine = engine_on(given.model, GROUPS["beside"], 60)
    manager = engine.server.scheduler.kv_cache_manager.coordinator.single_type_managers[0]
    manager.sliding_window = 1
    given.asked_of(engine)
    assert engine.misread


@pytest.mark.parametrize("damage", ["slot_mapping", "block_tables"])
def test_tables_of_another_group_are_noticed(damage: str) -> None:
    class Swapped(Watched):
        def forward(self, batch: Any) -> torch.Tensor:
            first, second = batch.groups
            changed = {damage: getattr(first, damage)}
            return super().forward(replace(first, others=(replace(second, **changed),)))

    given = asked("beside")
    right = engine_on(given.model, [FULL, window(6)], 60)
    engine = Swapped(given.model, right.server, right.cache)
    answers = given.asked_of(engine)
    assert given.wrong(answers) and engine.misread


def test_groups_of_other_layers_are_refused() -> None:
    model = random_model("beside")
    for groups, message in (
        ([window(7), FULL], None),
        ([window(6)], "layer 1 attends to all tokens"),
        ([window(7)], "layer 0 attends to 6 tokens"),
        ([MambaSpec(SIZE, mamba_cache_mode="align")], "layer 0 attends to 6"),
        ([window(6), FullAttentionSpec(16)], r"blocks of \[8, 16\] tokens"),
    ):
        if message is None:
            engine_on(model, groups, 10)
            continue
        with pytest.raises(pagesim.UsageError, match=message):
            engine_on(model, groups, 10)
