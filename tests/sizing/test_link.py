"""The links between a GPU and its host: how long a copy takes, and what a name stands for."""

from typing import Any

import pytest

from pagesim.errors import UsageError
from pagesim.sizing.hardware import CARDS
from pagesim.sizing.link import LINKS, Link, link_of


def test_a_copy_takes_the_latency_and_its_bytes() -> None:
    link = Link("mine", 10e9, 40e9, 0.5)
    assert link.seconds(20e9, out=True) == 2.5
    assert link.seconds(20e9, out=False) == 1.0
    two = link.times(2)
    assert (two.seconds(20e9, out=True), two.seconds(20e9, out=False)) == (1.5, 0.75)


def test_copies_are_slower_than_the_link_and_each_generation_doubles_it() -> None:
    for name, link in LINKS.items():
        assert link.name == name and link.source
        if not name.endswith("-peak"):
            peak = LINKS[f"{name}-peak"]
            for way in ("out_bytes_per_second", "in_bytes_per_second"):
                assert 0.6 < getattr(link, way) / getattr(peak, way) < 0.9
    peaks = [LINKS[f"pcie{generation}-peak"].in_bytes_per_second for generation in (3, 4, 5)]
    assert peaks == pytest.approx([peaks[0], 2 * peaks[0], 4 * peaks[0]])
    for card in CARDS.values():
        assert any(card.swap_bytes_per_second == pytest.approx(peak, rel=0.02) for peak in peaks)


@pytest.mark.parametrize("text", ["25GB", "25 GB/s", "25.0GB", "25000000000"])
def test_a_speed_is_a_link(text: str) -> None:
    link = link_of(text)
    assert (link.out_bytes_per_second, link.in_bytes_per_second) == (25e9, 25e9)


def test_a_name_is_known_in_any_case_and_a_link_stays_what_it_is() -> None:
    assert link_of(" PCIe4 ") is LINKS["pcie4"]
    assert link_of(LINKS["pcie5"]) is LINKS["pcie5"]


@pytest.mark.parametrize("given", ["pcie9", "", "0GB", "fast", "-3GB"])
def test_an_unknown_link_is_refused_with_the_known_ones(given: str) -> None:
    with pytest.raises(UsageError, match=r"pcie3.*nvlink-c2c.*25GB"):
        link_of(given)


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"out_bytes_per_second": 0.0}, "out_bytes_per_second"),
        ({"in_bytes_per_second": float("inf")}, "in_bytes_per_second"),
        ({"latency_seconds": -1.0}, "latency_seconds"),
    ],
)
def test_a_number_that_no_link_has_is_refused(given: dict[str, Any], field: str) -> None:
    fields = {"name": "mine", "out_bytes_per_second": 1.0, "in_bytes_per_second": 1.0} | given
    with pytest.raises(UsageError, match=field):
        Link(**fields)
    with pytest.raises(TypeError, match="link must be"):
        link_of(25e9)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="share"):
        Link("mine", 1.0, 1.0, share=1)  # type: ignore[arg-type]
