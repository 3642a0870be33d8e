"""Several KV cache groups on one pool: what surprises, what always holds, and what is refused.

The surprises g01 to g23 are of release 0.33.0, whose recordings show the rest.
"""

from itertools import pairwise
from math import gcd, lcm
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pagesim.sizing.kv_cache_spec import KVCacheSpec, MLAAttentionSpec
from pagesim.v1 import (
    BlockHashListWithBlockSize,
    CacheConfig,
    FullAttentionSpec,
    KVCacheBlocks,
    KVCacheManager,
    MambaSpec,
    Request,
    RequestStatus,
    Scheduler,
    SchedulerConfig,
    SlidingWindowSpec,
    get_block_hash,
    get_group_id,
    get_kv_cache_coordinator,
    make_block_hash_with_group_id,
)
from tests.v1.scenes import text
from tests.v1.world import check, everything, refused

FULL = FullAttentionSpec(4)
STATE = MambaSpec(4, mamba_cache_mode="align")


def window(tokens: int, block_size: int = 4) -> SlidingWindowSpec:
    return SlidingWindowSpec(block_size, sliding_window=tokens)


class Model:
    """A manager for these groups, and the requests on it."""

    def __init__(self, *groups: KVCacheSpec, blocks: int = 60, **options: Any) -> None:
        options = {"max_in_flight_tokens": 16, "retention_interval": None} | options
        self.manager = KVCacheManager(blocks, max_model_len=512, groups=groups, **options)
        self.requests: dict[str, Request] = {}

    def found(self, tokens: list[int], name: str = "?") -> tuple[int, int, list[list[int]]]:
        """The tokens that a new request finds, the boundary, and the blocks of each group."""
        size = self.manager.block_pool.hash_block_size
        request = self.requests[name] = Request(name, tokens, block_size=size)
        self.hits = self.manager.get_computed_blocks(request)
        request.shared_prefix_boundary = self.hits[2]
        return self.hits[1], self.hits[2], list(self.hits[0].get_block_ids())

    def grow(self, name: str, count: int, found: int = 0) -> list[list[int]] | None:
        """Room for the next tokens of a request, which are computed; the new blocks."""
        request = self.requests[name]
        hits = self.hits[0] if found else None
        new = self.manager.allocate_slots(request, count, found, hits)
        if new is None:
            return None
        request.num_computed_tokens += found + count
        request.status = RequestStatus.RUNNING
        return list(new.get_block_ids())

    def prompt(self, name: str, tokens: list[int], chunk: int = 512) -> list[list[int]] | None:
        """Compute a whole prompt in chunks; the blocks of the first."""
        found = self.found(tokens, name)[0]
        first = self.grow(name, min(chunk, len(tokens) - found), found)
        request = self.requests[name]
        while first is not None and request.num_computed_tokens < len(tokens):
            self.manager.new_step_starts()
            self.grow(name, min(chunk, len(tokens) - request.num_computed_tokens))
        return first

    def more(self, name: str, *tokens: int) -> None:
        for token in tokens:
            self.requests[name].append_output_token_ids(token)
            self.grow(name, 1)

    def tables(self, name: str) -> list[list[int]]:
        return list(self.manager.get_block_ids(name))

    def forget(self, name: str, group: int, *entries: int) -> None:
        self.manager.evict_blocks([self.tables(name)[group][entry] for entry in entries])

    def cached(self, name: str, group: int) -> list[int]:
        """The entries of a table that are cached under their own content."""
        blocks = self.manager.get_blocks(name).blocks[group]
        return [i for i, block in enumerate(blocks) if block.block_hash is not None]


# -- windows beside full attention -----------------------------------------------------------------


def test_g01_ids_go_to_the_groups_in_turn() -> None:
    model = Model(FULL, window(8), window(8))
    assert model.prompt("a", text(15)) == [[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12]]
    assert model.manager.usage == pytest.approx(12 / 59)


def test_g02_the_last_groups_blocks_are_taken_first_once_they_are_freed() -> None:
    model = Model(FULL, window(8), window(8), enable_caching=False)
    model.prompt("a", text(8))
    model.manager.free(model.requests["a"])
    assert everything(model.manager)["free"][:6] == [6, 5, 4, 3, 2, 1]


def test_g03_nothing_is_cached_before_blocks_of_all_groups_end() -> None:
    model = Model(window(9), FullAttentionSpec(8))
    model.found(text(13), "a")
    model.grow("a", 7)
    assert [model.cached("a", group) for group in (0, 1)] == [[], []]
    model.grow("a", 6)
    assert [model.cached("a", group) for group in (0, 1)] == [[0, 1], [0]]


