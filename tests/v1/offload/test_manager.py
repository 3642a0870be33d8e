"""The manager of the second tier does what vLLM's did, and refuses the rest."""

import os
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any, ClassVar

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from pagesim.v1 import CPUOffloadingManager, ReqContext
from tests.replay.recordings import DATA, lines_of
from tests.v1.offload.slow_manager import SlowManager

EXAMPLES = 3 * int(os.environ.get("PAGESIM_V1_EXAMPLES", "12"))
"""`make nightly` sets the variable."""
RECORDINGS = sorted((DATA / "v1_offload").glob("offload_manager-*.jsonl.gz"))


def state_of(manager: CPUOffloadingManager) -> dict[str, Any]:
    """As a recording has it."""
    chunks = {key: [chunk.chunk_id, chunk.ref_cnt] for key, chunk in manager.policy.chunks.items()}
    counts = {} if manager.counts is None else {"tracker": [*map(list, manager.counts.items())]}
    policy: dict[str, Any] = dict(manager.policy.state())
    if "target" in policy:
        policy["target"] = round(policy["target"], 9)
    return {"chunks": chunks, **policy, **counts}


class Player:
    """Does what a line of a recording says."""

    def __init__(self, config: dict[str, Any]) -> None:
        self.reset(config)

    def reset(self, config: dict[str, Any]) -> None:
        self.manager = CPUOffloadingManager(**config)
        self.contexts: dict[str, ReqContext] = {}

    def play(self, op: str, args: dict[str, Any]) -> Any:
        if op in ("reset", "context", "positions", "finish", "events", "stats", "reset_cache"):
            return getattr(self, op)(**args)
        args["req_context"] = self.contexts[args.pop("request")]
        got: Any = getattr(self.manager, op)(**args)
        if op == "prepare_load":
            return got.block_ids
        if op == "lookup":
            return got.name
        if op != "prepare_store":
            return got
        if got is None:
            return {"refused": True}
        chunks = got.store_spec.block_ids
        return {"store": got.keys_to_store, "chunks": chunks, "evicted": got.evicted_keys}

    def context(self, request: str) -> None:
        self.contexts[request] = ReqContext(request)
        self.manager.on_new_request(self.contexts[request])

    def positions(self, request: str, keys: list[tuple[str, int]]) -> None:
        for key, end in keys:
            self.contexts[request].set_offload_key_position(key, end)

    def finish(self, request: str) -> None:
        self.manager.on_request_finished(self.contexts[request])

    def reset_cache(self) -> None:
        self.manager.reset_cache()

    def events(self) -> list[Any]:
        names = {(False, False): "stored", (True, False): "removed", (True, True): "failed"}
        events = self.manager.take_events()
        assert {event.medium for event in events} <= {"CPU"}
        return [[names[event.removed, event.metadata_only], event.keys] for event in events]

    def stats(self) -> dict[str, Any]:
        stats = self.manager.get_stats()
        return {k: round(v, 9) if isinstance(v, float) else v for k, v in stats.items()}


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.name.split(".")[0])
def test_a_recording_of_vllm_replays(path: Path) -> None:
    header, *lines = lines_of(path)
    player = Player(header["config"])
    for line in lines:
        if "error" in line:
            with pytest.raises(AssertionError):
                player.play(line["op"], line["args"])
        else:
            assert player.play(line["op"], line["args"]) == line.get("ret"), line
        assert state_of(player.manager) == line["state"], line
    assert len(lines) > 300


def test_all_kinds_of_managers_are_recorded() -> None:
    assert len(RECORDINGS) == 8


KEYS = [f"k{number}" for number in range(7)]
NAME = st.sampled_from("abcd")
RUNS = st.builds(lambda at, n: KEYS[at : at + n], st.integers(0, 6), st.integers(1, 3))
SOME = RUNS | st.lists(st.sampled_from(KEYS), max_size=3, unique=True)


