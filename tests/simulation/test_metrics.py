"""`simulate(metrics=True)`: the gauges and rates are the engine's, and the run is the same."""

from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
import pytest

from pagesim import v1
from pagesim.errors import UsageError
from pagesim.simulation import Paged, PagedV1, simulate
from pagesim.simulation.metrics import COLUMNS
from pagesim.studies import gauge
from pagesim.v1.stats import CachingMetrics, PrefixCacheStats
from pagesim.workload import Request, Workload, sharegpt_like
from tests.commands.runs import Shell

BUSY: dict[str, Any] = {"pool": 1_600, "saturated": True, "progress": False}


def alike(count: int = 14) -> Workload:
    """Requests whose prompts begin alike."""
    stream = sharegpt_like(count, seed=1)
    its = [replace(one, token_ids=tuple(range(one.prompt_tokens))) for one in stream]
    return Workload("alike", "made up", tuple(its))


POLICIES = [
    Paged(preemption_mode="swap", num_cpu_blocks=200),
    Paged(enable_prefix_caching=True),
    Paged(enable_chunked_prefill=True),
    PagedV1(),
    PagedV1(async_scheduling=True),
    PagedV1(cpu_blocks=100),
    PagedV1(groups="full,window:64"),
]


@pytest.mark.parametrize("policy", POLICIES, ids=str)
def test_the_run_is_the_same_and_every_row_is_possible(policy: Any) -> None:
    run = simulate(alike(), policy=policy, metrics=True, **BUSY)
    plain = simulate(alike(), policy=policy, **BUSY).summary()
    summary = run.summary()
    assert {name: summary[name] for name in plain} == plain and run.metrics is not None
    its = {name: run.metrics.column(name) for name in COLUMNS}
    assert len(run.metrics) == len(its["step"]) >= run.iterations
    assert its["preemptions"][-1] == run.preemptions and (np.diff(its["preemptions"]) >= 0).all()
    assert its["usage"].max() > 0.9 and its["usage"].min() >= 0
    assert (its["running"][-1], its["waiting"][-1], its["usage"][-1]) == (0, 0, 0)
    if not getattr(policy, "groups", None):
        assert ((its["slots"] <= its["usage"] + 1e-12) & (its["slots"] >= 0)).all()
        assert its["slots"].max() > 0.8
    assert np.isnan(its["swapped"]).all() == (policy.name == "v1")
    if getattr(policy, "num_cpu_blocks", 0):
        assert its["swapped"].max() > 0


@pytest.mark.parametrize("policy", [Paged(), PagedV1()], ids=str)
def test_all_that_have_arrived_wait(policy: Any) -> None:
    run = simulate(alike(), policy=policy, metrics=True, max_num_seqs=4, **BUSY)
    assert run.metrics is not None
    first, *_ = run.metrics.rows()
    assert dict(zip(COLUMNS, first, strict=True)).items() >= {"running": 4, "waiting": 10}.items()


def test_the_hit_rate_of_v1_is_that_of_first_admissions() -> None:
    stream = alike()
    run = simulate(stream, policy=PagedV1(), metrics=True, **(BUSY | {"pool": 40_000}))
    assert run.metrics is not None and not run.preemptions
    told = sum(run.requests.hits) / sum(request.prompt_tokens for request in stream)
    assert run.metrics.column("hit_rate")[-1] == pytest.approx(told) and told > 0.3
    assert run.metrics.column("hit_rate_ever")[-1] == pytest.approx(told)


def test_v0_rates_are_its_allocators() -> None:
    cached = simulate(alike(), policy=Paged(enable_prefix_caching=True), metrics=True, **BUSY)
    plain = simulate(alike(), policy=Paged(), metrics=True, **BUSY)
    assert cached.metrics is not None and plain.metrics is not None
    assert 0 < cached.metrics.column("hit_rate")[-1] < 1
    assert set(plain.metrics.column("hit_rate")) == {-1.0}


def test_recent_requests_are_forgotten_by_steps() -> None:
    rng, metrics, steps = Random(0), CachingMetrics(3), list[tuple[int, int, int]]()
    for _ in range(300):
        step = (rng.randint(0, 4), rng.randint(1, 99), rng.randint(0, 50))
        metrics.observe(PrefixCacheStats(*step))
        steps += [step] if step[0] else []
        while len(steps) > 1 and sum(requests for requests, *_ in steps) > 3:
            del steps[0]
        queries, hits = (sum(step[i] for step in steps) for i in (1, 2))
        assert metrics.hit_rate == (hits / queries if queries else 0.0)
    metrics.observe(PrefixCacheStats(3, 10, 5, reset=True))
    assert metrics.hit_rate == 0.5


def test_a_reset_cache_is_told_with_the_next_counts() -> None:
    manager = v1.KVCacheManager(5, 4)
    assert manager.reset_prefix_cache() and manager.make_prefix_cache_stats().reset
    assert not manager.make_prefix_cache_stats().reset


def test_a_block_with_one_token_counts_as_a_full_one() -> None:
    """The published numbers: 66.7 % of the blocks, 36.5 % of the slots; 1.2 points with 400."""
    usage, slots = gauge.medians(gauge.steady(gauge.SHORT))
    assert round(usage, 1) == gauge.PUBLISHED["usage"]
    assert round(slots, 1) == gauge.PUBLISHED["slots"]
    usage, slots = gauge.medians(gauge.steady(gauge.LONG))
    assert round(usage - slots, 1) == gauge.PUBLISHED["apart"]


def test_the_usage_of_v1_leaves_out_the_null_block() -> None:
    one = [Request("a", 0.0, 60, 2)]
    small = {"pool": 5 * 16, "metrics": True, "progress": False}
    (v0, v1s) = (simulate(one, policy=name, **small).metrics for name in ("paged", "v1"))
    assert v0 is not None and v1s is not None
    assert (v0.column("usage")[0], v1s.column("usage")[0]) == (pytest.approx(4 / 5), 1.0)


def test_what_has_no_metrics_is_refused() -> None:
    with pytest.raises(UsageError, match="not of policy 'max'"):
        simulate(alike(2), policy="max", metrics=True)
    with pytest.raises(UsageError, match="fast_forward"):
        simulate(alike(2), policy=PagedV1(fast_forward=True), metrics=True)
    with pytest.raises(TypeError, match="metrics"):
        simulate(alike(2), metrics=1)  # type: ignore[arg-type]


def test_the_command_writes_a_row_per_step(
    tmp_path: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    from tests.commands.runs import written

    out, shell = tmp_path / "steps.csv", Shell(capsys, "simulate")
    value = shell.answer(written(tmp_path), "--policy", "v1", "--steps", out)
    head, *rows = out.read_text().splitlines()
    assert head == ",".join(COLUMNS) and len(rows) == value["metrics"]["steps"] > 2
