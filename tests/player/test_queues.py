"""What the player's model and the still picture make of a scheduler's queues."""

import re
from typing import Any

import pytest

from pagesim.player.describe import describe
from pagesim.player.static_svg import static_svg
from tests.player import samples


def test_where_schedule_ends_and_where_it_failed(node: Any) -> None:
    run = samples.scheduling()
    assert node("return run.schedules;", run) == [2, 4, 5]
    assert node("return run.schedules;", samples.sharing()) == []


def test_a_request_is_found_by_its_name_and_by_its_sequence(node: Any) -> None:
    run = samples.scheduling()
    code = "return given.asked.map((q) => player.search(run, q));"
    found = node(code, run, asked=["r1", "s1", "1", "preempt", "schedule"])
    assert found == [*[[0, 1, 3, 6]] * 3, [3], [2, 4]]


def test_a_request_has_the_colour_of_its_first_sequence(node: Any) -> None:
    """And that goes by the order in which tables began; r0's never did."""
    run = samples.scheduling()
    code = "return [[...run.places], [...run.requests]];"
    assert node(code, run) == [[[1, 0], [0, 1]], [["r0", 0], ["r1", 1]]]


@pytest.mark.parametrize(
    ("moves", "message"),
    [
        ([["leave", "waiting", 0, "r0"]], "r0 leaves waiting, but it is not there"),
        ([["enter", "running", 5, "r9"]], "the queue running has no place 5"),
        ([["enter", "constructor", 0, "r9"]], "a queue that does not exist changes"),
        ([["enter", "running", 0, {}]], "a queue that does not exist changes"),
        (["enter"], '"queues" is not a list'),
    ],
)
def test_a_change_that_cannot_be_ends_the_run_and_is_told(
    node: Any, moves: list[Any], message: str
) -> None:
    head, events = samples.scheduling()
    events[0]["queues"] = moves
    steps, problem = node("return [run.steps, run.problem];", (head, events))
    assert (steps, problem) == (0, f"line 2: {message}")


def test_the_still_picture_and_the_words_name_who_waits() -> None:
    head, events = samples.scheduling()
    state = samples.states(head, events)[4]
    assert describe(head, state).endswith("Waiting: s1 r1. Running: s0 r0.")
    picture = static_svg(head, state, "x")
    assert ">waiting</text>" in picture and ">s1 r1</text>" in picture
    long = state | {"queues": [[f"r{i}" for i in range(200)], [], []]}
    assert " and 192 more." in describe(head, long)
    crowd = static_svg(head, long, "x")
    (hidden,) = re.findall(r">\+(\d+)</text>", crowd)
    assert len(re.findall(r">(?:s\d )?r\d+</text>", crowd)) + int(hidden) == 200
    assert "waiting" not in static_svg(*_still(samples.many(3)), "x")


def _still(sample: Any) -> tuple[Any, Any]:
    head, events = sample
    return head, samples.states(head, events)[-1]
