"""Life lines, shares of the memory and the axis of time: at every step what the timeline says."""

import gzip
from collections import defaultdict
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

import pagesim
from pagesim.simulation import Limits
from pagesim.timeline.file import packed
from pagesim.workload import Request
from tests.timeline.scenes import told

LIMITS = Limits(max_model_len=64)


def requests(gap: float = 0.01, size: int = 9) -> list[Request]:
    """Prompts of which every other one begins alike."""
    tokens = [
        [*range(8 * (i % 2), 8 * (i % 2) + 8), *range(100 * i, 100 * i + 3)] for i in range(size)
    ]
    return [
        Request(f"r{i}", gap * i, len(own), 6 + 5 * (i % 3), token_ids=(*own,))
        for i, own in enumerate(tokens)
    ]


def served(policy: str, pool: int = 64, gap: float = 0.01, **more: Any) -> pagesim.Timeline:
    run = pagesim.simulate(
        requests(gap), policy=policy, pool=pool, limits=LIMITS, record=True, progress=False, **more
    ).timeline
    assert run is not None
    return run


def text_of(run: pagesim.Timeline) -> str:
    """The text of its file."""
    return gzip.decompress(packed(run)).decode()


def forked() -> pagesim.Timeline:
    """No scheduler: two tables share blocks, copy one, go to the CPU and come back."""
    story = pagesim.Story(gpu_blocks=12, cpu_blocks=8, block_size=4)
    a, b = story.arrive([11, 12, 13, 14, 15]), story.arrive([21, 22, 23])
    child = a.fork()
    a.write([16])
    b.swap_out()
    child.leave()
    b.swap_in()
    return story.run


RUNS: dict[str, Callable[[], pagesim.Timeline]] = {
    "paged": lambda: served("paged", block_size=4),
    "swapping": lambda: served("paged", block_size=4, preemption_mode="swap", num_cpu_blocks=20),
    "v1, which caches": lambda: served("v1", block_size=4),
    "contiguous": lambda: served("max", 128),
    "slot by slot": lambda: served("token"),
    "forks": forked,
    "v1 by hand": lambda: told(range(9), engine="v1"),
}


def expected(run: pagesim.Timeline, step: int) -> tuple[dict[Any, str], dict[Any, list[float]]]:
    """Where each request is, and what each sequence holds alone: [blocks, blocks' worth of tokens].

    ``None`` stands for what several of them share."""
    state = run.at(step)
    size, gpu = state.block_size, next(iter(state.pools.values()))
    full: defaultdict[int, int] = defaultdict(int)
    for table in state.tables.values():
        for k, block in enumerate(table.block_ids):
            full[block] = max(full[block], min(max(table.num_slots - k * size, 0), size))
    shares: dict[Any, list[float]] = {}
    holders: defaultdict[int, list[Any]] = defaultdict(list)
    for name, table in state.tables.items():
        for block in table.block_ids:
            if block < gpu and block != state.null_block:
                holders[block].append(name)
    for block, names in holders.items():
        who = names[0] if state.ref_counts[block] == 1 else None
        held, written = shares.get(who, [0, 0])
        shares[who] = [held + 1, written + full[block] / size]
    if not state.queues:
        away = {n: any(b >= gpu for b in t.block_ids) for n, t in state.tables.items()}
        return {name: "swapped" if away[name] else "running" for name in away}, shares
    queues = state.queues.items()
    return {state.requests.get(r, r): queue for queue, all_ in queues for r in all_}, shares


LIVES = """
const { lives } = run, names = [...new Set([...lives.lines.keys(), ...lives.shares.keys()])];
const shareAt = (name, i) =>
  lives.shares.get(name)?.findLast(([from]) => from <= i)?.slice(1) ?? [0, 0];
return given.steps.map((i) => [
  names.map((name) => [name, lives.queueAt(name, i)]).filter(([, queue]) => queue),
  [
    ...names.map((name) => [name, shareAt(name, i)]),
    [null, lives.common.findLast(([from]) => from <= i).slice(1)],
  ].filter(([, [held]]) => held),
]);
"""


