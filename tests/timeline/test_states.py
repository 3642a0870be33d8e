"""`run.at(i)` is what the objects themselves said at that moment, for every i, in any order."""

import os
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pagesim
from pagesim.timeline import State, Timeline
from tests.timeline.random_calls.manager import ManagerRun
from tests.timeline.random_calls.tables import TableRun
from tests.timeline.runs import SOURCES, comparable, watched

SEEDS = st.integers(0, 2**32 - 1)
EXAMPLES = int(os.environ.get("PAGESIM_STATES", "4"))
"""`make nightly` has 300."""
FAST = settings(max_examples=EXAMPLES, derandomize=True)
STEPS = 50


def assert_same(run: Timeline, states: list[tuple[int, State]]) -> None:
    """Every state that was seen is the run's. Bare tables nobody touched yet are not in the run."""
    seen_first = states[0][1].tables
    for step, live in states:
        known = run.at(step).tables
        for name in live.tables.keys() - known.keys():
            assert live.tables[name] == seen_first[name], f"{name!r} is missing at {step}"
        assert comparable(run.at(step)) == comparable(live, list(known)), f"step {step}"


@pytest.mark.parametrize("kind", SOURCES)
@FAST
@given(seed=SEEDS, before=st.integers(0, 30))
def test_any_step_asked_in_any_order(kind: str, seed: int, before: int) -> None:
    source = SOURCES[kind](seed)
    source.steps(before)
    run, states = watched(source, STEPS)
    first = states[0]
    random.Random(seed).shuffle(states)
    assert_same(run, [first, *states])


@pytest.mark.parametrize("kind", SOURCES)
def test_asking_while_it_is_recorded(kind: str) -> None:
    rng = random.Random(5)
    for seed in range(2):
        source = SOURCES[kind](seed)
        with pagesim.record(source.subject) as run:
            source.run = run
            states = [(0, source.live())]
            for _ in range(STEPS):
                source.step()
                if len(run) > states[-1][0]:
                    states.append((len(run), source.live()))
                step, live = rng.choice(states)
                assert comparable(run.at(step)) == comparable(live)
                assert comparable(run.at(-1)) == comparable(states[-1][1])


@pytest.mark.parametrize("kind", ["manager-naive", "manager-caching"])
def test_a_manager_recorded_in_the_middle_of_its_life_knows_all_of_its_tables(kind: str) -> None:
    for seed in range(10):
        source = SOURCES[kind](seed)
        source.steps(30)
        run, states = watched(source, 5)
        assert len(states[0][1].tables) > 1
        assert list(run.at(0).tables) == list(states[0][1].tables)
        assert run.at(0) == states[0][1]


@pytest.mark.parametrize("kind", SOURCES)
def test_a_piece_of_a_run_is_that_part_of_it(kind: str) -> None:
    run, _ = watched(SOURCES[kind](3), STEPS)
    rng = random.Random(3)
    for _ in range(20):
        a, b = sorted(rng.choices(range(len(run) + 1), k=2))
        piece = run[a:b]
        assert len(piece) == b - a
        assert piece.first == a
        assert list(piece) == list(run)[a:b]
        for j in rng.sample(range(b - a + 1), min(5, b - a + 1)):
            assert piece.at(j) == run.at(a + j)
        assert list(piece[1:3]) == list(run)[a:b][1:3]
        assert piece[1:3].first == min(a + 1, b)


def test_kept_copies_change_no_state(monkeypatch: pytest.MonkeyPatch) -> None:
    """Long runs keep copies on the way, huge pools fewer: both made to happen in a short run."""
    from pagesim.timeline import seek

    for seed, (every, kept) in enumerate([(1, 2**30), (7, 2**30), (3, 20_000), (1, 1)]):
        monkeypatch.setattr(seek, "EVERY", every)
        monkeypatch.setattr(seek, "MAX_KEPT", kept)
        run, states = watched(ManagerRun(seed, True), 100)
        for _ in range(2):
            random.Random(seed).shuffle(states)
            for step, live in states:
                assert comparable(run.at(step)) == comparable(live)
        assert run._seeker.nbytes < kept + 200_000
        if kept == 20_000:
            assert len(run._seeker._kept) < len(run) // every // 2


def test_the_allocator_of_a_manager_shows_its_tables_under_the_ids_of_the_sequences() -> None:
    for seed in range(10):
        source = ManagerRun(seed, bool(seed % 2))
        source.steps(20)
        with pagesim.record(source.manager.block_allocator) as run:
            source.steps(STEPS)
        live = source.live()
        known = run.at(-1).tables
        assert known
        assert comparable(run.at(-1)) == comparable(live, list(known))
        subjects = {event.subject for event in run if event.subject is not None}
        assert subjects and all(isinstance(name, int) for name in subjects)


def test_a_manager_recorded_inside_the_recording_of_its_allocator() -> None:
    for seed in range(10):
        source = ManagerRun(seed, bool(seed % 2))
        source.steps(20)
        with pagesim.record(source.manager.block_allocator) as outer:
            source.steps(seed)
            outer.at(len(outer) // 2)
            inner, states = watched(source, STEPS)
        assert_same(inner, states)
        assert inner.at(0).tables.keys() == states[0][1].tables.keys()
        assert outer.at(-1) == inner.at(-1)


def test_labels_hold_in_every_state() -> None:
    source = TableRun(1, True)
    run, states = watched(source, STEPS)
    for step, _ in states:
        assert all(str(name).startswith("table ") for name in run.at(step).tables)