class Calls(RuleBasedStateMachine):
    """Any calls, on a manager and on the slow one; what fails changes nothing in either."""

    policy: ClassVar[str]

    @initialize(
        chunks=st.sampled_from([4, 3, 5, 2, 1, 0]),
        threshold=st.sampled_from([1, 1, 0, 2, 3]),
        tracked=st.integers(0, 6),
    )
    def begin(self, chunks: int, threshold: int, tracked: int) -> None:
        config = {"num_chunks": chunks, "cache_policy": self.policy, "enable_events": True}
        self.fast = Player(config | {"store_threshold": threshold, "max_tracker_size": tracked})
        self.slow = SlowManager(chunks, self.policy, threshold, tracked)
        for name in "abcd":
            self.request(name, KEYS)

    def both(self, op: str, args: dict[str, Any], slow: Callable[[], Any]) -> Any:
        before = deepcopy(self.slow)
        try:
            expected = slow()
        except AssertionError:
            self.slow = before
            with pytest.raises(AssertionError):
                self.fast.play(op, args)
            return None
        assert self.fast.play(op, args) == expected
        return expected

    @rule(name=NAME, keys=st.just(KEYS) | SOME)
    def request(self, name: str, keys: list[str]) -> None:
        """A new one; the place of some of its keys may be unknown."""
        self.slow.new_request(name, {key: 4 * KEYS.index(key) + 4 for key in keys})
        self.fast.context(name)
        self.fast.positions(name, list(self.slow.positions[name].items()))

    @rule(name=NAME, keys=SOME, ends=st.sampled_from([True, True, True, False, None]))
    def store(self, name: str, keys: list[str], ends: bool | None) -> None:
        args: dict[str, Any] = {"request": name, "keys": keys}
        self.both(
            "prepare_store",
            dict(args),
            lambda: self.slow.prepare_store(keys, name) or {"refused": True},
        )
        if ends is not None:
            args["success"] = ends
            self.both("complete_store", args, lambda: self.slow.complete_store(keys, ends))

    @rule(name=NAME, picks=st.lists(st.integers(0, 4), min_size=1, max_size=3), ends=st.booleans())
    def load(self, name: str, picks: list[int], ends: bool) -> None:
        """Of chunks that are there, but sometimes one is not ready, or is named twice."""
        there = [*self.slow.chunks] or ["nowhere"]
        keys = [there[pick % len(there)] for pick in picks]
        args = {"request": name, "keys": keys}
        self.both("prepare_load", dict(args), lambda: self.slow.prepare_load(keys, name))
        if ends:
            self.both("complete_load", args, lambda: self.slow.complete_load(keys))

    @rule(name=NAME, keys=SOME)
    def complete_load(self, name: str, keys: list[str]) -> None:
        args = {"request": name, "keys": keys}
        self.both("complete_load", args, lambda: self.slow.complete_load(keys))

    @rule(name=NAME, keys=SOME)
    def touch(self, name: str, keys: list[str]) -> None:
        self.both("touch", {"request": name, "keys": keys}, lambda: self.slow.touch(keys))

    @rule(name=NAME, again=st.sampled_from([True, True, False]))
    def finish(self, name: str, again: bool) -> None:
        self.both("finish", {"request": name}, lambda: self.slow.finish(name))
        if again:
            self.request(name, KEYS)

    @rule(name=NAME)
    def end_copies(self, name: str) -> None:
        args: dict[str, Any] = {"request": name, "keys": KEYS, "success": True}
        self.both("complete_store", args, lambda: self.slow.complete_store(KEYS, True))
        keys = [key for key, (_, count) in self.slow.chunks.items() for _ in range(count)]
        args = {"request": name, "keys": keys}
        self.both("complete_load", args, lambda: self.slow.complete_load(keys))

    @rule(reset=st.sampled_from([False, False, False, True]))
    def take(self, reset: bool) -> None:
        self.both("events", {}, self.slow.take_events)
        self.both("stats", {}, self.slow.stats)
        if reset:
            self.both("reset_cache", {}, self.slow.reset_cache)

    @invariant()
    def they_agree(self) -> None:
        if hasattr(self, "slow"):
            assert state_of(self.fast.manager) == self.slow.state()
            for key in KEYS:
                args = {"request": "a", "key": key}
                assert self.fast.play("lookup", args) == self.slow.lookup(key)


@pytest.mark.parametrize("policy", ["lru", "arc"])
def test_any_sequence_of_calls(policy: str) -> None:
    machine = type("Calls", (Calls,), {"policy": policy})
    options = settings(max_examples=EXAMPLES, stateful_step_count=60, derandomize=True)
    run_state_machine_as_test(machine, settings=options)
