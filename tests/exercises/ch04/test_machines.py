"""Three planted faults: what shows each, and that nothing shows on the sound machine."""

from collections.abc import Iterator

import pytest

from pagesim.errors import UsageError
from pagesim.exercises.acts import Act
from pagesim.exercises.ch04.find_the_bug import why
from pagesim.exercises.ch04.machines import CAUSES, Machine
from pagesim.exercises.registry import get

pytestmark = pytest.mark.ch04


def lacks(acts: list[Act], machine: str, block_size: int) -> str:
    """What a story with the right cause is told; nothing if it shows the fault."""
    return why((acts, CAUSES[machine]), machine, block_size)


def stories(length: int, here: tuple[int, ...] = (), names: int = 0) -> Iterator[list[Act]]:
    """Every story of so many acts, with prompts of 3 and 4 tokens and at most 3 sequences."""
    if length == 0:
        yield []
        return
    acts: list[tuple[Act, tuple[int, ...]]] = []
    if names < 3:
        acts += [(("arrive", names, n), (*here, names)) for n in (3, 4)]
        acts += [(("fork", who, names), (*here, names)) for who in here]
    acts += [(("write", who, 1), here) for who in here]
    acts += [(("leave", who), tuple(n for n in here if n != who)) for who in here]
    for act, then in acts:
        for rest in stories(length - 1, then, names + (act[0] in ("arrive", "fork"))):
            yield [act, *rest]


def test_on_the_sound_machine_each_sequence_reads_its_own_tokens() -> None:
    for story in stories(4):
        machine = Machine(block_size=4)
        read = machine.play(story)
        assert read == {name: writer.token_ids for name, writer in machine.here.items()}, story


@pytest.mark.parametrize(("name", "length"), [("A", 4), ("B", 4), ("C", 3)])
def test_the_shortest_story_that_shows_a_fault(name: str, length: int) -> None:
    shown = [story for story in stories(length) if not lacks(story, name, 4)]
    assert shown
    assert all(lacks(story, name, 4) for story in stories(length - 1))
    verdict = get("4.3").check(lambda machine, _: (shown[0], CAUSES[machine]))
    assert verdict.case is None or verdict.case.args[0] != name


@pytest.mark.parametrize("pair", ["AB", "AC", "BC"])
def test_two_faults_are_told_apart_by_some_story(pair: str) -> None:
    """Or else a cause could not be found by playing."""
    told = ([bool(lacks(story, machine, 4)) for machine in pair] for story in stories(4))
    assert any(one != other for one, other in told)


def test_an_act_that_cannot_be_is_the_students_error() -> None:
    with pytest.raises(UsageError, match="s1 is not here"):
        lacks([("arrive", 0, 3), ("write", 1, 1)], "A", 4)
    with pytest.raises(UsageError, match="is not an act"):
        lacks([("swap", 0)], "A", 4)


@pytest.mark.parametrize(
    ("acts", "said"),
    [
        ([("arrive", 0, 1)] * 9, "at most 8 acts"),
        (
            [("arrive", 0, 3), ("write", 1, 1)],
            "This is not possible: ('write', 1, 1): s1 is not here.",
        ),
        ([("arrive", 0, -1)], "must be ints from 0 to 64"),
        ([("arrive", 0, 3)], "Every sequence read its own tokens."),
    ],
)
def test_a_story_that_shows_nothing_is_told_why(acts: list[Act], said: str) -> None:
    verdict = get("4.3").check(lambda machine, block_size: (acts, CAUSES[machine]))
    assert said in verdict.why
