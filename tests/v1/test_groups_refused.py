"""Keys of KV cache groups, and the groups, blocks and keys that are refused."""

from itertools import pairwise
from math import lcm
from typing import Any

import pytest

from pagesim.sizing.kv_cache_spec import MLAAttentionSpec
from pagesim.v1 import (
    BlockHashListWithBlockSize,
    CacheConfig,
    FullAttentionSpec,
    KVCacheBlocks,
    KVCacheManager,
    MambaSpec,
    Request,
    get_block_hash,
    get_group_id,
    get_kv_cache_coordinator,
    make_block_hash_with_group_id,
)
from tests.v1.groups import FULL, Model, window
from tests.v1.scenes import text
from tests.v1.world import refused


def test_a_key_is_a_hash_and_a_group() -> None:
    hashes = Request("a", text(8), block_size=4).block_hashes
    keys = [make_block_hash_with_group_id(hashes[0], group) for group in range(3)]
    pairs = [(hashes[0], group) for group in range(3)]
    assert len(set(keys)) == 3 and keys[0] == hashes[0]
    assert [(get_block_hash(key), get_group_id(key)) for key in keys] == pairs
    assert [tuple(key) for key in keys] == pairs


def test_hashes_of_larger_blocks_are_those_where_they_end() -> None:
    hashes = Request("a", text(22), block_size=2).block_hashes
    larger = BlockHashListWithBlockSize(hashes, 2, 6)
    assert list(larger) == hashes[2::3] and larger[-1] == hashes[8]
    assert larger[1:] == hashes[5::3] and all(a != b for a, b in pairwise(larger))
    with pytest.raises(ValueError, match=r"multiple of hash_block_size \(2\), not 5"):
        BlockHashListWithBlockSize(hashes, 2, 5)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"groups": [FULL], "block_size": 16}, ValueError, "leave out block_size"),
        ({"groups": [FULL], "sliding_window": 4}, ValueError, "leave out block_size"),
        ({"groups": [FULL, 4]}, TypeError, r"groups\[1\] must be a KVCacheSpec"),
        ({"groups": 4}, TypeError, "groups must be"),
        ({"groups": []}, ValueError, "groups is empty"),
        ({"groups": [FULL, MLAAttentionSpec(4)]}, NotImplementedError, "MLAAttentionSpec"),
        ({"groups": [FULL, MambaSpec(4)]}, ValueError, 'mamba_cache_mode "none"'),
        ({"groups": [FULL], "hash_block_size": 3}, ValueError, "multiple of hash_block_size"),
        ({"groups": [FULL, window(4)], "retention_interval": 6}, ValueError, "multiple of"),
        ({"groups": [FULL, FULL], "retention_interval": 8}, ValueError, "keeps everything"),
        ({"groups": [FULL, window(4)], "retention_interval": -4}, ValueError, "at least 0"),
        ({}, TypeError, "block_size must be an int"),
        ({"groups": [FULL], "hash_block_size": 0}, ValueError, "at least 1, not 0"),
        ({"groups": [FULL], "hash_block_size": False}, TypeError, "must be an int, not False"),
        ({"block_size": 4, "hash_block_size": 2}, ValueError, "leave it out"),
    ],
)
def test_groups_that_do_not_go_together_are_refused(
    options: dict[str, Any], error: type, message: str
) -> None:
    with pytest.raises(error, match=message):
        KVCacheManager(20, **options)
    with pytest.raises(error, match=message):
        CacheConfig(num_gpu_blocks=20, **options)


def test_bad_specs_are_refused() -> None:
    with pytest.raises(ValueError, match="sliding_window must be at least 1, not 0"):
        window(0)
    with pytest.raises(ValueError, match="mamba_cache_mode must be 'none' or 'align'"):
        MambaSpec(4, mamba_cache_mode="all")


def test_a_config_of_groups_names_where_their_blocks_end_together() -> None:
    config = CacheConfig(groups=[FullAttentionSpec(6), window(4)], num_gpu_blocks=9)
    again = CacheConfig(groups=config.groups, block_size=12, num_gpu_blocks=8)
    assert config.block_size == lcm(6, 4) and again.groups == tuple(config.groups or ())


def test_no_group_at_all_holds_nothing() -> None:
    coordinator = get_kv_cache_coordinator([], 4, 4, 64, enable_caching=False)
    assert coordinator.find_longest_cache_hit([], 9) == ((), 0, 0)
    assert coordinator.allocate_new_blocks("a", 9, 9) == ()


def test_a_coordinator_refuses_lengths_that_are_none() -> None:
    for longest, in_flight, name in ((0, 9, "max_model_len"), (9, -1, "max_in_flight_tokens")):
        with pytest.raises(ValueError, match=f"{name} must be at least 1"):
            get_kv_cache_coordinator([FULL], 4, 4, longest, max_in_flight_tokens=in_flight)


@pytest.mark.parametrize("group_id", [-1, 1 << 32])
def test_the_id_of_a_group_fits_into_a_key(group_id: int) -> None:
    model = Model(FULL, window(5))
    model.prompt("a", text(9))
    request, pool = model.requests["a"], model.manager.block_pool
    block, key = pool.blocks[1], request.block_hashes[0]
    for call, values in (
        (pool.cache_partial_block, (request, block, 4, group_id, 4, True)),
        (pool.cache_full_blocks, (request, [pool.blocks[9]], 0, 1, 4, group_id)),
        (pool.get_cached_block, (key, [group_id])),
        (make_block_hash_with_group_id, (key, group_id)),
    ):
        refused(model.manager, ValueError, str(group_id), call, *values)  # type: ignore[arg-type]


def test_two_owners_that_leave_at_once_are_refused() -> None:
    model = Model(FULL)
    model.prompt("a", text(9))
    model.prompt("b", text(9))
    first, last = (model.manager.block_pool.blocks[i] for i in (1, 3))
    assert [block.ref_cnt for block in (first, last)] == [2, 1]
    free = model.manager.block_pool.free_blocks
    refused(model.manager, ValueError, "only once", free, [last, first, first])


def test_hits_of_one_group_alone_change_nothing() -> None:
    model = Model(FULL, window(9))
    model.prompt("a", text(25))
    found, _, _ = model.found(text(25), "b")
    half = KVCacheBlocks((model.hits[0].blocks[0], []))
    given = model.manager.allocate_slots, model.requests["b"], 1, found, half
    refused(model.manager, ValueError, "do not fill the 0 blocks", *given)


@pytest.mark.parametrize("num_lists", [0, 1, 3])
def test_hits_of_another_number_of_groups_are_refused(num_lists: int) -> None:
    manager, request = Model(FULL, FULL).manager, Request("a", text(6), block_size=4)
    hits = KVCacheBlocks(([],) * num_lists)
    with pytest.raises(ValueError):
        manager.allocate_slots(request, 6, 0, hits)
    assert (manager.get_block_ids("a"), manager.usage) == (([], []), 0.0)
