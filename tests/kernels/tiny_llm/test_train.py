"""The committed model walks every map; the recipe that made it works.

`make nightly` trains a smaller one to the end (PAGESIM_LLM_TRAIN): half a minute of one core.
"""

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from pagesim.kernels.tiny_llm import load, maps, walk
from tools import train_walk as train
from tools.walk_exam import examine, fresh_walks, logits_of

FOLDER = Path(maps.__file__).parent / "walk"


def test_every_token_of_fresh_maps() -> None:
    for num_facts, num_maps in ((4, 10), (16, 10), (31, 10), (62, 10)):
        found = examine(walk(), fresh_walks(7, num_facts, num_maps))
        assert found.right == found.tokens == num_facts * num_maps
        assert found.margin > 5


def test_twice_the_context_is_nearly_always_right_and_eight_times_is_not() -> None:
    """It was trained on 248 tokens; by_hand knows no such limit."""
    share = {}
    for times in (2, 8):
        walks = fresh_walks(8, 62, num_maps=3)
        found = examine(walk(), [(maps.Map(one.facts * times, ()), start) for one, start in walks])
        share[times] = found.right / found.tokens
    assert share[2] > 0.98 and share[8] < 0.85


def test_ways_of_branching_maps_are_what_it_samples() -> None:
    rng, mass = np.random.default_rng(3), []
    for _ in range(4):
        made = maps.make_branching_map(rng, 20)
        for source in sorted({source for source, _ in made.facts}):
            chances = logits_of(walk(), maps.prompt(made, source))[-1].softmax(-1)
            mass.append(float(chances[made.ways(source)].sum()))
    assert np.mean(mass) > 0.97 and min(mass) > 0.6


def test_the_folder_is_small_and_half_precision() -> None:
    assert sum(file.stat().st_size for file in FOLDER.iterdir()) < 160_000
    model = load(FOLDER, torch.float16)
    assert sum(weight.numel() for weight in model.weights.values()) == 78_272
    assert all(w.float().equal(walk().weights[name]) for name, w in model.weights.items())
    assert walk().config == train.WALK.config


# --- the recipe -------------------------------------------------------------------------------


@pytest.mark.parametrize("branching", [False, True])
def test_a_batch_asks_for_every_token_of_its_walks(branching: bool) -> None:
    ids, chances = train._batch(np.random.default_rng(0), train.SMALL, 12, branching)
    for row, wanted in zip(ids.tolist(), chances, strict=True):
        facts = maps.decode(row).split("?")[0]
        ways: dict[int, list[int]] = {}
        for fact in facts.split(";")[:-1]:
            source, _, to = maps.encode(fact)
            ways.setdefault(source, []).append(to)
        asked = [at for at in range(len(row)) if wanted[at].any()]
        assert len(asked) >= 2 and min(asked) == len(facts) + 1
        for at in asked:
            ahead = ways[row[at]]
            assert row[at + 1] in ahead
            assert wanted[at][ahead].tolist() == pytest.approx([1 / len(ahead)] * len(ahead))
            assert float(wanted[at].sum()) == pytest.approx(1)
        # Whatever stands behind a question's start is asked for, and nothing else.
        text = maps.decode(row)
        inside = {at for at in range(len(facts), len(row)) if text[at] not in "?."}
        assert set(asked) == inside


def test_steps_lower_the_loss_and_the_same_seed_gives_the_same_model(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(train, "FINISH_AT", -1.0)  # the last steps begin at once
    recipe = replace(train.SMALL, places=5, last_steps=12, tokens=256)
    before = train.Model(recipe.config, train._initial(recipe.config, seed=0))
    first, second = train.train(recipe), train.train(recipe)
    assert all(first.weights[name].equal(w) for name, w in second.weights.items())
    batch = train._batch(np.random.default_rng(9), recipe, 5, False)
    losses = [float(train._loss(model, *batch)[0].detach()) for model in (before, first)]
    assert losses[1] < 0.9 * losses[0]


def test_maps_that_are_not_learnt_are_an_error() -> None:
    recipe = replace(train.SMALL, places=5, last_steps=1, most_steps=4, tokens=100)
    with pytest.raises(RuntimeError, match="4 steps were too few: maps of 5 facts are not learnt"):
        train.train(recipe)


@pytest.mark.skipif(
    "PAGESIM_LLM_TRAIN" not in os.environ, reason="make nightly trains: half a minute of one core"
)
def test_a_small_model_learns_all_of_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    train.main(["--small", "--out", str(tmp_path), "--seed", "1"])
    assert "1040 of 1040 tokens right" in capsys.readouterr().out
    walks = fresh_walks(99, 26, num_maps=20, places=26)
    found = examine(load(tmp_path), walks)
    assert found.right == found.tokens == 520
    assert found.margin > 2
