"""The player's model under node: any step, in any order, and what it does with nonsense."""

import random
import re
from pathlib import Path
from typing import Any

import pytest

from pagesim.decision import what_if
from tests.player import samples
from tests.player.conftest import NodeError
from tests.timeline import applier
from tests.timeline.scenes import told

GPU = samples.GPU
RUNS = {
    "sharing": samples.sharing(),
    "caching": samples.caching(),
    "hostile": samples.hostile(),
    "scheduling": samples.scheduling(),
    "many": samples.many(150),
}
ENDS = "return [run.steps, run.problem];"
STATES = "return given.order.map((i) => run.at(i).toJSON());"


@pytest.mark.parametrize("name", RUNS)
def test_every_step_in_any_order(node: Any, name: str) -> None:
    head, events = RUNS[name]
    expected = samples.states(head, events)
    order = [*range(len(expected)), *reversed(range(len(expected)))]
    random.Random(0).shuffle(order)
    found = node(STATES, (head, events), order=order)
    assert found == [expected[i] for i in order]


def test_the_occupancy_counts_a_shared_block_once(node: Any) -> None:
    text = samples.sharing()
    shares = node("return run.share;", text)
    # token, internal, reserved: after the fork as before it, then with a copy, then a lookahead.
    assert shares[:5] == [[0, 0, 0], [3, 1, 0], [3, 1, 0], [5, 1, 0], [6, 0, 2]]
    assert shares[6] == [4, 0, 2]  # swapped out: b's own block is empty, the shared one stays


def test_percents_are_of_the_gpus_slots_alone(node: Any) -> None:
    text = samples.sharing()  # 6 GPU blocks of 2 slots, and 3 CPU blocks
    code = "return [1, 4, 6].map((i) => run.percent(i));"
    found = node(code, text)
    parts = [(3, 1, 0), (6, 0, 2), (4, 0, 2)]
    shares = [[100 * slots / 12 for slots in (*part, 12 - sum(part))] for part in parts]
    assert found == [pytest.approx(share) for share in shares]


def test_the_usage_counts_blocks_and_not_the_null_block_of_v1(node: Any) -> None:
    usages = "return [1, 4, 6].map((i) => run.at(i).usage);"
    assert node(usages, samples.sharing()) == ["33.3 %", "66.7 %", "50.0 %"]
    run = what_if(6, running={"a": 10}, waiting={"b": 5}, block_size=4).run
    assert node("return [run.at(0).usage, run.at(run.steps).usage];", run) == ["60.0 %", "100.0 %"]


def test_a_lost_block_ends_the_run_and_is_told(node: Any) -> None:
    head, events = samples.sharing()
    events[3]["effects"][0] = ["take", 6, "GPU free list"]
    problem = "line 5: block 6 is taken, but it is not in the GPU free list"
    assert node(ENDS, (head, events)) == [3, problem]


@pytest.mark.parametrize(
    ("effect", "message"),
    [
        (["take", 99, GPU], "block 99 does not exist"),
        (["take", "0", GPU], 'block "0" does not exist'),
        (["take", 0, "queue"], "there is no such list"),
        (["free", 0, GPU, 0], "block 0 is freed, but has 0 owners"),
        (["free", 0, "queue", 0], "block 0 is freed to a list that does not exist"),
        (["share", 0], "block 0 is shared, but it has no owner"),
        (["unshare", 0], "block 0 is unshared, but has 0 owners"),
        (["hit", 0, 1, 0, 2], "block 0 is hit, but it is not cached"),
        (["evict", 0], "block 0 is evicted, but it is not cached"),
        (["constructor", 0], 'unknown effect "constructor"'),
        (["copy", 0, -1, 1], "block -1 does not exist"),
        (["write", 0, 1, 0, 2], "there is no table 1"),
        (["write", 0, None, -1, 2], "a position is not a number"),
    ],
)
def test_nonsense_is_named(node: Any, effect: list[Any], message: str) -> None:
    events = [samples.event("allocate", 1, effect)]
    text = (samples.header(2, 0, 2, events), events)
    assert node("return run.problem;", text) == f"line 2: {message}"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": "other/1"}, 'line 1: format is "other/1"'),
        ({"block_size": 0}, "line 1: block_size is 0"),
        ({"pools": [["GPU", 10**9]]}, "the player shows at most 65536"),
        ({"pools": [["CPU", -1]]}, "line 1: pool CPU has -1 blocks"),
        ({"pools": None}, "line 1: pools is not a list"),
        ({"lists": [[5, "linked"]]}, "line 1: lists have no names"),
        ({"queues": [5]}, "line 1: queues have no names"),
        ({"state": None}, "line 1: no state"),
    ],
)
def test_a_bad_header_is_refused(node: Any, change: dict[str, Any], message: str) -> None:
    head, events = samples.sharing()
    with pytest.raises(NodeError, match=re.escape(message)):
        node("return run.steps;", (head | change, events))


