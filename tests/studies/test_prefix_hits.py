"""Prefix hits of the Mooncake trace: both rates, the long way round, and an LRU of our own."""

import os
from collections import OrderedDict
from functools import cache
from pathlib import Path

import pytest

from pagesim.errors import UsageError
from pagesim.simulation import PagedV1, simulate
from pagesim.studies import prefix_hits
from pagesim.studies.prefix_hits import (
    PrefixHits,
    cache_hits,
    hit_curve,
    ideal_hits,
    ids_seen_before,
)
from pagesim.workload import Request, Workload, load, stream
from tests.workload.test_files import BAILIAN, EXTRACT, OURS, TRACE, write

CURVE = [(235, 249), (470, 249), (940, 249), (1880, 249), (3760, 387), (7520, 444)]


@cache
def extract() -> Workload:
    """The first 250 requests (kvcache-ai/Mooncake, FAST25-release, Apache-2.0)."""
    return load(EXTRACT)


def lru_hits(workload: Workload, num_blocks: int) -> int:
    """Hits of a least-recently-used cache written down plainly, prompts' ends going first."""
    cached: OrderedDict[int, None] = OrderedDict()
    hits = 0
    for request in workload:
        ids = request.hash_ids[: request.prompt_tokens // 512]
        hits += sum(hash_id in cached for hash_id in ids)
        for hash_id in reversed(ids):
            cached[hash_id] = None
            cached.move_to_end(hash_id)
        while len(cached) > num_blocks:
            cached.popitem(last=False)
    return hits


def test_both_rates_of_the_extract() -> None:
    assert ids_seen_before(extract()) == PrefixHits(None, 7029, 444)
    assert cache_hits(extract()) == PrefixHits(None, 6779, 444)
    assert cache_hits(extract()).rate == 444 / 6779


def test_a_partial_block_is_counted_among_the_ids_and_never_looked_up() -> None:
    prompts = [(1100, (0, 1, 2)), (1100, (0, 1, 2)), (1024, (0, 1)), (300, (3,))]
    requests = tuple(Request(str(i), i, n, 1, ids) for i, (n, ids) in enumerate(prompts))
    stream = Workload("w", "made up", requests)
    assert ids_seen_before(stream) == PrefixHits(None, 9, 5)
    assert cache_hits(stream) == PrefixHits(None, 6, 4)


def test_one_token_an_id_makes_the_same_hits_as_512() -> None:
    scarce = cache_hits(extract(), 3760)
    assert scarce.hits < cache_hits(extract()).hits
    assert cache_hits(extract(), 3760, tokens_per_id=512) == scarce


def test_the_curve_of_the_extract_is_that_of_a_plain_lru() -> None:
    curve = hit_curve(extract())
    assert [point.num_blocks for point in curve] == [CURVE[0][0] * 2**i for i in range(len(CURVE))]
    assert [(point.num_blocks, point.hits) for point in curve] == CURVE
    assert [lru_hits(extract(), size) for size, _ in CURVE] == [hits for _, hits in CURVE]
    assert curve[-1].hits == cache_hits(extract()).hits


def test_an_endless_cache_finds_what_a_large_one_does_in_one_pass() -> None:
    ideal = ideal_hits(stream(EXTRACT))
    assert (ideal.requests, ideal.block_tokens) == (250, 512)
    assert ideal.found == cache_hits(extract()) == PrefixHits(None, 6779, 444)
    assert len(ideal.reused) == 6779 - 444 and ideal.kinds == {}
    assert ideal.rate == 444 / 6779


def test_bailian_s_blocks_have_16_tokens_and_a_block_is_found_only_after_the_same_ones(
    tmp_path: Path,
) -> None:
    """The last request has only the second block of the first one: an id seen before, no hit."""
    trace = load(write(tmp_path, BAILIAN))
    ideal = ideal_hits(trace)
    assert ideal.found == cache_hits(trace) == PrefixHits(None, 9, 3)
    assert ids_seen_before(trace) == PrefixHits(None, 11, 4)
    assert ideal.kinds == {
        "text": PrefixHits(None, 6, 2),
        "search": PrefixHits(None, 2, 1),
        "api": PrefixHits(None, 1, 0),
    }
    assert list(ideal.reused) == [2, 1, 0, 0, 0, 0]
    assert [ideal.share_of_hits(part) for part in (0, 0.1, 0.2, 1)] == [0, 2 / 3, 1, 1]
    assert [point.num_blocks for point in hit_curve(trace)] == [4, 8]


def test_a_served_trace_of_bailian_finds_its_blocks_again(tmp_path: Path) -> None:
    """A simulation finds the same, but for the last token of a prompt, which is computed again."""
    trace = load(write(tmp_path, BAILIAN))
    late = Request("late", 90.0, 64, 1, (0, 1, 7, 8), (), 16)
    for forwarded in (True, False):
        policy = PagedV1(fast_forward=forwarded)
        run = simulate([*trace, late], policy=policy, pool=4096, progress=False)
        assert list(run.requests.hits) == [0, 16, 32, 0, 32]


def test_the_report_is_printed_and_a_bad_file_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path, BAILIAN)
    monkeypatch.setattr("sys.argv", ["prefix_hits", str(path)])
    prefix_hits.main()
    lines = capsys.readouterr().out.splitlines()
    rows = {line.split()[0]: line.split()[1:] for line in lines}
    assert rows["all"] == ["9", "3", "33.33"] and rows["text"] == ["6", "2", "33.33"]
    assert any("66.7 %" in line for line in lines)
    for content, words in ((BAILIAN + "{\n", "x.csv:5: not JSON"), (OURS, "no hash_ids")):
        write(tmp_path, content)
        with pytest.raises(SystemExit):
            prefix_hits.main()
        assert words in capsys.readouterr().err


def test_what_cannot_be_asked() -> None:
    bare = Workload("bare", "made up", (Request("r7", 0, 600, 1),))
    for ask in (ids_seen_before, cache_hits, hit_curve, ideal_hits):
        with pytest.raises(UsageError, match="request 'r7' of workload 'bare' has no hash_ids"):
            ask(bare)
    with pytest.raises(UsageError, match="request 'r7' has no hash_ids"):
        ideal_hits(iter(bare))
    mixed = [Request("a", 0, 16, 1, (4,), (), 16), Request("b", 0, 16, 1, (4,))]
    with pytest.raises(UsageError, match=r"'b' has hash ids for 512 tokens, .* before it for 16"):
        ideal_hits(mixed)
    with pytest.raises(UsageError, match="of_blocks must be between 0 and 1, not 2"):
        ideal_hits(extract()).share_of_hits(2)
    with pytest.raises(UsageError, match=r"num_blocks must hold the longest prompt, \d+, not 5"):
        cache_hits(extract(), 5)
    nothing = Workload("short", "made up", (Request("0", 0, 9, 1, (4,)),))
    assert cache_hits(nothing).rate == ideal_hits(nothing).rate == 0
    assert ideal_hits(nothing).share_of_hits() == 0
    assert [point.num_blocks for point in hit_curve(nothing)] == [1]


@pytest.mark.skipif(
    not TRACE.is_file() or "PAGESIM_LONG" not in os.environ,
    reason="make nightly reads the original trace, if it is beside this clone",
)
def test_both_rates_of_the_whole_trace() -> None:
    trace = load(TRACE)
    assert ids_seen_before(trace) == PrefixHits(None, 80_619, 25_332)
    assert round(100 * ids_seen_before(trace).rate, 2) == 31.42
    assert cache_hits(trace) == PrefixHits(None, 77_626, 25_309)
    assert round(100 * 25_309 / 77_626, 2) == 32.60
