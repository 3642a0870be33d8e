"""V1's second tier in a recorded run: the copies, the blocks on the CPU, and files that lie."""

from pathlib import Path
from typing import Any

import pytest

import pagesim
from pagesim.timeline import Job, Tier, Timeline, TimelineError
from pagesim.v1 import (
    CacheConfig,
    ModelRunnerOutput,
    OffloadingConfig,
    Request,
    Scheduler,
    SchedulerConfig,
)
from pagesim.v1.offload.worker import OffloadingWorker, reported
from tests.timeline.hostile import try_to_load, write
from tests.timeline.random_calls.offload import OffloadRun
from tests.timeline.runs import comparable
from tests.timeline.scenes import words
from tests.timeline.test_format import PAGE


class Server:
    """A scheduler and its workers; a load takes a step more than a store."""

    def __init__(self, num_gpu: int, num_chunks: int, **offload: Any) -> None:
        config = OffloadingConfig(num_chunks, **offload)
        self.scheduler = Scheduler(
            SchedulerConfig(64, 8, 128, policy="priority"), CacheConfig(2, num_gpu), config
        )
        self.worker = OffloadingWorker(lambda job, now: now + (not job.is_store))
        self.now = 0.0

    def arrive(self, name: str, *tokens: int, priority: int = 0) -> None:
        request = Request(name, tokens, block_size=2, max_tokens=1, priority=priority)
        self.scheduler.add_request(request)

    def step(self) -> None:
        self.now += 1
        output = self.scheduler.schedule()
        assert output.kv_connector_metadata is not None
        self.worker.start(output.kv_connector_metadata, self.now)
        completed, received = reported(self.worker.finish(self.now))
        tokens = {name: [7] for name in output.num_scheduled_tokens}
        self.scheduler.update_from_output(output, ModelRunnerOutput(tokens, completed, received))

    def serve(self, name: str, *tokens: int) -> None:
        self.arrive(name, *tokens)
        while self.scheduler.has_requests():
            self.step()


def lost_and_loaded() -> Timeline:
    """The GPU loses the first block of a, which c loads."""
    server = Server(4, 3)
    with pagesim.record(server.scheduler) as run:
        server.serve("a", 0, 1, 2)
        server.serve("b", 3, 4, 5, 6, 7)
        server.serve("c", 0, 1, 8)
    return run


def effects(run: Timeline, kind: str, which: int = 0) -> str:
    event = run[run.find(kind=kind)[which]]
    return ", ".join(" ".join(map(str, word)) for word in words(event))


def test_what_the_page_shows_is_part_of_a_file(tmp_path: Path) -> None:
    server = Server(4, 3)
    server.worker = OffloadingWorker()
    with pagesim.record(server.scheduler) as run:
        server.serve("a", 0, 1, 2)
        server.serve("b", 3, 4, 5, 6, 7)
        server.serve("c", 0, 1, 8)
    shown = PAGE.partition("## A second tier")[2].partition("```json\n")[2].partition("```")[0]
    lines = [line.rstrip("\n") for line in run.lines()]
    places = [lines.index(line) for line in shown.splitlines()]
    assert places == sorted(places) and len(places) == 6


def test_a_chunk_goes_to_the_cpu_and_comes_back() -> None:
    run = lost_and_loaded()
    assert run.at(0).tier == Tier(1, "lru") and run.at(0).pools == {"GPU": 4, "CPU": 3}
    (load,) = run.find(kind="load")
    store = run.find(kind="begin")[0]
    assert effects(run, "schedule") == "take 4, write 4 a"
    assert run[store].begun == (Job(0, "store", "a", ((1, 4),)),)
    assert run.at(store + 1).jobs == run[store].begun and not run.at(store).jobs
    assert effects(run, "load") == "take 1, share 4"
    assert run[load].begun == (Job(2, "load", "c", ((4, 1),)),)
    loading = run.at(load + 1)
    assert loading.queues["kv_holding_waiting"] == ("c",)
    assert loading.ref_counts[4] == 2 and loading.tables["c"].num_slots == 0
    (receive,) = run.find(kind="receive")
    assert effects(run, "receive") == "write 1 c 0 1"
    assert run[receive - 1].ended == (2,) and effects(run, "end", 2) == "unshare 4"
    assert run.at(receive + 1).tables["c"].fill == (2,) and not run.at(receive + 1).jobs
    assert effects(run, "promote") == "cache 1"
    assert {4, 5, 6} <= run.at(-1).cached and run.at(-1).computed == {4, 5, 6}