@pytest.mark.parametrize("name", RUNS)
def test_lines_and_areas_are_the_states_of_the_timeline(node: Any, name: str) -> None:
    run = RUNS[name]()
    found = node(LIVES, run, steps=[*range(len(run) + 1)])
    for step, (queues, shares) in enumerate(found):
        places, held = expected(run, step)
        assert dict(map(tuple, queues)) == places, step
        wanted = {name: pytest.approx(parts) for name, parts in held.items() if parts[0]}
        assert dict(map(tuple, shares)) == wanted, step
    assert any(shares for _, shares in found)


ENDS = """
const rows = [...run.lives.lines.values()];
return rows.map(({ name, preempted, ended, lost }) => [name, preempted, ended, lost]);
"""


def test_preemptions_and_ends_are_told(node: Any) -> None:
    run = served("paged", block_size=4)
    lines = {name: rest for name, *rest in node(ENDS, run)}
    preempted = sorted(step for steps, _, _ in lines.values() for step in steps)
    assert preempted == [at + 1 for at in run.find(kind="preempt")] != []
    for name, (_, ended, lost) in lines.items():
        waiting_or_running = [
            {state.requests[request] for queue in state.queues.values() for request in queue}
            for state in (run.at(ended - 1), run.at(ended))
        ]
        assert [name in names for names in waiting_or_running] == [True, False]
        assert not lost
    assert node("return run.lives.finished(run.steps);", run) == 9
    assert node("return run.lives.finished(0);", run) == 0


AXIS = """
const axis = new player.Axis(run, given.unit), { stops, max } = axis;
return { units: player.unitsOf(run), places: [...axis.places], stops, max,
  near: given.near.map((place) => axis.near(place)),
  beside: [axis.beside(stops[3], 1), axis.beside(stops[3] + 1, -1), axis.beside(stops[3], -99)] };
"""


@pytest.mark.parametrize("unit", ["seconds", "schedule()", "events"])
def test_the_axis_has_every_step_in_order(node: Any, unit: str) -> None:
    run = served("paged", block_size=4)
    ends = [at + 1 for at in run.find(kind="schedule")]
    found = node(AXIS, run, unit=unit, near=[-1, 1e9])
    assert found["units"] == ["seconds", "schedule()", "events"]
    places, stops = found["places"], found["stops"]
    assert len(places) == len(run) + 1 and places == sorted(places)
    by = {
        "seconds": list(run.notes.clock),
        "schedule()": [*range(1, len(ends) + 1)],
        "events": ends,
    }
    assert [places[end] for end in ends] == pytest.approx(by[unit])
    assert stops[:2] == ([0, 1] if unit == "events" else [0, ends[0]])
    assert found["near"] == [0, len(run)]
    assert found["beside"] == [stops[4], stops[3] if unit != "events" else 3, 0]
    assert node("return player.unitsOf(run);", forked()) == ["events"]


def test_where_nobody_is_no_request_lives_longer(node: Any) -> None:
    """Ten seconds pass between two requests: the first does not end late, nor the second begin."""
    run = served("paged", 256, gap=10.0, block_size=4)
    code = """
    const { places } = new player.Axis(run, "seconds"), lines = [...run.lives.lines.values()];
    return lines.map(({ spans, ended }) => [places[spans[0][0]], places[ended]]);
    """
    for number, (begins, ends) in enumerate(node(code, run)):
        assert 10 * number - 0.5 < begins < 10 * number + 1
        assert ends < 10 * number + 1


def test_many_life_lines_share_rows(node: Any) -> None:
    code = """
    const line = (i) => ({ name: i, spans: [[10 * i, 10 * i + 9, "running"]], ended: 10 * i + 9 });
    const lines = [...Array(given.count).keys()].map(line);
    const rows = player.rowsOf(lines, 10 * given.count, given.most);
    return rows.map((row) => row.map(({ name }) => name));
    """
    assert node(code, count=3, most=150) == [[0], [1], [2]]
    assert node(code, count=100, most=150) == [[*range(100)]], "one after another"
    overlap = code.replace("10 * i + 9", "10 * i + 15")
    assert [len(row) for row in node(overlap, count=100, most=150)] == [50, 50]
    assert sum(len(row) for row in node(overlap, count=100, most=1)) == 50


BATCH = """
const [from, to] = given.range, all = run.events.slice(from, to), batch = player.batchOf(all);
return [batch.event, batch.caption === all.at(-1).caption, batch.effects.length];
"""


