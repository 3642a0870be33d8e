"""What a router hears: the surprises first, then order, groups and salts."""

from typing import Any

import pytest

from pagesim.v1 import (
    AllBlocksCleared,
    BlockPool,
    BlockRemoved,
    BlockStored,
    CacheConfig,
    FullAttentionSpec,
    KVCacheManager,
    MambaSpec,
    ModelRunnerOutput,
    Request,
    Scheduler,
    SchedulerConfig,
    SlidingWindowSpec,
)
from pagesim.v1.kv_events import KVCacheEvent
from tests.v1.scenes import Cache, text

SIZE = 4


def heard(num_blocks: int = 12, **options: Any) -> Cache:
    return Cache(num_blocks, enable_kv_cache_events=True, **options)


def brief(events: list[KVCacheEvent]) -> list[tuple[str, int]]:
    """The types of events, and how many hashes each has."""
    return [(type(e).__name__, len(getattr(e, "block_hashes", ()))) for e in events]


def test_blocks_that_a_window_masks_have_tokens_but_no_hashes() -> None:
    cache = heard(sliding_window=5, retention_interval=0)
    its = cache.new("a", text(13))
    cache.manager.allocate_slots(its, 8)
    its.num_computed_tokens = 8
    cache.manager.allocate_slots(its, 5)
    masked, kept = cache.manager.take_events()
    assert isinstance(masked, BlockStored) and isinstance(kept, BlockStored)
    assert (masked.block_hashes, masked.token_ids, masked.extra_keys) == ([], text(8), None)
    assert kept.block_hashes == [its.block_hashes[2]]
    assert (kept.parent_block_hash, kept.token_ids) == (its.block_hashes[1], text(4, 8))
    kinds = {(e.kv_cache_spec_kind, e.kv_cache_spec_sliding_window) for e in (masked, kept)}
    assert kinds == {("sliding_window", 5)}


def test_what_is_stored_is_told_in_full() -> None:
    cache = heard()
    its = cache.new("a", text(9), cache_salt="tenant")
    assert cache.admit("a") == 0
    for token in (1, 2, 3):
        cache.write("a", token)
    first, second = cache.manager.take_events()
    tokens = its.all_token_ids
    same = {"medium": "GPU", "group_idx": 0, "kv_cache_spec_kind": "full_attention"}
    assert first == BlockStored(
        its.block_hashes[:2], None, tokens[:8], SIZE, extra_keys=[("tenant",), None], **same
    )
    assert second == BlockStored(
        [its.block_hashes[2]], its.block_hashes[1], tokens[8:], SIZE, extra_keys=[None], **same
    )
    assert cache.manager.take_events() == []


def test_nothing_is_told_of_a_hit_nor_of_a_block_that_is_freed() -> None:
    cache = heard()
    cache.admit("a", text(9))
    cache.manager.take_events()
    assert cache.admit("b", text(9)) == 8
    cache.free("a")
    cache.free("b")
    assert cache.manager.take_events() == []


def test_each_block_that_is_taken_again_is_told_by_itself_before_what_is_stored() -> None:
    cache = heard(4)
    its = cache.new("a", text(12))
    cache.admit("a")
    cache.free("a")
    cache.manager.take_events()
    cache.admit("b", text(12, 50))
    *removed, stored = cache.manager.take_events()
    hashes = [event.block_hashes for event in removed if isinstance(event, BlockRemoved)]
    assert hashes == [[block_hash] for block_hash in reversed(its.block_hashes)]
    assert brief([stored]) == [("BlockStored", 3)]


def test_a_reset_is_one_event_and_one_that_fails_is_none() -> None:
    cache = heard()
    cache.admit("a", text(9))
    cache.manager.take_events()
    assert not cache.manager.reset_prefix_cache()
    assert cache.manager.take_events() == []
    cache.free("a")
    assert cache.manager.reset_prefix_cache()
    assert cache.manager.take_events() == [AllBlocksCleared()]


def test_nothing_is_kept_unless_it_is_enabled() -> None:
    cache = Cache(12)
    cache.admit("a", text(9))
    cache.free("a")
    assert cache.manager.reset_prefix_cache()
    assert cache.manager.take_events() == [] == cache.manager.block_pool.kv_event_queue


def test_each_group_tells_its_own() -> None:
    specs = (
        FullAttentionSpec(SIZE),
        SlidingWindowSpec(SIZE, sliding_window=9),
        MambaSpec(SIZE, mamba_cache_mode="align"),
    )
    options: dict[str, Any] = {"groups": specs, "hash_block_size": SIZE}
    manager = KVCacheManager(30, enable_kv_cache_events=True, retention_interval=None, **options)
    assert manager.allocate_slots(Request("a", text(12), block_size=SIZE), 12)
    events = manager.take_events()
    assert all(isinstance(event, BlockStored) for event in events)
    told = [
        (e.group_idx, e.kv_cache_spec_kind, e.kv_cache_spec_sliding_window)
        for e in events
        if isinstance(e, BlockStored)
    ]
    assert told == [(0, "full_attention", None), (1, "sliding_window", 9), (2, "mamba", None)]
    manager.evict_blocks([1, 4])
    removed = [e for e in manager.take_events() if isinstance(e, BlockRemoved)]
    assert [event.group_idx for event in removed] == [0, 1]


