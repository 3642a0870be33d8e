"""Several groups in the player's model: tables, block sizes, states, and what a lookup says."""

import random
from pathlib import Path
from typing import Any

import pytest

import pagesim
from tests.player import grouped, samples
from tests.player.conftest import NodeError
from tests.player.test_model import ENDS, OPENING, SEARCH, STATES
from tests.timeline import applier

FILES = {name: make() for name, make in grouped.RUNS.items()}

ROUNDS = """
const event = run.events[given.at], rounds = player.roundsOf(event);
return [...Array(rounds.length + 1).keys()].map((n) => player.roundInWords(run, event, n));
"""


def told(events: list[dict[str, Any]], kind: str) -> list[int]:
    """The places of the events of a kind."""
    return [i for i, event in enumerate(events) if event["event"] == kind]


@pytest.mark.parametrize("name", FILES)
def test_every_step_in_any_order(node: Any, name: str) -> None:
    head, events = FILES[name]
    expected = samples.states(head, events)
    order = list(range(len(expected)))
    random.Random(0).shuffle(order)
    assert node(STATES, (head, events), order=order) == [expected[i] for i in order]


@pytest.mark.parametrize("name", FILES)
def test_the_files_are_valid(tmp_path: Path, name: str) -> None:
    path = tmp_path / "run.jsonl.gz"
    path.write_bytes(samples.packed(*FILES[name]))
    assert len(pagesim.load(path)) == len(FILES[name][1])


def test_a_run_of_the_engine(node: Any, tmp_path: Path) -> None:
    story = pagesim.Story(gpu_blocks=24, engine="v1", caching=True,
                          groups=["full", ("window", 8), ("state", 8)])  # fmt: skip
    first = story.arrive(range(14))
    first.write([20, 21, 22, 23])
    second = story.arrive([*range(13), 30, 31, 32])
    first.leave()
    second.write([40])
    story.run.save(tmp_path / "run.jsonl")
    expected = list(applier.states(tmp_path / "run.jsonl"))
    assert node(STATES, story.run, order=list(range(len(expected)))) == expected
    code = "const s = run.at(run.steps); return s.tablesOf(1).map((t) => player.groupText(s, t));"
    full, window, state = node(code, story.run)
    assert "behind" not in full and "behind the window" in window and "after 17 tokens" in state
    asked = [node(ROUNDS, story.run, at=at) for at in story.run.find(kind="get_computed_blocks")]
    assert [len(words) for words in asked] == [1 + 1, 5 + 1], "who is asked for nothing is left out"


def test_a_request_has_one_name_and_one_colour(node: Any) -> None:
    code = """
    const places = [...run.places];
    const same = ["0@0", "0@4", 0].map((name) => run.look(name).place);
    return [places.slice(0, 3), same, run.look("1@5").place, run.groups.owner("a@7x")];"""
    found = node(code, FILES["many"])
    assert found == [[[0, 0], [1, 1], [2, 2]], [0, 0, 0], 1, "a@7x"]
    assert node("return run.groups.owner('r1@2');", FILES["three"]) == "r1"


def test_in_a_file_with_one_group_a_name_is_a_name(node: Any) -> None:
    code = "return [run.groups.owner('b@0'), run.groups.of('b@1'), run.groups.sizeOf('b@1')];"
    assert node(code, samples.sharing()) == ["b@0", 0, 2]


def test_blocks_have_the_size_of_their_group(node: Any) -> None:
    """Three groups of 4, 4 and 8 tokens a block; a state fills its block at once."""
    code = """
    const s = run.at(4);  // r0 has 14 tokens
    const of = (g) => s.tables.get(`r0@${g}`).ids;
    return [0, 1, 2].map((g) => of(g).map((id) => [s.sizeOf(id), s.part(id), s.stateIn(id) ?? 0]));
    """
    full, window, states = node(code, FILES["three"])
    assert full == window == [[4, 1, 0]] * 3 + [[4, 0.5, 0]]
    assert states == [[8, 1, 8], [8, 1, 14]]


def test_a_state_that_is_cached_keeps_what_it_covers(node: Any) -> None:
    head, events = FILES["three"]
    _, asks = told(events, "get_computed_blocks")
    code = """
    return [...Array(run.at(given.step).total).keys()]
      .filter((id) => run.at(given.step).isIdle(id)).map((id) => run.at(given.step).stateIn(id));
    """
    found = node(code, (head, events), step=asks)
    assert sorted(state for state in found if state) == [8, 16]


