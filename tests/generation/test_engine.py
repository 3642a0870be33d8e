"""Scheduling changes nothing: every answer is the one that a contiguous cache gives."""

import os
from collections.abc import Callable
from dataclasses import replace
from itertools import count

import numpy as np
import pytest
import torch

from pagesim.kernels.tiny_llm import Contiguous, Model, generate, maps, walk
from pagesim.kernels.tiny_llm.sampling import SamplingParams
from pagesim.simulation import PagedServing
from pagesim.simulation.serving import Step
from tests.generation.serving import (
    Asked,
    Setting,
    Watched,
    engine_on,
    hand,
    scrambled,
    served,
    texts,
    walked,
    walks,
)

MATRIX = "PAGESIM_LLM_MATRIX" in os.environ
COUNT = 40 if MATRIX else 12
TIGHT = Setting()
SETTINGS = {
    "recompute": TIGHT,
    "swap": replace(TIGHT, mode="swap"),
    "recompute, caching": replace(TIGHT, caching=True),
    "swap, caching": replace(TIGHT, mode="swap", caching=True),
    "recompute, chunks": replace(TIGHT, budget=64),
    "swap, chunks": replace(TIGHT, mode="swap", budget=64),
    "caching, chunks": replace(TIGHT, budget=32, caching=True, blocks=60),
}
V1_SETTINGS = {
    "whole prompts": Setting(blocks=25),
    "caching": Setting(caching=True, blocks=25),
    "chunks": Setting(budget=64, blocks=25),
    "caching, chunks": Setting(caching=True, budget=32, blocks=21),
    "caching, small chunks": Setting(caching=True, budget=8, blocks=21),
}


EVERY = [*((0, name) for name in SETTINGS), *((1, name) for name in V1_SETTINGS)]


def chosen(version: int, name: str) -> tuple[Setting, PagedServing]:
    setting = (SETTINGS, V1_SETTINGS)[version][name]
    return setting, setting.v1() if version else setting.v0()


@pytest.mark.parametrize(("version", "name"), EVERY)
def test_scheduling_changes_nothing(version: int, name: str) -> None:
    setting, server = chosen(version, name)
    engine = same_as_without_pages(f"V{version}, {name}", setting, server, texts(COUNT))
    assert engine.preemptions > 0 or setting.blocks > 25
    assert bool(engine.swapped) == (setting.mode == "swap")
    assert bool(engine.mixed) == (version == 1 or setting.budget is not None)


def test_scheduling_ahead_of_the_tokens_changes_nothing() -> None:
    setting = V1_SETTINGS["caching, chunks"]
    server = setting.v1(asynchronous=True)
    same_as_without_pages("v1, asynchronous", setting, server, texts(COUNT))


@pytest.mark.parametrize("model", [hand, walk])
def test_walks_are_right_on_both_engines(model: Callable[[], Model]) -> None:
    """The answers are also known without any model."""
    given = walks(COUNT, model=model)
    for setting, server in (chosen(0, "swap, caching"), chosen(1, "caching, chunks")):
        engine = same_as_without_pages("walks", setting, server, given)
        assert [answer.tokens for answer in engine.answers] == walked(COUNT)


def same_as_without_pages(
    name: str, setting: Setting, server: PagedServing, given: Asked, backend: str = "torch"
) -> Watched:
    engine = served(given, setting, server, backend)
    difference = given.furthest(engine)
    assert difference < 1e-4
    print(f"{name}: logits differ by {difference:.1e}, smallest margin {given.margin():.2g}")
    return engine


@pytest.mark.parametrize(
    ("backend", "names"),
    [
        ("triton", ["swap", "recompute, chunks"]),
        ("numpy", ["swap", "recompute, caching", "recompute, chunks"]),
    ],
)
def test_six_requests_with_another_backend(backend: str, names: list[str]) -> None:
    given = texts(6, seed=1, facts=(1, 2), most=5, layers=1)
    for name in names:
        setting = replace(SETTINGS[name], blocks=4, block_size=4)
        if setting.budget is not None:
            setting = replace(setting, budget=8)
        engine = same_as_without_pages(f"{backend}: {name}", setting, setting.v0(), given, backend)
        assert engine.preemptions > 0


@pytest.mark.skipif(not MATRIX, reason="make nightly runs every backend in every setting")
@pytest.mark.parametrize("backend", ["triton", "fused", "numpy"])
@pytest.mark.parametrize(("version", "name"), EVERY)
def test_every_backend_in_every_setting(version: int, name: str, backend: str) -> None:
    for given in (texts(8), walks(12, model=walk)):
        setting, server = chosen(version, name)
        same_as_without_pages(f"{backend}: {name}", setting, server, given, backend)


def test_a_prompt_that_can_never_be_served_is_named_with_its_reason() -> None:
    setting = replace(TIGHT, blocks=8)
    engine = engine_on(setting.v0(), setting)
    short, long = maps.encode("a>b;b>.;?a"), maps.encode("a>b;" * 20 + "?a")
    for prompt in (short, long):
        engine.add(prompt, SamplingParams(max_tokens=8))
    served, ignored = engine.run()
    assert (served.state, maps.decode(served.tokens)) == ("finished", "b.")
    assert (ignored.state, ignored.tokens) == ("ignored", [])
    assert ignored.why == "it needs 12 blocks, and the pool has 8"


