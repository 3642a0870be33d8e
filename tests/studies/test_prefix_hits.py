"""Prefix hits of the Mooncake trace: both rates, the long way round, and an LRU of our own."""

import os
from collections import OrderedDict
from functools import cache

import pytest

from pagesim.errors import UsageError
from pagesim.studies.prefix_hits import PrefixHits, cache_hits, hit_curve, ids_seen_before
from pagesim.workload import Request, Workload, load
from tests.workload.test_files import EXTRACT, TRACE

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


def test_what_cannot_be_asked() -> None:
    bare = Workload("bare", "made up", (Request("r7", 0, 600, 1),))
    for ask in (ids_seen_before, cache_hits, hit_curve):
        with pytest.raises(UsageError, match="request 'r7' of workload 'bare' has no hash_ids"):
            ask(bare)
    with pytest.raises(UsageError, match=r"num_blocks must hold the longest prompt, \d+, not 5"):
        cache_hits(extract(), 5)
    nothing = Workload("short", "made up", (Request("0", 0, 9, 1, (4,)),))
    assert cache_hits(nothing).rate == 0
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
