"""Contiguous memory in a timeline: the same run as without it, and nothing in it but rows."""

from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pagesim.errors import UsageError
from pagesim.simulation import Simulation, simulate
from pagesim.simulation.rows import record_max
from pagesim.simulation.waste import MEASURES
from pagesim.timeline import Event, State, Timeline
from pagesim.workload import Request

LENGTHS = st.lists(st.tuples(st.integers(1, 20), st.integers(1, 20)), min_size=1, max_size=8)
SCENE = [(6, 6), (9, 4), (4, 10)]


def requests(lengths: list[tuple[int, int]]) -> list[Request]:
    return [Request(f"r{i}", 0.0, *both) for i, both in enumerate(lengths)]


def scene() -> Timeline:
    """Two rows of 32 slots in a pool of 80, and three requests."""
    return record_max(requests(SCENE), pool=80, max_model_len=32, unit=4).timeline


def iterations(run: Timeline) -> Iterator[State]:
    """The state while each iteration runs: what it computes is written, nobody has left yet."""
    return (run.at(i + 1) for i in run.find(kind="schedule"))


def measured(simulation: Simulation) -> dict[str, list[float]]:
    return {name: simulation.waste.column(name).tolist() for name in MEASURES}


def is_empty(state: State) -> bool:
    return not state.tables and not any(state.queues.values())


