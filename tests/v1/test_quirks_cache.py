"""What surprises in V1's blocks and prefix cache; recordings of release 0.33.0 show the rest."""

from tests.v1.scenes import Cache, Engine, text
from tests.v1.world import check


def test_w01_the_null_block_is_taken_from_the_start() -> None:
    cache = Cache(5)
    assert cache.admit("a", text(17)) is None
    assert cache.admit("b", text(16)) == 0
    assert cache.table("b") == [1, 2, 3, 4] and cache.manager.usage == 1.0


def test_w04_the_last_block_of_a_cached_prompt_is_computed_again() -> None:
    cache = Cache(12)
    found = [cache.admit("a", text(8)), cache.admit("b", text(8)), cache.admit("c", text(9))]
    assert found == [0, 4, 8]
    assert [cache.table(name) for name in "abc"] == [[1, 2], [1, 3], [1, 2, 4]]
    assert cache.cached == [1, 2, 3]


def test_w05_two_prompts_of_one_step_share_blocks_that_are_not_computed_yet() -> None:
    engine = Engine()
    engine.add("a", text(9))
    engine.add("b", text(9))
    assert engine.step() == {"a": 9, "b": 1}
    assert (engine.table("a"), engine.table("b")) == ([1, 2, 3], [1, 2, 4])


def test_w16_a_window_of_one_token_caches_nothing() -> None:
    cache = Cache(12, sliding_window=1)
    cache.admit("a", text(12))
    assert (cache.found(text(13)), cache.cached) == (0, [])


def test_w19_by_default_a_window_keeps_only_what_its_prompt_would_need_again() -> None:
    cache = Cache(20, sliding_window=5, retention_interval=0)
    cache.admit("a", text(17))
    assert [cache.found(text(n)) for n in (9, 13, 16, 17, 18, 21)] == [0, 0, 0, 16, 16, 16]
    assert cache.cached == [4]


def test_w21_a_block_that_is_evicted_in_use_is_taken_first_once_it_is_freed() -> None:
    cache = Cache(9)
    cache.admit("a", text(12))
    cache.manager.evict_blocks([2])
    assert cache.found(text(13)) == 4 and cache.table("a") == [1, 2, 3]
    check(cache.manager)
    cache.free("a")
    assert cache.queue == [2, 4, 5, 6, 7, 8, 3, 1]
    check(cache.manager)


def test_w22_a_reset_needs_every_block_free_and_keeps_their_order() -> None:
    cache = Cache(6)
    cache.admit("a", text(12))
    assert not cache.manager.reset_prefix_cache()
    cache.free("a")
    before = cache.queue
    assert cache.manager.reset_prefix_cache() and cache.queue == before
    assert cache.found(text(12)) == 0


def test_w23_a_salt_separates_the_whole_chain() -> None:
    cache = Cache(12)
    cache.new("a", text(9), cache_salt="x")
    cache.admit("a")
    assert (cache.found(text(9), cache_salt="x"), cache.found(text(9))) == (8, 0)
    assert cache.found(text(9), cache_salt="y") == 0


def test_an_empty_salt_is_no_salt() -> None:
    cache = Cache(12)
    cache.admit("a", text(9))
    assert cache.found(text(9), cache_salt="") == 8


def test_w30_of_equal_blocks_the_one_that_was_cached_first_is_found() -> None:
    cache = Cache(12)
    cache.admit("a", text(8))
    cache.admit("b", text(8))
    probe = cache.new("c", text(9))
    assert cache.manager.get_computed_blocks(probe)[0].get_block_ids() == ([1, 2],)
    cache.manager.evict_blocks([2])
    assert cache.manager.get_computed_blocks(probe)[0].get_block_ids() == ([1, 3],)


def test_w31_the_common_prefix_is_always_empty() -> None:
    cache = Cache(12)
    cache.admit("a", text(9))
    cache.admit("b", text(9))
    assert cache.manager.get_num_common_prefix_blocks("a") == [0]
    assert cache.table("a")[:2] == cache.table("b")[:2]