def test_a_file_that_ends_early_plays_what_there_is(node: Any) -> None:
    head, events = samples.sharing()
    text = samples.text_of(head, events[:4])
    assert node(ENDS, text) == [4, f"the file ends after 4 of {len(events)} events"]
    assert node(ENDS, text + '{"event": "al')[0] == 4


SEARCH = "return given.asked.map((q) => player.search(run, q));"


def test_search_by_block_sequence_and_kind(node: Any) -> None:
    text = samples.sharing()
    asked = ["block 2", "#6", "b", "0", "swap_in", "copy", "fork of b", "nowhere", ""]
    found = node(SEARCH, text, asked=asked)
    assert found == [[2, 5], [5, 7], [1, 2, 5, 7, 8, 9], [0, 3, 6], [7], [2], [1], [], []]


def test_a_block_is_found_where_something_moves_to_it(node: Any) -> None:
    """In every recording the target is taken in the same event; a file need not say it so."""
    events = [
        samples.event("allocate", 0, *samples.take(0, 1, 2)),
        *(samples.event(kind, 0, [kind, *pair]) for kind, pair in
          (("copy", (0, 1, 1)), ("move", (0, 3)), ("move", (3, 2)))),
    ]  # fmt: skip
    text = (samples.header(3, 1, 2, events), events)
    assert node(SEARCH, text, asked=["#0", "#1", "#2", "#3"]) == [[0, 1, 2], [0, 1], [0, 3], [2, 3]]


def test_a_block_is_described(node: Any) -> None:
    code = """
    const s = run.at(3);
    return [0, 1, 5].map((id) => player.describeBlock(run, s, id, (t) => `<${t}>`));
    """
    shared, own, free = node(code, samples.sharing())
    assert shared == (
        "Block 0 (GPU), slots 0 to 1: owned by s0 (logical block 0), b (logical block 0), "
        "2 owners, since step 1; 2 of 2 slots filled: <10> <11>."
    )
    assert own.startswith("Block 1 (GPU), slots 2 to 3: owned by s0 (logical block 1), 1 owner")
    assert free == "Block 5 (GPU): free since before the recording; number 3 in the free list."


V1 = Path(__file__).parents[1] / "data" / "timelines2" / "v1_by_hand.jsonl"


def test_a_run_of_v1(node: Any) -> None:
    """One list, a null block, no CPU, tokens after their slots: the same states as the format's."""
    order = list(range(26))
    random.Random(1).shuffle(order)
    expected = list(applier.states(V1))
    assert node(STATES, V1.read_text(), order=order) == [expected[i] for i in order]
    code = """
    const label = (t) => `<${t}>`;
    const asked = [[7, 3], [14, 7], [18, 4], [24, 0]];
    return asked.map(([step, id]) => player.describeBlock(run, run.at(step), id, label));
    """
    assert node(code, V1.read_text()) == [
        "Block 3 (GPU), slots 6 to 7: owned by a (logical block 2), 1 owner, since step 3; "
        "2 of 2 slots filled: <5>.",
        "Block 7 (GPU): free since before the recording; number 2 in the free queue.",
        "Block 4 (GPU): unused since step 15; its last owner was b; number 3 in the free queue. "
        "Its content is cached, its values are computed.",
        "Block 0 (GPU): the null block: it is never handed out, and stands for "
        "blocks that left a sliding window.",
    ]
    evicts = "return player.questionFor(run, run.at(21), 21);"
    assert node(evicts, V1.read_text())["answers"] == [5]


