"""Queues and steps in a file: told by their changes, and none believed that cannot be."""

from pathlib import Path
from typing import Any

import pytest

import pagesim
from tests.timeline.hostile import write
from tests.timeline.runs import reloaded
from tests.timeline.scenes import in_queues
from tests.timeline.test_hostile_files import SMALL

QUEUES = [["x", "y"], [5], []]
HEADER = SMALL | {"state": SMALL["state"] | {"queues": QUEUES, "requests": [["x", 1], [5, 2]]}}


def file(*events: dict[str, Any]) -> list[Any]:
    return [HEADER | {"events": len(events)}, *events]


def moves(*changes: list[Any]) -> list[Any]:
    return file({"event": "e", "queues": list(changes)})


GOOD = file(
    {"event": "admit", "of": 1, "step": 1,
     "queues": [["leave", "waiting", 0, "x", 1], ["enter", "running", 1, "x", 1]]},
    {"event": "schedule", "of": None, "step": 1,
     "scheduled": [["x", 1, 7, True], [5, None, 1, False]]},
    {"event": "finish", "of": 2, "step": 1, "queues": [["leave", "running", 0, 5]], "new": [{}]},
    {"event": "record", "queues": [["leave", "running", 0, "x"], ["enter", "waiting", 1, "x"],
                                   ["enter", "swapped", 0, "z"]]},
)  # fmt: skip


def test_states_and_steps(tmp_path: Path) -> None:
    run = pagesim.load(write(tmp_path / "x.jsonl", GOOD))
    assert [run.at(i).queues for i in range(5)] == [
        in_queues(("x", "y"), (5,), ()),
        *[in_queues(("y",), (5, "x"), ())] * 2,
        in_queues(("y",), ("x",), ()),
        in_queues(("y", "x"), (), ("z",)),
    ]
    assert [run.at(i).requests for i in range(4)] == [*[{"x": 1, 5: 2}] * 3, {"x": 1}]
    assert [event.step for event in run] == [1, 1, 1, None]
    assert run[2].moves[0].sequence == 2, "of the request in the queue"
    told = [(s.request, s.sequence, s.num_tokens, s.is_prompt) for s in run[1].scheduled]
    assert told == [("x", 1, 7, True), (5, None, 1, False)]
    assert reloaded(run, tmp_path / "again.jsonl")[1:].at(0) == run.at(1)


BAD = {
    "leaves where it is not": (["leave", "waiting", 1, "x"], "'x' is not at place 1 of waiting"),
    "leaves an empty queue": (["leave", "swapped", 0, "x"], "'x' is not at place 0 of swapped"),
    "enters behind the end": (["enter", "swapped", 1, "z"], "swapped queue has no place 1"),
    "no such queue": (["enter", "sleeping", 0, "z"], "must enter or leave one of"),
    "no such change": (["jumps", "waiting", 0, "x"], "must enter or leave one of"),
    "too short": (["leave", "waiting", 0], "a queue's change must have 4 parts"),
    "no name": (["enter", "waiting", 0, 1.5], "a name must be"),
    "no place": (["enter", "waiting", -1, "z"], "place must be an integer of at least 0"),
    "no list": ("leave", "queue's change must be a list"),
}


@pytest.mark.parametrize("case", BAD)
def test_changes_that_cannot_be(case: str, tmp_path: Path) -> None:
    change, message = BAD[case]
    with pytest.raises(pagesim.TimelineError, match=r"x\.jsonl:2: ") as info:
        pagesim.load(write(tmp_path / "x.jsonl", moves(change)))  # type: ignore[arg-type]
    assert message in str(info.value)
