"""`pagesim.simulate`: what it takes, what it gives, and which iterations its means are of."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pagesim.errors import UsageError
from pagesim.simulation import (
    PAPER_POOL,
    POLICIES,
    Contiguous,
    Limits,
    Paged,
    Roofline,
    Simulation,
    Static,
    Token,
    simulate,
)
from pagesim.simulation.baselines import TokenPolicy
from pagesim.simulation.waste import PARTS
from pagesim.sizing import ModelSpec
from pagesim.sizing.pool import Pool
from pagesim.workload import Request, Workload, WorkloadError, gamma
from tests.commands.runs import requests

BASELINES = ("max", "pow2", "oracle", "static", "token")


def stream(n: int = 60, rate: float | None = 4.0) -> Workload:
    return gamma(n, 60, 1.0, 40, 0.8, rate=rate, seed=1, max_len=256)


def small(policy: str, workload: Workload | None = None, **keywords: Any) -> Simulation:
    return simulate(
        workload or stream(),
        policy=policy,
        **{"pool": 1000, "max_model_len": 256, "progress": False} | keywords,
    )


@pytest.mark.parametrize("policy", BASELINES)
def test_all_requests_are_served_and_all_slots_are_told(policy: str) -> None:
    run = small(policy, saturated=True)
    assert run.requests.num_finished == 60
    assert run.preemptions == 0
    assert run.block_size is None
    assert run.timeline is None
    assert run.iterations == len(run.waste) > 40
    assert sum(run.waste.mean()[part] for part in PARTS) == pytest.approx(100, abs=1e-9)
    assert run.workload[-1].arrival_s == 0


@pytest.mark.parametrize(
    "keywords",
    [
        {},
        {"fast_forward": False},
        {"record": True},
        {"enable_prefix_caching": True},
        {"preemption_mode": "swap", "num_cpu_blocks": 99},
    ],
)
def test_paged_runs_are_the_same_however_they_are_stepped(keywords: dict[str, Any]) -> None:
    run = small("paged", saturated=True, block_size=8, **keywords)
    plain = small("paged", saturated=True, block_size=8)
    assert run.requests.num_finished == 60
    assert run.block_size == 8
    assert (run.timeline is not None) == keywords.get("record", False)
    assert plain.preemptions > 0
    if "preemption_mode" not in keywords:  # no two prompts are equal: nothing is found cached
        assert run.preemptions == plain.preemptions
        assert run.waste.mean() == plain.waste.mean()


def test_policies_are_as_wasteful_as_they_reserve() -> None:
    shares = [small(policy, saturated=True).waste.mean()["token"] for policy in BASELINES]
    longest, power, oracle, static, token = shares
    assert static < longest < power < oracle < token


@pytest.mark.parametrize(("warmup", "done"), [(0.25, 15), (0.26, 16)])  # of 60: rounded up
def test_the_mean_is_of_the_steady_state(warmup: float, done: int) -> None:
    run = small("oracle", saturated=True, warmup=warmup)
    start = sorted(run.requests.finished)[done - 1]
    end = max(run.requests.first_scheduled)
    rows = [run.waste.at(i) for i in range(len(run.waste))]
    counted = [row.token for row in rows if start < row.seconds <= end]
    assert 10 < len(counted) < len(rows) - 10
    assert run.waste.mean()["token"] == pytest.approx(sum(counted) / len(counted) / 10)
    assert small("oracle", saturated=True, warmup=0.0).waste.mean() != run.waste.mean()


def test_a_summary_is_json_and_says_what_was_ignored() -> None:
    three = [Request("a", 0.0, 10, 4), Request("b", 0.0, 250, 7), Request("c", 0.5, 10, 1)]
    run = simulate(three, policy="max", pool=300, max_model_len=256, progress=False)
    summary = json.loads(json.dumps(run.summary(), allow_nan=False))
    assert (summary["requests"], summary["finished"], summary["ignored"]) == (3, 2, 1)
    assert summary["policy"] == "max"
    assert summary["pool"] == 300
    assert summary["waste"] == run.waste.mean()
    assert summary["seconds"] == run.seconds == max(run.requests.finished[i] for i in (0, 2))
    assert summary["output_tokens_per_s"] == pytest.approx(5 / run.seconds)
    assert summary["latency"]["end_to_end"]["p50"] == run.requests.percentiles("end_to_end")["p50"]


def test_a_run_in_which_nothing_fits_has_a_summary_too() -> None:
    run = simulate([Request("a", 2.0, 10, 4)], policy="max", pool=10, progress=False)
    summary = json.loads(json.dumps(run.summary(), allow_nan=False))
    assert (summary["ignored"], summary["iterations"], summary["waste"]) == (1, 0, None)
    assert summary["latency"]["normalized"] == dict.fromkeys(("mean", "p50", "p90", "p99"))


def test_a_policy_of_ones_own_brings_its_pool() -> None:
    run = simulate(stream(), policy=TokenPolicy(500), progress=False)
    assert (run.policy, run.pool.slots, run.waste.pool) == ("TokenPolicy", 500, 500)


@pytest.mark.parametrize(
    ("policy", "name"),
    [
        (Paged(8, watermark=0.1), "paged"),
        (Contiguous("pow2"), "pow2"),
        (Static(), "static"),
        (Token(), "token"),
    ],
)
def test_a_policy_is_a_value(policy: Any, name: str) -> None:
    """Its name and its fields, as keywords, are short for it; and it can be used again."""
    options = {"block_size": 8, "watermark": 0.1} if name == "paged" else {}
    limits = Limits(max_model_len=256, max_num_seqs=7)
    runs = [
        simulate(stream(), policy=policy, pool=1000, limits=limits, progress=False),
        simulate(stream(), policy=policy, pool=1000, limits=limits, progress=False),
        small(name, max_num_seqs=7, **options),
    ]
    assert runs[0].summary() == runs[1].summary() == runs[2].summary()
    assert runs[0].policy == name
    assert max(runs[0].waste.column("batch")) <= 7


def test_every_name_stands_for_a_value() -> None:
    assert list(POLICIES) == ["max", "pow2", "oracle", "static", "token", "paged", "v1"]
    assert all(policy.name == name for name, policy in POLICIES.items())
    assert POLICIES["paged"] == Paged()


def test_the_watermark_leaves_room() -> None:
    """Half of 1,000 slots is left free by admission, and taken only by those that grow."""
    eight = [Request(str(i), 0.0, 99, 1) for i in range(8)]
    low, high = (
        simulate(eight, pool=1000, block_size=10, watermark=part, progress=False)
        for part in (0.0, 0.5)
    )
    assert low.waste.at(0).batch == 8
    assert high.waste.at(0).batch == 5


def test_a_slower_machine_takes_longer() -> None:
    fast = small("oracle", saturated=True)
    slow = small("oracle", saturated=True, cost_model=Roofline(bytes_per_second=0.7e12))
    assert slow.seconds > 1.5 * fast.seconds
    assert slow.iterations == fast.iterations


def test_progress_goes_to_a_function() -> None:
    calls: list[tuple[int, int]] = []
    small("oracle", progress=lambda done, total: calls.append((done, total)))
    assert calls == sorted(set(calls)) and calls[-1] == (60, 60)


def test_a_bar_is_drawn_on_stderr_when_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    small("oracle", progress=True)
    out, err = capsys.readouterr()
    assert out == ""
    assert "oracle: 100%" in err
    assert "60/60" in err
    small("oracle", progress=None)  # stderr is no terminal here
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"policy": "best"}, "one of max, pow2, oracle, static, token, paged, v1, not 'best'"),
        ({"policy": "max", "sizing": "long"}, "sizing must be one of max, pow2, oracle, not 'lo"),
        ({"fast_forward": True}, "fast_forward=True .* Contiguous.*: it takes sizing"),
        ({"policy": Static(), "samples": 2}, r"samples=2 does not apply to Static\(\)"),
        ({"policy": "paged", "block": 4}, "block=4 does not apply to Paged.* block_size"),
        ({"policy": "paged", "record": True, "fast_forward": True}, "record=True records every"),
        ({"policy": "paged", "enable_prefix_caching": True, "fast_forward": True}, "with prefix"),
    ],
)
def test_bad_arguments_are_named(keywords: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        simulate(stream(2), **{"policy": "max", "progress": False} | keywords)


def test_twelve_gib_hold_the_papers_slots() -> None:
    assert Pool.for_model("opt-13b", kv_gib=12).slots == PAPER_POOL.slots == 15_728
    assert Pool.for_model("OPT-175B", 264).slots == 60_074
    assert Pool.for_model(ModelSpec("tiny", 1, 1, 1, 64, "float16"), 0.5).slots == 2**29 // 256


@pytest.mark.parametrize(
    ("memory", "message"),
    [
        (0, "kv_gib must be a number above 0, not 0"),
        (math.inf, "not inf"),
        (0.0001, "takes 819,200"),
    ],
)
def test_a_pool_needs_memory(memory: float, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        Pool.for_model("opt-13b", memory)
    with pytest.raises(TypeError, match="kv_gib must be a number, not '12'"):
        Pool.for_model("opt-13b", "12")  # type: ignore[arg-type]


# -- what it takes -------------------------------------------------------------------------------


@pytest.mark.parametrize("as_path", [str, Path])
def test_a_path_is_loaded(as_path: Any, tmp_path: Path) -> None:
    path = requests(tmp_path / "t.csv", "0,20,5", "0.5,7,9")
    run = simulate(as_path(path), progress=False)
    assert run.requests.num_finished == 2
    assert run.workload.name == "t.csv"
    assert simulate(as_path(path), saturated=True, progress=False).workload[1].arrival_s == 0
    with pytest.raises(FileNotFoundError, match=r"none\.csv"):
        simulate(as_path(tmp_path / "none.csv"))
    requests(path, "0,x,5")
    with pytest.raises(WorkloadError, match=r"t\.csv:2: column prompt_tokens"):
        simulate(as_path(path))


def test_a_pool_is_any_whole_number_of_slots() -> None:
    for pool in (1000, np.int64(1000), np.uint16(1000), Pool(1000)):
        run = simulate(stream(5), pool=pool, max_model_len=256, progress=False)
        assert type(run.pool.slots) is int
        assert run.pool.slots == 1000


class Thing:
    def __repr__(self) -> str:
        return "a thing"


class Pooled(TokenPolicy):
    """As a class it has all that a policy has."""

    pool = 100


NO_SLOTS = ["15728", 1.5, None, True, 0, -3, Thing()]
NO_COUNT = ["3", 1.5, None, True, 0, -3, Thing()]
NO_BOOL = ["yes", 1, 0.0, Thing()]


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("workload", [5, None, 1.5, b"t.csv", Thing()]),
        ("pool", NO_SLOTS),
        ("policy", [3, None, "fifo", Thing(), TokenPolicy, Pooled, 1.5]),
        ("cost_model", [5, "fast", Thing(), Roofline]),
        *((name, NO_COUNT) for name in ("block_size", "max_model_len", "max_num_seqs", "samples")),
        ("limits", [256, "long", Limits, Thing()]),
        ("watermark", ["low", None, True, 1.5, -0.1, float("nan"), Thing()]),
        ("max_num_batched_tokens", ["3", 1.5, True, 0, -3, Thing()]),
        ("num_cpu_blocks", ["3", 1.5, None, True, -3, Thing()]),
        ("warmup", ["half", None, 1, 1.5, -0.1, float("nan"), True, Thing()]),
        *((name, [*NO_BOOL, None]) for name in ("saturated", "record")),
        *((name, [*NO_BOOL, None]) for name in ("enable_prefix_caching", "enable_chunked_prefill")),
        ("fast_forward", NO_BOOL),
        ("progress", NO_BOOL),
        ("preemption_mode", ["swop", 3, False, Thing()]),
    ],
)
def test_a_bad_argument_is_named_with_its_value(name: str, values: list[Any]) -> None:
    for value in values:
        keywords = {"workload": stream(3), "progress": False, name: value}
        with pytest.raises((UsageError, TypeError)) as error:
            simulate(keywords.pop("workload"), **keywords)
        told_name = "slots" if name == "pool" and type(value) is int else name
        assert told_name in str(error.value), (name, value)
        shown = str(value) if type(value) is int else repr(value)
        assert shown in str(error.value), (name, value)


def test_a_long_model_may_compute_a_long_prompt_in_one_step() -> None:
    run = simulate([Request("a", 0.0, 3000, 2)], max_model_len=4000, progress=False)
    assert (run.requests.num_finished, run.iterations) == (1, 2)


def test_a_request_that_is_none_is_named_with_its_place() -> None:
    with pytest.raises(TypeError, match=r"requests\[0\] .* must be a Request, not 1 \(int\)"):
        simulate([1, 2])  # type: ignore[list-item]
    with pytest.raises(TypeError, match=r"requests\[1\] of workload 'w' must be a Request, not No"):
        Workload("w", "here", (Request("a", 0.0, 1, 1), None))  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="must have at least one request"):
        simulate([])
