"""The scheduler with a second tier: nothing is lost or freed twice, and wrong use is told."""

import random
from contextlib import nullcontext

import pytest

from pagesim.errors import UsageError
from pagesim.sizing.kv_cache_spec import FullAttentionSpec, SlidingWindowSpec
from pagesim.timeline.record import record
from pagesim.v1 import (
    CacheConfig,
    ModelRunnerOutput,
    OffloadingConfig,
    Request,
    RequestStatus,
    Scheduler,
    SchedulerConfig,
)
from tests.v1.offload.world import LIMITS, World

WINDOW = SlidingWindowSpec(4, sliding_window=8)


def check(world: World) -> None:
    """Every block is owned as often as tables, loads and steps in flight say, and in one place."""
    manager, remote = world.scheduler.kv_cache_manager, world.scheduler.remote
    owners: dict[int, int] = {}
    tables = [manager.get_block_ids(name)[0] for name in world.scheduler.requests]
    deferred = [[block.block_id for block in blocks] for _, blocks in remote._deferred]
    for ids in tables + deferred:
        for block_id in ids:
            owners[block_id] = owners.get(block_id, 0) + 1
    pool = manager.block_pool
    assert {b.block_id: b.ref_cnt for b in pool.blocks if b.ref_cnt and not b.is_null} == owners
    free = [block.block_id for block in pool.free_block_queue.get_all_free_blocks()]
    assert sorted([*free, *owners]) == list(range(1, pool.num_gpu_blocks))
    chunks = world.scheduler.connector.manager.policy.chunks.values()
    ids = [chunk.chunk_id for chunk in chunks]
    assert len(set(ids)) == len(ids)
    loads = [job for job in world.scheduler.connector.jobs.values() if not job.is_store]
    read = sum(len(job.keys) for job in loads)
    assert sum(max(chunk.ref_cnt, 0) for chunk in chunks) == read


@pytest.mark.parametrize("seed", range(24))
def test_any_load_ends_with_every_block_free(seed: int) -> None:
    chance = random.Random(seed)
    in_flight = chance.choice([1, 2])
    world = World(
        chance.randint(12, 16),
        chance.choice([2, 3]),
        chance.choice([2, 6, 40]),
        lambda job: chance.choice([0, 0, 1, 4]),
        {
            "blocks_per_chunk": chance.choice([1, 1, 2]),
            "cache_policy": chance.choice(["lru", "arc"]),
            "offload_prompt_only": chance.random() < 0.5,
            "sync_load_budget_tokens": chance.choice([0, 0, 12]),
            "kv_load_failure_policy": chance.choice(["fail", "recompute"]),
        },
        caching=chance.random() < 0.8,
        async_scheduling=in_flight == 2,
        policy=chance.choice(["fcfs", "priority"]),
        max_num_batched_tokens=chance.choice([8, 24]),
        max_model_len=64,
    )
    texts = [[chance.randint(0, 1) for _ in range(20)] for _ in range(4)]
    for number in range(50):
        if chance.random() < 0.5:
            tokens = chance.choice(texts)[: chance.randint(2, 14)]
            tokens += [2 + number] * chance.choice([0, 0, 3])
            more = {"priority": chance.randint(0, 2), "arrival_time": float(number)}
            world.add(f"r{number}", tokens, chance.randint(1, 5), **more)
        if chance.random() < 0.08 and world.scheduler.requests:
            name = chance.choice([*world.scheduler.requests])
            world.scheduler.finish_requests(name, RequestStatus.FINISHED_ABORTED)
        if chance.random() < 0.04:
            world.scheduler.reset_prefix_cache(reset_connector=True)
        world.schedule()
        check(world)
        while len(world.steps) - world.told >= in_flight:
            loading = [
                world.scheduler.kv_cache_manager.get_block_ids(each.request_id)[0]
                for each in world.scheduler.kv_holding_waiting
                if each.status is RequestStatus.WAITING_FOR_REMOTE_KVS
            ]
            fails = loading and in_flight == 1 and chance.random() < 0.1
            world.update([loading[0][-1]] if fails else [])
            check(world)
    for _ in range(400):
        if not world.scheduler.has_requests():
            break
        world.schedule()
        while len(world.steps) - world.told >= in_flight:
            world.update()
            check(world)
    assert not world.scheduler.requests
    pool = world.scheduler.kv_cache_manager.block_pool
    while world.told < len(world.steps):
        world.update()
    assert pool.get_num_free_blocks() == pool.num_gpu_blocks - 1
    assert not world.scheduler.connector.jobs
    assert not world.scheduler.connector._states


