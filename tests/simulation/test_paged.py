"""The stepped server where the fast-forward does not go: caching, chunks, timelines."""

import gc
import os
import random
from itertools import islice

import pytest

from pagesim.simulation import Outcomes, Roofline
from pagesim.simulation.paged import PagedServer
from pagesim.simulation.serving import serve, steps
from pagesim.simulation.waste import WasteLog
from pagesim.v0.config import CacheConfig, SchedulerConfig
from pagesim.workload import Request

STREAMS = int(os.environ.get("PAGESIM_STREAMS", "175"))


def run(engine: PagedServer, requests: list[Request], pool: int) -> tuple[WasteLog, Outcomes]:
    log, outcomes = WasteLog(pool), Outcomes(requests)
    serve(engine, requests, log, outcomes, Roofline())
    log.check()
    return log, outcomes


def test_what_is_cached_is_not_computed_again_and_takes_less_time() -> None:
    one = Request("a", 0.0, 1024, 1, (7, 8))
    again = Request("b", 100.0, 1024, 1, (7, 8))
    times = {}
    for caching in (False, True):
        cache = CacheConfig(16, 300, enable_prefix_caching=caching)
        engine = PagedServer(SchedulerConfig(8192, 8, 8192), cache)
        _, outcomes = run(engine, [one, again], 4800)
        times[caching] = outcomes.latency("end_to_end").tolist()
    assert times[False] == pytest.approx([times[True][0]] * 2)
    assert times[True][1] < 0.5 * times[True][0]


def test_chunks_that_are_not_computed_yet_are_reserved() -> None:
    requests = [Request("a", 0.0, 40, 3)]
    config = SchedulerConfig(16, 4, 64, enable_chunked_prefill=True)
    log, outcomes = run(PagedServer(config, CacheConfig(4, 20)), requests, 80)
    rows = [(log.at(i).token, log.at(i).reserved, log.at(i).internal) for i in range(len(log))]
    assert rows == [(16, 24, 0), (32, 8, 0), (40, 0, 0), (41, 0, 3), (42, 0, 2)]
    assert outcomes.first_token[0] == log.seconds[2]


def test_why_the_scheduler_ignored_a_request_is_known() -> None:
    engine = PagedServer(SchedulerConfig(64, 4, 64), CacheConfig(4, 20))
    for row in (0, 1):
        assert engine.add(row, Request(str(row), 0.0, 40, 3))
    # No request that was added is ignored by itself: `why_never` has looked at it.
    engine.scheduler.scheduler_config = SchedulerConfig(32, 4, 32)
    step = engine.schedule(0.0)
    assert step is not None
    assert list(step.ignored) == [0, 1]
    assert all(engine.why_not(row) for row in (0, 1))


@pytest.mark.parametrize("late", [False, True])
def test_who_can_never_come_back_is_stuck_and_the_others_go_on(late: bool) -> None:
    """The second prompt is swapped out half way, and its rest exceeds the budget: as in vLLM."""
    requests = [Request("a", 0.0, 4, 30), Request("b", 0.001, 30, 3)]
    if late:
        requests.append(Request("c", 50.0, 4, 2))
    config = SchedulerConfig(8, 4, 64, enable_chunked_prefill=True, preemption_mode="swap")
    engine = PagedServer(config, CacheConfig(4, 10, 40))
    log, outcomes = run(engine, requests, 40)
    assert [group.request_id for group in engine.scheduler.swapped] == ["b"]
    assert (outcomes.num_stuck, outcomes.num_ignored) == (1, 0)
    assert outcomes.num_finished == len(requests) - 1
    assert log.seconds[-1] > 50 if late else log.seconds[-1] < 50


def test_a_chunked_prompt_that_would_preempt_itself_for_ever_is_ignored() -> None:
    for tokens, ignored in {12: 0, 13: 1, 15: 1}.items():
        requests = [Request("a", 0.0, tokens, 1)]
        config = SchedulerConfig(8, 4, 64, enable_chunked_prefill=True)
        _, outcomes = run(PagedServer(config, CacheConfig(4, 4)), requests, 16)
        assert (outcomes.num_ignored, outcomes.num_finished) == (ignored, 1 - ignored)