def test_who_needs_what_is_being_copied_is_passed_over() -> None:
    server = Server(8, 4)
    with pagesim.record(server.scheduler) as run:
        server.serve("a", 0, 1, 2)
        server.scheduler.reset_prefix_cache()
        for name in ("b", "c"):
            server.arrive(name, 0, 1, 3)
        while server.scheduler.has_requests():
            server.step()
    deferred = [run[at] for at in run.find(kind="defer")]
    assert [event.subject for event in deferred] == ["c", "c"]
    assert not any(event.effects or event.moves for event in deferred)
    assert [run[at].subject for at in run.find(kind="load")] == ["b"]


def test_who_is_urgent_stands_in_front_of_those_that_load_as_well() -> None:
    server = Server(12, 4)
    with pagesim.record(server.scheduler) as run:
        server.serve("a", 0, 1, 2)
        server.serve("b", 5, 6, 7)
        server.scheduler.reset_prefix_cache()
        server.arrive("c", 0, 1, 3, priority=1)
        server.step()
        server.arrive("d", 5, 6, 8)
        server.scheduler.schedule()
    assert run.at(-1).queues["kv_holding_waiting"] == ("d", "c")
    assert run.at(-1) == server.scheduler.state()


def test_a_chunk_that_must_go_is_freed_to_the_back() -> None:
    server = Server(8, 3, blocks_per_chunk=2)
    with pagesim.record(server.scheduler) as run:
        server.serve("a", *range(9))
        server.serve("b", *range(20, 29))
    assert run.at(0).lists["CPU free list"] == (8, 9, 10, 11, 12, 13)
    (evict,) = [at for at in run.find(kind="evict") if run[at].kind == "schedule"]
    assert {effect.place for effect in run[evict].effects} == {None, -1}
    kinds = [(effect.kind, effect.block) for effect in run[evict].effects][:8]
    assert kinds == [
        *(("evict", 10), ("evict", 11), ("free", 10), ("free", 11)),
        *(("take", 12), ("take", 13), ("take", 10), ("take", 11)),
    ]


def test_a_reset_begins_with_the_first_chunk_again_and_its_copies_end_later() -> None:
    server = Server(8, 4)
    with pagesim.record(server.scheduler) as run:
        server.serve("a", *range(9))
        server.arrive("b", *range(20, 23))
        server.step()
        server.scheduler.reset_prefix_cache(reset_connector=True)
        assert comparable(run.at(-1)) == comparable(server.scheduler.state())
        while server.scheduler.has_requests():
            server.step()
    (reset,) = run.find(kind="reset_cache")
    before, after = run.at(reset), run.at(reset + 1)
    assert before.lists["CPU free list"] == () and len(before.cached & {*range(8, 12)}) == 3
    assert after.lists["CPU free list"] == (8, 9, 10, 11)
    assert not after.cached & {*range(8, 12)} and after.jobs == before.jobs != ()
    assert run[run.find(kind="end")[-1]].effects == () and run.at(-1).jobs == ()


def test_a_tier_joins_a_recording_of_the_gpu_alone() -> None:
    for seed in range(20):
        if (source := OffloadRun(seed)).late:
            continue  # a manager alone learns a token only with the next one
        source.steps(40)
        with pagesim.record(source.scheduler.kv_cache_manager) as outer:
            source.steps(seed)
            with pagesim.record(source.scheduler) as run:
                assert run.at(-1) == source.live()
                source.steps(30)
                assert run.at(-1) == outer.at(-1) == source.live()
        assert outer.at(0).tier == run.at(0).tier is not None


def test_a_manager_alone_shows_no_tier() -> None:
    for seed in range(12):
        source = OffloadRun(seed)
        source.steps(seed)
        with pagesim.record(source.scheduler.kv_cache_manager) as run:
            source.steps(60)
            gpu = source.scheduler.kv_cache_manager.state()
        assert run.at(-1).lists == gpu.lists and run.at(-1).tier is None
        assert run.at(-1).ref_counts == gpu.ref_counts


def test_what_can_be_found() -> None:
    run = lost_and_loaded()
    stores = [at for at in run.find(kind="begin") if run[at].kind == "schedule"]
    assert run.find(kind="schedule", sequence="b") == stores[1:]
    assert {stores[0], *run.find(kind="load")} <= {*run.find(block=4)}
    assert len(run.find(kind="end")) == 3


