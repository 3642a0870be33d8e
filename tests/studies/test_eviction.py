"""LRU and ARC: what they keep of a scan, and what they find in a trace."""

from pathlib import Path

import pytest

from pagesim.studies import eviction
from pagesim.studies.eviction import POLICIES, Tier, main, report, scan, tier_hits
from pagesim.studies.prefix_hits import cache_hits
from pagesim.workload import Workload, load, mooncake_conversation

SAMPLE = Path(__file__).parents[1] / "data" / "mooncake_conversation-first250.jsonl.gz"


@pytest.fixture(scope="module")
def sample() -> Workload:
    return load(SAMPLE)


def test_a_scan_pushes_everything_out_under_lru_and_not_under_arc() -> None:
    assert scan("lru") == {"s2", "s3", "s4", "s5"}
    assert scan("arc") == {"x", "y", "s4", "s5"}


@pytest.mark.parametrize("policy", POLICIES)
def test_a_tier_with_room_for_all_finds_what_any_cache_finds(policy: str, sample: Workload) -> None:
    endless = cache_hits(sample)
    found = tier_hits(sample, endless.lookups, policy)
    assert (found.lookups, found.hits) == (endless.lookups, endless.hits)


def test_arc_finds_a_little_more_in_conversations() -> None:
    trace = mooncake_conversation().first(700)
    lru, arc = (tier_hits(trace, 1_500, policy) for policy in ("lru", "arc"))
    assert lru.lookups == arc.lookups
    assert lru.hits < arc.hits < 1.2 * lru.hits


def test_a_prompt_larger_than_the_tier_leaves_a_part_that_cannot_be_found() -> None:
    """It is stored in pieces: those stored last push out the ones before them, not the head."""
    tier = Tier(6, "lru")
    assert tier.show("a", range(8)) == 0
    kept = sorted(tier.manager.policy.chunks)
    assert kept == [0, 1, 4, 5, 6, 7]
    assert tier.show("again", range(8)) == 2


def test_the_report_has_both(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(eviction, "SIZES", (200,))
    lines = list(report(mooncake_conversation().first(9)))
    assert lines[0].endswith("s2, s3, s4, s5") and lines[1].endswith("s4, s5, x, y")
    main([str(SAMPLE)])
    assert "250 requests" in capsys.readouterr().out
