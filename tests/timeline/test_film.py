"""What reads the pages as a run: it is saved and loaded as any other; nothing lies outside."""

from pathlib import Path
from typing import Any, NamedTuple

import pytest

import pagesim
from tests.timeline.runs import reloaded


class Read(NamedTuple):
    program: tuple[int, ...]
    row: int
    head: int
    slots: list[int]
    weights: list[float]
    m: float
    l: float  # noqa: E741
    acc: float


def story() -> pagesim.Story:
    found = pagesim.Story(gpu_blocks=4, block_size=2)
    found.arrive("Alice was beginning")
    return found


READS = [
    Read((0, 0), 0, 1, [0, 1], [1.0, 0.25], 1.5, 1.25, 2.0),
    Read((0, 0), 0, 1, [2], [0.5], 1.5, 1.75, 2.5),
]


def test_a_step_a_read(tmp_path: Path) -> None:
    run = story().run
    film = run.film(READS)
    assert [event.caption for event in film] == [
        "s0: program (0, 0), head 1 reads 2 keys from block 0; now m 1.5, \u2113 1.25, |acc| 2.",
        "s0: program (0, 0), head 1 reads 1 key from block 1; now m 1.5, \u2113 1.75, |acc| 2.5.",
    ]
    assert film[1].marks[0].numbers == ((2, 0.5),)
    assert film.notes.tokens == run.notes.tokens
    assert run.annotate(opens=1).film(READS).notes.opens is None, "its steps are others"
    assert reloaded(film, tmp_path / "film.jsonl.gz").at(-1) == run.at(-1)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"row": 1}, "row 1 has no name: the rows are s0"),
        ({"slots": [0, 8]}, "slot 8 is outside the pool, which has 8"),
    ],
)
def test_what_lies_outside(change: dict[str, object], message: str) -> None:
    with pytest.raises(pagesim.UsageError, match=message):
        story().run.film([READS[0]._replace(**change)])


def test_colours_are_those_of_the_whole_run(tmp_path: Path) -> None:
    """The first two left: in the film, as in a piece of the run, the third keeps its colour."""
    found = pagesim.Story(gpu_blocks=8, block_size=2)
    for words in ("a b", "c d"):
        found.arrive(words).leave()
    found.arrive("e f")
    run = found.run
    for one in (run.film(READS, [2]), run[4:]):
        assert one.sequences == run.sequences == [0, 1, 2]
        assert reloaded(one, tmp_path / "one.jsonl").sequences == run.sequences


def test_numbers_on_slots_of_a_step(tmp_path: Path) -> None:
    run = story().run
    assert run.mark(1, {0: 0.25, 1: 0.125, 2: 0.625}, "attention of s0, layer 1") is run
    event = run[0]
    assert event.marks[0].numbers == ((0, 0.25), (1, 0.125), (2, 0.625))
    message = "; attention of s0, layer 1: most of it, 0.625, on block 1."
    assert event.caption.endswith(message)
    run.mark(1, {1: 3}, "reads", on="blocks")
    assert event.marks + run[0].marks[1:] == run[0].marks and run[0].caption.endswith(message)
    reloaded(run, tmp_path / "run.jsonl")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ((0, {0: 1.0}, "x"), "step 0 has no event: the steps of this run are 1 to 1"),
        ((2, {0: 1.0}, "x"), "step 2 has no event"),
        ((1, {8: 1.0}, "x"), "slot 8 is outside the pool, which has 8"),
        ((1, {-1: 1.0}, "x"), "slot must be at least 0"),
        ((1, {0: float("nan")}, "x"), "the number of slot 0 must be finite, not nan"),
    ],
)
def test_what_cannot_be_marked(given: tuple[Any, ...], message: str) -> None:
    run = story().run
    with pytest.raises(pagesim.UsageError, match=message):
        run.mark(*given)
    with pytest.raises(pagesim.UsageError, match="on must be 'blocks' or 'slots'"):
        run.mark(1, {}, "x", on="rows")
    with pytest.raises(TypeError):
        run.mark(1, {0: "x"}, "x")  # type: ignore[dict-item]
    assert run[0].marks == ()
