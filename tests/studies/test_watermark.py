"""The sweep of watermarks: near what vLLM published, and the assumptions that it stands on."""

import os
from functools import cache

import pytest

from pagesim.simulation.fast_forward_v1 import FastForwardV1Server
from pagesim.studies import watermark
from pagesim.studies.watermark import (
    ASYNCHRONOUS,
    ORDERED,
    PUBLISHED,
    SEEDS,
    preemptions,
    requests,
)
from pagesim.v1 import CacheConfig, SchedulerConfig
from pagesim.workload import Workload

LONG = "PAGESIM_LONG" in os.environ  # make nightly
COUNTED = PUBLISHED if LONG else (0.05, 0.15)


@cache
def counted(share: float) -> tuple[int, ...]:
    """A row of the table."""
    return tuple(preemptions(share, requests(seed)) for seed in SEEDS)


def test_the_lengths_are_those_of_the_published_run() -> None:
    """Its tokens and requests per second agree on the mean output, and seed 0 has just that."""
    rates = ((11582, 2.306), (12134, 2.416), (12167, 2.423), (11835, 2.356), (11635, 2.317))
    low = max((tokens - 0.5) / (rate + 0.0005) for tokens, rate in rates)
    high = min((tokens + 0.5) / (rate - 0.0005) for tokens, rate in rates)
    assert low < requests(0).mean_output < high < low + 1
    assert not any(low < requests(seed).mean_output < high for seed in range(1, 100))
    stream = requests(0)
    assert len(stream) == 450
    assert all(800 <= r.prompt_tokens <= 1200 and 4000 <= r.output_tokens <= 6000 for r in stream)


def test_the_counts_are_as_far_from_the_published_ones_as_the_study_says() -> None:
    for share in COUNTED:
        counts = counted(share)
        ratio = sum(counts) / len(counts) / PUBLISHED[share]
        assert 1.15 < ratio < 1.3 if share == 0.05 else 0.9 < ratio < 1.1, share
        for other in ASYNCHRONOUS[share]:
            assert min(counts) * 0.93 <= other <= max(counts) * 1.07
        assert min(ORDERED[share]) <= PUBLISHED[share] * (1.04 if share == 0.05 else 1.0)
        assert max(ORDERED[share]) >= PUBLISHED[share]
    assert counted(0.05)[0] == 253


def test_an_order_is_of_the_first_requests_only() -> None:
    plain, mixed = requests(0), requests(0, order=3)
    lengths = [[(r.prompt_tokens, r.output_tokens) for r in stream] for stream in (plain, mixed)]
    assert lengths[0][128:] == lengths[1][128:]
    assert lengths[0][:128] != lengths[1][:128]
    assert sorted(lengths[0][:128]) == sorted(lengths[1][:128])
    for share in (0.05, 0.15):
        for order in range(20 if LONG else 1):
            assert preemptions(share, requests(0, order)) == ORDERED[share][order]


def test_a_request_sent_when_another_has_finished_changes_nothing() -> None:
    for share in PUBLISHED if LONG else (0.05,):
        assert sent_when_another_ends(share, requests(0)) == counted(share)[0]


def sent_when_another_ends(share: float, stream: Workload) -> int:
    """Preemptions if there are 128 requests at a time, and vLLM's own 256 seats."""
    scheduler = SchedulerConfig(8192, 256, 8192, watermark=share)
    cache = CacheConfig(16, 299_584 // 16, enable_prefix_caching=False)
    server = FastForwardV1Server(scheduler, cache)
    waiting = list(enumerate(stream))
    preempted = running = 0
    while waiting or running:
        while waiting and running < 128:
            server.add(*waiting.pop(0))
            running += 1
        step = server.schedule(0.0)
        assert step is not None
        preempted += len(step.preempted)
        running -= len(server.commit()[1])
    return preempted


@pytest.mark.skipif(not LONG, reason="make nightly steps through an asynchronous run")
def test_what_was_measured_asynchronously_is_measured_again() -> None:
    assert preemptions(0.05, requests(1), asynchronous=True) == ASYNCHRONOUS[0.05][1]


def test_the_report_and_the_figure_have_the_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    if not LONG:  # the rows that are not counted here are those of 15 %
        rows = {share: counted(share if share in COUNTED else 0.15) for share in PUBLISHED}
        monkeypatch.setattr(watermark, "table", lambda: rows)
    lines = list(watermark.report())
    assert len(lines) == 3 + len(PUBLISHED)
    row = next(line for line in lines if line.lstrip().startswith("5 %"))
    for number in (187, *counted(0.05), *ASYNCHRONOUS[0.05], min(ORDERED[0.05])):
        assert str(number) in row.split()
    drawn = watermark.figure()
    assert [len(each.ours["none"]) for each in drawn] == [3, 3, 20]
    assert all(each.published["5 %"] == {"preemptions": 187.0} for each in drawn)
