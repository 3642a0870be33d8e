"""A block list for each layer, for all, and for groups: what is equal, and what differs."""

from functools import cache
from pathlib import Path

import pytest

from pagesim.studies import per_layer
from pagesim.studies.per_layer import alike, groups, play, unlike
from pagesim.workload import Request, Workload

BLOCK, WINDOW = 4, 8
WORK = Workload("w", "made up", tuple(Request(str(i), 0.0, 5 + 3 * i, 9 + i) for i in range(20)))
LONE = Workload("w", "made up", (Request("a", 0.0, 10, 12),))


def test_layers_that_are_alike_have_equal_tables_for_l_times_the_work() -> None:
    one, each = alike(WORK, 5, BLOCK)
    assert each.equal == each.steps == one.steps > 20
    assert each.calls == pytest.approx(5 * one.calls)
    assert each.table_bytes == pytest.approx(5 * one.table_bytes)
    assert each.blocks == one.blocks * 5


def test_calls_and_bytes_of_a_lone_request() -> None:
    lists = play(LONE, [None], BLOCK)
    # 12 steps; the last token is sampled and never stored, so the tables end at 21 tokens.
    assert lists.steps == 12
    assert lists.calls == (2 * 12 + 1) / 12, "allocated and read a step, freed once"
    tables = [-(-tokens // BLOCK) for tokens in range(10, 22)]
    assert lists.table_bytes == pytest.approx(4 * sum(tables) / 12)
    assert lists.blocks == pytest.approx((sum(tables) / 12,))
    twice = Workload("w", "made up", (*LONE, Request("b", 0.0, 10, 12)))
    assert play(twice, [None], BLOCK).table_bytes == 2 * lists.table_bytes, "a row a request"


def test_a_window_keeps_the_blocks_that_a_later_token_sees() -> None:
    lists = play(LONE, [None, WINDOW], BLOCK)
    kept = [10, *range(11, 22)]
    blocks = 0
    for tokens in kept:
        before = 0 if tokens == 10 else tokens - 1
        blocks += -(-tokens // BLOCK) - max(before - WINDOW + 1, 0) // BLOCK
    assert lists.blocks[1] == pytest.approx(blocks / 12)
    assert lists.blocks[1] < lists.blocks[0]


def test_the_groups_part_when_the_first_block_falls_out_of_the_window() -> None:
    # With 11 tokens before it, the twelfth sees tokens 4 to 11: block 0 is behind the window.
    assert play(LONE, [None, WINDOW], BLOCK).equal == sum(max(n - 1, 0) < 11 for n in range(10, 22))
    assert unlike(WORK, WINDOW, BLOCK).equal < unlike(WORK, 1000, BLOCK).equal
    two, three = (play(LONE, [None] * n + [WINDOW], BLOCK) for n in (1, 2))
    assert two.equal == three.equal, "one that differs is enough"


def test_the_player_is_given_both_groups_to_the_end() -> None:
    compared = groups()
    full, kept = compared.runs
    assert full.sequences == kept.sequences == ["s0", "s1", "s2"]
    for run in compared.runs:
        assert not run.at(-1).tables, "all requests have ended"
    tables = [pair for step in range(len(kept)) for pair in kept.at(step).tables.items()]
    with_null = {name for name, table in tables if 0 in table.block_ids}
    assert with_null == {"s0", "s1", "s2"}, "each request outgrows the window"
    assert "A window of 8 tokens" in compared._repr_html_()


def test_the_report_says_what_the_figures_are(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("alike", "unlike"):  # a run each is enough
        monkeypatch.setattr(per_layer, name, cache(getattr(per_layer, name)))
    assert per_layer.main(["--out", str(tmp_path / "groups.html")]) == 0
    text = capsys.readouterr().out
    each = per_layer.alike(num_layers=per_layer.LAYERS)[1]
    assert f"were equal in {each.steps} of {each.steps} steps" in text
    full, kept = per_layer.unlike(window=per_layer.WINDOW).blocks
    assert f"{12 * full:,.0f}" in text
    assert text.count(f"{2 * full + 10 * kept:,.0f}") == 2
    assert "Full attention keeps every block" in (tmp_path / "groups.html").read_text()
