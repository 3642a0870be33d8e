"""Windows beside full attention: what surprises in 0.33.0. Its recordings show the rest."""

import pytest

from pagesim.v1 import FullAttentionSpec
from tests.v1.groups import FULL, Model, window
from tests.v1.scenes import text
from tests.v1.world import check, everything


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
    block_id = model.tables("a")[0][1]
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
