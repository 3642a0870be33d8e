"""A second tier changes no answer, and neither does the swap space of V0."""

from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from pagesim.cache import AttentionMetadata
from pagesim.generation import engine_on_pages
from pagesim.kernels.tiny_llm import SamplingParams, walk
from pagesim.simulation import Limits, Paged, PagedV1
from tests.generation.serving import MAX_LEN, Asked, Watched, scrambled, texts, walked, walks

SIZE = 8
LIMITS = Limits(MAX_LEN, 8, 64)
V0 = Paged(SIZE, preemption_mode="swap", num_cpu_blocks=200)
V1 = PagedV1(SIZE, cpu_blocks=48)
TIERS = {
    "lru": V1,
    "arc, outputs": replace(V1, eviction="arc", offload_prompt_only=False),
    "two blocks a chunk, slow copies": replace(V1, blocks_per_chunk=2, link="2 steps"),
    "three blocks a chunk, asynchronous": replace(V1, blocks_per_chunk=3, async_scheduling=True),
    "tiny, asynchronous, slow copies": replace(
        V1, cpu_blocks=5, offload_prompt_only=False, async_scheduling=True, link="4 steps"
    ),
}


@cache
def twice() -> Asked:
    """Every prompt is asked again when the others have been."""
    once = texts(10)
    again = [getattr(once, name) * 2 for name in ("prompts", "params", "answers", "rows")]
    return Asked(once.model, *again)


class Counted(Watched):
    """Counts the tokens that the model computes."""

    num_computed = 0

    def forward(self, batch: AttentionMetadata) -> Any:
        self.num_computed += len(batch.input_tokens)
        return super().forward(batch)


def served(given: Asked, policy: Paged | PagedV1, blocks: int = 21) -> Counted:
    """The engine that has answered all as without pages, misread nothing, and holds no block."""
    limits = LIMITS if isinstance(policy, PagedV1) else Limits(MAX_LEN, 8)
    engine = engine_on_pages(given.model, policy, blocks=blocks, limits=limits, engine=Counted)
    answers = given.asked_of(engine)
    assert {answer.state for answer in answers} == {"finished"}
    assert given.wrong(answers) == [] and engine.misread == []
    assert given.furthest(engine) < 1e-4
    assert not any(engine.server.tables().values())
    return engine


@pytest.mark.parametrize("name", TIERS)
def test_answers_with_a_tier_are_those_without_one(name: str) -> None:
    given = twice()
    engine = served(given, TIERS[name])
    assert engine.preemptions > 0 and engine.cache.num_swapped_out > 10
    assert engine.cache.num_swapped_in > 0 or "tiny" in name
    plain = served(given, replace(TIERS[name], cpu_blocks=0))
    assert plain.cache.num_swapped_out == plain.cache.num_swapped_in == 0
    assert [its.samples for its in plain.answers] == [its.samples for its in engine.answers]


def test_v0_swaps_and_v1_loads_and_both_walk_the_same_way() -> None:
    """The answers are also known without any model."""
    given = walks(12, model=walk)
    for policy in (V0, V1):
        engine = served(given, policy, blocks=20)
        assert [answer.tokens for answer in engine.answers] == walked(12)
        assert engine.preemptions > 0
        assert engine.cache.num_swapped_out > 10 and engine.cache.num_swapped_in > 10


def test_what_the_tier_has_is_not_computed() -> None:
    """The second time, the prompts come from the CPU, because the GPU has lost them."""
    without, small, large = (
        served(twice(), replace(V1, cpu_blocks=blocks)) for blocks in (0, 12, 400)
    )
    assert large.num_computed < small.num_computed < without.num_computed


def test_samples_of_one_prompt_load_it() -> None:
    prompts = twice().prompts[:4] * 2
    params = [SamplingParams(max_tokens=8, temperature=1.0, n=3)] * 8
    given = Asked(scrambled(), prompts, params).answered()
    engine = engine_on_pages(given.model, V1, blocks=21, limits=LIMITS, engine=Watched)
    assert given.wrong(given.asked_of(engine)) == [] and engine.misread == []
    assert engine.cache.num_swapped_in > 0
