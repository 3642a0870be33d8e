"""The player's model under node: any step, in any order, and what it does with nonsense."""

from __future__ import annotations

import random
from typing import Any

import pytest

from tests.player import samples

RUNS = {
    "sharing": samples.sharing(),
    "caching": samples.caching(),
    "hostile": samples.hostile(),
    "scheduling": samples.scheduling(),
    "many": samples.many(150),
}
STATES = "const run = await begin(given.data); return given.order.map((i) => run.at(i).toJSON());"


@pytest.mark.parametrize("name", RUNS)
def test_every_step_in_any_order(node: Any, name: str) -> None:
    head, events = RUNS[name]
    expected = samples.states(head, events)
    order = [*range(len(expected)), *reversed(range(len(expected)))]
    random.Random(0).shuffle(order)
    found = node(STATES, samples.text_of(head, events),
                 order=order)  # fmt: skip
    assert found == [expected[i] for i in order]


def test_the_occupancy_counts_a_shared_block_once(node: Any) -> None:
    text = samples.text_of(*samples.sharing())
    shares = node("return (await begin(given.data)).share;", text)
    # token, internal, reserved: after the fork as before it, then with a copy, then a lookahead.
    assert shares[:5] == [[0, 0, 0], [3, 1, 0], [3, 1, 0], [5, 1, 0], [6, 0, 2]]
    assert shares[6] == [4, 0, 2]  # swapped out: b's own block is empty, the shared one stays


def test_percents_are_of_the_gpus_slots_alone(node: Any) -> None:
    text = samples.text_of(*samples.sharing())  # 6 GPU blocks of 2 slots, and 3 CPU blocks
    code = "const run = await begin(given.data); return [1, 4, 6].map((i) => run.percent(i));"
    found = node(code, text)
    parts = [(3, 1, 0), (6, 0, 2), (4, 0, 2)]
    assert found == [
        pytest.approx([100 * slots / 12 for slots in (*part, 12 - sum(part))]) for part in parts
    ]


def test_a_lost_block_ends_the_run_and_is_told(node: Any) -> None:
    head, events = samples.sharing()
    events[3]["effects"][0] = ["take", 5]
    run = "const run = await begin(given.data); return [run.steps, run.problem];"
    steps, problem = node(run, samples.text_of(head, events))
    assert steps == 3
    assert problem == "line 5: block 5 is taken, but it is not first in the free list"


@pytest.mark.parametrize(
    ("effect", "said"),
    [
        (["take", 99], "block 99 does not exist"),
        (["take", "0"], 'block "0" does not exist'),
        (["return", 0], "block 0 is returned, but has 0 owners"),
        (["share", 0], "block 0 is shared, but nobody owns it"),
        (["unshare", 0], "block 0 is unshared, but has 0 owners"),
        (["hit", 0, 1, []], "block 0 is hit, but it is not cached"),
        (["evict", 0], "block 0 is evicted, but it is in no evictor"),
        (["constructor", 0], 'the effect "constructor" is not known'),
        (["copy", 0, -1, 1], "block -1 does not exist"),
        (["write", 0, 1, 5], "tokens is no list"),
    ],
)
def test_nonsense_is_named(node: Any, effect: list[Any], said: str) -> None:
    events = [samples.event("allocate", 1, effect)]
    text = samples.text_of(samples.header(2, 0, 2, events), events)
    assert node("return (await begin(given.data)).problem;", text) == f"line 2: {said}"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"format": "other/1"}, 'line 1: format is "other/1"'),
        ({"block_size": 0}, "line 1: block_size is 0"),
        ({"num_gpu_blocks": 10**9}, "the player shows at most 65536"),
        ({"num_cpu_blocks": -1}, "line 1: num_cpu_blocks is -1"),
        ({"state": None}, "line 1: no state"),
    ],
)
def test_a_bad_header_is_refused(node: Any, change: dict[str, Any], said: str) -> None:
    head, events = samples.sharing()
    tried = "try { await begin(given.data); return 'read'; } catch (e) { return e.message; }"
    assert said in node(tried, samples.text_of(head | change, events))


def test_a_file_that_ends_early_plays_what_there_is(node: Any) -> None:
    head, events = samples.sharing()
    run = "const run = await begin(given.data); return [run.steps, run.problem];"
    text = samples.text_of(head, events[:4])
    assert node(run, text) == [4, f"the file ends after 4 of {len(events)} events"]
    assert node(run, text + '{"event": "al')[0] == 4


SEARCH = (
    "const run = await begin(given.data); return given.asked.map((q) => player.search(run, q));"
)


def test_search_by_block_sequence_and_kind(node: Any) -> None:
    text = samples.text_of(*samples.sharing())
    asked = ["block 2", "#6", "b", "0", "swap_in", "copy", "fork of b", "nowhere", ""]
    found = node(SEARCH, text, asked=asked)
    assert found == [[2, 5], [5, 7], [1, 2, 5, 7, 8, 9], [0, 3, 6], [7], [2], [1], [], []]


def test_a_block_is_found_where_something_moves_to_it(node: Any) -> None:
    """In every recording the target is taken in the same event; a file need not say it so."""
    events = [
        samples.event("allocate", 0, ["take", 0], ["take", 1], ["take", 2]),
        *(samples.event(kind, 0, [kind, *pair]) for kind, pair in
          (("copy", (0, 1)), ("swap_out", (0, 3)), ("swap_in", (3, 2)))),
    ]  # fmt: skip
    text = samples.text_of(samples.header(3, 1, 2, events), events)
    assert node(SEARCH, text, asked=["#0", "#1", "#2", "#3"]) == [[0, 1, 2], [0, 1], [0, 3], [2, 3]]


def test_a_block_is_described(node: Any) -> None:
    code = """
    const run = await begin(given.data), s = run.at(3);
    return [0, 1, 5].map((id) => player.describeBlock(run, s, id, (t) => `<${t}>`));
    """
    shared, own, free = node(code, samples.text_of(*samples.sharing()))
    assert shared == (
        "Block 0 (GPU): owned by s0 (logical block 0), b (logical block 0), 2 owners, "
        "since step 1; 2 of 2 slots filled: <10> <11>."
    )
    assert own.startswith("Block 1 (GPU): owned by s0 (logical block 1), 1 owner")
    assert free == "Block 5 (GPU): free since before the recording; number 3 in the free list."
