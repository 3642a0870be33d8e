"""A run of vLLM V1, written by hand: the format, the reader and the search know no policy.

One free queue whose blocks leave it from the front and from the middle, and come back to both of
its ends; the null block from the start; no CPU; two steps in flight, so that tokens are written
before they are known; a request that is preempted and comes back; numbers on slots and blocks.
"""

import json
from pathlib import Path
from typing import Any

import pytest

import pagesim
from pagesim.timeline import Mark, Opened, Timeline
from pagesim.timeline.header import state_as_dict
from tests.timeline import applier
from tests.timeline.hostile import try_to_load, write
from tests.timeline.test_hostile_files import SMALL, small

PATH = Path(__file__).parents[1] / "data" / "timelines2" / "v1_by_hand.jsonl"


@pytest.fixture(scope="module")
def run() -> Timeline:
    return pagesim.load(PATH)


def test_every_state_is_the_one_that_the_page_defines(run: Timeline) -> None:
    for step, state in enumerate(applier.states(PATH)):
        assert state == json.loads(json.dumps(state_as_dict(run.at(step)))), step
    assert step == len(run) == 25
    (back,) = run.find(kind="resume")
    assert run[back].opened == (Opened("c", (1, 2, 3, 4, 5, 7, 11), 0),), "it begins unwritten"


def test_it_stands_up_to_use(tmp_path: Path) -> None:
    (tmp_path / "v1.jsonl").write_bytes(PATH.read_bytes())
    assert try_to_load(tmp_path / "v1.jsonl") == ""


def test_marks(run: Timeline) -> None:
    marks = [mark for event in run for mark in event.marks]
    assert marks == [
        Mark("attention", "slots", ((2, 0.25), (3, 0.5), (6, 0.25))),
        Mark("read", "blocks", ((2, 1), (3, 1), (6, 2))),
    ]


def test_slots_and_tokens_are_counted_apart(tmp_path: Path) -> None:
    """A position may be written again; an event may write one position, and know another."""
    events: list[dict[str, Any]] = [
        {"event": "e", "effects": [["take", 1, "free"], ["write", 0, "s", 1, 1]]},
        {"event": "e", "tables": [["s", 1, [1]]], "effects": [["write", 1, "s", 2, 2]]},
        {"event": "e", "tokens": [["s", 1, [8]]], "effects": [["write", 0, "s", 0, 1]]},
        {"event": "e", "tokens": [["s", 2, [9]]], "effects": [["write", 0, "s", 1, 1]]},
    ]
    state = SMALL["state"] | {"computed": [], "null": None}
    path = write(tmp_path / "x.jsonl", small(*events, state=state))
    assert try_to_load(path) == ""
    run = pagesim.load(path)
    for step, expected in enumerate(applier.states(path)):
        assert expected == json.loads(json.dumps(state_as_dict(run.at(step)))), step
    tables = [run.at(step).tables["s"] for step in range(5)]
    lengths = [(table.num_tokens, table.num_slots) for table in tables]
    assert lengths == [(1, 1), (1, 2), (1, 4), (2, 4), (3, 4)]
