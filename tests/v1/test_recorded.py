"""What happens to V1's pages is recorded: every state is what the objects themselves say."""

import os
import re
from pathlib import Path
from typing import Any

import pytest

import pagesim
from pagesim.errors import UsageError
from pagesim.replay import PLAYERS, replay_file
from pagesim.timeline import State, Timeline, Tokens
from pagesim.v1 import CacheConfig, KVCacheManager, Request, Scheduler, SchedulerConfig
from tests.replay.recordings import V1 as RECORDINGS
from tests.replay.recordings import V1_GROUPS, V1_OFFLOAD, lines_of
from tests.v1.world import refused

NIGHTLY = "PAGESIM_V1_EXAMPLES" in os.environ
PLAIN = [path for path in RECORDINGS if not path.name.startswith("free_queue")]
TIERS = [path for path in V1_OFFLOAD if "_scheduler" in path.name]
"""Of each kind `make nightly` takes all, `make test` a part."""
PLAYED = [*PLAIN, *V1_GROUPS, *TIERS] if NIGHTLY else [*PLAIN[::2], *V1_GROUPS[1::4], TIERS[1]]


def recorded(path: Path, skip: int = 0) -> list[tuple[Timeline, list[tuple[int, State]]]]:
    """The runs of a recording, with the state that the subject had at each of their steps."""
    header, *lines = lines_of(path)
    player = PLAYERS[header["format"]][header["kind"]]()
    player.config = header["config"]
    parts: list[list[dict[str, Any]]] = [[{"op": "reset", "args": {}}]]
    for line in lines:
        if line["op"] == "reset":
            parts.append([])
        parts[-1].append(line)
    runs = []
    for begin, *operations in parts:
        player.config = begin["args"].get("config") or player.config
        player.start(player.config)
        for line in operations[:skip]:
            apply(player, line)
        with pagesim.record(player.subject) as run:
            states = [(0, player.subject.state())]
            for line in operations[skip:]:
                apply(player, line)
                states.append((len(run), player.subject.state()))
        runs.append((run, states))
    return runs


def apply(player: Any, line: dict[str, Any]) -> None:
    try:
        getattr(player, f"op_{line['op']}")(**line["args"])
    except Exception as error:
        if type(error).__name__ != line.get("error"):
            raise


@pytest.fixture(scope="module", params=PLAYED, ids=lambda path: path.name.split(".")[0])
def played(request: pytest.FixtureRequest) -> list[tuple[Timeline, list[tuple[int, State]]]]:
    return recorded(request.param)


def check_states(runs: list[tuple[Timeline, list[Any]]]) -> None:
    for run, states in runs:
        for step, state in states:
            assert run.at(step) == state, (step, run[step - 1])


def test_every_state_is_the_subjects(played: list[tuple[Timeline, list[Any]]]) -> None:
    check_states(played)


@pytest.mark.parametrize("path", PLAYED[::5], ids=lambda path: path.name.split(".")[0])
def test_in_the_middle_of_its_life_too(path: Path) -> None:
    check_states(recorded(path, skip=40))


@pytest.mark.parametrize(
    "path",
    PLAYED,
    ids=lambda path: path.name.split(".")[0],
)
def test_recording_changes_no_answer(path: Path) -> None:
    result = replay_file(path, record_runs=True)
    assert result.mismatch is None, result.mismatch
    resets = sum(line.get("op") == "reset" for line in lines_of(path))
    assert len(result.runs) == 1 + resets and sum(map(len, result.runs)) > 50


