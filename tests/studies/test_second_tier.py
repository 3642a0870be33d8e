"""Swapping and a second tier on the same requests: the counts that vLLM 0.33.0 gave."""

from collections import Counter

import pytest

from pagesim.simulation import Roofline
from pagesim.studies.second_tier import (
    Counting,
    Played,
    play_v0,
    report,
    requests,
    side_by_side,
    table,
    twice,
)

EXPECTED = {
    ("600", "V0, swap"): (593, 31, 37_696, 558, 558),
    ("600", "V1, no tier"): (384, 63, 27_443, 0, 0),
    ("600", "V1, prompts"): (385, 68, 22_890, 554, 294),
    ("600", "V1, outputs too"): (385, 65, 21_455, 1_210, 384),
    ("1,000", "V0, swap"): (397, 26, 37_696, 447, 447),
    ("1,000", "V1, no tier"): (196, 0, 20_800, 0, 0),
    ("1,000", "V1, prompts"): (197, 0, 20_800, 554, 0),
    ("600, all twice", "V1, a tier of 1 chunk"): (770, 120, 52_653, 0, 0),
    ("600, all twice", "V1, prompts"): (771, 137, 37_003, 554, 1_039),
    ("600, all twice", "the same, copies take 5 steps more"): (754, 138, 37_712, 554, 1_001),
}
"""Steps, preemptions, tokens computed, blocks out and in. V1's are those of the release 0.33.0."""


@pytest.fixture(scope="module")
def played() -> dict[tuple[str, str], Played]:
    return {(pool, name): run for pool, name, run in table()}


def test_every_count_is_that_of_vllm(played: dict[tuple[str, str], Played]) -> None:
    found = {
        key: (
            run.steps,
            run.preempted,
            run.computed,
            run.blocks(out=True),
            run.blocks(out=False),
        )
        for key, run in played.items()
    }
    assert found == EXPECTED


def test_v0_brings_back_what_it_moved_out_and_v1_what_is_asked_for(
    played: dict[tuple[str, str], Played],
) -> None:
    v0, v1 = played["600", "V0, swap"], played["600", "V1, prompts"]
    ways = {way: [(m.row, m.num_blocks) for m in v0.moves if m.out is way] for way in (True, False)}
    assert Counter(ways[True]) == Counter(ways[False])
    assert len(ways[True]) == v0.preempted
    stored = [move for move in v1.moves if move.out]
    prompts = {
        r.token_ids[: 16 * i] for r in requests() for i in range(1, len(r.token_ids) // 16 + 1)
    }
    assert sum(move.num_blocks for move in stored) == len(prompts)  # each chunk once
    assert len({move.row for move in v1.moves if not move.out}) < len(stored)


def test_the_requests_are_those_of_the_counts() -> None:
    asked = requests()
    assert len(asked) == 96 and len(twice()) == 192
    assert sum(each.prompt_tokens for each in asked) == 25_760
    assert sum(each.output_tokens for each in asked) == 12_032
    assert len({each.token_ids[:192] for each in asked}) == 8


def test_the_clock_counts_and_is_the_built_in_one() -> None:
    clock = Counting()
    assert clock.seconds(30, 4, 100, 16) == Roofline().seconds(30, 4, 100, 16)
    assert clock.tokens == 34


def test_the_report_has_every_count(
    monkeypatch: pytest.MonkeyPatch, played: dict[tuple[str, str], Played]
) -> None:
    rows = [(pool, name, run) for (pool, name), run in played.items()]
    monkeypatch.setattr("pagesim.studies.second_tier.table", lambda: iter(rows))
    lines = list(report())[1:]
    for line, counts in zip(lines, EXPECTED.values(), strict=True):
        assert line.split()[-5:] == [f"{count:,}" for count in counts]


def test_a_larger_pool_swaps_less() -> None:
    assert play_v0(2_400).moves == ()


def test_both_engines_are_stepped_through_together() -> None:
    swaps, tier = side_by_side().runs
    assert {job.kind for event in tier for job in event.begun} == {"store", "load"}
    assert any(event.ended for event in tier)
    assert any(effect.kind == "move" for event in swaps for effect in event.effects)
    assert swaps.sequences == tier.sequences
