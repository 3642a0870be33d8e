"""Who holds blocks and cannot be preempted comes first, and is sure of the rest.

Each of the two rules has a scene that is done in a few steps with it, and never without it.
"""

import pytest

from tests.v1.offload.world import World


def loaded(world: World, **prompts: tuple[int, int]) -> dict[str, range]:
    """Prompts of so many tokens, of which the CPU has so many, and the GPU none."""
    texts = {}
    for start, (name, (length, known)) in enumerate(prompts.items(), 1):
        texts[name] = range(1000 * start, 1000 * start + length)
        world.add(f"before {name}", texts[name][:known])
        world.run()
    assert world.scheduler.reset_prefix_cache()
    return texts


def steps_until_all_ended(world: World) -> int:
    """At most 30; copies may still be under way then."""
    for count in range(30):
        if not world.scheduler.requests:
            return count
        world.step()
    return 30


@pytest.mark.parametrize(("reserves", "steps"), [(True, 4), (False, 30)])
def test_a_load_leaves_what_the_others_still_need(
    reserves: bool, steps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # 20 blocks; each of these fits when it is looked at, all three do not (vllm#45388)
    world = World(21)
    texts = loaded(world, a=(48, 24), b=(48, 24), c=(32, 16))
    if not reserves:
        monkeypatch.setattr(world.scheduler.remote, "reserved_blocks", lambda: 0)
    for name, tokens in texts.items():
        world.add(name, tokens)
    assert steps_until_all_ended(world) == steps
    if not reserves:
        assert world.scheduler.kv_cache_manager.block_pool.get_num_free_blocks() == 4


@pytest.mark.parametrize("has_two_queues", [True, False])
def test_who_has_loaded_goes_past_a_head_that_does_not_fit(
    has_two_queues: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    # 8 blocks; the head of the queue needs 7, and 2 are held behind it (vllm#57841)
    world = World(9, lasts=lambda job: 1)
    texts = loaded(world, loads=(12, 8))
    scheduler = world.scheduler
    if not has_two_queues:
        monkeypatch.setattr(scheduler, "kv_holding_waiting", scheduler.waiting)
    world.add("loads", texts["loads"])
    world.step()
    for name, length in (("head", 28), ("last", 4)):
        request = world.add(name, range(5000, 5000 + length))
        if not has_two_queues and name == "head":  # as if it had come first
            scheduler.waiting.remove_requests([request])
            scheduler.waiting.prepend_request(request)
    assert steps_until_all_ended(world) == (3 if has_two_queues else 30)


@pytest.mark.parametrize(("num_blocks", "steps"), [(11, 2), (9, 30)])
def test_a_load_that_failed_from_its_first_block_reserves_room_for_itself(
    num_blocks: int, steps: int
) -> None:
    # 0.33.0 still counts it among the prefills under way when it asks for its blocks again
    world = World(num_blocks, tier={"kv_load_failure_policy": "recompute"})
    texts = loaded(world, a=(28, 8))
    world.add("a", texts["a"])
    world.schedule()
    world.update(world.scheduler.kv_cache_manager.get_block_ids("a")[0])
    assert steps_until_all_ended(world) == steps