def test_the_occupancy_counts_bytes(node: Any) -> None:
    """Every block has as many bytes, whatever the number of its slots."""
    code = "return run.share.map((parts) => parts.reduce((a, b) => a + b));"
    held = "return run.share.map((_, step) => run.at(step).held);"
    for name, sample in FILES.items():
        size = sample[0]["block_size"]
        expected = [size * blocks for blocks in node(held, sample)]
        assert node(code, sample) == pytest.approx(expected), name


def test_a_block_and_a_word_are_described(node: Any) -> None:
    code = """
    const s = run.at(given.step), words = (t) => `<${t}>`;
    return [2, 4, 10].map((id) => player.describeBlock(run, s, id, words));
    """
    full, window, state = node(code, FILES["three"], step=5)
    assert "(GPU, full), slots 16 to 19: owned by r0" in full
    assert "(GPU, window 8)" in window and "4 of 4 slots filled" in window
    assert "(GPU, state): owned by r0 (logical block 1), 1 owner" in state
    assert "the state after 15 tokens" in state and "slots" not in state


def test_a_table_is_described(node: Any) -> None:
    code = "const s = run.at(6); return s.tablesOf('r0').map((t) => player.groupText(s, t));"
    full, window, state = node(code, FILES["three"])
    assert full == "full: blocks 1, 2, 6, 7"
    assert window == "window 8: blocks 8, 9, 2 behind the window"
    assert state.startswith("state: block ") and "after 16 tokens" in state


def test_a_request_is_found_by_its_name(node: Any) -> None:
    found = node(SEARCH, FILES["three"], asked=["r1", "get_computed_blocks", "lookup"])
    _, events = FILES["three"]
    assert found[0] == [i for i, event in enumerate(events) if event["of"] == "r1"]
    assert found[1] == found[2] == told(events, "get_computed_blocks")


def test_it_opens_where_tokens_are(node: Any) -> None:
    assert node(OPENING, FILES["three"]) == 3


def test_what_the_groups_said(node: Any) -> None:
    head, events = FILES["long"]
    at = told(events, "get_computed_blocks")[2]
    none, one, two, three = node(ROUNDS, (head, events), at=at)
    assert "96" in none and "96" in one and "64" not in none + one, "not told before it is given"
    assert "window" in two and "64" in two and "again" not in two and "hit" not in two
    assert "again" in three and "64 tokens" in three.split("hit")[1]
    assert node("return player.roundsOf(run.events[0]).length;", (head, events)) == 0


def test_groups_that_are_asked_together_are_counted(node: Any) -> None:
    code = "return [[1, 2, 3], [0], [4, 5], [4]].map((ids) => run.groups.speaker(ids).join(' '));"
    found = node(code, FILES["many"])
    assert found == [
        "the 3 windows of 64 say",
        "full attention says",
        "the 2 states say",
        "the state says",
    ]
    letters = "return run.groups.list.map(({ letter }) => letter);"
    assert node(letters, FILES["many"]) == ["F", "W1", "W2", "W3", "S1", "S2"]


@pytest.mark.parametrize(
    ("effect", "message"),
    [
        (["lookup", 0, 4, 4], "line 2: a group is asked that does not exist"),
        (["lookup", [9], 4, 4], "line 2: a group is asked that does not exist"),
        (["lookup", [], 4, 4], "line 2: a group is asked that does not exist"),
        (["lookup", [0], 4, -1], "line 2: a lookup has no number of tokens"),
    ],
)
def test_a_lookup_that_cannot_be_is_named(node: Any, effect: list[Any], message: str) -> None:
    head, _ = FILES["three"]
    events = [samples.event("get_computed_blocks", "a", effect)]
    assert node(ENDS, (head | {"events": 1}, events)) == [0, message]


@pytest.mark.parametrize("groups", [5, [5], [{"kind": "full"}], [{"kind": 1, "block_size": 2}],
                                    [{"kind": "full", "block_size": 0}]])  # fmt: skip
def test_groups_that_are_none_are_refused(node: Any, groups: Any) -> None:
    head, events = FILES["three"]
    with pytest.raises(NodeError, match="line 1: "):
        node(ENDS, (head | {"groups": groups}, events))


def test_questions_count_each_token_once(node: Any) -> None:
    """A token is written in every group, and asked about once."""
    head, events = FILES["three"]
    found = node("return player.questionFor(run, run.at(2), 2);", (head, events))
    assert "8 tokens" in found["ask"] and found["answers"] == [1]
    ids = node("return player.blocksIn(run.at(6), 'r0');", (head, events))
    assert len(ids) == len(set(ids)) and 0 not in ids and len(ids) == 7
