"""A schedule() that raises half way: queues, statuses, tables and pools are as before the call."""

from collections.abc import Callable
from typing import Any

import pytest

import pagesim
from pagesim.errors import UnsupportedError
from tests.v0.scheduling.engine import CHUNKS_AND_SWAP, Engine, names


def test_a_step_that_the_caller_left_half_done_is_named() -> None:
    e = Engine()
    e.add("a", 4)
    e.scheduler.schedule()  # and nobody computes it
    e.refuses(pagesim.UsageError, "'a' was scheduled but not computed", e.scheduler.schedule)
    e = Engine()
    group = e.add("a", 4)
    e.step()
    group.first_seq.status = pagesim.SequenceStatus.FINISHED_STOPPED
    e.refuses(pagesim.UsageError, "'a' is FINISHED_STOPPED in the running queue")


@pytest.mark.parametrize("forked", [False, True])
def test_a_sequence_whose_blocks_were_freed_behind_its_back_is_named(forked: bool) -> None:
    e = Engine()
    e.add("a", 4)
    e.add("b", 4)
    e.step()
    if forked:
        e.fork("b", 9)
    freed = e.groups["b"].seqs[-1]
    e.scheduler.block_manager.free(freed)
    e.refuses(pagesim.UsageError, f"sequence {freed.seq_id} of group 'b' has no block")


def test_a_clock_that_tells_no_time_stops_the_step_before_it_begins() -> None:
    e = Engine()
    e.add("a", 4)
    e.now = float("nan")
    e.refuses(pagesim.UsageError, "clock")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: [pagesim.Sequence(0, [], 4)], "prompt of group 'a' is empty"),
        (lambda: [pagesim.Sequence(i, [1], 4) for i in (0, 1)], "has 2 sequences"),
    ],
)
def test_what_cannot_wait(make: Callable[[], list[Any]], message: str) -> None:
    e = Engine()
    new, group = pagesim.SequenceGroup("a", make()), e.add("b", 3)
    e.step()
    add = e.scheduler.add_seq_group
    e.refuses(pagesim.UsageError, message, lambda: add(new))
    e.refuses(pagesim.UsageError, "must be WAITING, not RUNNING", lambda: add(group))
    e.refuses(TypeError, "must be a SequenceGroup", lambda: add("b"))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("config", "error", "message"),
    [
        ({"max_num_seqs": 0}, ValueError, "max_num_seqs must be at least 1, not 0"),
        ({"max_num_batched_tokens": 4, "enable_chunked_prefill": True}, ValueError, "4.*seqs .8"),
        ({"max_num_batched_tokens": 63}, ValueError, "63.*64.* enable_chunked_prefill"),
        ({"enable_prefix_caching": True, "sliding_window": 8}, UnsupportedError, "caching .* sl"),
        ({"preemption_mode": "recomptue"}, ValueError, "'recomptue'"),
        ({"num_lookahead_slots": 1.5}, TypeError, "num_lookahead_slots must be an int"),
        ({"enable_chunked_prefill": 1}, TypeError, "enable_chunked_prefill must be True or False"),
        ({"block_size": 0}, ValueError, "block_size must be at least 1, not 0"),
        ({"gpu": 0}, ValueError, "num_gpu_blocks must be at least 1, not 0"),
        ({"watermark": 1.5}, ValueError, "watermark must be between 0 and 1, not 1.5"),
        ({"watermark": "x"}, TypeError, "watermark"),
        ({"sliding_window": 0}, ValueError, "sliding_window"),
        ({"enable_prefix_caching": None}, TypeError, "enable_prefix_caching"),
        ({"policy": "lifo"}, ValueError, "policy must be 'fcfs' or 'priority', not 'lifo'"),
        ({"delay_factor": "1"}, TypeError, "delay_factor must be a number, not '1'"),
        ({"delay_factor": float("nan")}, ValueError, "delay_factor must be a number, not nan"),
    ],
)
def test_configs_name_what_is_wrong(config: dict[str, Any], error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        Engine(**config)


def test_a_scheduler_is_made_of_its_two_configs() -> None:
    cache = pagesim.CacheConfig(4, 8)
    with pytest.raises(TypeError, match="scheduler_config must be a SchedulerConfig"):
        pagesim.Scheduler(cache, cache)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="cache_config must be a CacheConfig"):
        pagesim.Scheduler(pagesim.SchedulerConfig(8, 2, 8), None)  # type: ignore[arg-type]


def test_who_is_computed_in_which_order_in_chunked_mode() -> None:
    """Five kinds of groups in one step; the recordings hold no step with all of them."""
    e = Engine(cpu=100, max_num_batched_tokens=32, **CHUNKS_AND_SWAP)
    scheduler = e.scheduler
    e.add("d", 4)  # decodes
    e.add("s", 4)  # decoded, swapped out
    e.step()
    e.add("p", 34)  # half way in its prompt
    e.step()
    e.add("q", 40)  # half way in its prompt, swapped out
    e.step()
    for name in "qs":
        group = e.groups[name]
        scheduler.running.remove(group)
        scheduler._preempt_by_swap(group, [])
        scheduler.swapped.append(group)
    rest = {name: e.groups[name].first_seq.get_num_new_tokens() for name in "dsq"}
    assert rest == {"d": 1, "s": 1, "q": rest["q"]}
    assert rest["q"] > 1
    e.groups["p"].first_seq.data.token_ids.extend([7, 7])
    data = e.groups["p"].first_seq.data
    data.num_computed_tokens, data.stage = 33, pagesim.v0.sequence.SequenceStage.PREFILL
    e.add("n", 3)
    out = e.step()
    assert names(out) == "npqds"
    assert e.queues == ("", "sqdpn", "")


def test_a_step_of_exactly_the_longest_sequence_is_enough() -> None:
    assert pagesim.SchedulerConfig(64, 8, 64).max_num_batched_tokens == 64
    assert pagesim.SchedulerConfig(8, 8, 64, enable_chunked_prefill=True).max_model_len == 64


@pytest.mark.parametrize("forked", [False, True])
def test_recompute_is_advised_only_where_it_is_possible(forked: bool) -> None:
    e = Engine(gpu=4, cpu=0, watermark=0.0, preemption_mode="swap")
    e.add("a", 8)
    e.step()
    if forked:
        e.fork("a", 9)
    e.step()
    with pytest.raises(RuntimeError, match="Raise num_cpu_blocks") as error:
        e.steps(20)
    assert ("preemption_mode='recompute'" in str(error.value)) != forked
