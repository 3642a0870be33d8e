"""What reads the pages as a run: it is saved and loaded as any other; nothing lies outside."""

from pathlib import Path
from typing import Any, NamedTuple

import pytest

import pagesim
from tests.timeline.runs import reloaded


class Read(NamedTuple):
    program: tuple[int, ...]
    load: int
    seq: int
    query: int
    head: int
    slots: list[int | None]
    weights: list[float]
    m: float
    l: float  # noqa: E741
    acc: float
    error: float | None = None


def story() -> pagesim.Story:
    found = pagesim.Story(gpu_blocks=4, block_size=2)
    found.arrive("Alice was beginning")
    return found


READS = [
    Read((0, 0), 1, 0, 2, 0, [0, 1], [1.0, 0.25], 1.5, 1.25, 2.0),
    Read((0, 0), 2, 0, 2, 0, [2], [0.5], 1.5, 1.75, 2.5, 3e-8),
    Read((0, 1), 1, 0, 2, 1, [0, 1], [0.5, 1.0], 0.5, 1.5, 1.0),
    Read((0, 1), 2, 0, 2, 1, [2], [1.0], 2.5, 1.2, 2.5, 7e-8),
]
"""Two heads of one query, as an x-ray gives them: program by program."""


def test_a_step_is_a_load_of_all_programs(tmp_path: Path) -> None:
    run = story().run
    film = run.film(READS)
    assert [event.kind for event in film] == ["read", "read", "output"]
    assert [event.caption for event in film][:2] == [
        "2 programs of s0 read 2 keys from block 0.",
        "2 programs of s0 read 1 key from block 1.",
    ]
    assert "below 1e-7" in film[2].caption
    for step, load in enumerate((READS[0::2], READS[1::2])):
        held = [(it.program, it.head, it.slots, it.weights, it.m, it.l) for it in film[step].reads]
        assert held == [
            (it.program, it.head, tuple(it.slots), tuple(it.weights), it.m, it.l) for it in load
        ]
    assert film[1].marks[0].numbers == ((1, 2.0),), "two programs read block 1"
    assert film.notes.tokens == run.notes.tokens
    assert run.annotate(opens=1).film(READS).notes.opens is None, "its steps are others"
    again = reloaded(film, tmp_path / "film.jsonl.gz")
    assert again.at(-1) == run.at(-1) and again[2].difference == film[2].difference == 1e-7
    assert [event.reads for event in again] == [event.reads for event in film]


def test_a_reduction_and_a_new_token(tmp_path: Path) -> None:
    new = READS[0]._replace(slots=[None], weights=[1.0])
    merge = READS[0]._replace(load=2, slots=[], weights=[1.0, 0.5])
    film = reloaded(story().run.film([new, merge]), tmp_path / "film.jsonl")
    assert [event.kind for event in film] == ["read", "reduce"]
    assert "the new token's key" in film[0].caption and "2 partitions of s0" in film[1].caption
    assert (film[0].reads[0].slots, film[1].reads[0].slots) == ((None,), ())


@pytest.mark.parametrize("number", [0.123456789, 1e-9 / 3, -12345678.9])
def test_numbers_are_the_same_on_all_processors(number: float) -> None:
    """Their last digits are not kept."""
    (one, two) = (READS[0]._replace(m=number * (1 + tiny)) for tiny in (1e-14, -1e-14))
    assert story().run.film([one])[0].reads == story().run.film([two])[0].reads


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"seq": 1}, "row 1 has no name: the rows are s0"),
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