@pytest.mark.parametrize(("entry", "found"), [(5, (20, 24)), (4, (16, 24)), (3, (24, 0))])
def test_g04_one_block_that_a_window_lacks_shortens_the_hit_of_all(
    entry: int, found: tuple[int, int]
) -> None:
    model = Model(FULL, window(9))
    model.prompt("a", text(25))
    model.forget("a", 1, entry)
    assert model.found(text(25))[:2] == found


def test_g05_the_candidate_shrinks_round_by_round() -> None:
    model = Model(FULL, window(9), window(13))
    model.prompt("a", text(25))
    model.forget("a", 1, 5, 1)
    model.forget("a", 2, 3)
    assert model.found(text(25))[:2] == (4, 24)


def test_g06_a_window_of_one_token_means_no_hits_at_all() -> None:
    model = Model(FULL, window(1))
    model.prompt("a", text(17))
    assert model.found(text(17))[:2] == (0, 16) and model.cached("a", 0) == [0, 1, 2, 3]


def test_g07_what_one_of_two_equal_groups_lacks_both_lack() -> None:
    model = Model(FULL, window(5), window(5))
    model.prompt("a", text(17))
    model.forget("a", 2, 3)
    assert model.found(text(17)) == (12, 16, [[1, 2, 3], [0, 0, 8], [0, 0, 13]])


def test_g08_a_window_may_have_lost_its_beginning_but_not_full_attention() -> None:
    model = Model(FULL, window(5))
    model.prompt("a", text(17))
    model.forget("a", 1, 0, 1, 2)
    assert model.found(text(17))[0] == 16
    model.forget("a", 0, 0)
    assert model.found(text(17))[0] == 0


@pytest.mark.parametrize(
    ("interval", "found"), [(None, [24, 20, 20, 16, 12, 8]), (0, [24, 0, 0, 0, 0, 0])]
)
def test_g09_by_default_a_shorter_prompt_finds_nothing(
    interval: int | None, found: list[int]
) -> None:
    model = Model(FULL, window(5), retention_interval=interval)
    model.prompt("a", text(25))
    assert [model.found(text(n))[0] for n in (25, 24, 21, 17, 13, 9)] == found


def test_g10_the_first_sibling_misses_and_the_second_finds_where_they_part() -> None:
    model, found = Model(FULL, window(5), retention_interval=0), []
    for name, first in (("a", 50), ("b", 60), ("c", 70)):
        found.append(model.found(text(16) + text(9, first), name)[:2])
        model.grow(name, 25 - found[-1][0], found[-1][0])
    assert found == [(0, 0), (0, 16), (16, 0)]


@pytest.mark.parametrize(("interval", "found"), [(None, 28), (0, 12)])
def test_g11_by_default_the_second_turn_starts_at_the_first_prompts_end(
    interval: int | None, found: int
) -> None:
    model = Model(FULL, window(5), retention_interval=interval)
    model.prompt("a", text(16))
    model.more("a", *text(13, 900))
    assert model.found(text(16) + text(12, 900) + text(5, 40))[0] == found


def test_g12_small_blocks_are_cached_only_before_the_end_of_a_large_one() -> None:
    model = Model(FullAttentionSpec(8), window(6, 2))
    model.prompt("a", text(25))
    assert model.cached("a", 1) == [entry for entry in range(12) if entry % 4]


def test_g13_a_prompt_that_ends_inside_a_large_block_finds_it_by_another_key() -> None:
    model = Model(FullAttentionSpec(8), window(5))
    model.prompt("a", text(13))
    model.more("a", *text(3, 900))
    (block_id,) = [entry[1] for entry in [model.tables("a")[0]]]
    hashes = model.requests["a"].block_hashes
    pool = model.manager.block_pool
    assert pool.blocks[block_id].block_hash == hashes[3]
    assert pool.cached_block_hashes_by_block[block_id] == {hashes[2]}
    model.forget("a", 0, 1)
    model.manager.cache_blocks(model.requests["a"], 16)
    assert pool.blocks[block_id].block_hash == hashes[2]
    check(model.manager)


def test_g14_a_block_that_a_window_drops_is_the_next_of_full_attention() -> None:
    model = Model(FULL, window(5), blocks=9, enable_caching=False)
    model.prompt("a", text(16), chunk=8)
    assert model.tables("a") == [[1, 2, 3, 5], [0, 4, 6, 7]]


def test_g15_one_free_block_is_no_use_to_two_groups() -> None:
    model = Model(FULL, window(40), blocks=8, enable_caching=False)
    model.prompt("a", text(12))
    model.requests["a"].append_output_token_ids(1)
    assert model.grow("a", 1) is None and model.tables("a") == [[1, 2, 3], [4, 5, 6]]


