"""The player and Python compute the same state at every step: FORMAT.md leaves nothing open.

A run from a file tells the order of its tables as the format does, and so does the player; it is
the very run that was recorded, whose tables have no order of their own.
"""

import random
from pathlib import Path
from typing import Any

import pytest

import pagesim
from pagesim.timeline.header import state_as_dict
from tests.e2e import scenes
from tests.e2e.browser import Page

AT = "return arguments[0].map(step => { pagesimPlayer.goto(step); return pagesimPlayer.state(); })"


@pytest.mark.parametrize("caching", [False, True], ids=["naive", "caching"])
@pytest.mark.parametrize("seed", range(3))
def test_the_players_state_is_pythons(page: Page, tmp_path: Path, seed: int, caching: bool) -> None:
    run = scenes.by_chance(seed, caching)
    # A piece begins in the middle of things, with tables that are there already.
    for name, piece in (("whole", run), ("piece", run[150:320])):
        piece.to_html(tmp_path / f"{name}.html")
        piece.save(tmp_path / f"{name}.jsonl.gz")
        loaded = pagesim.load(tmp_path / f"{name}.jsonl.gz")
        page.open(tmp_path / f"{name}.html")
        assert page.js("return pagesimPlayer.problem") == ""
        steps = [*range(len(piece) + 1)]
        random.Random(seed).shuffle(steps)
        for some in (steps[i : i + 60] for i in range(0, len(steps), 60)):
            states: list[dict[str, Any]] = page.js(AT, some)
            for step, state in zip(some, states, strict=True):
                assert loaded.at(step) == piece.at(step), (name, step)
                assert state == state_as_dict(loaded.at(step)), (name, step)
