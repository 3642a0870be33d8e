"""The paged engine against paging by counting: the same rows, times and preemptions."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from pagesim.simulation import Outcomes, Roofline, Server
from pagesim.simulation.paged import PagedServer
from pagesim.simulation.serving import serve
from pagesim.simulation.waste import Usage, WasteLog
from pagesim.v0.config import CacheConfig, SchedulerConfig
from pagesim.workload import Request
from tests.simulation.plain_pages import PlainPagedEngine

LONGEST = 64
REQUESTS = st.lists(
    st.tuples(st.sampled_from([0.0, 0.0, 0.1, 0.3, 2.0]), st.integers(1, 40), st.integers(1, 30)),
    min_size=1,
    max_size=25,
)


def played(
    engine: Server | PlainPagedEngine, requests: list[Request], pool: int
) -> tuple[list[Usage], Outcomes, WasteLog]:
    log, outcomes = WasteLog(pool), Outcomes(requests)
    if isinstance(engine, PlainPagedEngine):  # with a loop of its own
        engine.run(requests, log, outcomes, Roofline())
    else:
        serve(engine, requests, log, outcomes, Roofline())
    log.check()
    return [log.at(i) for i in range(len(log))], outcomes, log


@settings(max_examples=60)
@given(
    REQUESTS,
    st.sampled_from([1, 4, 7, 16]),
    st.integers(20, 240),
    st.sampled_from([2, 5, 30]),
    st.sampled_from([LONGEST, 100]),
)
def test_counting_gives_what_tables_and_ids_give(
    lengths: list[tuple[float, int, int]], block_size: int, pool: int, seats: int, budget: int
) -> None:
    requests = [Request(str(i), *row) for i, row in enumerate(sorted(lengths))]
    blocks = pool // block_size
    engine = PagedServer(SchedulerConfig(budget, seats, LONGEST), CacheConfig(block_size, blocks))
    rows, recounted, _ = played(engine, requests, pool)
    plain = PlainPagedEngine(blocks, block_size, budget, seats, LONGEST)
    counted_rows, counted, _ = played(plain, requests, pool)
    assert rows == counted_rows
    assert recounted.preemptions == counted.preemptions
    assert recounted.ignored == counted.ignored
    for column in ("first_scheduled", "first_token", "finished"):
        found, expected = getattr(recounted, column), getattr(counted, column)
        assert np.array_equal(found, expected, equal_nan=True), column


def test_the_streams_above_preempt() -> None:
    requests = [Request(str(i), 0.0, 5, 30) for i in range(6)]
    rows, counted, log = played(PlainPagedEngine(25, 4, 64, 9, LONGEST), requests, 101)
    assert counted.num_preemptions > 3
    assert max(row.batch for row in rows) > 3
    assert min(log.column("external")) >= 1
