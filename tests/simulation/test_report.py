"""A run as tables: a row a request, goodput, and two runs side by side."""

import csv
import math
from pathlib import Path
from typing import Any

import pytest

from pagesim import UsageError
from pagesim.simulation import Simulation, simulate
from pagesim.simulation.outcomes import COLUMNS, request_rows
from pagesim.workload import Request
from tests.simulation.ledger import Clock


def served(*lengths: tuple[float, int, int], **keywords: Any) -> Simulation:
    requests = [Request(f"r<{i}>", *row) for i, row in enumerate(lengths)]
    options = {"pool": 400, "progress": False, "cost_model": Clock()} | keywords
    return simulate(requests, **options)


THREE = ((0.0, 5, 4), (0.5, 5, 1), (2.5, 9, 3), (3.0, 500, 3))
"""Iterations: r0 at 0-1; r1's prompt at 1-2; r0 decodes at 2-3; r2's prompt at 3-4; r0, r2."""


def test_a_row_says_what_became_of_a_request(tmp_path: Path) -> None:
    run = served(*THREE)
    run.requests.save_csv(tmp_path / "r.csv")
    with (tmp_path / "r.csv").open(newline="") as opened:
        rows = list(csv.DictReader(opened))
    assert list(rows[0]) == list(COLUMNS)
    assert [row["state"] for row in rows] == ["finished"] * 3 + ["ignored"]
    assert [row["ttft_s"] for row in rows] == ["1.0", "1.5", "1.5", ""]
    assert [row["tpot_s"] for row in rows] == [str(5 / 3), "", "1.0", ""]
    assert [row["end_to_end_s"] for row in rows] == ["6.0", "1.5", "3.5", ""]


def test_gaps_between_tokens_are_those_of_the_clock() -> None:
    run = served(*THREE)
    gaps = run.requests.latency("inter_token")
    assert gaps.tolist() == [2.0, 2.0, 1.0, 1.0, 1.0]  # r0 waited for two prompts
    assert run.requests.latency("time_per_output_token").tolist() == [5 / 3, 1.0]
    assert run.requests.percentiles("inter_token")["p50"] == 1.0


def test_goodput_counts_who_is_served_in_time() -> None:
    run = served(*THREE)
    assert run.goodput(ttft=1.2) == pytest.approx(1 / run.seconds)
    assert run.goodput(ttft=1.5) == pytest.approx(3 / run.seconds)
    assert run.goodput(tpot=1.0) == pytest.approx(2 / run.seconds)
    assert run.goodput(ttft=1.2, tpot=1.0) == 0


@pytest.mark.parametrize(("ttft", "good"), [(1.0, 1), (math.nextafter(1.0, 0), 0), (1.5, 3)])
def test_a_request_that_takes_all_of_its_limit_is_served_in_time(ttft: float, good: int) -> None:
    run = served(*THREE)
    assert run.goodput(ttft=ttft) == pytest.approx(good / run.seconds)
    assert run.goodput(tpot=5 / 3) == pytest.approx(3 / run.seconds)
    assert run.goodput(tpot=math.nextafter(5 / 3, 0)) == pytest.approx(2 / run.seconds)


@pytest.mark.parametrize(
    ("limits", "error"),
    [
        ({}, "needs a limit"),
        ({"ttft": 0}, "ttft must be a number of seconds above 0, not 0"),
        ({"tpot": math.nan}, "tpot"),
        ({"tpot": "1"}, "tpot must be a number, not '1'"),
    ],
)
def test_a_bad_limit_is_named(limits: dict[str, Any], error: str) -> None:
    with pytest.raises((UsageError, TypeError), match=error):
        served(*THREE).goodput(**limits)


def test_requests_are_a_table_in_a_notebook() -> None:
    html = served(*THREE).requests._repr_html_()
    assert html.count("<tr>") == 5
    assert "<td>r&lt;0&gt;</td>" in html
    assert "4 of 4 requests" in html


def test_both_engines_stand_side_by_side_on_both_clocks() -> None:
    """The second prompt begins as the first did; V1 keeps the first one's blocks by default."""
    requests = [Request(str(i), 3.0 * i, 600, 4, (7, 8 + i)) for i in range(2)]
    requests.append(Request("never", 9.0, 1100, 4))
    runs = [
        simulate(requests, policy=policy, pool=1056, progress=False, cost_model=Clock())
        for policy in ("paged", "v1")
    ]
    cells_of = {name: cells for name, *cells in runs[0].compare(runs[1]).rows}
    assert cells_of["hit tokens"][:2] == [0, 512]
    assert cells_of["refound tokens"][:2] == [0, 0]
    assert cells_of["preemptions"][:2] == [0, 0]
    assert cells_of["ignored"][:2] == [1, 0]  # V0's scheduler ignores it, V1's lets it wait
    assert cells_of["stuck"][:2] == [0, 1]
    for i, run in enumerate(runs):
        for clock, means in (("", run.waste.mean()), (" in time", run.waste.time_mean())):
            held = means["token"] + means["reserved"] + means["internal"]
            assert cells_of[f"% held{clock}"][i] == pytest.approx(held)
            assert cells_of[f"mean batch{clock}"][i] == means["batch"]
    assert cells_of["time to first token p50"][:2] == [1.5, 1.0]  # V0 has no room for two copies
    assert runs[0].waste.mean() != runs[0].waste.time_mean()


def test_hits_and_reasons_are_in_the_rows_of_requests() -> None:
    requests = [Request(str(i), 9.0 * i, 600, 4, (7, 8 + i)) for i in range(2)]
    requests.append(Request("never", 99.0, 1100, 4))
    run = simulate(requests, policy="v1", pool=1056, progress=False)
    rows = [dict(zip(COLUMNS, row, strict=True)) for row in request_rows(run.requests)]
    assert [row["hit_tokens"] for row in rows] == [0, 512, 0]
    assert [row["state"] for row in rows] == ["finished", "finished", "stuck"]
    assert "needs 69 blocks for its 1100 tokens, and the pool has 65" in rows[2]["why"]
    old = simulate(requests, enable_prefix_caching=True, pool=1056, progress=False)
    assert list(old.requests.hits) == [0, 512, 0]
    assert old.requests.why[2].startswith("it needs 69 blocks, and the pool has 66")


def test_two_runs_stand_side_by_side() -> None:
    paged, rows = served(*THREE, max_model_len=100), served(*THREE, policy="max", max_model_len=100)
    found = paged.compare(rows)
    cells_of = {name: cells for name, *cells in found.rows}
    assert found.names == ("paged", "max")
    assert cells_of["finished"] == [3, 3, 1.0]
    assert cells_of["seconds"] == [paged.seconds, rows.seconds, rows.seconds / paged.seconds]
    assert cells_of["preemptions"] == [0, 0, None]
    assert "<th>max</th>" in found._repr_html_()
    assert len(str(found).splitlines()) == len(found.rows) + 1
    assert paged.compare(paged).names == ("paged (1)", "paged (2)")


def test_only_a_simulation_can_be_compared() -> None:
    run = simulate([Request("a", 0.0, 5, 5)], record=True)
    for other in (run.timeline, None, "paged"):
        with pytest.raises(TypeError, match="other must be a Simulation, not "):
            run.compare(other)  # type: ignore[arg-type]
