"""States beside full attention: what surprises in 0.33.0. Its recordings show the rest."""

import pytest

from pagesim.sizing.kv_cache_spec import KVCacheSpec
from pagesim.v1 import FullAttentionSpec, MambaSpec, Request, SchedulerConfig
from tests.v1.groups import FULL, STATE, Model, Server, state, window
from tests.v1.scenes import text


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
    ("checkpoints", "budget", "chunks"), [(0, 64, [16, 2]), (1, 64, [18]), (0, 7, [4, 4, 4, 4, 2])]
)
def test_g20_chunks_end_where_a_state_can_be_kept(
    checkpoints: int, budget: int, chunks: list[int]
) -> None:
    server = Server(FULL, state(checkpoints), budget=budget)
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
    server = Server(FULL, state(checkpoints))
    server.scheduler.add_request(Request("a", text(18), max_tokens=2))
    assert sum(step.get("a", 0) for step in server.steps(4)) == 19
    assert not server.scheduler.kv_cache_manager.block_pool.cached_block_hash_to_block