def test_a_file_has_the_same_states(
    played: list[tuple[Timeline, list[Any]]], tmp_path: Path
) -> None:
    run, states = max(played, key=lambda part: len(part[0]))
    run.save(tmp_path / "run.jsonl.gz")
    loaded = pagesim.load(tmp_path / "run.jsonl.gz")
    assert len(loaded) == len(run) > 5
    for step, state in states[:: max(1, len(states) // 10)]:
        assert loaded.at(step) == state
    captions = [event.caption for event in run]
    assert [event.caption for event in loaded] == captions
    for caption in captions:
        assert re.fullmatch(r"\S.*[^.]\.", caption), caption
        other = "evictor|swap|no block was free" + ("" if run.at(0).tier else "|CPU")
        assert not re.search(f"None|  |{other}", caption), caption


# -- what a reader sees ------------------------------------------------------------------------


def story(scheduler: Scheduler, arrivals: dict[int, Request], num_steps: int) -> Timeline:
    """A run in which requests arrive before some steps; each step samples its own number."""
    late = scheduler.scheduler_config.async_scheduling
    in_flight = []
    with pagesim.record(scheduler) as run:
        for step in range(1, num_steps + 1):
            if step in arrivals:
                scheduler.add_request(arrivals[step])
            output = scheduler.schedule()
            tokens = output.num_scheduled_tokens
            samples = [name for name in tokens if not scheduler.requests[name].is_prefill_chunk]
            in_flight.append((output, {name: [900 + step] for name in samples}))
            if len(in_flight) > late:
                scheduler.update_from_output(*in_flight.pop(0))
    return run


def kinds(run: Timeline, step: int) -> list[tuple[str, Any]]:
    return [(event.kind, event.subject) for event in run if event.step == step]


def test_a_victim_goes_to_the_front_and_finds_its_blocks_again() -> None:
    a = Request("a", range(7), block_size=4, max_tokens=4)
    b = Request("b", range(50, 58), block_size=4, max_tokens=3)
    run = story(Scheduler(SchedulerConfig(32, 4, 64), CacheConfig(4, 6)), {1: a, 2: b}, 5)
    assert kinds(run, 1)[:3] == [("admit", "a"), ("schedule", None), ("update_from_output", None)]
    assert kinds(run, 3)[:2] == [("allocate_slots", "a"), ("preempt", "b")]
    assert kinds(run, 3)[2:] == [("schedule", None), ("update_from_output", None)]
    (preempt,) = run.find(kind="preempt")
    assert run.at(preempt + 1).queues == {"waiting": ("b",), "running": ("a",)}
    assert run.at(preempt + 1).lists["free queue"] == (4, 3)
    (resume,) = run.find(kind="resume")
    effects = [(effect.kind, effect.block) for effect in run[resume].effects]
    assert effects[:3] == [("hit", 3), ("hit", 4), ("take", 5)], effects
    assert run.at(resume + 1).queues == {"waiting": (), "running": ("b",)}
    numbers = set(re.findall(r"\d+", run[resume].caption))
    assert {"8", "9", "3", "4", "5"} <= numbers  # 8 of 9 tokens found in 3 and 4, and 5 taken


def test_a_number_as_an_id_names_the_request_as_in_v0() -> None:
    requests = {step: Request(step - 1, range(7), block_size=4) for step in (1, 2)}
    run = story(Scheduler(SchedulerConfig(32, 4, 64), CacheConfig(4, 12)), requests, 4)
    assert run.sequences == [0, 1]
    assert kinds(run, 2)[:2] == [("allocate_slots", 0), ("admit", 1)]
    assert run.at(-1).queues == {"waiting": (), "running": (0, 1)}
    assert list(run.at(-1).tables) == [0, 1]


def test_asynchronously_a_token_is_known_after_its_slot_is_written() -> None:
    config = SchedulerConfig(32, 4, 64, async_scheduling=True)
    a = Request("a", range(7), block_size=4, max_tokens=4)
    run = story(Scheduler(config, CacheConfig(4, 8)), {1: a}, 4)
    updates = run.find(kind="update_from_output")
    steps = [event.step for event in run if event.kind in ("schedule", "update_from_output")]
    assert steps[:5] == [1, 2, 1, 3, 2]
    before, after = run.at(updates[0]).tables["a"], run.at(updates[0] + 1).tables["a"]
    assert (before.num_slots, before.num_tokens) == (8, 7)
    assert (after.num_slots, after.num_tokens) == (8, 8)
    assert run[updates[0]].tokens == (Tokens("a", 7, (901,)),)


def test_a_window_leaves_null_blocks() -> None:
    cache = CacheConfig(4, 12, sliding_window=5, retention_interval=None)
    a = Request("a", range(16), block_size=4, max_tokens=9)
    b = Request("b", range(17), block_size=4, max_tokens=9)
    run = story(Scheduler(SchedulerConfig(32, 4, 64), cache), {1: a, 3: b}, 3)
    (dropped,) = run.find(kind="null", sequence="a")
    assert [effect.index for effect in run[dropped].effects if effect.kind == "null"] == [0, 1, 2]
    assert run.at(dropped + 1).tables["a"].block_ids == (0, 0, 0, 4, 5)
    (admit,) = run.find(kind="admit", sequence="b")
    assert [e.first for e in run[admit].effects if e.kind == "hit"] == [12]
    assert run.at(admit + 1).tables["b"].block_ids == (0, 0, 0, 4, 6)


def test_a_manager_alone_is_recorded_without_queues() -> None:
    manager = KVCacheManager(8, 4, 64)
    its = Request("its", range(7), block_size=4)
    with pagesim.record(manager) as run:
        assert manager.allocate_slots(its, 7) is not None
        assert manager.allocate_slots(Request("big", range(40)), 40) is None
        manager.free(its)
        manager.free(its)
    events = [(event.kind, event.subject) for event in run]
    assert events == [("allocate_slots", "its"), ("free", "its")]
    assert run.at(1).queues == {} and run.at(1).tables["its"].token_ids == tuple(range(7))


def test_a_token_that_only_recording_refuses_changes_nothing() -> None:
    manager = KVCacheManager(8, 4, 64)
    its = Request("its", [1, 2**63, 3], block_size=4)
    assert manager.allocate_slots(its, 3) is not None
    manager.free(its)
    with pagesim.record(manager) as run:
        message = "64 bits, not 9223372036854775808"
        refused(manager, UsageError, message, manager.allocate_slots, its, 3)
        assert manager.state() == run.at(-1)
    assert [(event.kind, event.called) for event in run] == [("failed", "allocate_slots")]
