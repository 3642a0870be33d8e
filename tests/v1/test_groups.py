"""What always holds of several KV cache groups on one pool."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pagesim.sizing.kv_cache_spec import KVCacheSpec
from pagesim.v1 import (
    BlockHashListWithBlockSize,
    FullAttentionSpec,
    KVCacheManager,
    Request,
    SlidingWindowSpec,
)
from tests.v1.groups import FULL, STATE, Model, Server, state, window
from tests.v1.scenes import text
from tests.v1.world import everything

GROUPS = st.lists(
    st.sampled_from([FULL, window(3), window(6), window(9), window(14), window(6, 2)]),
    min_size=2,
    max_size=4,
)


def longest_hit(model: Model, tokens: list[int]) -> int:
    """The longest prefix from which every group could go on, by trying all."""
    pool, size = model.manager.block_pool, model.manager.block_size
    hashes = Request("?", tokens, block_size=pool.hash_block_size).block_hashes

    def has(group: int, spec: KVCacheSpec, entry: int) -> bool:
        its = BlockHashListWithBlockSize(hashes, pool.hash_block_size, spec.block_size)
        return pool.get_cached_block(its[entry], [group]) is not None

    def goes_on(group: int, spec: KVCacheSpec, length: int) -> bool:
        end = length // spec.block_size
        need = end
        if isinstance(spec, SlidingWindowSpec):
            need = min(end, max(1, -(-(spec.sliding_window - 1) // spec.block_size)))
        return all(has(group, spec, entry) for entry in range(end - need, end))

    groups = list(enumerate(model.manager.kv_cache_groups))
    lengths = range((len(tokens) - 1) // size * size, 0, -size)
    return next((n for n in lengths if all(goes_on(g, s, n) for g, s in groups)), 0)


@settings(max_examples=60, derandomize=True)
@given(groups=GROUPS, data=st.data(), interval=st.sampled_from([None, 0, 8]))
def test_a_hit_is_the_longest_that_all_groups_have(
    groups: list[KVCacheSpec], data: st.DataObject, interval: int | None
) -> None:
    if all(isinstance(group, FullAttentionSpec) for group in groups):
        interval = None
    model = Model(*groups, blocks=200, retention_interval=interval)
    for name, length in (("a", 29), ("b", 17)):
        model.prompt(name, text(length), data.draw(st.sampled_from([4, 7, 30])))
    cached = [i for i, key in enumerate(everything(model.manager)["hashes"]) if key]
    model.manager.evict_blocks(data.draw(st.lists(st.sampled_from(cached), max_size=6)))
    tokens = text(data.draw(st.integers(2, 33)))
    found, boundary, blocks = model.found(tokens)
    assert found == longest_hit(model, tokens) and (boundary == 0 or boundary > found)
    assert {len(its) * g.block_size for its, g in zip(blocks, groups, strict=True)} == {found}


MIXES = {
    "a window beside full attention": (FULL, window(6)),
    "three windows": (window(3), window(9), window(14)),
    "blocks of two sizes": (FullAttentionSpec(8), window(6), window(6)),
    "a state": (FULL, STATE, STATE),
    "a checkpoint": (FULL, state(1), window(9, 8)),
}


@pytest.mark.parametrize("name", MIXES)
@settings(max_examples=10, derandomize=True)
@given(data=st.data())
def test_a_scheduler_with_groups_stays_consistent_and_ends_empty(
    name: str, data: st.DataObject
) -> None:
    server = Server(*MIXES[name], budget=data.draw(st.sampled_from([12, 64])))
    for each in range(8):
        length, shared = data.draw(st.integers(1, 40)), data.draw(st.integers(0, 20))
        tokens = text(shared) + text(length, 1000 * each + 100)
        request = Request(f"r{each}", tokens, block_size=server.size, max_tokens=9)
        server.scheduler.add_request(request)
        server.steps(data.draw(st.integers(0, 3)))
    server.steps(80)
    assert server.scheduler.get_num_unfinished_requests() == 0
    assert server.scheduler.kv_cache_manager.usage == 0.0
    assert server.scheduler.reset_prefix_cache()


def test_one_group_is_the_same_however_it_is_given() -> None:
    plain = KVCacheManager(12, 4, 64, sliding_window=6, retention_interval=None)
    grouped = Model(window(6), blocks=12, max_in_flight_tokens=64)
    grouped.manager.max_model_len = 64
    for at, length in enumerate((9, 13, 22)):
        request = Request(f"r{at}", text(length), block_size=4)
        hits, found, _ = plain.get_computed_blocks(request)
        plain.allocate_slots(request, length - found, found, hits)
        grouped.prompt(f"r{at}", text(length))
        assert everything(plain) == everything(grouped.manager)


@pytest.mark.parametrize("checkpoints", [0, 1])
def test_the_states_of_a_request_without_hashes_are_not_kept(checkpoints: int) -> None:
    server = Server(FULL, state(checkpoints))
    server.scheduler.add_request(Request("a", text(18), max_tokens=2))
    assert sum(step.get("a", 0) for step in server.steps(4)) == 19
    assert not server.scheduler.kv_cache_manager.block_pool.cached_block_hash_to_block