def test_the_header_counts_what_is_drawn_beside_the_first_pool(node: Any) -> None:
    code = """
    const { header } = run;
    return [header.num_gpu_blocks, header.num_cpu_blocks, header.pool_names];
    """
    head, events = samples.sharing()
    assert node(code, (head, events)) == [6, 3, ["GPU", "CPU"]]
    more = head | {"pools": [["GPU", 6], ["CPU", 2], ["disk", 1]]}
    assert node(code, (more, events)) == [6, 3, ["GPU", "CPU, disk"]]


def test_blocks_of_one_slot_are_read(node: Any) -> None:
    events = [samples.event("allocate", 0, *samples.take(0, 1))]
    assert node(ENDS, (samples.header(2, 0, 1, events), events)) == [1, ""]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "line 3 is not JSON"),
        ("[]", "line 3 is not a JSON object"),
        ('{"of": 1}', 'line 3: "event" is not a string'),
        ('{"event": "free", "effects": [7]}', "line 3: an effect is not a list"),
        ('{"event": "free", "closed": {}}', 'line 3: "closed" is not a list'),
    ],
)
def test_a_damaged_line_is_named_by_its_number(node: Any, line: str, message: str) -> None:
    head, events = samples.sharing()
    lines = samples.text_of(head, events).split("\n")
    text = "\n".join([*lines[:2], line, *lines[3:]])
    assert node(ENDS, text) == [1, message]


OPENING = "return run.opening;"


@pytest.mark.parametrize(
    ("more", "step"),
    [
        ({}, 1),  # what arrives first is to be seen
        ({"opens": 0}, 0),
        ({"opens": 4}, 4),
        ({"opens": 10}, 10),
        ({"opens": 11}, 1),
        ({"opens": "4"}, 1),
        ({"questions": [{"at": 0, "ask": "?", "answer": "taken"}]}, 0),  # it must not be answered
        ({"questions": [{"at": 2, "ask": "?", "answer": "taken"}]}, 1),
        ({"questions": [{"at": 0, "ask": "?", "answer": "taken"}], "opens": 2}, 2),
        ({"questions": [{"at": 99, "ask": "?"}, None, "x"]}, 1),
    ],
)
def test_where_a_player_opens(node: Any, more: dict[str, Any], step: int) -> None:
    head, events = samples.sharing()
    assert node(OPENING, (head | more, events)) == step


def test_from_where_it_asks(node: Any) -> None:
    """The player's own questions from the start; an author's from where it opens, or before."""
    head, events = samples.sharing()
    assert len(events) == 10
    code = "return [run.asking, run.questions.length];"
    late = {"at": 4, "ask": "?", "answer": "taken"}
    for more, found in (
        ({}, [0, 0]),
        ({"opens": 3}, [0, 0]),
        ({"questions": [late]}, [1, 1]),
        ({"questions": [late], "opens": 7}, [4, 1]),
        ({"questions": [late | {"at": 10}]}, [0, 0]),
    ):
        assert node(code, (head | more, events)) == found, more


def test_percents_are_of_the_blocks_that_can_be_held(node: Any) -> None:
    found = node("return run.percent(run.steps);", told(range(8), engine="v1"))
    assert found == pytest.approx([100 * part / 7 for part in (2, 0, 0, 5)]), "not the null block"