@pytest.mark.parametrize(
    ("cache", "tier"),
    [
        ({"sliding_window": 8}, {}),
        (
            {
                "block_size": None,
                "groups": [FullAttentionSpec(4), SlidingWindowSpec(4, sliding_window=8)],
            },
            {},
        ),
        ({"retention_interval": 8}, {}),
        ({}, {"blocks_per_chunk": 0}),
        ({}, {"blocks_per_chunk": 2, "block_size": 8}),
        ({}, {"block_size": 6}),
        ({}, {"cache_policy": "mru"}),
        ({}, {"kv_load_failure_policy": "ignore"}),
        ({}, {"num_chunks": -1}),
    ],
)
def test_what_the_second_tier_does_not_do_is_refused(
    cache: dict[str, object], tier: dict[str, object]
) -> None:
    with pytest.raises(UsageError):
        config = CacheConfig(**{"block_size": 4, "num_gpu_blocks": 9} | cache)
        Scheduler(SchedulerConfig(**LIMITS), config, OffloadingConfig(**{"num_chunks": 4} | tier))


@pytest.mark.parametrize(
    "report",
    [
        ModelRunnerOutput({}, completed=[(5, 1)]),
        ModelRunnerOutput({}, completed=[(0, 2)]),
        ModelRunnerOutput({}, completed=[(0, 1), (0, 1)]),
        ModelRunnerOutput({}, completed=[(0, 0)]),
        ModelRunnerOutput({}, received=["nobody"]),
    ],
)
def test_a_copy_is_reported_once(report: ModelRunnerOutput) -> None:
    world = World(9)
    world.add("a", range(9), 2)
    output = world.scheduler.schedule()
    with pytest.raises(UsageError):
        world.scheduler.update_from_output(output, report)
    done = ModelRunnerOutput({"a": [7]}, completed=[(0, 1)])
    world.scheduler.update_from_output(output, done)
    assert not world.scheduler.connector.jobs


def test_no_tier_no_copies_and_no_second_request_of_the_same_id() -> None:
    plain = Scheduler(SchedulerConfig(**LIMITS), CacheConfig(4, 9))
    plain.add_request(Request("a", range(9), block_size=4))
    output = plain.schedule()
    assert output.kv_connector_metadata is None
    with pytest.raises(UsageError):
        plain.update_from_output(output, ModelRunnerOutput({"a": [7]}, completed=[(0, 1)]))
    world = World(9)
    world.add("a", range(9))
    world.step()
    with pytest.raises(UsageError):
        world.add("a", range(9))
    world.run()
    world.add("a", range(9))


def test_a_load_without_end_is_the_same_when_it_is_recorded() -> None:
    """Of the only token of a prompt: it is loaded, and computed again to sample the next one."""
    tables = []
    for watch in (nullcontext, record):
        world = World(4, 1)
        with watch(world.scheduler):
            world.add("a", [7])
            world.run()
            assert world.scheduler.reset_prefix_cache()
            world.add("b", [7])
            loads = [world.step().kv_connector_metadata.load_jobs for _ in range(4)]  # type: ignore[union-attr]
        check(world)
        tables.append([list(map(len, loads)), world.scheduler.kv_cache_manager.get_block_ids("b")])
    assert tables[0] == tables[1] == [[1] * 4, ([2],)]
