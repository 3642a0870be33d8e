"""Whose a freed block was, what sharing saves, which cached block hangs on which: under node."""

from typing import Any

import pytest

import pagesim
from pagesim.timeline.header import state_as_dict
from tests.e2e import scenes
from tests.player import grouped, samples
from tests.timeline.scenes import told

LAST = """
const names = (state) => given.ids.map((id) => state.lastOwner(id) ?? null);
return [...Array(run.steps + 1).keys()].map((i) => names(run.at(i)));"""
SHARED = "return [...Array(run.steps + 1).keys()].map((i) => run.at(i).sharing);"
CHAINS = """
const event = given.step ? run.events[given.step - 1] : null;
const tell = ({ids, tokens, k, missed}) => [ids, tokens.slice(2 * k, 2 * k + 2), missed];
return player.chainsOf(run.at(given.step), event).map((chain) => chain.map(tell));"""


def prefixes() -> pagesim.Timeline:
    """V1 with caching, blocks of two: a prompt, and one that begins as the first one did."""
    story = pagesim.Story(gpu_blocks=6, block_size=2, engine="v1", caching=True)
    first = story.arrive([1, 2, 3, 4, 5], 0)
    first.leave()
    story.arrive([1, 2, 7, 8, 9], 1).leave()
    return story.run


@pytest.mark.parametrize("name", ["naive", "caching", "story"])
def test_a_free_block_keeps_the_name_of_its_last_owner(node: Any, name: str) -> None:
    runs = {"naive": scenes.by_chance(4, False, 60), "caching": scenes.by_chance(3, True, 60)}
    run = runs.get(name) or prefixes()
    total = run.at(0).num_blocks
    found = node(LAST, run, ids=list(range(total)))
    owners: list[set[Any]] = [set() for _ in range(total)]
    told_once = 0
    for step in range(len(run) + 1):
        state = run.at(step)
        tables = state.tables.items()
        for block in range(total):
            if state.ref_counts.get(block, 0):
                owners[block] = {who for who, table in tables if block in table.block_ids}
                assert found[step][block] is None, (step, block)
            elif owners[block]:
                assert found[step][block] in owners[block], (step, block)
                told_once += 1
            else:
                assert found[step][block] is None, (step, block)
    assert told_once


@pytest.mark.parametrize("name", ["naive", "groups", "null block"])
def test_what_sharing_saves_is_counted_from_the_tables(node: Any, name: str) -> None:
    run = {
        "naive": lambda: scenes.by_chance(4, False, 60),
        "groups": grouped.a_long_prompt,
        "null block": lambda: told(range(9), gpu_blocks=12, block_size=2),
    }[name]()
    states = (
        samples.states(*run)
        if isinstance(run, tuple)
        else [state_as_dict(run.at(step)) for step in range(len(run) + 1)]
    )
    for step, (state, found) in enumerate(zip(states, node(SHARED, run), strict=True)):
        held = [block for _, ids, *_ in state["tables"] for block in ids if block != state["null"]]
        assert (found["used"], found["alone"]) == (len(set(held)), len(held)), step


def test_a_cached_block_hangs_on_the_one_before_it(node: Any) -> None:
    run = prefixes()
    assert node(CHAINS, run, step=2) == [[[[1], [1, 2], False], [[2], [3, 4], False]]]
    begun = node(CHAINS, run, step=3)
    assert [[ids for ids, *_ in chain] for chain in begun] == [[[1], [2]], [[1], [3]]]
    missed = [words for chain in begun for _, words, missed in chain if missed]
    assert missed == [[7, 8]], "the lookup found block 1, and nothing behind it with these words"


def test_what_hangs_on_a_forgotten_block_is_still_seen(node: Any) -> None:
    tokens = {"opened": [[0, []]], "tokens": [[0, 0, [1, 2, 3, 4]]], "tables": [[0, 0, [0, 1]]]}
    writes = [["write", 0, 0, 0, 2], ["write", 1, 0, 2, 2], ["cache", 0], ["cache", 1]]
    events = [
        samples.event("allocate", 0, *samples.take(0, 1), *writes) | tokens,
        samples.event("free", 0, *samples.give(0, 1)) | {"closed": [0]},
        samples.event("evict", None, ["evict", 0]),
    ]
    run = samples.header(4, 0, 2, events, caching=True), events
    assert node(CHAINS, run, step=2) == [[[[0], [1, 2], False], [[1], [3, 4], False]]]
    assert node(CHAINS, run, step=3) == [[[[], [1, 2], False], [[1], [3, 4], False]]]
