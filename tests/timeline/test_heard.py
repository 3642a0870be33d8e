"""A recorded run tells the KV events that its engine has told."""

import json
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

import pagesim
from pagesim.errors import UsageError
from pagesim.timeline import Timeline
from pagesim.timeline.heard import kv_events
from pagesim.v1 import (
    AllBlocksCleared,
    BlockStored,
    CacheConfig,
    KVCacheManager,
    OffloadingConfig,
    Request,
    Scheduler,
    SchedulerConfig,
)
from pagesim.v1.kv_events import KVCacheEvent
from tests.v1.offload.routers import Heard
from tests.v1.routers import CACHES, Engine

TOLD = ("full", "no caching", "window", "two groups")
"""The caches of which a run tells all; some with a retention_interval of None."""


def recorded(
    name: str, seed: int = 0, is_async: bool = False, **cache: Any
) -> tuple[Engine, Timeline]:
    engine = Engine(seed, is_async, **CACHES[name] | cache)
    with pagesim.record(engine.scheduler) as run:
        for _ in range(150):
            engine.act()
            engine.hear()
    return engine, run


def told(run: Timeline, engine: Engine) -> list[KVCacheEvent]:
    return list(chain.from_iterable(events for _, events in kv_events(run, engine.salts)))


def as_told(events: list[KVCacheEvent], has_groups: bool) -> list[KVCacheEvent]:
    """Without what a run of one group does not say."""
    unknown: Any = {"kv_cache_spec_kind": None, "kv_cache_spec_sliding_window": None}
    known = {} if has_groups else unknown
    return [replace(each, **known) if isinstance(each, BlockStored) else each for each in events]


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("name", TOLD)
def test_a_run_tells_what_the_engine_told(name: str, is_async: bool, tmp_path: Path) -> None:
    more = {"retention_interval": None} if "groups" in CACHES[name] else {}
    kinds = set()
    for seed in range(3):
        engine, run = recorded(name, seed, is_async, **more)
        events = as_told(engine.events, "groups" in CACHES[name])
        assert told(run, engine) == events
        kinds |= {type(event).__name__ for event in events}
    assert len(kinds) == (1 if name == "no caching" else 3)
    run.save(tmp_path / "run.jsonl.gz")
    assert told(pagesim.load(tmp_path / "run.jsonl.gz"), engine) == events


@pytest.mark.parametrize("blocks_per_chunk", [1, 2])
def test_a_run_with_a_second_tier_tells_what_is_heard_of_the_gpu(blocks_per_chunk: int) -> None:
    loads = 0
    for seed in range(3):
        world = Heard(seed, blocks_per_chunk=blocks_per_chunk)
        with pagesim.record(world.scheduler) as run:
            for _ in range(120):
                world.act()
        gpu = [each for each in world.events if getattr(each, "medium", "GPU") == "GPU"]
        heard = [event for _, events in kv_events(run) for event in events]
        assert heard == as_told(gpu, False)
        loads += len(run.find(kind="promote"))
    assert loads > 3


def test_each_is_told_at_the_event_that_caused_it() -> None:
    manager = KVCacheManager(4, 2, enable_kv_cache_events=True)
    first, second = (Request(name, [ord(name)] * 5, block_size=2) for name in "ab")
    with pagesim.record(manager) as run:
        manager.allocate_slots(first, 5)
        manager.free(first)
        manager.allocate_slots(second, 3)
        manager.free(second)
        assert manager.reset_prefix_cache()
    heard = dict(kv_events(run))
    assert [(number, run[number].kind) for number in heard] == [
        (0, "allocate_slots"),
        (2, "allocate_slots"),
        (4, "reset_prefix_cache"),
    ]
    assert [type(event).__name__ for event in heard[2]] == ["BlockRemoved", "BlockStored"]
    assert heard[4] == [AllBlocksCleared()]


def test_a_run_without_salts_tells_other_hashes() -> None:
    engine, run = recorded("full")
    plain = list(chain.from_iterable(events for _, events in kv_events(run)))
    assert engine.salts and plain != told(run, engine)
    assert [type(event) for event in plain] == [type(event) for event in told(run, engine)]