def test_a_prompt_that_is_stuck_is_named_and_the_others_are_answered() -> None:
    """Swapped out half-way, the rest of a prompt never comes back: vLLM does not cut it again."""
    setting = Setting("swap", budget=8, blocks=10, block_size=4)
    engine = engine_on(setting.v0(), setting, scrambled())
    engine.add([5] * 4, SamplingParams(max_tokens=30))
    engine.add([6] * 30, SamplingParams(max_tokens=3))
    first, stuck = engine.run()
    assert (first.state, len(first.tokens)) == ("finished", 30)
    assert stuck.state == "stuck"
    assert "it was swapped out during its prompt" in stuck.why


def test_v1_names_who_waits_forever_and_who_waits_behind() -> None:
    setting = Setting(blocks=6)
    engine = engine_on(setting.v1(), setting)
    for name, tokens in {"a": 10, "long": 41, "b": 9, "longer": 600}.items():
        engine.add([5] * tokens, SamplingParams(max_tokens=2), name)
    _, stuck, behind, ignored = engine.run()
    states = [answer.state for answer in engine.answers]
    assert states == ["finished", "stuck", "stuck", "ignored"]
    assert "needs 6 blocks for its 41 tokens, and the pool has 5" in str(stuck.why)
    assert behind.why == "it waits behind request 'long', which waits forever"
    assert "exceed max_model_len" in ignored.why


def test_what_is_no_prompt_and_no_backend() -> None:
    setting = Setting()
    engine = engine_on(setting.v0(), setting)
    for prompt, message in [
        ([], "the prompt is empty"),
        ([66], "token 66: token ids go from 0 to 65"),
        ([-1], "the prompt contains token -1"),
        ([1.0], "the prompt contains token 1.0"),
    ]:
        with pytest.raises(ValueError, match=message):
            engine.add(prompt)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="params must be SamplingParams, not 3"):
        engine.add([1], 3)  # type: ignore[arg-type]
    assert engine.answers == []
    for tokens in (np.array([2, 4]), torch.tensor([2, 4])):
        assert engine.answers[engine.add(tokens)].prompt == (2, 4)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="backend must be one of torch, triton, fused, numpy"):
        engine_on(setting.v0(), setting, backend="cuda")


def test_a_run_is_repeated_exactly() -> None:
    """The clock counts steps: prefix caching evicts by it, and never by the time of day."""
    setting, given = SETTINGS["swap, caching"], texts(COUNT)
    runs = []
    for _ in range(2):
        server = setting.v0()
        engine, tables = engine_on(server, setting, given.model), []
        for prompt, params in zip(given.prompts, given.params, strict=True):
            engine.add(prompt, params)
        while engine.step() is not None:
            tables.append(server.tables())
        runs.append((tables, engine.misread))
    assert runs[0] == runs[1]


def test_a_step_that_only_preempts_computes_nothing() -> None:
    """V1 tells such steps; the batch of the step before is still there."""
    setting, given = SETTINGS["recompute"], texts(COUNT)
    server = setting.v0()
    schedule, steps = server.schedule, count()

    def every_other(clock: float) -> Step | None:
        return Step() if next(steps) % 2 else schedule(clock)

    server.schedule = every_other  # type: ignore[method-assign]
    served(given, setting, server)


def test_an_empty_engine_has_nothing_to_do() -> None:
    setting = Setting()
    engine = engine_on(setting.v0(), setting)
    assert engine.step() is None
    assert engine.run() == []


def test_a_step_tells_its_tokens() -> None:
    setting = Setting()
    engine = engine_on(setting.v0(), setting, hand())
    for text in ("a>b;b>.;?a", "c>d;d>.;?c"):
        engine.add(maps.encode(text), SamplingParams(max_tokens=9))
    steps = []
    while (sampled := engine.step()) is not None:
        steps.append([(answer, sample, maps.decode([token])) for answer, sample, token in sampled])
    assert steps == [[(0, 0, "b"), (1, 0, "d")], [(0, 0, "."), (1, 0, ".")]]


def test_logits_that_are_not_finite_are_told_and_only_float16_to_take_another_type() -> None:
    engine = engine_on(TIGHT.v0(), TIGHT)
    engine.add(walks(1).prompts[0], SamplingParams(max_tokens=4))
    engine.step()
    ((block, *_),) = engine.server.tables().values()
    engine.cache.gpu.keys[0][block] = torch.nan
    with pytest.raises(ArithmeticError, match="answer 0") as raised:
        engine.step()
    assert "use float32" not in str(raised.value)
    with pytest.raises(ArithmeticError, match="use float32"):
        engine._check_finite([0], torch.full((1, 66), torch.inf, dtype=torch.float16))


def test_the_reference_refuses_what_it_has_no_slots_for() -> None:
    model = walk()
    cache = Contiguous(model, 3)
    cache.logits([2, 4])
    with pytest.raises(ValueError, match=r"2 more tokens .*: the cache has 3 slots, and 2"):
        cache.logits([4, 5])
    assert cache.length == 2
    for prompt in ([], [66]):
        with pytest.raises(ValueError, match=r"the prompt (is empty|contains token 66)"):
            generate(model, prompt, SamplingParams())