def test_a_pool_alone_does_not_know_the_kind() -> None:
    pool = BlockPool(4, True, SIZE, True)
    its = Request("a", text(8), block_size=SIZE)
    pool.cache_full_blocks(its, pool.get_new_blocks(2), 0, 2, SIZE)
    (stored,) = pool.take_events()
    assert isinstance(stored, BlockStored) and stored.kv_cache_spec_kind is None


def test_a_hash_inside_a_block_is_told_and_so_is_each_key_that_goes() -> None:
    pool = BlockPool(3, True, 2, True)
    its = Request("a", text(10), block_size=2)
    hashes, (first, second) = its.block_hashes, pool.get_new_blocks(2)
    pool.cache_full_blocks(its, [first, second], 0, 1, 6, 3)
    pool.cache_partial_block(its, second, 8, 3, 6)
    pool.cache_partial_block(its, second, 8, 3, 6)
    full, inside = pool.take_events()
    assert full == BlockStored([hashes[2]], None, text(6), 6, extra_keys=[None], group_idx=3)
    assert inside == BlockStored(
        [hashes[3]], hashes[2], text(2, 6), 2, extra_keys=[None], group_idx=3
    )
    pool.cache_partial_block(its, second, 10, 3, 6)  # more tokens of the block: the old hash goes
    gone, longer = pool.take_events()
    assert gone == BlockRemoved([hashes[3]], group_idx=3)
    assert brief([longer]) == [("BlockStored", 1)]
    pool.cache_partial_block(its, second, 8, 3, 6)  # a second key, of fewer tokens
    pool.evict_blocks([second.block_id])
    events = pool.take_events()
    assert brief(events) == [("BlockStored", 1), ("BlockRemoved", 1), ("BlockRemoved", 1)]
    removed = [event for event in events if isinstance(event, BlockRemoved)]
    assert [event.block_hashes[0] for event in removed] == [hashes[4], hashes[3]]


def test_the_keys_of_a_block_go_in_the_same_order_in_every_process() -> None:
    pool = BlockPool(3, True, 1, True)
    its = Request("a", text(12), block_size=1)
    (block,) = pool.get_new_blocks(1)
    for num_tokens in range(11, 0, -1):
        pool.cache_partial_block(its, block, num_tokens, 0, 12)
    pool.evict_blocks([block.block_id])
    removed = [event for event in pool.take_events() if isinstance(event, BlockRemoved)]
    first, *more = [event.block_hashes[0] for event in removed]
    assert first == its.block_hashes[10]
    assert more == sorted(its.block_hashes[:10])


def test_a_call_with_nothing_to_do_tells_nothing() -> None:
    pool = BlockPool(4, True, SIZE, True)
    its, blocks = Request("a", text(8), block_size=SIZE), pool.get_new_blocks(2)
    pool.cache_full_blocks(its, blocks, 1, 1, SIZE)
    assert pool.take_events() == []


def test_a_call_that_is_refused_tells_nothing() -> None:
    cache = heard()
    cache.admit("a", text(9))
    pool, (table,) = cache.manager.block_pool, cache.manager.get_blocks("a").blocks
    pool.take_events()
    with pytest.raises(ValueError, match="already cached"):
        pool.cache_full_blocks(cache.requests["a"], table, 0, 2, SIZE)
    assert pool.take_events() == []


def test_a_wrong_flag_is_named() -> None:
    with pytest.raises(TypeError, match="enable_kv_cache_events must be True or False, not 1"):
        KVCacheManager(8, 4, enable_kv_cache_events=1)  # type: ignore[arg-type]


def test_without_events_and_a_report_a_step_asks_for_neither(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for owner, name in ((KVCacheManager, "take_events"), (ModelRunnerOutput, "__init__")):
        monkeypatch.setattr(owner, name, lambda *_, **__: pytest.fail("called for nothing"))
    scheduler = Scheduler(SchedulerConfig(64, 8, 64), CacheConfig(4, 10))
    scheduler.add_request(Request("a", range(6), block_size=4, max_tokens=2))
    for _ in range(2):
        output = scheduler.schedule()
        scheduler.update_from_output(output, {"a": [7]})
    assert not scheduler.has_requests() or scheduler.schedule().finished_req_ids == {"a"}
