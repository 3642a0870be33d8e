"""What the player says that routers are told, in runs whose engine tells them."""

import re
from dataclasses import replace
from typing import Any

import pytest

import pagesim
from pagesim.timeline import Timeline, TimelineError
from pagesim.v1 import KVCacheManager, Request
from tests.v1.offload.routers import Heard

TOLD = """
return run.events.map((event, i) => player.forRouters(run, event, run.at(i + 1)));
"""


def story(kv_events: bool, num_blocks: int = 4) -> Timeline:
    manager = KVCacheManager(num_blocks, 2, enable_kv_cache_events=kv_events)
    first, second = (Request(name, [ord(name)] * 30, block_size=2) for name in "ab")
    tokens = 2 * num_blocks - 2
    with pagesim.record(manager) as run:
        manager.allocate_slots(first, tokens)
        manager.reset_prefix_cache()
        manager.free(first)
        manager.allocate_slots(second, 4)
        manager.free(second)
        manager.reset_prefix_cache()
    return run


def numbers(words: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", words)]


def test_each_event_says_what_it_tells(node: Any) -> None:
    stored, _, freed, both, _, cleared = node(TOLD, story(True))
    assert numbers(stored) == [1, 2, 3] and freed == ""
    removed, _, again = both.partition(";")
    assert numbers(removed) == numbers(again) == [3, 2]
    assert "removed" in removed and "stored" in again and "removed" in cleared
    assert numbers(cleared) == []


def test_a_reset_that_fails_tells_nothing(node: Any) -> None:
    run = story(True)
    assert run[1].kind == "reset_prefix_cache"
    assert node(TOLD, run)[1] == ""


def test_many_blocks_are_counted(node: Any) -> None:
    (stored, *_) = node(TOLD, story(True, 16))
    assert numbers(stored) == [*range(1, 13), 3]


def test_without_kv_events_nothing_is_said_and_no_byte_changes(node: Any, tmp_path: Any) -> None:
    run, telling = story(False), story(True)
    assert set(node(TOLD, run)) == {""}
    for name, each in (("plain", run), ("telling", telling)):
        each.save(tmp_path / f"{name}.jsonl")
    plain, told = ((tmp_path / f"{name}.jsonl").read_text() for name in ("plain", "telling"))
    assert told != plain == told.replace('"kv_events":["GPU"],', "")


def test_whether_routers_are_told_is_kept_in_pieces_and_files(tmp_path: Any) -> None:
    run = story(True)
    run.save(tmp_path / "run.jsonl")
    loaded = pagesim.load(tmp_path / "run.jsonl")
    pieces = loaded.notes.kv_events, run[2:].notes.kv_events
    assert pieces == (("GPU",), ("GPU",)) and not story(False).notes.kv_events
    bad = (tmp_path / "run.jsonl").read_text().replace('"kv_events":["GPU"]', '"kv_events":1')
    (tmp_path / "bad.jsonl").write_text(bad)
    with pytest.raises(TimelineError, match="kv_events must be a list of pools, not 1"):
        pagesim.load(tmp_path / "bad.jsonl")


@pytest.fixture(scope="module")
def tiers() -> Timeline:
    """A run with a second tier, which is reset in the end."""
    world = next(world for world in map(Heard, range(9)) if world.tier_size == 6)
    with pagesim.record(world.scheduler) as run:
        for _ in range(60):
            world.act()
        world.scheduler.reset_prefix_cache(reset_connector=True)
    assert run.notes.kv_events == ("GPU", "CPU")
    return run


def test_with_a_second_tier_the_pools_are_told_apart(node: Any, tiers: Timeline) -> None:
    """What is stored on the CPU is heard of when its copy has ended, and a reset of it is not."""
    run = tiers
    gpu, words = run.at(0).num_gpu_blocks, node(TOLD, run)
    seen = set()
    for event, told in zip(run, words, strict=True):
        wanted = [e.block for e in event.effects if e.kind in ("cache", "evict")]
        if event.kind in ("reset_prefix_cache", "reset_cache"):
            assert numbers(told) == []
            continue
        assert numbers(told)[:12] == wanted[:12], told
        on_cpu = [block >= gpu for block in wanted]
        assert (" on the CPU" in told, " on the GPU" in told) == (any(on_cpu), not all(on_cpu))
        seen |= {(event.kind, each) for each in on_cpu}
    assert ("update_connector_output", True) in seen and ("admit", False) in seen
    assert run.find(kind="reset_cache")


def test_both_pools_in_one_event(node: Any, tiers: Timeline) -> None:
    cpu = tiers.at(0).num_gpu_blocks
    event = {"event": "touch", "effects": [["evict", 1], ["evict", cpu], ["evict", cpu + 1]]}
    words = node("return player.forRouters(run, given.event, run.at(0));", tiers, event=event)
    gpu, _, rest = words.partition(";")
    assert numbers(gpu) == [1] and "GPU" in gpu
    assert numbers(rest) == [cpu, cpu + 1] and "CPU" in rest and "GPU" not in rest


def test_a_pool_of_which_routers_do_not_hear_is_left_out(node: Any, tiers: Timeline) -> None:
    alone = tiers[:]
    alone.notes = replace(tiers.notes, kv_events=("GPU",))
    gpu, words = tiers.at(0).num_gpu_blocks, node(TOLD, alone)
    assert any(words) and all(number < gpu for told in words for number in numbers(told))