def test_a_call_of_schedule_is_one_change(node: Any) -> None:
    run = served("paged", block_size=4)
    ends = [at + 1 for at in run.find(kind="schedule")]
    for begin, end in pairwise(ends):
        kind, same, effects = node(BATCH, run, range=[begin, end])
        assert (kind, same) == ("schedule", True)
        assert effects == sum(len(run[at].effects) for at in range(begin, end))
    assert node("return player.batchOf([]);", run) is None


RACE = """
const other = new player.Run(player.parse(given.other));
return player.isRace([run, other]);
"""
MANNER = "return player.manner(run);"
WINS = """
const other = new player.Run(player.parse(given.other));
return player.verdict([run, other], ["A", "B"]);
"""
SCORES = "return given.steps.map((i) => player.scoreOf(run, i));"


def test_what_a_side_has_done(node: Any) -> None:
    for run in (served("max", 128), served("paged", 128, block_size=4)):
        scores = node(SCORES, run, steps=[*range(len(run) + 1)])
        slots = 128
        for step, score in enumerate(scores):
            state = run.at(step)
            tokens = sum(
                min(t.num_slots, len(t.block_ids) * state.block_size) for t in state.tables.values()
            )
            held = sum(count > 0 for count in state.ref_counts.values()) * state.block_size
            assert score["running"] == len(state.queues.running)
            assert score["waiting"] == sum(map(len, state.queues.values())) - score["running"]
            assert score["written"] == pytest.approx(100 * tokens / slots)
            assert score["kept"] == pytest.approx(100 * (held - tokens) / slots)
            assert (
                score["finished"] == len(run[:step].find(kind="finish"))
                or run.find(kind="finish") == []
            )
        assert (scores[-1]["finished"], scores[-1]["all"]) == (9, 9)


def test_what_is_a_race(node: Any) -> None:
    one = served("paged", block_size=4)
    v1 = served("v1", 68, block_size=4)
    for other, answer in (
        (served("max", 64), True),
        (v1, True),  # the null block makes its pool one larger
        (served("paged", 128, block_size=4), False),
        (forked(), False),
    ):
        assert node(RACE, one, other=text_of(other)) is answer
    ways = {name: node(MANNER, served(name)) for name in ("max", "token", "paged", "v1")}
    assert len({takes for takes, *_ in ways.values()}) == 3
    assert ways["paged"][0] == ways["v1"][0] and ways["paged"][2] != ways["v1"][2]


def test_who_wins_a_race(node: Any) -> None:
    """With all requests; else, where both end together, with one of them on average."""
    paged, region = served("paged", 64, block_size=4), served("max", 64)
    ends = [run.notes.clock[-1] for run in (paged, region)]
    sooner = f" {100 * (1 - min(ends) / max(ends)):.0f} % "
    for runs in ((paged, region), (region, paged)):
        said = node(WINS, runs[0], other=text_of(runs[1]))
        assert sooner in said
        assert said.startswith(
            "AB"[runs.index(paged)] if ends[0] < ends[1] else "AB"[runs.index(region)]
        )
    assert "%" not in node(WINS, paged, other=text_of(paged))
    unfinished = node(WINS, paged[: len(paged) // 2], other=text_of(paged[: len(paged) // 2]))
    assert "%" not in unfinished


def test_who_wins_where_both_end_together(node: Any) -> None:
    """Then one request counts: when it ends on average, in calls of schedule()."""
    code = """
    const lives = (ends) => ({ alive: [], served: ends.map((ended, name) => ({ name, ended })) });
    const made = (ends) => (
      { clock: [], schedules: [...Array(9).keys()], steps: 9, header: {}, lives: lives(ends) });
    return given.ends.map((both) => player.verdict(both.map(made), ["A", "B"]));
    """
    said = node(code, ends=[[[9, 9], [5, 9]], [[3, 9], [9, 9]], [[4, 9], [9, 4]]])
    assert [said[0][0], said[1][0]] == ["B", "A"]
    assert f" {100 * 2 / 9:.0f} % " in said[0] and f" {100 * 3 / 9:.0f} % " in said[1]
    assert "%" not in said[2]
