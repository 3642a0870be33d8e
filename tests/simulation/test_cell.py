"""Cells that are simulations: what a cell says is what `simulate` is asked."""

from pathlib import Path
from typing import Any

import pytest

from pagesim import UsageError
from pagesim.simulation import simulate
from pagesim.simulation.cell import simulate_cell
from pagesim.sizing.pool import Pool
from pagesim.studies.sweep import sweep
from pagesim.workload import mooncake_conversation, paper_sharegpt
from tests.commands.runs import requests
from tests.studies.functions import Inline

WORKLOAD = {"name": "paper_sharegpt", "n": 12, "seed": 3}
POOL = {"model": "opt-13b", "kv_gib": 12}


def run(grid: dict[str, list[Any]]) -> list[dict[str, Any]]:
    """What every cell of a grid gives; none fails."""
    study = sweep(grid, executor=Inline()).run()
    assert study.failures == []
    return [one.value for one in study.results if one.value]


def test_a_cell_is_a_simulation_with_its_keywords() -> None:
    grid = {
        "workload": [WORKLOAD],
        "policy": ["max", "oracle"],
        "pool": [POOL, 9_000],
        "saturated": [True],
    }
    values = run(grid)
    stream = paper_sharegpt(12, seed=3)
    expected = [
        simulate(stream, policy=policy, pool=pool, saturated=True, progress=False).summary()
        for policy in ("max", "oracle")
        for pool in (Pool.for_model("opt-13b", kv_gib=12), 9_000)
    ]
    assert values == expected
    assert len({str(summary) for summary in expected}) == 4


def test_groups_are_an_axis_of_a_grid() -> None:
    grid = {
        "workload": [WORKLOAD],
        "policy": ["v1"],
        "groups": [None, "full,window:64", "model"],
        "model": ["gemma-2-9b"],
        "pool": [9_000],
    }
    study = sweep(grid, executor=Inline()).run()
    assert study.failures == []
    plain, windows, of_model = (one.value or {} for one in study.results)
    assert "groups" not in plain
    assert [group["group"] for group in windows["groups"]] == ["full", "window:64"]
    assert {group["group"] for group in of_model["groups"]} == {"full", "window:4096"}
    assert windows["waste"]["token"] < plain["waste"]["token"]


def test_an_engine_is_an_axis_of_a_grid() -> None:
    grid = {
        "workload": [{"name": "mooncake_conversation", "first": 12}],
        "policy": ["paged", "v1"],
        "enable_prefix_caching": [False, True],
        "pool": [64_000],
        "max_model_len": [32_000],
    }
    values = run(grid)
    stream = mooncake_conversation().first(12)
    given: dict[str, Any] = {"pool": 64_000, "max_model_len": 32_000, "progress": False}
    expected = [
        simulate(stream, policy=engine, enable_prefix_caching=on, **given).summary()
        for engine in ("paged", "v1")
        for on in (False, True)
    ]
    assert values == expected
    hits = [value["hit_tokens"] for value in values]
    assert hits[0] == hits[2] == 0 and min(hits[1], hits[3]) > 0


def test_a_machine_is_what_simulate_takes() -> None:
    """Every axis makes another pool, another clock, or other steps, whatever the policy."""
    grid = {
        "workload": [WORKLOAD],
        "policy": ["max", "v1"],
        "model": ["llama-3.1-8b", "opt-13b"],
        "gpu": ["a100-80gb", "h100"],
        "tp": [1, 2],
    }
    values = run(grid)
    assert [value["pool"] for value in values] == [
        Pool.for_card(model, gpu, tp).slots
        for _ in grid["policy"]
        for model in ("llama-3.1-8b", "opt-13b")
        for gpu in ("a100-80gb", "h100")
        for tp in (1, 2)
    ]
    assert len({value["latency"]["end_to_end"]["mean"] for value in values}) >= 8
    kept = simulate_cell(workload=WORKLOAD, model="llama-3.1-8b", kv_gib=4, tp=2)
    assert kept["pool"] == Pool.for_model("llama-3.1-8b", 4, 2).slots


def test_v1_has_the_steps_of_its_gpu(tmp_path: Path) -> None:
    trace = requests(tmp_path / "trace.csv", "0.0,10000,1")
    cell: dict[str, Any] = {"workload": str(trace), "max_model_len": 32_768, "pool": 20_000}
    steps = {
        (gpu, policy): simulate_cell(**cell, gpu=gpu, policy=policy)["iterations"]
        for gpu in ("a100-80gb", "h100")
        for policy in ("v1", "paged")
    }
    assert list(steps.values()) == [5, 1, 2, 1]


def test_a_workload_may_be_a_file(tmp_path: Path) -> None:
    trace = requests(tmp_path / "trace.csv", "0.0,10,4", "0.5,7,3")
    assert simulate_cell(workload=str(trace), policy="oracle")["finished"] == 2


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        ({}, "a cell needs a workload"),
        ({"workload": 3}, "workload must be a path or a dict with a name, not 3"),
        ({"workload": {"n": 3}}, "workload must be a path or a dict with a name"),
        ({"workload": {"name": "load"}}, "unknown workload 'load': there are .*paper_sharegpt"),
        ({"workload": {"name": "Request"}}, "unknown workload 'Request'"),
        ({"workload": WORKLOAD, "gpu": "b200"}, "unknown GPU 'b200'"),
        ({"workload": WORKLOAD, "gpu": ""}, "unknown GPU ''"),
        ({"workload": WORKLOAD, "tp": 0}, "tp must be at least 1, not 0"),
        ({"workload": WORKLOAD, "policy": "v1", "max_num_seqs": 0}, "max_num_seqs must be at"),
        ({"workload": WORKLOAD, "pool": 9, "kv_gib": 2}, "both set the size of the pool"),
    ],
)
def test_a_bad_cell_is_explained(cell: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        simulate_cell(**cell)
