"""What a kernel's programs hold: the order in which they are drawn, and what is refused."""

from typing import Any

import pytest

from tests.player import samples

HOLDS = [[0, 0], 0, 4, 0, [0], [1], 0, 1, 1]
"""A program, its table, the position of its query, its head, slots, weights, m, l and acc."""


def held(*rows: list[list[Any]]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """A run in which a table is opened, and what programs hold after each load of its blocks."""
    head, events = samples.sharing()
    reads = [samples.event("read", None) | {"reads": of} for of in rows]
    events = [*events[:1], *reads]
    return head | {"events": len(events)}, events


@pytest.mark.parametrize(
    ("place", "wrong", "message"),
    [
        (0, [-1], "are not what a program holds"),
        (0, 7, "is not a list"),
        (1, 9, "there is no table 9"),
        (4, [9999], "block 4999 does not exist"),
        (4, [0, 1], "are not what a program holds"),
        (5, [], "are not what a program holds"),
        (5, ["<b>"], "are not what a program holds"),
        (6, None, "are not what a program holds"),
    ],
)
def test_what_no_program_can_hold(node: Any, place: int, wrong: Any, message: str) -> None:
    row = [*HOLDS[:place], wrong, *HOLDS[place + 1 :]]
    steps, problem = node("return [run.steps, run.problem];", held([row]))
    assert steps == 1 and problem.startswith("line 3") and problem.endswith(message)


def test_a_reduction_stands_behind_its_partitions(node: Any) -> None:
    """And their weights are scaled to its m, as soon as it has merged them."""
    parts = [[[0, 0, part], 0, 4, head, [0], [1], part, 1, 1] for part in (0, 1) for head in (0, 1)]
    merges = [[[0, head], 0, 4, head, [], [0.5, 1], 3, 1, 1] for head in (0, 1)]
    order = "return run.programs.map((one) => [one.merges, one.part, one.rows.length]);"
    file = held(parts, merges)
    assert node(order, file) == [[False, 0, 2], [False, 1, 2], [True, -1, 1], [True, -1, 1]]
    scaled = (
        "return run.programs[1].rows.map((row) => player.weightsAt(row, given.step)[0].weight);"
    )
    assert node(scaled, file, step=2) == [1, 1]
    assert node(scaled, file, step=3) == pytest.approx([0.1353352832366127] * 2)
    assert node(scaled, file, step=1) == [None, None]
