"""What pagesim.decision says is what the engines do, on random states and on known ones."""

import random
from typing import Any

import pytest

import pagesim
from pagesim import v1
from pagesim.decision import next_step, what_if
from pagesim.decision.decision import ADMITTED, IGNORED, PREEMPTED, RUNS, WAITS, YES

STATES = 100
"""Random states of each kind: 7 kinds are built, and 3 are reached by steps."""

KINDS: list[dict[str, Any]] = [
    {"engine": "v1"},
    {"engine": "v1", "policy": "priority", "watermark": 0.1},
    {"engine": "v1", "groups": "full,window:8", "watermark": 0.1},
    {"engine": "v1", "sliding_window": 8, "retention_interval": None},
    {"engine": "v0", "watermark": 0.1},
    {"engine": "v0", "preemption_mode": "swap", "num_cpu_blocks": 50},
    {"engine": "v0", "policy": "priority", "enable_prefix_caching": True},
]


def described(rng: random.Random, kind: dict[str, Any]) -> dict[str, Any]:
    """A pool that is nearly full, and requests that find room in it or not."""
    size, names = rng.choice((1, 4, 16)), iter("abcdefghijklmnop")
    options: dict[str, Any] = {"block_size": size, **kind}
    caches = kind["engine"] == "v1" or "enable_prefix_caching" in kind
    priority = ",priority={}" if "policy" in kind else ""
    used = 0

    def some(count: int, most: int) -> dict[str, str]:
        nonlocal used
        found = {}
        for name in (next(names) for _ in range(count)):
            tokens = rng.randint(0, most - 1) * size + rng.choice((2, size + 1, size + 1))
            used += -(-(tokens - 1) // size)
            like = f",prefix=a:{rng.randint(1, 99)}" if name != "a" and rng.random() < 0.3 else ""
            found[name] = f"{tokens}{priority.format(rng.randint(0, 3))}{like}"
        return found

    options["cached"] = some(rng.randint(1, 2) if caches else 0, 4)
    options["swapped"] = some(rng.randint(0, 1) if "num_cpu_blocks" in kind else 0, 4)
    options["running"] = some(rng.randint(1, 4), 6)
    used *= 1 + ("groups" in kind)
    options["blocks"] = used + rng.randint(0, 3) + (kind["engine"] == "v1")
    options["waiting"] = some(rng.randint(0, 3), 9)
    options["max_num_seqs"] = rng.choice((3, 4, 100))
    if options["waiting"]:
        options["request"] = rng.choice(list(options["waiting"]))
    return options


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_the_inequality_says_what_the_engine_says_on_random_states(kind: dict[str, Any]) -> None:
    seen, rng = set(), random.Random(str(kind))
    for _ in range(STATES):
        found = what_if(**described(rng, kind))
        for check in found.checks:
            assert check.holds is check.fits, (check, found)
        entry = [each for each in found.checks if each.request == found.request]
        if found.verdict == ADMITTED:
            assert entry and entry[-1].holds, found
        if found.verdict == WAITS:
            assert found.why, found
        if found.verdict == WAITS and found.why[0].startswith(f"{found.request} needs"):
            assert not entry[-1].holds or len(found.why) > 1, found
        for victim in found.preempted:
            assert found.after[victim.queue][victim.place] == victim.request
            assert victim.blocks > 0 and victim.request not in found.after["running"]
        seen |= {found.verdict} | {"preempts"} if found.preempted else {found.verdict}
    assert {ADMITTED, WAITS, "preempts"} <= seen, seen


def reached_v1(rng: random.Random) -> v1.Scheduler:
    """A scheduler after some steps, with requests that share beginnings."""
    config = v1.SchedulerConfig(
        rng.choice((8, 32)),
        rng.choice((3, 8)),
        200,
        policy=rng.choice(("fcfs", "priority")),
        watermark=rng.choice((0.0, 0.1)),
        scheduler_reserve_full_isl=rng.random() < 0.7,
    )
    window = rng.choice((None, None, 8))
    cache = v1.CacheConfig(4, rng.randint(12, 30), sliding_window=window)
    tier = v1.OffloadingConfig(40) if window is None and rng.random() < 0.3 else None
    scheduler = v1.Scheduler(config, cache, tier)
    for number in range(rng.randint(2, 6)):
        prompt = [1] * rng.randint(0, 12) + [number + 2] * rng.randint(1, 20)
        scheduler.add_request(
            v1.Request(
                f"r{number}", prompt, block_size=4, priority=rng.randint(0, 2), max_tokens=100
            )
        )
    for step in range(rng.randint(0, 20)):
        output = scheduler.schedule()
        done = {n: [50 + step] for n in output.num_scheduled_tokens if _samples(scheduler, n)}
        scheduler.update_from_output(output, done)
    return scheduler


def _samples(scheduler: v1.Scheduler, name: Any) -> bool:
    return not scheduler.requests[name].is_prefill_chunk


def test_the_next_step_is_told_and_not_taken_from_schedulers_in_the_middle_of_their_work() -> None:
    rng, verdicts = random.Random(7), set()
    for _ in range(2 * STATES):
        scheduler = reached_v1(rng)
        queues = [*scheduler.running, *scheduler.waiting]
        if not queues:
            continue
        name = rng.choice(queues).request_id
        before, was_running = scheduler.state(), name in {r.request_id for r in scheduler.running}
        told = next_step(scheduler, name)
        assert scheduler.state() == before
        output = scheduler.schedule()
        assert {victim.request for victim in told.preempted} == output.preempted_req_ids
        assert told.after["running"] == tuple(r.request_id for r in scheduler.running)
        assert told.after["waiting"] == tuple(r.request_id for r in scheduler.waiting)
        is_running = name in told.after["running"]
        assert told.ok is is_running and (told.verdict == ADMITTED) is (
            is_running and not was_running
        )
        assert (told.verdict in YES) is told.ok and all(c.holds is c.fits for c in told.checks)
        verdicts.add(told.verdict)
    assert {ADMITTED, RUNS, WAITS, PREEMPTED} <= verdicts


def reached_v0(rng: random.Random) -> pagesim.Scheduler:
    swap = rng.random() < 0.5
    config = pagesim.SchedulerConfig(
        200,
        rng.choice((3, 8)),
        200,
        preemption_mode="swap" if swap else "recompute",
        policy="fcfs" if swap else rng.choice(("fcfs", "priority")),
    )
    cache = pagesim.CacheConfig(4, rng.randint(12, 25), 60, watermark=rng.choice((0.01, 0.1)))
    scheduler = pagesim.Scheduler(config, cache, clock=lambda: 0.0)
    for number in range(rng.randint(2, 6)):
        seq = pagesim.Sequence(number, [number] * rng.randint(1, 25), 4)
        group = pagesim.SequenceGroup(f"r{number}", [seq], 0.0, priority=rng.randint(0, 2))
        scheduler.add_seq_group(group)
    for _ in range(rng.randint(0, 25)):
        metadata, *_ = scheduler.schedule()
        for meta in metadata:
            for data in meta.seq_data.values():
                data.update_num_computed_tokens(meta.token_chunk_size)
                data.append_token_id(9)
    return scheduler


def test_the_same_of_v0_with_groups_on_the_cpu() -> None:
    rng, verdicts = random.Random(8), set()
    for _ in range(STATES):
        scheduler = reached_v0(rng)
        queues = [*scheduler.running, *scheduler.waiting, *scheduler.swapped]
        if not queues:
            continue
        name, before = rng.choice(queues).request_id, scheduler.state()
        told = next_step(scheduler, name)
        assert scheduler.state() == before and told.error is None
        scheduler.schedule()
        for queue in ("running", "waiting", "swapped"):
            then = tuple(group.request_id for group in getattr(scheduler, queue))
            assert told.after[queue] == then, queue
        assert told.ok is (name in told.after["running"])
        assert all(check.holds is check.fits for check in told.checks)
        verdicts.add(told.verdict)
    assert {ADMITTED, RUNS, WAITS, PREEMPTED} <= verdicts


@pytest.mark.parametrize("name", ["v0", "v1"])
def test_an_engine_that_is_being_recorded_can_be_asked(name: str) -> None:
    engine = pagesim.Engine(name, gpu_blocks=9, block_size=4)
    for each in "abc":
        engine.add(each, 11)
    engine.steps(3)
    events, told = len(engine.run), [next_step(engine), next_step(engine.scheduler)]
    assert len(engine.run) == events and told[0].checks == told[1].checks
    engine.step()
    assert list(told[0].after["running"]) == engine.running
    assert list(told[0].after["waiting"]) == engine.waiting
    assert set(told[0].run.at(-1).tables) == set(engine.run.at(-1).tables)
    with pytest.raises(TypeError, match="Scheduler, or an Engine"):
        next_step(3)


def test_the_request_that_waits_forever_in_v1_is_dropped_by_v0() -> None:
    waits = what_if(4_790, waiting={"long": 100_000, "short": 20})
    check = waits.checks[-1]
    assert (check.needs, check.free, check.watermark, check.fits) == (6_250, 4_789, 0, False)
    assert waits.verdict == WAITS and not waits.ok and "forever" in waits.why[-1]
    behind = what_if(4_790, waiting={"long": 100_000, "short": 20}, request="short")
    assert behind.verdict == WAITS and str(check) in behind.why
    dropped = what_if(4_790, waiting={"long": 100_000}, engine="v0")
    assert dropped.verdict == IGNORED and dropped.checks[-1].never
    assert dropped.checks[-1].watermark == 47


def test_where_the_victim_queues() -> None:
    """V0 recomputes at the front of waiting, or swaps; V1 has the front, and priority sorts."""
    full = {"running": {"a": "5 blocks", "b": "5 blocks,priority=5", "c": 10}, "block_size": 4}
    late = {"waiting": {"d": "30,priority=4"}}
    (v1s,) = what_if(14, **full, **late).preempted
    (v0s,) = what_if(13, **full, **late, engine="v0").preempted
    for victim in (v1s, v0s):
        assert (victim.request, victim.blocks, victim.queue, victim.place) == ("c", 3, "waiting", 0)
    swaps = {"preemption_mode": "swap", "num_cpu_blocks": 20}
    (swapped,) = what_if(13, **full, **late, **swaps, engine="v0").preempted
    assert (swapped.request, swapped.queue) == ("c", "swapped")
    (least,) = what_if(14, **full, **late, policy="priority").preempted
    assert (least.request, least.blocks, least.queue, least.place) == ("b", 5, "waiting", 1)


def test_the_error_of_an_engine_that_stops_is_told() -> None:
    """V0 admits a prompt of 40 tokens by its window of 8, and then has no room for all of them."""
    hidden = what_if(5, waiting={"a": 40}, engine="v0", block_size=4, sliding_window=8)
    assert hidden.checks[-1].fits and not hidden.ok and "no free block" in str(hidden.error)
    assert hidden.after == hidden.before and "stops" in str(hidden)


def test_a_cached_prefix_counts_unless_somebody_holds_it() -> None:
    last = {"waiting": {"d": "20,prefix=old:12"}, "block_size": 4}
    idle = what_if(20, cached={"old": 13}, **last).checks[-1]
    held = what_if(20, running={"old": 13}, **last).checks[-1]
    assert (idle.needs, idle.found, idle.idle) == (5, 12, 3)
    assert (held.needs, held.found, held.idle) == (2, 12, 0)


def test_the_limits_of_a_step_are_named() -> None:
    busy = {"running": {"a": 10}, "waiting": {"b": 30}}
    seats = what_if(50, **busy, max_num_seqs=1)
    budget = what_if(50, **busy, max_num_batched_tokens=16, enable_chunked_prefill=False,
                     max_model_len=16, scheduler_reserve_full_isl=False)  # fmt: skip
    assert "max_num_seqs" in seats.why[-1] and "max_num_batched_tokens" in budget.why[-1]


@pytest.mark.parametrize(
    ("given", "names"),
    [
        ({"running": {"a": 100}, "blocks": 3}, "'a'"),
        ({"running": {"a": "x"}}, "'a'"),
        ({"running": {"a": "5 lions"}}, "'a'"),
        ({"running": {"a": "5,height=3"}}, "'a'"),
        ({"running": {"a": 1}}, "'a'"),
        ({"waiting": {"a": "5,prefix=b:3"}}, "'b'"),
        ({"waiting": {"a": "9" * 17}}, "'a'|999"),
        ({"waiting": {"a": 5}, "cached": {"a": 5}}, "'a'"),
        ({"waiting": {"a": 5}, "request": "b"}, "'b'"),
        ({"waiting": {"\ud800": 5}}, "ud800"),
        ({"swapped": {"a": 5}}, "'a'"),
        ({"swapped": {"a": 5}, "engine": "v0"}, "'a'"),
        ({"cached": {"a": 5}, "engine": "v0"}, "'a'"),
        ({"engine": "v2"}, "v2"),
        ({"lions": 3}, "lions"),
        ({"watermark": 2.0}, "watermark"),
        ({"blocks": 0}, "blocks"),
        ({"blocks": 10**12}, "blocks"),
        ({"num_cpu_blocks": 10**12, "engine": "v0"}, "blocks"),
    ],
)
def test_what_cannot_be_built_is_named(given: dict[str, Any], names: str) -> None:
    with pytest.raises(pagesim.UsageError, match=names):
        what_if(**{"blocks": 50, **given})
