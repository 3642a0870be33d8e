"""The exercises of chapter 12: examples are true, and verdicts name the cause."""

import random
from typing import Any

import pytest

from pagesim import exercises
from pagesim.v1 import BlockRemoved, BlockStored, Request
from pagesim.v1.kv_events import KVCacheEvent
from tests.v1.offload.world import World

pytestmark = pytest.mark.ch12

ARC, LOAD, ROUTER = (exercises.get(f"12.{place}") for place in range(1, 4))


def test_the_example_of_arc() -> None:
    given = 2, [["x"], ["x"], ["a"], ["b"]]
    right = ["b"], ["x"], ["a"], [], 0.0
    assert ARC.reference(*given) == right == ARC.expected(*given)


def test_the_example_of_a_load() -> None:
    machine = {"bytes_per_second": 10, "flops_per_second": 1, "wait": 85}
    given = {"bytes_per_token": 100, "parameters": 10}, machine, 4
    assert LOAD.reference(*given) == 12 == LOAD.expected(*given)


def test_the_example_of_a_router() -> None:
    def stored(medium: str, *hashes: int) -> dict[str, Any]:
        tokens = [7] * 2 * len(hashes) if medium == "GPU" else []
        told = {"medium": medium, "block_hashes": [*hashes], "token_ids": tokens}
        return {"type": "BlockStored"} | told

    told = [(0, stored("GPU", 11, 12)), (0, stored("CPU", 11)), (0, {"type": "AllBlocksCleared"})]
    given = 2, [*told, (1, stored("GPU", 12))], [11, 12]
    assert ROUTER.reference(*given) == [1, 0] == ROUTER.expected(*given)


def as_told(event: KVCacheEvent) -> dict[str, Any]:
    told: dict[str, Any] = {"type": type(event).__name__}
    if isinstance(event, BlockStored | BlockRemoved):
        told |= {"medium": event.medium, "block_hashes": event.block_hashes}
    return told | ({"token_ids": event.token_ids} if isinstance(event, BlockStored) else {})


def prompt(tail: int) -> list[int]:
    """Three full blocks, of which all prompts share the first; a hit computes the last again."""
    return [0] * 4 + [tail] * 8


@pytest.mark.parametrize("seed", range(4))
def test_what_an_engine_tells_is_enough_for_a_router(seed: int) -> None:
    """Of a small pool and a small tier, whose blocks and chunks come and go."""
    rng, told, media = random.Random(seed), list[tuple[int, dict[str, Any]]](), set[object]()
    world = World(9, chunks=3, tier={"enable_kv_cache_events": True})
    scheduler = world.scheduler
    scheduler.publish = lambda events: told.extend((0, as_told(event)) for event in events)
    for number in range(12):
        if number == 8:  # it is told after the next step
            assert scheduler.reset_prefix_cache()
        world.add(f"s{number}", prompt(rng.randrange(3)), 2)
        world.run()
        for tail in range(3):
            asked = Request("asked", prompt(tail), block_size=4)
            pool, connector = scheduler.kv_cache_manager.block_pool, scheduler.connector
            assert connector is not None
            has = []
            for key in asked.block_hashes:
                on = {"GPU"} if pool.get_cached_block(key, [0]) else set[str]()
                on |= {"CPU"} if connector.manager.policy.get(key) else set[str]()
                has.append(bool(on))
                media |= on
            assert ROUTER.reference(1, told, asked.block_hashes) == [[*has, False].index(False)]
    assert media == {"GPU", "CPU"}
    assert {event["type"] for _, event in told} == {
        "BlockStored",
        "BlockRemoved",
        "AllBlocksCleared",
    }


@pytest.mark.parametrize(
    ("number", "name", "said"),
    [
        ("12.1", "longer_than_the_target", " z."),
        ("12.1", "always_by_one", " 2."),
        ("12.2", "any_number", " 16 "),
        ("12.2", "a_long_prompt_wins", " 33.93 "),
        ("12.3", "nothing_is_cleared", " 12,"),
        ("12.4", "symptom", " s2 "),
    ],
)
def test_the_verdict_names_what_the_cause_has_done(number: str, name: str, said: str) -> None:
    exercise = exercises.get(number)
    verdict = exercise.check(exercise.wrong[name])
    assert not verdict and said in verdict.why