@pytest.mark.parametrize(("windows", "boundary"), [((5, 13), 24), ((13, 5), 0)])
def test_g16_the_order_of_two_windows_decides_whether_a_boundary_is_seen(
    windows: tuple[int, int], boundary: int
) -> None:
    model = Model(*map(window, windows), retention_interval=0)
    model.prompt("a", text(25))
    model.more("a", 900)
    model.forget("a", windows.index(13), 3)
    assert model.found(text(25))[:2] == (0, boundary)


# -- states ----------------------------------------------------------------------------------------


class Server:
    """A scheduler for these groups, with blocks for all."""

    def __init__(self, *groups: KVCacheSpec, budget: int = 64) -> None:
        config = SchedulerConfig(budget, 2 if budget < 64 else 8, 128)
        cache = CacheConfig(groups=groups, num_gpu_blocks=60)
        self.scheduler = Scheduler(config, cache)
        self.size = gcd(*(group.block_size for group in groups))

    def add(self, name: str, length: int, max_tokens: int = 3, first: int = 0) -> None:
        request = Request(name, text(length, first), block_size=self.size, max_tokens=max_tokens)
        self.scheduler.add_request(request)

    def steps(self, count: int) -> list[dict[str, int]]:
        """How many tokens each request computes in each step."""
        computed = []
        for _ in range(count):
            output = self.scheduler.schedule()
            requests = [self.scheduler.requests[name] for name in output.num_scheduled_tokens]  # type: ignore[index]
            done = {r.request_id: [500 + r.num_tokens] for r in requests if not r.is_prefill_chunk}
            computed.append(dict(output.num_scheduled_tokens))
            self.scheduler.update_from_output(output, done)
            check(self.scheduler.kv_cache_manager)
        return computed  # type: ignore[return-value]


def test_g17_a_state_costs_one_block_whatever_its_length() -> None:
    model = Model(FULL, STATE)
    assert model.prompt("a", text(17)) == [[1, 2, 3, 4, 5], [0, 0, 0, 0, 6]]


@pytest.mark.parametrize(("chunk", "found"), [(24, [24, 0, 0, 0]), (4, [24, 20, 12, 8])])
def test_g18_only_a_state_at_the_end_of_a_chunk_is_found(chunk: int, found: list[int]) -> None:
    model = Model(FULL, STATE)
    model.prompt("a", text(24), chunk)
    model.manager.new_step_starts()
    assert [model.found([*text(n), 99])[0] for n in (24, 20, 12, 8)] == found


@pytest.mark.parametrize(
    ("other", "steps"),
    [
        (window(9), [{"a": 16, "b": 4}, {"a": 1, "b": 1}]),
        (STATE, [{"a": 12}, {"a": 4, "b": 4}]),
    ],
)
def test_g19_a_state_of_this_step_is_found_only_in_the_next(
    other: KVCacheSpec, steps: list[dict[str, int]]
) -> None:
    server = Server(FULL, other)
    server.add("a", 16)
    server.add("b", 16)
    assert server.steps(2) == steps


@pytest.mark.parametrize(
    ("checkpoints", "budget", "chunks"),
    [(0, 64, [16, 2]), (1, 64, [18]), (0, 7, [4, 4, 4, 4, 2])],
)
def test_g20_chunks_end_where_a_state_can_be_kept(
    checkpoints: int, budget: int, chunks: list[int]
) -> None:
    state = MambaSpec(
        4,
        mamba_cache_mode="align",
        num_prefill_checkpoint_blocks=checkpoints,
        prefill_checkpoint_alignment=checkpoints or None,
    )
    server = Server(FULL, state, budget=budget)
    server.add("a", 18, max_tokens=1)
    assert [step["a"] for step in server.steps(6) if step] == chunks


def test_g21_a_budget_below_a_block_lets_the_first_in_the_queue_block_all() -> None:
    server = Server(FullAttentionSpec(16), MambaSpec(16, mamba_cache_mode="align"), budget=16)
    for name, length, first in (("a", 3, 0), ("b", 40, 100), ("c", 2, 200)):
        server.add(name, length, first=first)
    server.scheduler.scheduler_config = SchedulerConfig(16, 3, 128)
    steps = [{"a": 3}, {"a": 1}, {"a": 1}, {"b": 16}, {"b": 16}, {"b": 8, "c": 2}]
    assert server.steps(6) == steps


def test_g22_a_block_wider_than_any_chunk_is_crossed_in_chunks_of_its_own() -> None:
    server = Server(FullAttentionSpec(16), MambaSpec(16, mamba_cache_mode="align"), budget=12)
    server.add("a", 40, max_tokens=1)
    assert [step["a"] for step in server.steps(8) if step] == [12, 4, 12, 4, 8]


def test_g23_a_state_that_nobody_looks_for_is_one_block() -> None:
    model = Model(FULL, MambaSpec(512), enable_caching=False)
    model.prompt("a", text(17))
    model.more("a", *text(4))
    assert model.tables("a") == [[1, 2, 3, 4, 5, 7], [6]]


