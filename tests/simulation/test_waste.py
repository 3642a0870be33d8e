"""The log of a simulation: parts that sum to the pool, and the means taken from them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pagesim.errors import UsageError
from pagesim.simulation.waste import PARTS, Usage, WasteLog

POOL = 100
SHARES = st.lists(st.integers(0, 25), min_size=4, max_size=4)
ROWS = st.lists(st.tuples(SHARES, st.integers(1, 9), st.floats(0.01, 5)), min_size=1, max_size=20)


def log_of(rows: list[tuple[list[int], int, float]]) -> WasteLog:
    log, clock = WasteLog(POOL), 0.0
    for shares, batch, seconds in rows:
        clock += seconds
        log.add(clock, *shares, batch)
    return log


@given(ROWS)
def test_the_parts_sum_to_the_pool_in_every_row_and_in_both_means(
    rows: list[tuple[list[int], int, float]],
) -> None:
    log = log_of(rows)
    log.check()
    assert (sum(log.column(part) for part in PARTS) == POOL).all()
    for mean in (log.mean(), log.time_mean()):
        assert sum(mean[part] for part in PARTS) == pytest.approx(100, abs=1e-9)
    for i, (shares, batch, _) in enumerate(rows):
        row = log.at(i)
        assert [row.token, row.reserved, row.internal, row.external] == shares
        assert (row.free, row.batch) == (POOL - sum(shares), batch)
        assert log.at(i - len(rows)) == row


def test_means_by_iteration_and_by_time() -> None:
    log = WasteLog(200)
    log.add(1.0, 20, 30, 40, 50, 4)
    log.add(4.0, 60, 0, 0, 0, 2)
    assert log.mean() == {
        "token": 20.0, "reserved": 7.5, "internal": 10.0, "external": 12.5, "free": 50.0, "batch": 3
    }  # fmt: skip
    assert log.time_mean() == {
        "token": 25.0, "reserved": 3.75, "internal": 5.0, "external": 6.25, "free": 60, "batch": 2.5
    }  # fmt: skip
    assert log.at(1) == Usage(4.0, 60, 0, 0, 0, 140, 2)


def test_waiting_for_an_arrival_is_no_iteration_but_takes_time() -> None:
    log = WasteLog(10)
    log.add(3.0, 0, 0, 0, 0, 0)
    log.add(4.0, 8, 0, 0, 0, 1)
    assert (len(log), log.iterations) == (2, 1)
    assert log.mean()["token"] == 80
    assert log.time_mean()["token"] == 20
    assert log.time_mean()["batch"] == 0.25


def test_the_steady_state_is_after_its_start_and_up_to_its_end() -> None:
    log = WasteLog(10)
    for second in (1, 2, 3, 4):
        log.add(float(second), second, 0, 0, 0, 1)
    log.steady(1.0, 3.0)
    assert log.mean()["token"] == 25
    assert log.mean(warmup=0.0)["token"] == 25
    assert log.mean(warmup=2.0)["token"] == 35
    with pytest.raises(UsageError, match=r"no step lies after 4\.0 s"):
        log.mean(warmup=4.0)


def test_a_run_too_short_for_a_steady_state_counts_as_a_whole() -> None:
    log = WasteLog(10)
    log.add(1.0, 5, 0, 0, 0, 1)
    log.steady(1.0, 1.0)
    assert log.mean()["token"] == 50


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ((2.0, -1, 0, 0, 0), "token is -1"),
        ((2.0, 4, -1, 0, 0), "reserved is -1"),
        ((2.0, 4, 4, 2, 1), "free is -1"),
        ((0.75, 0, 0, 0, 0), r"the time 0\.75 is before"),
    ],
)
def test_a_row_that_cannot_be_is_found_and_named(row: tuple[float, ...], message: str) -> None:
    log = WasteLog(10)
    log.add(1.0, 10, 0, 0, 0, 1)
    log.add(*row, 1)
    with pytest.raises(UsageError, match=f"row 1: {message}"):
        log.check()


def test_unknown_columns_and_empty_logs_and_pools_are_refused() -> None:
    with pytest.raises(UsageError, match="no step lies after"):
        WasteLog(10).mean()
    with pytest.raises(UsageError, match="no such column: 'tokens'; there are token, reserved"):
        WasteLog(10).column("tokens")
    with pytest.raises(UsageError, match="pool must be at least 1, not 0"):
        WasteLog(0)
