"""V1's stepped server: where the slots are, what a step costs, what is found, and who starves."""

import random
from typing import Any

import pytest

import pagesim
from pagesim.errors import UnsupportedError, UsageError
from pagesim.simulation import (
    CACHED_PARTS,
    Limits,
    Outcomes,
    PagedV1,
    Roofline,
    Simulation,
    simulate,
)
from pagesim.simulation.paged_v1 import PagedV1Server
from pagesim.simulation.serving import Step, serve
from pagesim.simulation.waste import WasteLog
from pagesim.v1 import CacheConfig, KVCacheManager, SchedulerConfig
from pagesim.v1 import Request as V1Request
from pagesim.workload import Request
from tests.simulation.test_what_a_step_costs import some_requests

LONGEST = 48


def v1(requests: list[Request], pool: int, limits: dict[str, int], **fields: Any) -> Simulation:
    policy = PagedV1(**{"fast_forward": False} | fields)
    return simulate(requests, policy=policy, pool=pool, progress=False, **limits)


class Watched(PagedV1Server):
    """Holds every step against the positions that the requests have, one by one."""

    def __init__(self, *configs: Any) -> None:
        super().__init__(*configs)
        self.seen = {"cached": 0, "shared": 0, "null": 0, "external": 0, "found": 0, "later": 0}
        self.seen |= {"decodes": 0, "preempted": 0}

    def schedule(self, clock: float) -> Step | None:
        before = {row: r.num_computed_tokens for row, r in self.scheduler.requests.items()}
        step = super().schedule(clock)
        if step is not None and step.usage is not None:
            self.check_slots(step)
            self.check_costs(step)
            self.seen["found"] += sum(tokens for _, tokens in step.found)
            self.seen["later"] += any(before.get(row, 0) for row in step.scheduled)
            self.seen["decodes"] += step.decodes
        if step is not None:
            self.seen["preempted"] += len(list(step.preempted))
        return step

    def check_slots(self, step: Step) -> None:
        manager = self.scheduler.kv_cache_manager
        pool, size = manager.block_pool, manager.block_size
        held: dict[int, set[int]] = {}
        for row, r in ((r.request_id, r) for r in self.scheduler.running):
            table = self.tables()[row]
            assert len(table) * size >= r.num_computed_tokens
            self.seen["null"] += 0 in table
            for position in range(len(table) * size):
                block = table[position // size]
                written = held.setdefault(block, set())
                if position < r.num_computed_tokens:
                    self.seen["shared"] += position % size in written
                    written.add(position % size)
        held.pop(0, None)
        tokens = sum(map(len, held.values()))
        free = pool.free_block_queue.get_all_free_blocks()
        cached = sum(block.block_hash is not None for block in free)
        assert step.usage is not None
        assert step.usage[:3] == (tokens, 0, len(held) * size - tokens)
        assert self.cached == cached * size
        assert step.usage[3] in (0, (len(free) - cached) * size)
        assert len(held) + len(free) == pool.num_gpu_blocks - 1
        self.seen["cached"] += cached
        self.seen["external"] += step.usage[3]

    def check_costs(self, step: Step) -> None:
        """Against the batch that a model would be given."""
        if self.scheduler.scheduler_config.async_scheduling:
            return
        batch, window = self.batch(), self.scheduler.cache_config.sliding_window or LONGEST
        assert (step.prefill, step.decodes) == (batch.num_prefill_tokens, batch.num_decode_tokens)
        assert sorted(step.scheduled) == sorted(batch.seq_ids[: batch.num_prefills])
        spans = zip(batch.context_lens.tolist(), batch.seq_lens.tolist(), strict=True)
        read = [
            min(end, window) if i >= batch.num_prefills else min(start, window - 1)
            for i, (start, end) in enumerate(spans)
        ]
        assert step.read == sum(read)


def some_case(r: random.Random) -> tuple[SchedulerConfig, CacheConfig, list[Request]]:
    block_size, window = r.choice([1, 2, 4, 8]), r.choice([None, None, 3, 10])
    scheduler = SchedulerConfig(
        r.choice([8, 16, 60]) if (chunks := r.random() < 0.8) else 60,
        r.choice([1, 2, 4, 8]),
        LONGEST,
        enable_chunked_prefill=chunks,
        long_prefill_token_threshold=r.choice([0, 0, 5]),
        long_prefill_token_threshold_adaptive=r.random() < 0.5,
        watermark=r.choice([0.0, 0.1]),
        scheduler_reserve_full_isl=r.random() < 0.8,
        async_scheduling=r.random() < 0.4,
    )
    cache = CacheConfig(
        block_size,
        r.randint(32 // block_size, 90 // block_size) + 1,
        enable_prefix_caching=r.random() < 0.7,
        sliding_window=window,
        retention_interval=0 if window is None else r.choice([None, 0, 8]),
    )
    return scheduler, cache, some_requests(r, 27)


def test_every_slot_and_every_token_of_every_step() -> None:
    seen: dict[str, int] = {}
    ends = {"finished": 0, "stuck": 0}
    for seed in range(80):
        scheduler, cache, requests = some_case(random.Random(seed))
        server = Watched(scheduler, cache)
        pool = cache.num_gpu_blocks * cache.block_size
        log, outcomes = WasteLog(pool, CACHED_PARTS), Outcomes(requests)
        serve(server, requests, log, outcomes, Roofline())
        log.check()
        assert sum(outcomes.hits) + sum(outcomes.refound) == server.seen["found"]
        assert outcomes.num_preemptions == server.seen["preempted"]
        assert set(outcomes.stuck()) == set(outcomes.why), seed
        ends["finished"] += outcomes.num_finished
        ends["stuck"] += outcomes.num_stuck
        seen = {name: seen.get(name, 0) + n for name, n in server.seen.items()}
    assert min(seen.values()) > 20, seen
    assert min(ends.values()) > 20, ends


def test_the_pool_that_is_divided_is_without_the_null_block() -> None:
    run = v1([Request("a", 0.0, 40, 3)], 16 * 6 + 5, {}, block_size=16)
    first = run.waste.at(0)
    assert (first.token, first.internal, first.external) == (40, 8, 5)  # 5 are in no block
    assert (first.cached, first.free) == (0, 2 * 16)  # 5 blocks are usable, 3 held
    assert run.waste.pool == 16 * 5 + 5 and run.pool.slots == 16 * 6 + 5


@pytest.mark.parametrize("fast_forward", [True, False])
def test_the_share_that_is_held_is_the_usage_of_the_manager(fast_forward: bool) -> None:
    """Three of seven blocks, and 0.33.0's own share of them."""
    manager = KVCacheManager(8, 16, 2048)
    request = V1Request("a", list(range(40)), block_size=16, max_tokens=3)
    manager.allocate_slots(request, 40)
    held = 100 * manager.usage
    assert held == pytest.approx(100 * 3 / 7)
    run = v1([Request("a", 0.0, 40, 3)], 16 * 8, {}, fast_forward=fast_forward)
    for means in (run.waste.mean(0.0), run.waste.time_mean(0.0)):
        assert means["token"] + means["internal"] == pytest.approx(held)
        assert means["external"] == 0.0
    rows = {row[0]: row[1:3] for row in run.compare(run).rows}
    assert rows["% held"] == pytest.approx((held, held))


@pytest.mark.parametrize("fast_forward", [True, False])
def test_a_pool_of_the_null_block_alone_serves_nobody(fast_forward: bool) -> None:
    run = v1([Request("a", 0.0, 4, 3)], 16, {}, fast_forward=fast_forward)
    assert (run.requests.num_stuck, run.iterations, run.summary()["waste"]) == (1, 0, None)


LATE = {"scheduler_reserve_full_isl": False}
TEN = "it needs 10 blocks for its 40 tokens, and the pool has 9"
SMALL = {"max_num_batched_tokens": 16, "max_num_seqs": 4, "max_model_len": 64}


@pytest.mark.parametrize(
    ("requests", "fields", "why"),
    [
        # QUIRKS_V1 w08: the prompt never fits; w09: it outgrows the pool
        ([(60, 2), (4, 2)], {}, "it needs 15 blocks for its 60 tokens, and the pool has 9"),
        ([(30, 20), (4, 30)], {}, "it needs 10 blocks for its 37 tokens, and the pool has 9"),
        # w10: computed and preempted over and over, and with caching once
        ([(40, 2), (4, 2)], LATE | {"enable_prefix_caching": False}, TEN),
        ([(40, 2), (4, 2)], LATE, TEN),
    ],
)
def test_who_waits_forever_is_named_with_the_reason(
    requests: list[tuple[int, int]], fields: dict[str, Any], why: str
) -> None:
    stream = [Request(name, 0.0, *n) for name, n in zip("ab", requests, strict=True)]
    stream.append(Request("late", 1e6, 4, 2))
    run = v1(stream, 40, SMALL, block_size=4, **fields)
    assert run.requests.why[0].startswith(why)
    summary = run.summary()
    assert summary["stuck"] >= 1
    assert summary["waits_forever"]["a"] == run.requests.why[0]
    assert set(run.requests.why) == set(run.requests.stuck())
    behind = [words for row, words in run.requests.why.items() if row]
    assert set(behind) <= {
        "it waits behind request 'a', which waits forever",
        "it arrives when no request can run any more",
    }


def test_a_threshold_may_be_as_large_as_the_model_s_length() -> None:
    policy = PagedV1(long_prefill_token_threshold=4096)
    assert policy.server(160, Limits(max_model_len=4096))
    with pytest.raises(UsageError, match="long_prefill_token_threshold"):
        policy.server(160, Limits(max_model_len=4095))


def test_a_request_that_is_not_queued_yet_lacks_what_its_prompt_lacks() -> None:
    """Not what its answer would: that is never written."""
    stream = [Request("a", 0.0, 60, 2), *(Request(f"r{i}", 0.0, 4, 2) for i in range(5))]
    run = v1([*stream, Request("z", 0.0, 4, 40)], 40, SMALL, block_size=4)
    assert run.requests.stuck() == list(range(7))
    assert run.requests.why[6] == "it waits behind request 'a', which waits forever"


def test_behind_a_window_a_prompt_asks_for_few_blocks() -> None:
    """The step is full when the second prompt comes: it does not wait for blocks."""
    limits = {"max_num_batched_tokens": 8, "max_num_seqs": 4, "max_model_len": 64}
    stream = [Request("a", 0.0, 40, 2), Request("b", 0.0, 40, 2)]
    run = v1(stream, 4 * 10, limits, block_size=4, sliding_window=5)
    assert run.waste.at(0).external == 0


def test_a_spinning_run_goes_on_for_those_who_arrive() -> None:
    """Computed and preempted over and over, it lets others pass: they are served."""
    stream = [Request("a", 0.0, 40, 2), Request("b", 1.0, 4, 2), Request("c", 1e9, 4, 2)]
    fields = LATE | {"enable_prefix_caching": False, "long_prefill_token_threshold": 8}
    run = v1(stream, 40, SMALL, block_size=4, **fields)
    assert run.requests.stuck() == [0]
    assert run.iterations < 100


def test_a_spinning_run_ends_where_it_ends_unrecorded() -> None:
    """A recorded queue holds all that have arrived; what no step can look at decides nothing."""
    stream = [Request("long", 0.0, 9, 1)]
    stream += [Request(f"r{i}", t, 1, 1) for i, t in enumerate((0.01, 0.01, 0.01, 0.12))]
    limits = {"pool": 11, "max_num_seqs": 2, "max_num_batched_tokens": 2, "progress": False}
    policy = PagedV1(2, enable_prefix_caching=False, scheduler_reserve_full_isl=False)
    runs = [simulate(stream, policy=policy, record=on, **limits) for on in (False, True)]  # type: ignore[arg-type]
    assert runs[0].requests.stuck()
    assert runs[0].summary() == runs[1].summary()


def test_a_recorded_run_says_what_waits_forever_and_has_the_names_of_v0() -> None:
    stream = [Request("a", 0.0, 8, 2), Request("b", 0.5, 60, 2)]
    run = v1(stream, 40, SMALL, block_size=4)
    options = {"pool": 40, "record": True, "progress": False}
    recorded = simulate(stream, policy=PagedV1(block_size=4), **options, **SMALL)
    timeline = recorded.timeline
    assert timeline is not None
    assert recorded.waste.seconds.tolist() == run.waste.seconds.tolist()
    last = timeline[-1]
    assert (last.kind, last.subject) == ("failed", 1)
    assert f"{run.requests.why[1]}, so it waits forever" in last.caption
    tables = [set(timeline.at(i).tables) for i in range(len(timeline))]
    assert set().union(*tables) == {0}
    old = simulate(stream, policy="paged", block_size=4, **options)
    assert pagesim.compare(old.timeline, timeline).title


def two_begun(**fields: Any) -> PagedV1Server:
    """Two requests of 5 prompt tokens, whose first step is decided."""
    policy = PagedV1(block_size=4, fast_forward=False, **fields)
    server = policy.server(400, Limits(max_model_len=64))
    assert isinstance(server, PagedV1Server)
    for row in (0, 1):
        assert server.add(row, Request(str(row), 0.0, 5, 10))
    assert server.schedule(0.0)
    return server


def test_asynchronously_a_stop_is_seen_one_step_late() -> None:
    """QUIRKS_V1 w27: the step in flight is wasted, and its batch leaves the answer out."""
    server = two_begun(async_scheduling=True)
    assert server.commit({0: 7, 1: 8}, ended=[1]) == ([0, 1], [1])
    step = server.schedule(1.0)
    assert step is not None and (step.batch, step.decodes) == (2, 2)
    assert server.batch().seq_ids == [0]
    assert server.commit({0: 9}) == ([], [])
    step = server.schedule(2.0)
    assert step is not None and (step.batch, step.decodes) == (1, 1)


def test_fields_are_checked_and_hybrid_models_and_too_many_blocks_are_named() -> None:
    with pytest.raises(UnsupportedError, match="a hybrid model has several KV cache groups"):
        PagedV1(sliding_window=[512, None])  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="watermark must be between 0 and 1, not 2"):
        PagedV1(watermark=2.0)
    with pytest.raises(UsageError, match="pool of 8 slots cannot hold one block of 16"):
        simulate([Request("a", 0.0, 4, 4)], policy="v1", pool=8)
    with pytest.raises(UsageError, match="preemption_mode='swap' does not apply to PagedV1"):
        simulate([Request("a", 0.0, 4, 4)], policy="v1", preemption_mode="swap")
    with pytest.raises(UsageError, match=r"125000000 blocks are too many.* 2000000"):
        PagedV1Server(SchedulerConfig(64, 8, 64), CacheConfig(16, 125_000_000))


def test_a_model_drives_it_and_an_answer_may_end_early() -> None:
    server = two_begun()
    batch = server.batch()
    assert batch.sample_ids == [0, 1]
    assert not any((server.moves.blocks_to_copy, server.moves.blocks_to_swap_in))
    for bad, words in (({0: 7}, "tokens has no entry for sequence 1"), ({0: 7, 1: "x"}, "tokens")):
        with pytest.raises((UsageError, TypeError), match=words):
            server.commit(bad)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="ended names 9, which samples no token"):
        server.commit({0: 7, 1: 8}, ended=[9])
    assert server.commit({0: 7, 1: 8}, ended=[1]) == ([0, 1], [1])
    assert list(server.tables()) == [0]
    assert server.schedule(1.0)
    assert server.batch().input_tokens.tolist() == [7]
    assert server.commit({0: 9}) == ([], [])
    with pytest.raises(UsageError, match="request 1 is neither ignored nor stuck"):
        server.why_not(1)
