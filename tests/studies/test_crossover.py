"""Loading against computing: the constants of a published arithmetic, an issue, and the limits."""

import math
from collections.abc import Iterator
from dataclasses import replace
from functools import cache

import pytest

from pagesim.errors import UsageError
from pagesim.simulation import Roofline
from pagesim.sizing.link import LINKS
from pagesim.studies import crossover as study
from pagesim.studies.crossover import (
    LENGTH,
    LoadOrCompute,
    Measured,
    rate,
    report,
    table,
)

TABLE = {
    "llama-2-7b": (524_288, 21.0, 10.5, 30.3, 1_610, 757, 79, 99),
    "llama-3.1-8b": (131_072, 5.2, 2.6, 36.1, 486, 448, 31, 116),
    "llama-3.1-70b": (327_680, 3.3, 1.6, 79.3, 395, 386, 40, 251),
}
"""Bytes a token; us a token at 25 and at 50 GB/s, and to compute it; the crossovers of both without
attention; and ms to load 3,072 tokens at 25 GB/s and to compute them. They were worked out by hand
from 45 % of 989 TFLOP/s, and a wait of 15 ms, of 30 ms on four GPUs."""


@pytest.mark.parametrize("slow", table("25GB"), ids=lambda one: one.model)
def test_the_table_worked_out_by_hand_comes_out(slow: LoadOrCompute) -> None:
    fast = next(one for one in table("50GB") if one.model == slow.model)
    bytes_per_token, load, half, compute, far, near, loaded, computed = TABLE[slow.model]
    assert slow.bytes_per_token == bytes_per_token
    assert round(1e6 * slow.load_per_token, 1) == load
    assert round(1e6 * fast.load_per_token, 1) == half
    assert round(1e6 * slow.compute_per_token, 1) == compute
    assert round(slow.crossover(pairs=False)) == far
    assert round(fast.crossover(pairs=False)) == near
    assert round(1e3 * slow.load(LENGTH)) == loaded
    assert round(1e3 * slow.compute(LENGTH)) == computed


def test_a_crossover_depends_on_link_gpus_wait_and_share() -> None:
    one = LoadOrCompute.of("llama-2-7b", "h100", "25GB")
    assert one.crossover(pairs=False) == pytest.approx(1_610, abs=0.5)
    four = LoadOrCompute.of("llama-3.1-70b", link="50GB", tp=4, wait_seconds=0.03)
    assert round(four.crossover(pairs=False)) == 386
    faster = LoadOrCompute.of("llama-2-7b", share=0.9)
    assert faster.crossover() > LoadOrCompute.of("llama-2-7b").crossover()


def test_the_known_links_are_those_of_the_table() -> None:
    assert table("pcie4")[0].load(LENGTH) == table("25GB")[0].load(LENGTH)
    assert table("pcie5")[0].load(LENGTH) == table("50GB")[0].load(LENGTH)


@pytest.mark.parametrize("link", ["pcie3", "pcie4", "nvlink-c2c"])
@pytest.mark.parametrize("pairs", [True, False])
def test_at_the_crossover_both_take_the_same_time(link: str, pairs: bool) -> None:
    for one in table(link):
        n = one.crossover(pairs=pairs)
        if math.isfinite(n):
            assert one.load(n) == pytest.approx(one.compute(n, pairs=pairs))
            assert one.load(n / 2) > one.compute(n / 2, pairs=pairs)
            assert one.load(2 * n) < one.compute(2 * n, pairs=pairs)


def test_a_link_slower_than_computing_wins_only_through_attention() -> None:
    slow = LoadOrCompute.of("llama-2-7b", link="pcie3")
    assert slow.load_per_token > slow.compute_per_token
    assert slow.crossover(pairs=False) == math.inf
    assert 4_096 < slow.crossover() < 30_000


def test_latency_is_part_of_the_wait() -> None:
    one = LoadOrCompute.of("llama-3.1-8b", wait_seconds=0.0)
    late = replace(one, link=replace(one.link, latency_seconds=0.015))
    assert late.crossover() == LoadOrCompute.of("llama-3.1-8b").crossover()
    assert one.crossover() == 0


def test_the_clock_of_a_simulation_computes_as_long_without_attention() -> None:
    """It has no term for attention's operations, and takes all that the data sheet promises."""
    one = LoadOrCompute.of("llama-3.1-8b", share=1.0)
    clock = Roofline.for_model("llama-3.1-8b", "h100")
    assert one.compute(8_192, pairs=False) == pytest.approx(clock.seconds(8_192, 0, 0))


def test_an_issue_of_lmcache_is_explained() -> None:
    it = Measured()
    assert round(1e6 / it.prefilled, 1) == 22.7
    assert round(it.needed / 1e9, 1) == 23.1
    assert round(it.bytes_per_prompt / 1e9, 1) == 1.6
    assert 2_560 < it.num_tokens < 3_560
    # Every copy waited for, at what PCIe 4 gives: slower than without a tier, as it was measured.
    speed = LINKS["pcie4"].in_bytes_per_second
    assert it.expected(speed) == pytest.approx(it.tiered, rel=0.01)
    assert it.expected(it.copied_at) == pytest.approx(it.tiered)
    grouped = Measured(model="llama-3.1-8b")  # a quarter of the KV heads
    assert it.needed / grouped.needed == 4
    assert grouped.expected(speed) > 2 * grouped.alone


@pytest.fixture(autouse=True, scope="module")
def served_once() -> Iterator[None]:
    """The test of the simulation and the report have the same runs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(study, "served", cache(study.served))
        yield


def test_simulated_a_slow_link_makes_a_tier_slower_than_none() -> None:
    it, alone = Measured(), study.served(None)
    tokens = sum(each.prompt_tokens for each in alone.workload)
    assert tokens / alone.seconds == pytest.approx(it.prefilled, rel=0.01)
    assert sum(alone.requests.hits) == 0
    slow, fast = study.served("pcie3"), study.served("pcie5")
    assert rate(slow) < 0.6 * rate(alone) < rate(alone) < rate(fast)
    for run in (slow, fast):
        assert run.tier is not None
        loaded = sum(count for count, _ in run.tier.loads.values())
        assert loaded == pytest.approx(0.8 * tokens, rel=0.01)  # every time but the first


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"model": "gemma-3-4b"}, "windows, chunks or states"),
        ({"model": "nobody"}, "nobody"),
        ({"gpu": "moon"}, "moon"),
        ({"link": "string"}, "string"),
        ({"share": 0}, "share"),
        ({"share": 1.5}, "share"),
        ({"wait_seconds": -1}, "wait_seconds"),
        ({"tp": 0}, "tp"),
    ],
)
def test_what_cannot_be_compared_is_refused(given: dict[str, object], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        LoadOrCompute.of(**{"model": "llama-3.1-8b"} | given)  # type: ignore[arg-type]


def test_the_report_has_the_crossovers_and_the_issue() -> None:
    text = "\n".join(report())
    for name, numbers in TABLE.items():
        assert name in text and f"{numbers[4]:,}" in text and f"{numbers[5]:,}" in text
    it = Measured()
    for number in (it.alone, it.tiered, it.expected(25e9), rate(study.served("pcie4"))):
        assert f"{number:.2f}" in text