@settings(max_examples=40)
@given(LENGTHS, st.integers(1, 4), st.sampled_from([1, 2, 8]), st.integers(0, 2))
def test_every_state_is_what_the_policy_accounts_for(
    lengths: list[tuple[int, int]], rows: int, unit: int, more: int
) -> None:
    longest = 32
    simulation = record_max(
        requests(lengths), pool=rows * longest + more * unit, max_model_len=longest, unit=unit
    )
    run, log = simulation.timeline, simulation.waste
    states = list(iterations(run))
    assert len(states) == len(log)
    for row, state in enumerate(states):
        usage = log.at(row)
        assert sum(table.num_tokens for table in state.tables.values()) == usage.token
        held = sum(len(table.block_ids) for table in state.tables.values()) * unit
        assert held == usage.token + usage.reserved + usage.internal
        assert len(state.free_gpu) * unit == usage.external + usage.free
        assert len(state.tables) == usage.batch == len(state.queues.running)
    for i in range(len(run) + 1):
        state = run.at(i)
        for table in state.tables.values():
            first = table.block_ids[0]
            assert first % (longest // unit) == 0
            assert list(table.block_ids) == list(range(first, first + longest // unit))
        held_units = [block for table in state.tables.values() for block in table.block_ids]
        assert sorted([*held_units, *state.free_gpu]) == list(range(state.num_gpu_blocks))
    assert is_empty(run.at(-1))


@settings(max_examples=40)
@given(LENGTHS, st.integers(1, 4))
def test_it_is_the_run_of_the_policy_max(lengths: list[tuple[int, int]], rows: int) -> None:
    pool = {"pool": rows * 32 + 8, "max_model_len": 32}
    recorded = record_max(requests(lengths), **pool, unit=8)
    plain = simulate(requests(lengths), **pool, policy="max", saturated=True, progress=False)
    assert measured(recorded) == measured(plain)
    assert list(recorded.requests.finished) == pytest.approx(
        list(plain.requests.finished), nan_ok=True
    )
    assert (recorded.policy, recorded.block_size) == ("max", None)


@settings(max_examples=20)
@given(LENGTHS, st.sampled_from([1, 4, 8]))
def test_a_step_writes_what_it_computes_behind_what_is_there(
    lengths: list[tuple[int, int]], unit: int
) -> None:
    run = record_max(requests(lengths), pool=96, max_model_len=32, unit=unit).timeline
    in_step: dict[int | str | None, int] = {}
    for i, event in enumerate(run):
        for table, count in written(event, run.at(i), unit).items():
            in_step[table] = count
        if event.kind == "schedule":
            assert {it.sequence: it.num_tokens for it in event.scheduled} == in_step
            prompts = [it.sequence for it in event.scheduled if it.is_prompt]
            assert prompts == [row for row in in_step if event.step == admitted_in(run, row)]
            in_step.clear()


def written(event: Event, before: State, unit: int) -> dict[int | str | None, int]:
    """How many tokens an event writes into each table: behind those there, no unit overfull."""
    counts: dict[int | str | None, int] = {}
    for effect in event.effects:
        if effect.kind == "write":
            assert effect.table is not None
            table = before.tables[effect.table]
            at = table.num_tokens + counts.get(effect.table, 0)
            assert table.block_ids[at // unit] == effect.block
            assert at % unit + effect.count <= unit
            counts[effect.table] = counts.get(effect.table, 0) + effect.count
    return counts


def admitted_in(run: Timeline, row: int | str | None) -> int | None:
    """The step in which a request got its row."""
    assert row is not None
    return run[run.find(sequence=row, kind="take")[0]].step


def test_a_row_is_held_from_the_start_filled_and_freed() -> None:
    run = scene()
    reserving = run.find(sequence=0, kind="take")
    assert len(reserving) == 1
    after = run.at(reserving[0] + 1)
    assert after.tables[0].block_ids == tuple(range(8))
    assert after.tables[0].num_tokens == 0
    assert after.queues.running == ("r0",)
    fills = [state.tables[0].fill for state in iterations(run) if 0 in state.tables]
    assert fills[0] == (4, 2, 0, 0, 0, 0, 0, 0)
    assert fills[-1] == (4, 4, 3, 0, 0, 0, 0, 0)  # 6 + 6 tokens, of which the last is not stored
    freeing = run.find(sequence=0, kind="free")
    assert [run[i].kind for i in freeing] == ["finish"]
    assert run.at(freeing[0] + 1).free_gpu[:8] == tuple(range(8))


def test_who_does_not_fit_is_told_so_once_and_waits() -> None:
    run = scene()
    (refused,) = run.find(kind="failed")
    event = run[refused]
    assert event.subject == 2 and event.step == 1
    assert "it asks for 32 slots in a row" in event.caption
    assert "16 slots are free" in event.caption
    assert run.at(refused + 1).queues.waiting == ("r2",)
    (admitted,) = run.find(sequence=2, kind="take")
    # r1 is done after 4 iterations, and leaves its row.
    assert run[admitted].step == 5
    assert run.at(admitted + 1).tables[2].block_ids == tuple(range(8, 16))


def test_the_row_freed_last_is_given_first() -> None:
    lengths = [(1, 2), (1, 4), (1, 8), (1, 9), (1, 9)]
    run = record_max(requests(lengths), pool=48, max_model_len=16, unit=16).timeline
    admitted = [run.find(sequence=row, kind="take")[0] for row in (3, 4)]
    ids = [run.at(i + 1).tables[row].block_ids for row, i in zip((3, 4), admitted, strict=True)]
    assert ids == [(0,), (1,)]


def test_who_can_never_be_served_leaves_the_queue_when_its_turn_comes() -> None:
    lengths = [(20, 20), (3, 3), (20, 20)]
    simulation = record_max(requests(lengths), pool=64, max_model_len=32, unit=4)
    run = simulation.timeline
    assert simulation.requests.num_ignored == 2
    ignored = run.find(kind="ignore")
    assert [run[i].subject for i in ignored] == [0, 2]
    assert ignored[0] < run.find(sequence=1, kind="take")[0]
    none = record_max(requests(lengths), pool=31, max_model_len=32)
    assert none.requests.num_ignored == 3
    assert len(none.timeline.find(kind="ignore")) == 3


def test_its_tables_bear_the_names_of_the_paged_run() -> None:
    run, sizes = scene(), {"pool": 80, "block_size": 4, "max_model_len": 32}
    theirs = simulate(requests(SCENE), **sizes, record=True, progress=False).timeline
    arrivals = range(len(SCENE))
    assert [run[i] for i in arrivals] == [theirs[i] for i in arrivals]
    wrote = [next(iter(iterations(each))).tables for each in (run, theirs)]
    assert wrote[0][1].token_ids == wrote[1][1].token_ids


@pytest.mark.parametrize(
    ("pool", "longest", "unit", "message"),
    [
        (81, 32, 4, "pool must be a whole number of 4-slot units, not 81"),
        (80, 30, 4, "max_model_len must be a whole number of 4-slot units, not 30"),
        (80, 32, 0, "unit must be"),
    ],
)
def test_what_cannot_be_drawn_in_units_is_refused(
    pool: int, longest: int, unit: int, message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        record_max(requests(SCENE), pool=pool, max_model_len=longest, unit=unit)


@settings(max_examples=15)
@given(LENGTHS, st.sampled_from(["max", "pow2", "oracle", "static", "token"]), st.booleans())
def test_every_policy_is_recorded_and_decides_the_same(
    lengths: list[tuple[int, int]], policy: str, saturated: bool
) -> None:
    options = {"policy": policy, "pool": 88, "max_model_len": 40, "saturated": saturated}
    plain = simulate(requests(lengths), **options, progress=False)
    recorded = simulate(requests(lengths), **options, record=True, progress=False)
    assert measured(recorded) == measured(plain)
    run = recorded.timeline
    states = list(iterations(run))
    assert len(states) == len(recorded.waste)
    for row, state in enumerate(states):
        usage = recorded.waste.at(row)
        held = [block for table in state.tables.values() for block in table.block_ids]
        assert sorted([*held, *state.free_gpu]) == list(range(88))
        assert len(held) >= usage.token + usage.reserved
        assert len(state.queues.running) == usage.batch
        running = [state.tables[state.requests[name]] for name in state.queues.running]
        assert sum(table.num_tokens for table in running) == usage.token
    assert is_empty(run.at(-1))


def test_a_policy_of_yours_is_recorded_if_it_says_what_it_holds() -> None:
    class Silent:
        pool = 10

        def can_ever_admit(self, request: Request) -> bool:
            return False

        admit = step = release = usage = can_ever_admit

    with pytest.raises(UsageError, match=r"record=True needs a policy that says which slots"):
        simulate(requests(SCENE), policy=Silent(), record=True, progress=False)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("policy", "why"),
    [
        ("pow2", "it asks for 14 slots in a row"),
        ("static", "all 2 rows of the batch are taken"),
        ("token", "would be too small before one of them ends"),
    ],
)
def test_each_says_why_a_request_waits(policy: str, why: str) -> None:
    lengths = [(6, 8), (6, 8), (6, 8)]
    pool = 40 if policy == "static" else 32
    simulation = simulate(
        requests(lengths), policy=policy, pool=pool, max_model_len=20, record=True, progress=False
    )
    run = simulation.timeline
    assert any(why in str(run[i].error) for i in run.find(kind="failed"))


def test_a_request_waits_from_its_arrival_on() -> None:
    asked = [Request(f"r{i}", 0.1 * i, 6, 20) for i in range(4)]
    simulation = simulate(asked, policy="max", pool=4096, record=True, progress=False)
    run, clock = simulation.timeline, simulation.waste.seconds
    assert run is not None
    ends = run.find(kind="schedule")
    for number, at in enumerate(run.find(kind="arrive")):
        before = sum(end < at for end in ends)  # the steps that were over when it came
        assert clock[max(before - 1, 0)] >= asked[number].arrival_s or not before
    busy = [state.queues for state in iterations(run)]
    assert sum(len(q.waiting) + len(q.running) for q in busy[:2]) <= 2, "not all from the start"


def test_a_request_waits_only_once_it_has_arrived() -> None:
    apart = [Request(f"r{i}", 10.0 * i, 4, 3) for i in range(3)]
    run = simulate(apart, policy="max", pool=64, max_model_len=16, record=True, progress=False)
    assert run.timeline is not None
    waiting = [len(run.timeline.at(step).queues.waiting) for step in range(len(run.timeline) + 1)]
    assert max(waiting) == 1, "one has left before the next one comes"
    assert run.timeline.find(kind="arrive")[1] > run.timeline.find(kind="finish")[0]