@pytest.mark.parametrize("checkpoints", [0, 1])
def test_the_states_of_a_request_without_hashes_are_not_kept(checkpoints: int) -> None:
    state = MambaSpec(
        4,
        mamba_cache_mode="align",
        num_prefill_checkpoint_blocks=checkpoints,
        prefill_checkpoint_alignment=checkpoints or None,
    )
    server = Server(FULL, state)
    server.scheduler.add_request(Request("a", text(18), max_tokens=2))
    assert sum(step.get("a", 0) for step in server.steps(4)) == 19
    assert not server.scheduler.kv_cache_manager.block_pool.cached_block_hash_to_block


# -- what always holds -----------------------------------------------------------------------------

GROUPS = st.lists(
    st.sampled_from([FULL, window(3), window(6), window(9), window(14), window(6, 2)]),
    min_size=2,
    max_size=4,
)


def longest_hit(model: Model, tokens: list[int]) -> int:
    """The longest prefix from which every group could go on, by trying all."""
    request = Request("?", tokens, block_size=model.manager.block_pool.hash_block_size)
    pool, size = model.manager.block_pool, model.manager.block_size

    def has(group: int, spec: KVCacheSpec, entry: int) -> bool:
        hashes = BlockHashListWithBlockSize(
            request.block_hashes, pool.hash_block_size, spec.block_size
        )
        return pool.get_cached_block(hashes[entry], [group]) is not None

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
    assert [len(each) * g.block_size for each, g in zip(blocks, groups, strict=True)] == [
        found
    ] * len(groups)


MIXES = {
    "a window beside full attention": (FULL, window(6)),
    "three windows": (window(3), window(9), window(14)),
    "blocks of two sizes": (FullAttentionSpec(8), window(6), window(6)),
    "a state": (FULL, STATE, STATE),
    "a checkpoint": (
        FULL,
        MambaSpec(
            4,
            mamba_cache_mode="align",
            num_prefill_checkpoint_blocks=1,
            prefill_checkpoint_alignment=1,
        ),
        window(9, 8),
    ),
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


# -- keys, and what is refused ---------------------------------------------------------------------


def test_a_key_is_a_hash_and_a_group() -> None:
    hashes = Request("a", text(8), block_size=4).block_hashes
    keys = [make_block_hash_with_group_id(hashes[0], group) for group in range(3)]
    assert len(set(keys)) == 3 and keys[0] == hashes[0]
    assert [(get_block_hash(key), get_group_id(key)) for key in keys] == [
        (hashes[0], group) for group in range(3)
    ]
    assert [tuple(key) for key in keys] == [(hashes[0], group) for group in range(3)]


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
    assert config.block_size == lcm(6, 4) and CacheConfig(
        groups=config.groups, block_size=12, num_gpu_blocks=8
    ).groups == tuple(config.groups or ())


def test_no_group_at_all_holds_nothing() -> None:
    coordinator = get_kv_cache_coordinator([], 4, 4, 64, enable_caching=False)
    assert coordinator.find_longest_cache_hit([], 9) == ((), 0, 0)
    assert coordinator.allocate_new_blocks("a", 9, 9) == ()


@pytest.mark.parametrize(
    ("longest", "in_flight", "error", "name"),
    [(0, 9, ValueError, "max_model_len"), (9, -1, ValueError, "max_in_flight_tokens")],
)
def test_a_coordinator_refuses_lengths_that_are_none(
    longest: int, in_flight: int, error: type, name: str
) -> None:
    with pytest.raises(error, match=f"{name} must be at least 1"):
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
    free, blocks = model.manager.block_pool.free_blocks, [last, first, first]
    refused(model.manager, ValueError, "only once", free, blocks)


def test_hits_of_one_group_alone_change_nothing() -> None:
    model = Model(FULL, window(9))
    model.prompt("a", text(25))
    found, _, _ = model.found(text(25), "b")
    half = type(model.hits[0])((model.hits[0].blocks[0], []))
    refused(
        model.manager,
        ValueError,
        "do not fill the 0 blocks",
        model.manager.allocate_slots,
        model.requests["b"],
        1,
        found,
        half,
    )


@pytest.mark.parametrize("num_lists", [0, 1, 3])
def test_hits_of_another_number_of_groups_are_refused(num_lists):
    manager = KVCacheManager(8, groups=[FullAttentionSpec(4)] * 2)
    request = Request("a", range(6), block_size=4)
    with pytest.raises(ValueError):
        manager.allocate_slots(request, 6, 0, KVCacheBlocks(([],) * num_lists))
    assert manager.get_block_ids("a") == ([], [])
    assert manager.block_pool.get_num_free_blocks() == 7
