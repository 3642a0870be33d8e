"""A sweep on a real Dask cluster of two processes. `make cluster` runs it, and `make check`."""

import os
from collections.abc import Iterator
from pathlib import Path

import dask
import pytest
from distributed import Client, LocalCluster

from pagesim.studies.sweep import sweep
from tests.studies.functions import Inline, area, deadly, fragile, repaired

GRID = {"width": [1, 2, 3], "height": [3, 4]}


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    # One task a worker: by default a second one waits there, and is blamed when the worker dies.
    with (
        dask.config.set({"distributed.scheduler.worker-saturation": 1.0}),
        LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
        ) as it,
        Client(it) as client,
    ):
        client.wait_for_workers(2)
        yield client


def test_results_are_the_serial_ones_and_come_from_both_workers(client: Client) -> None:
    grid = {"width": range(1, 9), "height": range(1, 9)}
    serial = sweep(grid, area, executor=Inline()).run()
    study = sweep(grid, area, executor=client.get_executor()).run()
    assert study.failures == []
    assert [one.cell for one in study.results] == [one.cell for one in serial.results]
    assert [one.value["area"] for one in study.results if one.value] == [
        one.value["area"] for one in serial.results if one.value
    ]
    processes = {one.value["process"] for one in study.results if one.value}
    assert len(processes) == 2 and os.getpid() not in processes


def test_a_failing_cell_and_the_resume(client: Client, tmp_path: Path) -> None:
    out, cure = tmp_path / "study.jsonl", tmp_path / "cure"
    grid = GRID | {"cure": [str(cure)]}
    first = sweep(grid, repaired, executor=client.get_executor(), out=out).run()
    assert len(first.results) == 5
    (failed,) = first.failures
    assert failed.error == "ValueError: no room for 2 by 3"
    assert failed.traceback is not None and "in fragile" in failed.traceback
    # A process killed while it wrote, and the cause of the failure taken away.
    out.write_bytes(out.read_bytes() + b'{"cell": {"width"')
    cure.touch()
    again = sweep(grid, repaired, executor=client.get_executor(), out=out)
    assert [one.index for one in again.results] == [one.index for one in first.results]
    assert again.run().failures == []
    assert [one.value for one in again.results] == [
        {"area": width * height} for width in (1, 2, 3) for height in (3, 4)
    ]
    assert len(out.read_bytes().splitlines()) == 1 + 6 + 1


def test_a_loop_that_is_left_cancels_and_can_be_begun_again(client: Client) -> None:
    study = sweep({"width": range(200), "height": [1]}, area, executor=client.get_executor())
    for _ in study:
        break
    assert len(study.run().results) == 200


def test_simulations(client: Client) -> None:
    workload = {"name": "paper_sharegpt", "n": 20, "seed": 1}
    grid = {"workload": [workload], "policy": ["max", "pow2", "oracle"]}
    serial = sweep(grid, executor=Inline()).run()
    study = sweep(grid, executor=client.get_executor()).run()
    assert study.failures == [] and len(study.results) == 3
    assert [one.value for one in study.results] == [one.value for one in serial.results]


def test_a_worker_that_dies_fails_its_cell_alone(client: Client) -> None:
    study = sweep(GRID, deadly, executor=client.get_executor(retries=0)).run()
    assert len(study.results) == 5
    (failed,) = study.failures
    assert failed.index == 2 and failed.error is not None and "KilledWorker" in failed.error


def test_the_executor_is_still_the_callers(client: Client) -> None:
    pool = client.get_executor()
    sweep(GRID, fragile, executor=pool).run()
    assert pool.submit(int, "7").result() == 7
