"""The model set by hand walks every map, and each part of its circuit is needed."""

from typing import Any

import numpy as np
import pytest
import torch

from pagesim.kernels.tiny_llm import Model, by_hand, maps
from pagesim.kernels.tiny_llm import model as tiny
from pagesim.kernels.tiny_llm.by_hand import BEHIND_ARROW, CLOCK, HEAD_DIM, IS_ARROW, LOGIT, SOURCE
from tools.walk_exam import examine, fresh_walks, logits_of


def test_every_token_of_fresh_maps() -> None:
    for num_facts in (1, 4, 8, 26, 62):
        found = examine(by_hand(), fresh_walks(0, num_facts, num_maps=8))
        assert found.right == found.tokens == 8 * num_facts
        assert found.margin > LOGIT - 0.001


@pytest.mark.parametrize("far", ["first", "last"])
def test_a_context_of_4096_tokens(far: str) -> None:
    """The facts of the answer stand at one end of facts of other maps, all of other places."""
    rng = np.random.default_rng(1)
    wanted = maps.make_map(rng, 30, places=30)
    # Facts between the other 32 places, many times over.
    noise = [(31 + maps.STOP + i % 31, 32 + maps.STOP + i % 31) for i in range(979)]
    facts = [*wanted.facts, *noise] if far == "first" else [*noise, *wanted.facts]
    made = maps.Map(tuple(facts), wanted.starts)
    found = examine(by_hand(max_tokens=4096), [(made, start) for start in made.starts])
    assert len(maps.prompt(made, 4)) > 4030
    assert found.right == found.tokens == 30 and found.margin > LOGIT - 0.001


def test_ways_of_a_branching_map_are_equally_likely_and_nothing_else_is() -> None:
    model, rng = by_hand(), np.random.default_rng(2)
    for _ in range(5):
        made = maps.make_branching_map(rng, 20)
        for source in {source for source, _ in made.facts}:
            chances = logits_of(model, maps.prompt(made, source))[-1].softmax(-1)
            ways = made.ways(source)
            assert chances[ways].tolist() == pytest.approx([1 / len(ways)] * len(ways), rel=1e-3)
            assert chances.sum() - chances[ways].sum() < 1e-6


def test_two_ways_at_the_ends_of_a_long_context_are_nearly_equally_likely() -> None:
    a, b, c, z = maps.encode("abcz")
    made = maps.Map(((a, b), *[(z, z)] * 1020, (a, c)), (a,))
    chances = logits_of(by_hand(max_tokens=4096), maps.prompt(made, a))[-1].softmax(-1)
    assert chances[[b, c]].tolist() == pytest.approx([0.5, 0.5], rel=0.01)
    assert chances[b] + chances[c] > 1 - 1e-6


def test_keys_that_are_not_meant_weigh_nothing() -> None:
    """Layer 0 looks at one token; in layer 1 the weights are those of the facts."""
    model = by_hand()
    turns = torch.arange(1, 4096)[:, None] * tiny.frequencies(model.config)
    gap = CLOCK * (1 - turns.cos()).sum(-1).min() / HEAD_DIM**0.5
    assert 4096 * float((-gap).exp()) < 1e-9


def test_no_fact_no_answer() -> None:
    """With zeros in the place of V all logits are equal, and the first token is no answer."""
    model = by_hand()
    weights = {name: w.clone() for name, w in model.weights.items()}
    weights["model.layers.1.self_attn.v_proj.weight"].zero_()
    logits = logits_of(Model(model.config, weights), maps.encode("a>k;k>.;?a"))[-1]
    assert logits.eq(0).all() and int(logits.argmax()) == maps.ARROW


OUTPUT, EMBEDDINGS = "model.layers.0.self_attn.o_proj.weight", "model.embed_tokens.weight"


@pytest.mark.parametrize(
    ("name", "part"),
    [(OUTPUT, SOURCE), (OUTPUT, BEHIND_ARROW), (EMBEDDINGS, (slice(None), IS_ARROW))],
    ids=["source", "arrow before", "is an arrow"],
)
def test_without_a_part_of_the_circuit_walks_go_wrong(name: str, part: Any) -> None:
    model = by_hand()
    weights = {name: w.clone() for name, w in model.weights.items()}
    weights[name][part] = 0
    found = examine(Model(model.config, weights), fresh_walks(3, 26, num_maps=4))
    assert found.right < 0.7 * found.tokens


def test_a_context_without_a_token_is_refused() -> None:
    with pytest.raises(ValueError, match="max_tokens = 0"):
        by_hand(0)
