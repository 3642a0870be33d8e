"""The player draws the pools, lists and queues that the header names: a run of vLLM V1, by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

import pagesim
from pagesim.timeline.header import state_as_dict
from tests.e2e.browser import Page

PATH = Path(__file__).parents[1] / "data" / "timelines2" / "v1_by_hand.jsonl"
TEXT = "return [...document.querySelectorAll('.ps-stage text')].map((node) => node.textContent)"


@pytest.fixture
def player(page: Page, tmp_path: Path) -> Page:
    pagesim.load(PATH).to_html(tmp_path / "v1.html")
    return page.open(tmp_path / "v1.html")


def test_a_run_of_v1(player: Page) -> None:
    run = pagesim.load(PATH)
    for step in [*range(len(run) + 1), *reversed(range(len(run)))]:
        player.js("pagesimPlayer.goto(arguments[0])", step)
        assert player.state() == state_as_dict(run.at(step)), step
    player.go(run.find(kind="preempt")[0] + 1)
    shown = player.js(TEXT)
    assert {"free list", "waiting", "running", "GPU pool"} <= set(shown)
    assert not {"swapped", "CPU pool", "GPU free list"} & set(shown)
    assert player.text(".ps-caption").startswith("Step 20: preempt \u00b7 c \u00b7 schedule 5 ")
    player.shot("v1-preempted")


def test_marks_are_shown_on_their_blocks(player: Page) -> None:
    player.go(9)  # attention: 0.25 and 0.5 on the slots of block 1, 0.25 in block 3
    assert "attention: on 3 slots" in player.text(".ps-changes")
    assert {"0.75", "0.25"} <= set(player.js(TEXT))
    player.choose(1)
    assert player.text(".ps-detail").endswith(" attention: 0.25, 0.5.")
    player.shot("v1-marks")
    player.go(10)
    assert "0.75" not in player.js(TEXT)


def test_tokens_that_are_not_known_yet_are_not_drawn(player: Page) -> None:
    run = pagesim.load(PATH)
    second = run.find(kind="schedule")[1]
    player.go(second + 1)
    player.choose(3)
    assert "2 of 2 slots filled: 5." in player.text(".ps-detail")
    player.go(run.find(kind="update_from_output")[0] + 1)
    assert "2 of 2 slots filled: 5 7." in player.text(".ps-detail")