@pytest.mark.parametrize("name", ["states", "masked groups", "fine hashes"])
def test_a_run_without_the_hashes_inside_blocks_is_refused(name: str) -> None:
    _, run = recorded(name)
    with pytest.raises(UsageError, match="hashes inside its blocks"):
        list(kv_events(run))


def test_a_run_that_does_not_have_what_it_takes_is_refused() -> None:
    with pagesim.record(pagesim.SelfAttnBlockSpaceManager(4, 8, 4)) as v0:
        pass
    with pytest.raises(UsageError, match="only a run of vLLM V1"):
        list(kv_events(v0))
    engine, run = recorded("full")
    late = run[next(i for i in range(len(run)) if run.at(i).cached) :]
    with pytest.raises(UsageError, match="record it from the beginning"):
        list(kv_events(late))
    pool = engine.manager.block_pool
    engine.scheduler.reset_prefix_cache(True)
    with pagesim.record(pool) as alone:
        its = Request("x", [1, 2], block_size=2)
        pool.cache_full_blocks(its, pool.get_new_blocks(1), 0, 1, 2)
    with pytest.raises(UsageError, match="record the manager or its scheduler"):
        list(kv_events(alone))


def test_a_name_that_comes_back_has_other_contents() -> None:
    manager = KVCacheManager(8, 2, enable_kv_cache_events=True)
    with pagesim.record(manager) as run:
        for tokens in ([1, 2, 3], [4, 5, 6], [1, 2, 3]):
            its = Request("same", tokens, block_size=2)
            manager.allocate_slots(its, 3)
            manager.free(its)
    events = as_told(manager.take_events(), False)
    assert [event for _, heard in kv_events(run) for event in heard] == events


def test_blocks_of_the_cpu_are_not_the_gpus(tmp_path: Path) -> None:
    """A block of a second tier is cached and evicted, while a block of the GPU is cached."""
    header = {
        "format": "pagesim-timeline/2",
        "block_size": 1,
        "pools": [["GPU", 2], ["CPU", 1]],
        "lists": [["free queue", "linked"], ["CPU free list", "linked"]],
        "caching": True,
        "events": 3,
        "first": 0,
        "state": {"lists": [[0, 1], [2]]},
    }
    take = [["take", 0, "free queue"], ["write", 0, "a", 0, 1], ["cache", 0]]
    start = {"opened": [["a", []]], "tokens": [["a", 0, [7]]], "tables": [["a", 0, [0]]]}
    lines: list[dict[str, Any]] = [
        header,
        {"event": "allocate_slots", "of": "a", **start, "effects": take, "caption": ""},
        {"event": "touch", "of": None, "effects": [["take", 2, "CPU free list"], ["cache", 2]]},
        {"event": "reset_prefix_cache", "of": None, "effects": [["evict", 2]]},
    ]
    path = tmp_path / "tiers.jsonl"
    path.write_text("".join(json.dumps({"caption": ""} | line) + "\n" for line in lines))
    heard = dict(kv_events(pagesim.load(path)))
    assert list(heard) == [0] and isinstance(heard[0][0], BlockStored)


@pytest.mark.parametrize(("offloading", "pools"), [(None, ()), (False, ()), (True, ("GPU", "CPU"))])
def test_a_run_notes_of_which_pools_routers_hear(
    offloading: bool | None, pools: tuple[str, ...]
) -> None:
    tier = None
    if offloading is not None:
        tier = OffloadingConfig(4, enable_kv_cache_events=offloading)
    config = SchedulerConfig(64, 8, 64)
    with pagesim.record(Scheduler(config, CacheConfig(4, 8), tier)) as run:
        pass
    assert run.notes.kv_events == pools


def test_a_run_of_a_manager_or_a_pool_notes_that_routers_hear_of_it() -> None:
    manager = KVCacheManager(8, 4, enable_kv_cache_events=True)
    for recorded_alone in (manager, manager.block_pool):
        with pagesim.record(recorded_alone) as run:
            pass
        assert run.notes.kv_events == ("GPU",)
