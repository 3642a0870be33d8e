"""Samples and beams: as many answers as separate runs give, over shared pages."""

import os
from dataclasses import replace
from functools import cache
from itertools import product

import numpy as np
import pytest

from pagesim.kernels.tiny_llm import Model, SamplingParams, maps
from tests.generation.serving import Asked, Setting, engine_on, hand, questions, scrambled, served

MATRIX = "PAGESIM_LLM_MATRIX" in os.environ
COUNT = 40 if MATRIX else 6
ROOMY = Setting("swap", blocks=200)
TIGHT = Setting("swap", blocks=40)
SETTINGS = {
    "roomy": ROOMY,
    "swapped": TIGHT,
    "swapped, caching": replace(TIGHT, caching=True),
    "chunks": replace(ROOMY, budget=64),
}
ASKED = {
    "samples": SamplingParams(max_tokens=12, temperature=1.0, n=4),
    "samples, top_k": SamplingParams(max_tokens=12, temperature=1.3, top_k=3, n=4, seed=5),
    "samples, top_p": SamplingParams(max_tokens=12, temperature=0.8, top_p=0.9, n=3, seed=9),
    "beams": SamplingParams(max_tokens=12, beams=4),
}


@cache
def asked(name: str, model: Model) -> Asked:
    """Requests, greedy ones among them, without pages."""
    prompts = [maps.prompt(*question) for question in questions(COUNT, seed=3)]
    params = [ASKED[name] if i % 5 else SamplingParams(max_tokens=12) for i in range(COUNT)]
    return Asked(model, prompts, params).answered()


# `make test`: each request in one setting, and each setting once.
EVERY = list(product(ASKED, SETTINGS) if MATRIX else zip(ASKED, SETTINGS, strict=True))


@pytest.mark.parametrize(("name", "setting"), EVERY)
def test_answers_of_members_equal_separate_runs(name: str, setting: str) -> None:
    given, chosen = asked(name, scrambled()), SETTINGS[setting]
    engine = served(given, chosen, chosen.v0())
    sizes = {len(answer.samples) for answer in engine.answers}
    assert sizes == {1, ASKED[name].beams or ASKED[name].n}
    assert engine.copied > 0
    assert (engine.swapped > 0) == setting.startswith("swapped")


@pytest.mark.parametrize(("name", "budget"), [("samples", None), ("samples, top_k", 32)])
def test_samples_on_v1_are_requests_that_find_their_prompt_in_the_cache(
    name: str, budget: int | None
) -> None:
    given, setting = asked(name, scrambled()), Setting(blocks=40, caching=True, budget=budget)
    assert served(given, setting, setting.v1()).cached > 0


def test_beams_are_no_task_of_v1() -> None:
    engine = engine_on(TIGHT.v1(), TIGHT)
    with pytest.raises(ValueError, match=r"beams = 4: this server cannot fork .* As in vLLM V1"):
        engine.add([5, 6], SamplingParams(beams=4))
    assert engine.answers == []


def test_samples_of_a_branching_map_are_walks_and_end_one_by_one() -> None:
    rng = np.random.default_rng(4)
    made = [maps.make_branching_map(rng, 14) for _ in range(6)]
    server = ROOMY.v0()
    engine = engine_on(server, ROOMY, hand())
    params = SamplingParams(max_tokens=40, temperature=1.0, n=4, seed=1)
    for one in made:
        engine.add(maps.prompt(one, one.starts[0]), params)
    sizes = set()
    while engine.step() is not None:
        sizes |= {len(group.seqs) for group in server.scheduler.running}
    assert sizes == {1, 2, 3, 4}
    found = [(one, answer) for one, answer in zip(made, engine.answers, strict=True)]
    assert all(
        maps.is_walk(one, one.starts[0], walk) for one, answer in found for walk in answer.samples
    )
    assert len({tuple(walk) for _, answer in found for walk in answer.samples}) > 12
    assert engine.misread == []
    assert ROOMY.nothing_leaks(server)


def test_a_search_gives_up_beams_and_gives_their_places_to_others() -> None:
    """The dropped ones' blocks are free before their successors fork."""
    given = asked("beams", scrambled())
    server = ROOMY.v0()
    dropped, drop = [], server.drop
    server.drop = lambda seq_id: (dropped.append(seq_id), drop(seq_id))  # type: ignore[method-assign]
    for answer in given.asked_of(engine_on(server, ROOMY, given.model)):
        assert answer.scores == sorted(answer.scores, reverse=True), "the likeliest first"
        assert len({tuple(tokens) for tokens in answer.samples}) == len(answer.samples)
    assert len(dropped) > 5


def test_samples_need_a_server_that_can_swap_them() -> None:
    setting = Setting("recompute")
    engine = engine_on(setting.v0(), setting)
    with pytest.raises(ValueError, match=r"2 samples .* preemption_mode must be 'swap'"):
        engine.add([5, 6], SamplingParams(n=2))
    assert engine.step() is None
    assert engine.answers == []
