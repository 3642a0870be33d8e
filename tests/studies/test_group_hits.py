"""Windows beside full attention: the rates are those of vLLM 0.33.0 on the same conversations."""

import os
from collections.abc import Iterator
from functools import cache, partial

import pytest

from pagesim.studies import group_hits
from pagesim.studies.group_hits import DEFAULT, DENSE, EDITED, report, retention, table

# Run on the release itself: hits in percent, dense and by default, and the pool's peak usage.
OF_VLLM = {
    350: ((70.2, 9.2), (74.0, 66.0, 6.3), (74.0, 66.0, 4.8)),
    250: ((30.2, 12.9), (63.2, 54.0, 10.4), (74.0, 66.0, 6.7)),
    200: ((15.4, 16.1), (25.7, 20.7, 13.0), (74.0, 66.0, 8.3)),
    150: ((4.4, 21.5), (5.5, 5.2, 17.4), (7.3, 9.8, 15.6)),
}
LONG = "PAGESIM_LONG" in os.environ  # make nightly: all
SIZES = tuple(OF_VLLM) if LONG else (350, 150)


@pytest.fixture(autouse=True, scope="module")
def played_once() -> Iterator[None]:
    """The table, a part of it and the report have the same plays."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(group_hits, "play", cache(group_hits.play))
        yield


def test_the_table_is_vllm_s_number_by_number() -> None:
    found = table(SIZES)
    for memory, (full, *layouts) in ((size, OF_VLLM[size]) for size in SIZES):
        alone = found["full"][memory]
        assert (round(alone.rate, 1), round(alone.peak, 1)) == full
        for name, (dense, default, peak) in zip(("1 : 1", "1 : 5"), layouts, strict=True):
            assert round(found[f"{name} dense"][memory].rate, 1) == dense, (name, memory)
            sparse = found[f"{name} default"][memory]
            assert (round(sparse.rate, 1), round(sparse.peak, 1)) == (default, peak)
    most = found["1 : 5 dense"][350]
    assert (most.hit, most.asked) == (14_208, 19_200)


def test_an_interval_of_a_window_finds_as_much_as_dense() -> None:
    play = group_hits.play
    assert play(150, "1 : 5", 128).hit == play(150, "1 : 5", DENSE).hit
    assert play(150, "1 : 5", DEFAULT).hit > play(150, "1 : 5", DENSE).hit


def test_dense_windows_push_out_what_an_interval_leaves() -> None:
    """From 0 to nearly all, while most of the pool is free; an edited end needs the interval."""
    found = retention()
    again, edited, once_more = zip(*found.values(), strict=True)
    assert list(found) == ["dense", "every 512", "every 2048", "default"]
    assert [hits.hit for hits in again] == [0] + 3 * [8 * 4416]
    whole = (4425 - EDITED) // 16 * 16
    assert [hits.hit // 8 for hits in edited][2:] == [2048, 0]
    assert edited[1].hit // 8 > 3000, "seven intervals, for all but what was pushed out"
    assert [hits.hit // 8 for hits in once_more] == [0] + 3 * [whole]
    assert edited[3].lost == 8 * whole, "full attention had it all"
    assert max(hits.peak for passes in found.values() for hits in passes) < 33
    assert all(hits.lost == 0 for hits in (*again, found["dense"][1]))


def test_the_report_and_the_figure_have_the_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group_hits, "MEMORY", SIZES)
    monkeypatch.setattr(group_hits, "table", partial(table, SIZES))
    text = "\n".join(report())
    rates = ["70.2", "74.0", "66.0", "21.5, 17.4, 15.6 %", "99.8 (0.0)", "0.0 (86.4)", "90.0"]
    for rate in [*rates, "63.2", "54.0"] if LONG else rates:
        assert rate in text
    drawn = group_hits.figure()
    assert set(drawn.published) <= set(drawn.ours)
    assert drawn.ours["edited, every 512"]["hits"] == pytest.approx(
        retention()["every 512"][1].rate
    )
