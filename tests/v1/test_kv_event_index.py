"""A router that hears all events knows what the pool has, and what a request would find."""

import os
from collections import Counter

import pytest

from pagesim.errors import UsageError
from pagesim.v1 import (
    AllBlocksCleared,
    BlockRemoved,
    BlockStored,
)
from pagesim.v1.kv_event_index import RouterIndex
from tests.v1.routers import CACHES, Engine

RUNS = max(1, int(os.environ.get("PAGESIM_V1_EXAMPLES", "8")) // 4)
"""Of 150 operations each, for every cache; `make nightly` sets it."""


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("name", CACHES)
def test_after_every_step_it_equals_the_pool(name: str, is_async: bool) -> None:
    told: Counter[str] = Counter()
    for seed in range(RUNS):
        engine = Engine(seed, is_async, **CACHES[name])
        for _ in range(150):
            engine.act()
            engine.hear()
            engine.ask()
        told += engine.told
    kinds = ["BlockStored", "BlockRemoved", "AllBlocksCleared", "copies", "found"]
    if name == "no caching":
        assert set(told) == {"AllBlocksCleared"}
        return
    if name == "window of one":  # no hit needs a block, so none is cached
        assert told["empty"] == told["BlockStored"] > 0 == told["found"]
        return
    assert all(told[kind] for kind in kinds), told
    assert told["empty"] or name not in ("masked window", "sparse window", "masked groups")


# -- by hand -----------------------------------------------------------------------------------

A, B, C = b"a", b"b", b"c"


def test_a_copy_goes_and_another_stays() -> None:
    index = RouterIndex()
    index.apply([BlockStored([A, B], None, [], 4, group_idx=0)] * 2)
    index.apply([BlockRemoved([A], group_idx=0)])
    assert index.copies["GPU", 0] == {A: 1, B: 2} and index.longest_prefix([A, B], 4) == 8
    index.apply([BlockRemoved([A], group_idx=0)])
    assert index.longest_prefix([A, B], 4) == 0


def test_a_reset_of_the_gpu_leaves_the_cpu() -> None:
    index = RouterIndex()
    index.apply([BlockStored([A, B], None, [], 4), BlockStored([B], None, [], 0, medium="CPU")])
    assert index.longest_prefix([A, B, C], 4, ["GPU", "CPU"]) == 8
    index.apply([AllBlocksCleared(), BlockStored([A], None, [], 4)])
    assert index.longest_prefix([A, B, C], 4) == 4
    assert index.longest_prefix([A, B, C], 4, ["GPU", "CPU"]) == 8


def test_a_hash_without_tokens_says_nothing_about_the_blocks_of_a_group() -> None:
    index = RouterIndex()
    index.apply([BlockStored([B], None, [], 0, medium="CPU")])
    assert index.copies["CPU", 0] == {B: 1} and index.longest_prefix([B], 4, ["CPU"]) == 0


def test_hashes_of_other_blocks_are_refused() -> None:
    index = RouterIndex()
    index.apply([BlockStored([A], None, [], 4)])
    with pytest.raises(UsageError, match="must divide the 4 tokens of a block, not be 3"):
        index.longest_prefix([A], 3)


def test_who_listens_late_misses_what_was_stored_before() -> None:
    index = RouterIndex()
    assert index.longest_prefix([A], 4) == 0
    index.apply([BlockRemoved([A]), BlockStored([A], None, [], 4)])
    assert index.longest_prefix([A], 4) == 4


def test_a_window_needs_its_last_blocks_alone_and_a_state_one() -> None:
    index = RouterIndex()
    kind = {"kv_cache_spec_kind": "sliding_window", "kv_cache_spec_sliding_window": 6}
    index.apply([BlockStored([B, C], A, [], 4, group_idx=0, **kind)])  # type: ignore[arg-type]
    assert index.longest_prefix([A, B, C], 4) == 12 and index.longest_prefix([A, B], 4) == 0
    index = RouterIndex()
    index.apply([BlockStored([B], A, [], 4, group_idx=0, kv_cache_spec_kind="mamba")])
    assert index.longest_prefix([A, B, C], 4) == 8
