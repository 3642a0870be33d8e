"""The table of the engines: what caching, chunks and the watermark do to the same requests."""

import pytest

from pagesim.simulation import Simulation
from pagesim.studies import engines


@pytest.fixture(scope="module")
def runs() -> list[dict[str, Simulation]]:
    """By setting, then by engine: enough requests for a pool that is full now and then."""
    return [
        {name: engines.served(setting, policy) for name, policy in engines.ENGINES.items()}
        for setting in engines.settings(azure=100, mooncake=6)
    ]


def test_all_are_served_by_all(runs: list[dict[str, Simulation]]) -> None:
    for of_engine in runs:
        assert len({run.workload for run in of_engine.values()}) == 1
        for run in of_engine.values():
            assert run.requests.num_finished == len(run.workload)


def test_hits_come_from_what_begins_alike_and_from_victims(
    runs: list[dict[str, Simulation]],
) -> None:
    azure, mooncake = ({name: run.summary() for name, run in each.items()} for each in runs)
    assert {row["hit_tokens"] for row in azure.values()} == {0}
    caching = {name for name in engines.ENGINES if "caching" in name or "V1" in name}
    caching.remove("V1 without caching")
    hits = {name for name, row in mooncake.items() if row["hit_tokens"]}
    assert hits == caching
    assert azure["V1"]["refound_tokens"] > 0


def test_v1_without_a_watermark_preempts_more(runs: list[dict[str, Simulation]]) -> None:
    azure, _ = runs
    assert azure["V1"].preemptions > azure["V1, watermark 1 %"].preemptions


def test_the_table_is_printed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    few = list(engines.settings(azure=5, mooncake=2))
    monkeypatch.setattr(engines, "settings", lambda: few)
    engines.main()
    lines = capsys.readouterr().out.splitlines()
    assert sum(line.startswith("V1 ") for line in lines) == 4
    assert {len(line) for line in lines if line.startswith(("V0", "V1"))} == {21 + 120}
