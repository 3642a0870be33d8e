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

from pagesim.errors import UsageError
from pagesim.v1 import (
    CPULoadStoreSpec,
    CPUOffloadingManager,
    LookupResult,
    PrepareStoreOutput,
    ReqContext,
)
from tests.replay.recordings import DATA, lines_of
from tests.v1.offload.slow_manager import SlowManager

EXAMPLES = 3 * int(os.environ.get("PAGESIM_V1_EXAMPLES", "4"))
"""`make nightly` sets the variable."""
RECORDINGS = sorted((DATA / "v1_offload").glob("offload_manager-*.jsonl.gz"))


class Listening:
    """Notes what the policy of a manager hears, in order."""

    def __init__(self, manager: CPUOffloadingManager, patch: pytest.MonkeyPatch) -> None:
        self.heard: list[tuple[str, list[str]]] = []
        for name in ("on_store_miss", "on_request_access"):
            patch.setattr(manager.policy, name, self._ear(name))

    def _ear(self, name: str) -> Callable[..., None]:
        return lambda keys, context: self.heard.append((name, list(keys)))

    def since(self) -> list[tuple[str, list[str]]]:
        heard, self.heard = self.heard, []
        return heard


def state_of(manager: CPUOffloadingManager) -> dict[str, Any]:
    """As a recording has it."""
    chunks = {key: [chunk.chunk_id, chunk.ref_cnt] for key, chunk in manager.policy.chunks.items()}
    counts = {} if manager.counts is None else {"tracker": [*map(list, manager.counts.items())]}
    policy: dict[str, Any] = dict(manager.policy.state())
    if "target" in policy:
        policy["target"] = round(policy["target"], 9)
    return {"chunks": chunks, **policy, **counts}


def plain(got: Any) -> Any:
    """What a manager returns, as a recording has it."""
    if got is None or isinstance(got, LookupResult):
        return None if got is None else got.name
    if isinstance(got, CPULoadStoreSpec):
        return got.block_ids
    if isinstance(got, PrepareStoreOutput):
        chunks = got.store_spec.block_ids
        return {"store": got.keys_to_store, "chunks": chunks, "evicted": got.evicted_keys}
    if isinstance(got, dict):
        return {k: round(v, 9) if isinstance(v, float) else v for k, v in got.items()}
    names = {(False, False): "stored", (True, False): "removed", (True, True): "failed"}
    return [[names[event.removed, event.metadata_only], event.keys] for event in got]


def call(manager: CPUOffloadingManager, method: str, **args: Any) -> Any:
    got = plain(getattr(manager, method)(**args))
    return {"refused": True} if method == "prepare_store" and got is None else got


METHODS = {
    "context": "on_new_request",
    "finish": "on_request_finished",
    "events": "take_events",
    "stats": "get_stats",
}


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.name.split(".")[0])
def test_a_recording_of_vllm_replays(path: Path) -> None:
    header, *lines = lines_of(path)
    manager, contexts = CPUOffloadingManager(**header["config"]), dict[str, ReqContext]()
    for line in lines:
        op, args = line["op"], line["args"]
        if op == "context":
            contexts[args["request"]] = ReqContext(args["request"])
        if "request" in args:
            args["req_context"] = contexts[args.pop("request")]
        if op == "reset":
            manager = CPUOffloadingManager(**args["config"])
        elif op == "positions":
            for key, end in args["keys"]:
                args["req_context"].set_offload_key_position(key, end)
        elif "error" in line:
            with pytest.raises(AssertionError):
                call(manager, op, **args)
        else:
            assert call(manager, METHODS.get(op, op), **args) == line.get("ret"), line
        assert state_of(manager) == line["state"], line
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
        self.fast = CPUOffloadingManager(chunks, self.policy, True, threshold, tracked)
        self.slow = SlowManager(chunks, self.policy, threshold, tracked)
        self.contexts: dict[str, ReqContext] = {}
        for name in "abcd":
            self.request(name, KEYS)

    def both(self, method: str, **args: Any) -> None:
        before = deepcopy(self.slow)
        try:
            expected = getattr(self.slow, method)(**args)
        except AssertionError:
            self.slow = before
            with pytest.raises(AssertionError):
                call(self.fast, method, **args)
        else:
            assert call(self.fast, method, **args) == expected

    @rule(name=NAME, keys=st.just(KEYS) | SOME)
    def request(self, name: str, keys: list[str]) -> None:
        """A new one; the place of some of its keys may be unknown."""
        self.contexts[name] = ReqContext(name)
        for key in keys:
            self.contexts[name].set_offload_key_position(key, 4 * KEYS.index(key) + 4)
        self.both("on_new_request", req_context=self.contexts[name])

    @rule(name=NAME, keys=SOME, ends=st.sampled_from([True, True, True, False, None]))
    def store(self, name: str, keys: list[str], ends: bool | None) -> None:
        self.both("prepare_store", keys=keys, req_context=self.contexts[name])
        if ends is not None:
            self.both("complete_store", keys=keys, req_context=self.contexts[name], success=ends)

    @rule(name=NAME, picks=st.lists(st.integers(0, 4), min_size=1, max_size=3), ends=st.booleans())
    def load(self, name: str, picks: list[int], ends: bool) -> None:
        """Of chunks that are there, but sometimes one is not ready, or is named twice."""
        there = [*self.slow.chunks] or ["nowhere"]
        keys = [there[pick % len(there)] for pick in picks]
        self.both("prepare_load", keys=keys, req_context=self.contexts[name])
        if ends:
            self.both("complete_load", keys=keys, req_context=self.contexts[name])

    @rule(name=NAME, keys=SOME, method=st.sampled_from(["touch", "complete_load"]))
    def other(self, name: str, keys: list[str], method: str) -> None:
        self.both(method, keys=keys, req_context=self.contexts[name])

    @rule(name=NAME, again=st.sampled_from([True, True, False]))
    def finish(self, name: str, again: bool) -> None:
        self.both("on_request_finished", req_context=self.contexts[name])
        if again:
            self.request(name, KEYS)

    @rule(name=NAME)
    def end_copies(self, name: str) -> None:
        self.both("complete_store", keys=KEYS, req_context=self.contexts[name])
        keys = [key for key, (_, count) in self.slow.chunks.items() for _ in range(count)]
        self.both("complete_load", keys=keys, req_context=self.contexts[name])

    @rule(reset=st.sampled_from([False, False, False, True]))
    def take(self, reset: bool) -> None:
        for method in ("take_events", "get_stats", *["reset_cache"] * reset):
            self.both(method)

    @invariant()
    def they_agree(self) -> None:
        if hasattr(self, "slow"):
            assert state_of(self.fast) == self.slow.state()
            for key in KEYS:
                self.both("lookup", key=key, req_context=self.contexts["a"])


