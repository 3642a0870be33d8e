"""Cause before effect: an event as beats, each with a state that could have been."""

from typing import Any

import pytest

from pagesim import Timeline
from tests.e2e import scenes
from tests.player import grouped, samples, tiered

# The last beat ends where the event does; each state is as valid as those of a file.
CODE = """
const found = [], ends = [];
const look = (from, to, event) => {
  const beats = player.beatsOf(event, run.at(from), to, given.most);
  found.push(beats.map(({ name }) => name));
  if (!beats.length) return;
  const { state, part } = beats.at(-1);
  player.partly(state, part, to);
  const owned = beats.map(({ state: s }) => s.lists.flat().filter((id) => s.refs[id]));
  ends.push(JSON.stringify(state) === JSON.stringify(run.at(to)) && !owned.flat().length);
};
run.events.forEach((event, i) => given.calls || look(i, i + 1, event));
let from = 0;
for (const i of given.calls ? run.schedules : []) {
  look(from, i + 1, player.batchOf(run.events.slice(from, i + 1)));
  from = i + 1;
}
return [found, ends.every((end) => end), ends.length];
"""
RUNS: dict[str, Timeline | tuple[Any, Any]] = {
    "small": scenes.small(),
    "chance": scenes.by_chance(2, caching=True, events=200),
    "scheduled": scenes.scheduled(8),
    "hybrid": grouped.RUNS["long"](),
    "tier": tiered.RUNS["one"](),
    "written": samples.sharing(),
}


def names(node: Any, run: Any, **given: Any) -> list[list[str]]:
    found, all_end, count = node(CODE, run, **given)
    assert all_end and count
    return found  # type: ignore[no-any-return]


@pytest.mark.parametrize("name", RUNS)
def test_the_last_beat_ends_as_the_event(node: Any, name: str) -> None:
    order = ["evict", "take", "copy", "table", "write", "free", "queue"]
    for found in names(node, RUNS[name]):
        assert found == sorted(found, key=order.index)
    if name in ("scheduled", "tier"):
        assert any(names(node, RUNS[name], calls=True)), "a batch has beats as well"


def test_what_comes_first(node: Any) -> None:
    found = names(node, RUNS["small"])
    assert found[4] == ["take", "copy", "table", "write"], "a copy-on-write"
    assert found[5] == found[6] == ["take", "copy", "table", "free"], "a swap"
    assert found[2:4] == [["write"], []], "a fork moves nothing"
    assert found[7] == ["free"]


def test_an_effect_without_a_beat_of_its_own(node: Any) -> None:
    """A new one needs no line here: it happens with what is written, and moves nothing."""
    code = 'return player.beatsOf({ ...run.events[0], effects: [["new", 0]] }, run.at(0), 1);'
    assert node(code, RUNS["small"]) == node(code.replace("new", "cache"), RUNS["small"])


def test_few_beats_have_it_all(node: Any) -> None:
    for most in (1, 2):
        found = names(node, RUNS["small"], most=most)
        assert max(map(len, found)) == most


def test_a_block_that_is_freed_and_taken_again(node: Any) -> None:
    event = samples.event(
        "swap", 0, *samples.take(0), *samples.give(0), *samples.take(0, 1), tables=[[0, 0, [0, 1]]]
    )
    event["opened"] = [[0, []]]
    file = samples.header(4, 0, 4, [event]), [event]
    assert names(node, file) == [["take", "free"]], "what comes after that stays after it"


def test_what_has_no_order_happens_at_once(node: Any) -> None:
    run = RUNS["small"]
    code = """
    const event = { ...run.events[4], effects: [["take", 0, "no such list"]] };
    return player.beatsOf(event, run.at(4), 5).length;"""
    assert node(code, run) == 0
