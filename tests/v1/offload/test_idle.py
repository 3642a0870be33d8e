"""The second tier where it is refused, failed or late: answered at once, forgotten, ignored."""

import random
from collections.abc import Iterable
from typing import Any

import pytest

from pagesim.errors import UsageError
from pagesim.v1 import CPUOffloadingManager, ModelRunnerOutput, Request
from pagesim.v1.offload.base import OffloadingEvent, ReqContext
from pagesim.v1.offload.events import ChunkEvents
from pagesim.v1.offload.lru import LRUCachePolicy
from tests.v1.offload.world import World


@pytest.mark.parametrize("policy", ["lru", "arc"])
def test_a_refused_store_looks_at_no_chunk(policy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    size = 500
    manager, request = CPUOffloadingManager(size, policy), ReqContext("a")
    manager.prepare_store(range(size), request)  # none of them is ready, so none can go
    seen: list[int] = []
    idle = type(manager.policy).idle

    def counted(self: Any, keys: Iterable[Any], protected: Any) -> Any:
        each = list(keys)
        seen.append(len(each))
        return idle(self, each, protected)

    monkeypatch.setattr(type(manager.policy), "idle", counted)
    assert manager.prepare_store(["new"], request) is None
    assert sum(seen) <= 1
    manager.complete_store([7], request)
    assert manager.prepare_store(["new", 7], request) is None  # 7 is offered itself
    answer = manager.prepare_store(["new"], request)
    assert answer is not None and answer.evicted_keys == [7]


@pytest.mark.parametrize("policy", ["lru", "arc"])
@pytest.mark.parametrize("seed", range(5))
def test_the_number_of_idle_chunks_is_counted(policy: str, seed: int) -> None:
    rng, manager = random.Random(seed), CPUOffloadingManager(6, policy)
    requests = [ReqContext(f"{number}") for number in range(4)]
    loads: list[tuple[Any, ReqContext]] = []
    for _ in range(300):
        request, key = rng.choice(requests), rng.choice("abcdefghij")
        what = rng.choice(("store", "end", "fail", "load", "loaded", "touch", "reset"))
        chunk = manager.policy.get(key)
        if what == "store":
            manager.prepare_store(sorted({key, rng.choice("abcdefghij")}), request)
        elif what in ("end", "fail"):
            manager.complete_store([key], request, what == "end")
        elif what == "load" and chunk and chunk.ref_cnt >= 0:
            manager.prepare_load([key], request)
            loads.append((key, request))
        elif what == "loaded" and loads:
            manager.complete_load(*_one(loads.pop(rng.randrange(len(loads)))))
        elif what == "touch":
            manager.touch([key], request)
        elif what == "reset" and rng.random() < 0.1:
            manager.reset_cache()
            loads.clear()
        idle = [chunk for chunk in manager.policy.chunks.values() if chunk.ref_cnt == 0]
        assert manager.policy.num_idle == len(idle)


def _one(load: tuple[Any, ReqContext]) -> tuple[list[Any], ReqContext]:
    return [load[0]], load[1]


def test_what_was_known_of_a_chunk_is_forgotten_if_its_store_fails() -> None:
    events = ChunkEvents(1, 4, True)
    first = Request("a", [1, 2, 3, 4], block_size=4)
    key = first.block_hashes[0]
    events.learn(first, key, 0)
    assert events.of([OffloadingEvent([key], "CPU", True, True)]) == []
    assert key not in events.known


def test_a_report_of_a_job_from_before_a_reset_is_ignored() -> None:
    world = World(10, tier={"num_workers": 2})
    world.add("a", range(9))
    world.run()
    connector = world.scheduler.connector
    assert connector is not None and connector._num_jobs == 1
    with pytest.raises(UsageError, match="job 0 waits for 0 workers"):
        world.scheduler.update_from_output(_empty(world), ModelRunnerOutput({}, [(0, 1)]))
    world.scheduler.reset_prefix_cache(reset_connector=True)
    world.scheduler.update_from_output(_empty(world), ModelRunnerOutput({}, [(0, 1)]))
    connector.update_connector_output([(0, 2)])
    assert not connector.jobs and not connector.has_pending_push_work()
    for wrong in ((0, 0), (1, 1)):
        with pytest.raises(UsageError, match="workers, not for"):
            world.scheduler.update_from_output(_empty(world), ModelRunnerOutput({}, [wrong]))


def test_a_job_under_way_at_a_reset_ends_with_its_reports() -> None:
    world = World(10, lasts=lambda job: 50, tier={"num_workers": 2})
    world.add("a", range(9), max_tokens=4)
    for _ in range(2):
        world.step()
    connector = world.scheduler.connector
    assert connector is not None and list(connector.jobs) == [0]
    connector.reset_cache()
    connector.update_connector_output([(0, 1)])
    assert connector.has_pending_push_work() and connector.num_pending(0) == 1
    connector.update_connector_output([(0, 5)])
    assert connector.num_pending(0) == 0 and not connector._fence


def _empty(world: World) -> Any:
    return world.scheduler.schedule()


def test_a_policy_hears_who_uses_a_chunk(monkeypatch: pytest.MonkeyPatch) -> None:
    heard = list[ReqContext]()
    touch = LRUCachePolicy.touch

    def hear(self: LRUCachePolicy, keys: Any, req_context: ReqContext) -> None:
        heard.append(req_context)
        touch(self, keys, req_context)

    monkeypatch.setattr(LRUCachePolicy, "touch", hear)
    manager, first, second = CPUOffloadingManager(3), ReqContext("a"), ReqContext("b")
    manager.touch(["x"], first)
    manager.on_request_finished(second)
    assert heard == [first, second]