@pytest.mark.parametrize("policy", ["lru", "arc"])
def test_any_sequence_of_calls(policy: str) -> None:
    machine = type("Calls", (Calls,), {"policy": policy})
    options = settings(max_examples=EXAMPLES, stateful_step_count=60, derandomize=True)
    run_state_machine_as_test(machine, settings=options)


def test_a_wrong_call_is_refused_by_the_name_of_the_thing() -> None:
    """And changes nothing; that the others are refused so too is the state machine's."""
    manager, late = CPUOffloadingManager(3, store_threshold=2), ReqContext("late")
    for request in (ReqContext("early"), late):
        manager.prepare_store(["k0", "k1"], request)
    manager.complete_store(["k0"], late)
    manager.on_request_finished(late)
    manager.touch(["k0"], late)
    manager.prepare_load(["k0"], late)
    before = deepcopy(state_of(manager))
    calls: list[tuple[str, type[Exception], Callable[[], Any]]] = [
        ("k1.*HIT_PENDING", AssertionError, lambda: manager.prepare_load(["k0", "k1"], late)),
        ("k7.*MISS", AssertionError, lambda: manager.prepare_load(["k0", "k7"], late)),
        ("k0", AssertionError, lambda: manager.complete_load(["k0", "k0"], late)),
        ("k1", UsageError, lambda: manager.prepare_store(["k1", "k0", "k1"], late)),
        ("req_context", TypeError, lambda: manager.on_new_request("late")),  # type: ignore[arg-type]
        ("keys", TypeError, lambda: manager.prepare_load(None, late)),  # type: ignore[arg-type]
        ("keys", TypeError, lambda: manager.complete_load(None, late)),  # type: ignore[arg-type]
        ("keys", TypeError, lambda: manager.touch([["k0"], "k1"], late)),  # type: ignore[list-item]
        ("req_context", TypeError, lambda: manager.prepare_store(["k5"], None)),  # type: ignore[arg-type]
        ("end_token", UsageError, lambda: late.set_offload_key_position("k0", -1)),
    ]
    for message, error, attempt in calls:
        with pytest.raises(error, match=message):
            attempt()
        assert state_of(manager) == before, message


@pytest.mark.parametrize(
    ("name", "value"),
    [("num_chunks", -1), ("cache_policy", "fifo"), ("enable_events", 1), ("store_threshold", "x")],
)
def test_a_manager_is_refused_by_the_name_of_the_setting(name: str, value: object) -> None:
    with pytest.raises((UsageError, TypeError), match=name):
        CPUOffloadingManager(**{"num_chunks": 2, name: value})  # type: ignore[arg-type]


def test_a_full_tier_that_nobody_uses_has_a_usage_of_0() -> None:
    manager, request = CPUOffloadingManager(2), ReqContext("a")
    usages = []
    for step in ("prepare_store", "complete_store", "prepare_load", "complete_load"):
        getattr(manager, step)(["k0", "k1"], request)
        usages.append(manager.get_stats()["usage"])
    assert usages == [1.0, 0.0, 1.0, 0.0]
    assert manager.take_events() == []  # nobody has asked for them


@pytest.mark.parametrize("policy", ["lru", "arc"])
def test_the_policy_hears_of_a_miss_before_it_hears_of_the_access(
    policy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The release itself tells its policies so; it is silent where there is nothing to tell."""
    manager, a, b = CPUOffloadingManager(4, policy), ReqContext("a"), ReqContext("b")
    policy_of = Listening(manager, monkeypatch)
    manager.prepare_store(["x", "y"], a)
    assert policy_of.since() == [("on_store_miss", ["x", "y"]), ("on_request_access", ["x", "y"])]
    manager.complete_store(["x"], a)
    manager.prepare_store(["x", "y", "z"], b)  # y is pending: the request does not need it yet
    assert policy_of.since() == [("on_store_miss", ["z"]), ("on_request_access", ["x", "z"])]
    manager.complete_store(["y", "z"], b)
    manager.prepare_store(["x", "y", "z"], b)
    assert policy_of.since() == [("on_request_access", ["y"])]
    manager.prepare_load(["x"], b)
    manager.prepare_store(["z"], a)
    assert policy_of.since() == [("on_request_access", ["z"])]
    manager.on_request_finished(a)
    with pytest.raises(UsageError):
        manager.prepare_store(["w"], a)
    assert policy_of.since() == []
