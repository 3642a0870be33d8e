"""The policy "priority": what a swap loses, and what fails.

Who is sorted when, who makes room and how a delay holds prompts back is in the recordings of vLLM
itself: tests/data/scheduler-priority_* and scheduler-delay-*.
"""

from typing import Any

import pytest

import pagesim
from pagesim.cache import CacheEngine, KVPool
from pagesim.simulation import Outcomes, Roofline
from pagesim.simulation.fast_forward import FastForwardServer
from pagesim.simulation.paged import PagedServer
from pagesim.simulation.serving import serve
from pagesim.simulation.waste import WasteLog
from pagesim.workload import Request
from tests.v0.scheduling.engine import Engine, names


def by_priority(**config: Any) -> Engine:
    return Engine(**({"policy": "priority", "watermark": 0.0} | config))


def one_runs_and_a_more_urgent_one_comes(**config: Any) -> Engine:
    """b needs the room that a, less urgent, has."""
    e = by_priority(gpu=6, **config)
    e.add("a", 16, priority=5)
    e.step()
    e.add("b", 16, priority=1)
    return e


def test_chunked_prefill_does_not_look_at_the_policy() -> None:
    e = one_runs_and_a_more_urgent_one_comes(enable_chunked_prefill=True)
    e.step()
    assert e.queues == ("b", "a", "")


def test_q22_a_group_swapped_out_by_priority_waits_and_its_blocks_are_lost() -> None:
    e = one_runs_and_a_more_urgent_one_comes(cpu=12, preemption_mode="swap")
    out = e.step()
    assert out.blocks_to_swap_out == []
    assert out.blocks_lost == [(0, 0), (1, 1), (2, 2), (3, 3)]
    assert not out.is_empty()
    assert (e.queues, e.status("a"), e.free) == (("ba", "", ""), "SWAPPED", (6, 8))


def test_a_cache_engine_refuses_a_step_that_lost_blocks() -> None:
    e = one_runs_and_a_more_urgent_one_comes(cpu=12, preemption_mode="swap")
    out = e.step()
    gpu, cpu = KVPool.zeros(1, 6, 4, 1, 1), KVPool.zeros(1, 12, 4, 1, 1)
    out.blocks_to_copy.append((0, 1))
    gpu.keys[0][0] = 7
    with pytest.raises(pagesim.UsageError, match=r"GPU blocks \[0, 1, 2, 3\] are lost"):
        CacheEngine(gpu, cpu).execute(out)
    assert (gpu.keys[0][1] == 0).all()


def test_whoever_reaches_it_in_the_queue_stops_and_nothing_has_changed() -> None:
    e = one_runs_and_a_more_urgent_one_comes(cpu=12, preemption_mode="swap")
    e.step()
    for _ in range(2):  # b fits; then it is a's turn in the same step
        e.refuses(AssertionError, "'a' is SWAPPED in the waiting queue")
    e.scheduler.abort_seq_group("a")
    assert (names(e.step()), e.free) == ("b", (2, 12))


def test_no_room_on_the_cpu_for_the_second_victim_takes_the_first_one_back() -> None:
    e = by_priority(gpu=6, cpu=3, preemption_mode="swap", delay_factor=1e-9)
    for number, name in enumerate("abc"):
        e.add(name, 8, priority=5 + number, arrival=-9.0)
    e.step()
    e.add("u", 16, priority=0, arrival=-9.0)
    e.refuses(RuntimeError, "no CPU swap space for group 'b'")


def test_it_stops_the_step_even_where_nobody_would_make_room_for_it() -> None:
    e = by_priority(gpu=6, cpu=12, preemption_mode="swap", delay_factor=1e6)
    e.add("a", 8, priority=0)
    e.add("b", 8, priority=9)
    e.step()
    e.add("u", 12, priority=5)  # held by the delay; room is made for it all the same
    e.step()
    assert (e.queues, e.status("b")) == (("ub", "a", ""), "SWAPPED")
    e.scheduler.abort_seq_group("u")
    e.refuses(AssertionError, "'b' is SWAPPED in the waiting queue")


def test_a_step_that_fails_after_the_sort_leaves_the_queues_unsorted() -> None:
    e = by_priority(gpu=4, preemption_mode="swap")
    e.add("a", 8, priority=2)
    e.add("b", 8, priority=1)
    e.step()
    e.add("c", 4, priority=9)
    e.add("d", 4, priority=7)
    e.refuses(RuntimeError, "no CPU swap space for group 'a'")
    assert e.queues == ("cd", "ab", "")


def test_a_time_and_a_priority_that_are_none() -> None:
    seqs = [pagesim.Sequence(0, [1], 4)]
    with pytest.raises(TypeError, match=r"priority of group 'a' must be an int, not 1\.5"):
        pagesim.SequenceGroup("a", seqs, priority=1.5)  # type: ignore[arg-type]
    for setting in ({"policy": "priority"}, {"delay_factor": 1.0}):
        e = Engine(**setting)
        with pytest.raises(ValueError, match="arrival_time of group 'a' must be a time, not nan"):
            e.add("a", 4, arrival=float("nan"))
        assert e.queues == ("", "", "")


@pytest.mark.parametrize("setting", [{"policy": "priority"}, {"delay_factor": 5.0}])
def test_a_workload_under_another_policy_is_stepped(setting: dict[str, Any]) -> None:
    requests = [Request(str(i), 0.001 * i, 9, 20) for i in range(30)]
    seconds = []
    for given in ({}, setting):
        configs = pagesim.SchedulerConfig(64, 8, 64, **given), pagesim.CacheConfig(4, 40)
        log, outcomes = WasteLog(160), Outcomes(requests)
        serve(PagedServer(*configs), requests, log, outcomes, Roofline())
        assert outcomes.num_finished == 30
        assert outcomes.num_preemptions > 0
        seconds.append(log.seconds.tolist())
    # Without priorities the order is that of arrival: first come, first served. A delay is seen.
    assert (seconds[0] == seconds[1]) == ("policy" in setting)
    with pytest.raises(pagesim.UsageError, match="first come, first served"):
        FastForwardServer(*configs)