SMALL: dict[str, Any] = {
    "format": "pagesim-timeline/2",
    "block_size": 2,
    "pools": [["GPU", 4], ["CPU", 4]],
    "tier": {"blocks_per_chunk": 2, "policy": "arc"},
    "lists": [["free queue", "linked"], ["CPU free list", "linked"]],
    "queues": ["waiting", "running", "kv_holding_waiting"],
    "caching": True,
    "events": 1,
    "state": {
        "tables": [],
        "lists": [[1, 2, 3], [6, 7]],
        "refs": [[4, 1], [5, 1]],
        "cached": [],
        "null": 0,
        "queues": [[], [], []],
        "jobs": [[3, "store", "a", [[1, 4], [2, 5]]]],
    },
}
JOB = [4, "load", "b", [[5, 3]]]

EFFECTS: dict[str, tuple[list[Any], str]] = {
    "what is under way": (["begin", 3, *JOB[1:]], "job 3: it is under way already"),
    "no store, no load": (["begin", 4, "move", "b", [[5, 3]]], "store or a load"),
    "a kind that is a list": (["begin", 4, [], "b", [[5, 3]]], "store or a load"),
    "a load to the CPU": (["begin", 4, "load", "b", [[1, 6]]], "load cannot copy block 1"),
    "a store from the CPU": (["begin", 4, "store", "b", [[6, 1]]], "store cannot copy block 6"),
    "a store to the GPU": (["begin", 4, "store", "b", [[1, 2]]], "store cannot copy block 1"),
    "a block that is not there": (["begin", 4, "load", "b", [[8, 1]]], "no block 8"),
    "no pairs": (["begin", 4, "load", "b", [5, 3]], "blocks must be pairs"),
    "no name": (["begin", 4, "load", None, [[5, 3]]], "a name must be"),
    "no number": (["begin", "4", "load", "b", [[5, 3]]], "number must be an integer"),
    "too little": (["begin", 4, "load", "b"], "begin must have 5 parts"),
    "the end of nothing": (["end", 4], "job 4: it is not under way"),
    "an end of two": (["end", 3, 4], "end must have 2 parts"),
}


@pytest.mark.parametrize("what", EFFECTS)
def test_copies_that_cannot_be(what: str, tmp_path: Path) -> None:
    effect, problem = EFFECTS[what]
    path = write(tmp_path / "x.jsonl", [SMALL, {"event": "e", "effects": [effect]}])
    text = try_to_load(path)
    assert text.startswith(f"{path}:2: ") and problem in text


def test_copies_that_can_be(tmp_path: Path) -> None:
    effects = [["begin", *JOB], ["end", 3]]
    path = write(tmp_path / "x.jsonl", [SMALL, {"event": "e", "effects": effects}])
    assert try_to_load(path) == ""
    run = pagesim.load(path)
    assert [job.job for job in run.at(0).jobs + run.at(1).jobs] == [3, 4]


HEADERS: dict[str, tuple[dict[str, Any], str]] = {
    "no object": ({"tier": 2}, "tier must have a policy"),
    "another policy": ({"tier": {"blocks_per_chunk": 2, "policy": "fifo"}}, "lru or arc"),
    "chunks of nothing": ({"tier": {"blocks_per_chunk": 0, "policy": "lru"}}, "at least 1"),
    "half a chunk": ({"tier": {"blocks_per_chunk": 3, "policy": "lru"}}, "whole chunks of 3"),
    "one pool": ({"pools": [["GPU", 8]]}, "two pools"),
    "jobs without a tier": ({"tier": None}, "there are jobs, but no tier"),
    "a job twice": ({"state": {**SMALL["state"], "jobs": [JOB, JOB]}}, "under way twice"),
    "a job of three": ({"state": {**SMALL["state"], "jobs": [JOB[:3]]}}, "job must have 4 parts"),
}


@pytest.mark.parametrize("what", HEADERS)
def test_tiers_that_cannot_be(what: str, tmp_path: Path) -> None:
    header, problem = HEADERS[what]
    path = write(tmp_path / "x.jsonl", [{**SMALL, **header}, {"event": "e"}])
    with pytest.raises(TimelineError, match=problem):
        pagesim.load(path)


def test_without_a_tier_there_are_no_copies(tmp_path: Path) -> None:
    header = {**SMALL, "tier": None, "state": {**SMALL["state"], "jobs": []}}
    path = write(tmp_path / "x.jsonl", [header, {"event": "e", "effects": [["begin", *JOB]]}])
    assert "unknown effect" in try_to_load(path)