def test_any_setting_comes_to_an_end() -> None:
    """Every request is finished, ignored, or stuck for the one reason there is."""
    stuck = 0
    for seed in range(STREAMS):
        r = random.Random(seed)
        arrivals = sorted(r.choice([0, 0, 0.05, 2.0]) for _ in range(r.randint(1, 10)))
        requests = [
            Request(str(i), at, r.randint(1, 30), r.randint(1, 20)) for i, at in enumerate(arrivals)
        ]
        chunked, samples = r.random() < 0.6, r.choice([1, 1, 2])
        mode = "swap" if samples > 1 else r.choice([None, "swap", "recompute"])
        config = SchedulerConfig(
            r.choice([8, 16]) if chunked else 50,
            r.choice([1, 2, 4, 8]),
            50,
            enable_chunked_prefill=chunked,
            preemption_mode=mode,
        )
        block_size, num_blocks = r.choice([2, 4]), r.randint(4, 24)
        cache = CacheConfig(
            block_size, num_blocks, 400, enable_prefix_caching=r.random() < 0.4, watermark=0.01
        )
        engine = PagedServer(config, cache, samples=samples)
        log, outcomes = WasteLog(block_size * num_blocks), Outcomes(requests)
        iterations = list(islice(steps(engine, requests, log, outcomes, Roofline()), 5000))
        assert len(iterations) < 5000, seed
        log.check()
        manager = engine.scheduler.block_manager
        stuck_ids = {seq.seq_id for group in engine.scheduler.swapped for seq in group.seqs}
        assert set(manager.block_tables) == stuck_ids, seed
        assert manager.get_num_free_gpu_blocks() == num_blocks, seed
        if outcomes.num_stuck:
            assert chunked and mode == "swap", seed
            assert not engine.scheduler.running and not engine.scheduler.waiting, seed
            stuck += 1
    assert stuck > 0


def test_a_timeline_of_the_pages_and_the_queues() -> None:
    requests = [Request(str(i), 0.0, 6, 6) for i in range(3)]
    engine = PagedServer(SchedulerConfig(64, 8, 64), CacheConfig(4, 6), record=True)
    _, outcomes = run(engine, requests, 24)
    timeline = engine.finish()
    assert timeline is not None
    assert len(timeline) > 20
    assert timeline.at(-1).tables == {}
    plain = PagedServer(SchedulerConfig(64, 8, 64), CacheConfig(4, 6))
    assert run(plain, requests, 24)[1].finished == outcomes.finished
    assert plain.finish() is None


def test_no_more_wait_in_the_scheduler_than_a_step_can_admit() -> None:
    requests = [Request(str(i), 0.0, 4, 4) for i in range(50)]
    engine = PagedServer(SchedulerConfig(64, 3, 64), CacheConfig(4, 8))
    log, outcomes = WasteLog(32), Outcomes(requests)
    longest = max(
        len(engine.scheduler.waiting) for _ in steps(engine, requests, log, outcomes, Roofline())
    )
    assert longest <= 4
    assert outcomes.num_finished == 50


@pytest.mark.parametrize("was_on", [True, False])
def test_the_collector_rests_during_a_run_and_goes_on(was_on: bool) -> None:
    class Watching(Roofline):
        def seconds(self, *counts: int) -> float:
            seen.append(gc.isenabled())
            if len(seen) == 3:
                raise KeyError
            return super().seconds(*counts)

    seen: list[bool] = []
    requests = [Request("a", 0.0, 4, 4)]
    engine = PagedServer(SchedulerConfig(64, 3, 64), CacheConfig(4, 8))
    try:
        _ = gc.enable() if was_on else gc.disable()
        with pytest.raises(KeyError):
            serve(engine, requests, WasteLog(32), Outcomes(requests), Watching())
        assert (seen, gc.isenabled()) == ([False] * 3, was_on)
    finally:
        gc.enable()
