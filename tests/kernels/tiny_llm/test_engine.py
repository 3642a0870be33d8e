"""Scheduling changes nothing: every answer is the one that a contiguous cache gives."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from kernels.tiny_llm import maps
from kernels.tiny_llm.sampling import SamplingParams
from tests.kernels.tiny_llm.serving import (
    Asked,
    Setting,
    engine_on,
    hand,
    scrambled,
    texts,
    walks,
)

pytestmark = pytest.mark.usefixtures("one_thread")

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


@pytest.mark.parametrize("asked", [walks, texts])
@pytest.mark.parametrize("name", SETTINGS)
def test_scheduling_changes_nothing(name: str, asked: type[Asked]) -> None:
    setting = SETTINGS[name]
    server, given = setting.v0(), asked(40)
    engine = engine_on(server, setting, given.model)
    answers = given.asked_of(engine)
    assert given.wrong(answers) == []
    assert {answer.state for answer in answers} == {"finished"}
    difference = given.furthest(engine)
    assert difference < 1e-4
    manager = server.scheduler.block_manager
    assert manager.block_tables == {}
    assert manager.get_num_free_gpu_blocks() == setting.blocks
    assert manager.get_num_free_cpu_blocks() == setting.cpu_blocks
    if setting.blocks == TIGHT.blocks:
        assert server.scheduler.num_cumulative_preemption > 0
    assert bool(engine.swapped) == (setting.mode == "swap")
    assert bool(engine.mixed) == (setting.budget is not None)
    print(f"{name}: logits differ by {difference:.1e}, smallest margin {given.margin():.2g}")


def test_the_answers_of_the_model_made_by_hand_are_walks() -> None:
    setting = SETTINGS["swap, caching"]
    engine = engine_on(setting.v0(), setting)
    one = maps.make_map(np.random.default_rng(5), 12)
    for start in one.starts:
        engine.add(maps.prompt(one, start), SamplingParams(max_tokens=20))
    found = [answer.tokens for answer in engine.run()]
    assert found == [maps.answer(one, start) for start in one.starts]


@pytest.mark.parametrize(
    ("backend", "names"),
    [
        ("triton", ["swap", "recompute, caching", "recompute, chunks"]),
        ("fused", ["swap"]),
        ("numpy", ["swap", "recompute, caching", "recompute, chunks"]),
    ],
)
def test_six_requests_with_another_backend(backend: str, names: list[str]) -> None:
    given = texts(6, seed=1, facts=(1, 4), most=7, layers=1)
    for name in names:
        setting = replace(SETTINGS[name], blocks=7, block_size=4)
        if setting.budget is not None:
            setting = replace(setting, budget=16)
        server = setting.v0()
        engine = engine_on(server, setting, given.model, backend)
        assert given.wrong(given.asked_of(engine)) == []
        assert given.furthest(engine) < 1e-4
        assert server.scheduler.num_cumulative_preemption > 0
        assert server.scheduler.block_manager.get_num_free_gpu_blocks() == 7


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


def test_what_is_no_prompt_and_no_backend() -> None:
    setting = Setting()
    engine = engine_on(setting.v0(), setting)
    for prompt, message in [
        ([], "the prompt is empty"),
        ([66], "the prompt has the token 66: they are 0 to 65"),
        ([-1], "the prompt has the token -1"),
        ([1.0], "the prompt has the token 1.0"),
    ]:
        with pytest.raises(ValueError, match=message):
            engine.add(prompt)  # type: ignore[arg-type]
    assert engine.answers == []
    with pytest.raises(ValueError, match="backend must be one of torch, triton, fused, numpy"):
        engine_on(setting.v0(), setting, backend="cuda")


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
    while (told := engine.step()) is not None:
        steps.append([(answer, sample, maps.decode([token])) for answer, sample, token in told])
    assert steps == [[(0, 0, "b"), (1, 0, "d")], [(0, 0, "."), (1, 0, ".")]]
