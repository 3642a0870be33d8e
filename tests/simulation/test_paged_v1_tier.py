"""V1 with a second tier: when copies end, who waits for them, and what is told of that."""

import csv
import json
import os
import random
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import pagesim
from pagesim.errors import UsageError
from pagesim.simulation import (
    CACHED_PARTS,
    Outcomes,
    PagedV1,
    Roofline,
    Simulation,
    simulate,
)
from pagesim.simulation.paged_v1_tier import PagedV1TierServer, copying_of
from pagesim.simulation.serving import Step, steps
from pagesim.simulation.tier_use import Copy
from pagesim.simulation.waste import WasteLog
from pagesim.sizing.cost_model import CostModel
from pagesim.sizing.link import LINKS, Link
from pagesim.v1 import CacheConfig, OffloadingConfig, SchedulerConfig
from pagesim.workload import Request
from tests.simulation.test_what_a_step_costs import some_requests

pytestmark = pytest.mark.ch09

LONGEST, ENOUGH = 48, 5_000
CASES = int(os.environ.get("PAGESIM_STREAMS", "80"))


class Ticks(CostModel):
    """A step takes a second."""

    kv_bytes_per_token = 1.0

    def seconds(self, *_: int) -> float:
        return 1.0


def served(requests: Sequence[Request], blocks: int = 8, **fields: Any) -> Simulation:
    """In blocks of 4 slots, by a clock that ticks."""
    policy = PagedV1(4, **{"cpu_blocks": 40} | fields)
    clock = {"cost_model": Ticks(), "progress": False}
    return simulate(requests, policy=policy, pool=4 * (blocks + 1), **clock)


def asked(name: str, arrival: float, tokens: int, first: int = 0, more: int = 1) -> Request:
    return Request(name, arrival, tokens, more, (), tuple(range(first, first + tokens)))


# -- one by one ------------------------------------------------------------------------------------


def flooded(arrival: float) -> list[Request]:
    """One whose two full blocks are stored, another that takes all blocks, and the first again."""
    return [asked("a", 0.0, 9), asked("flood", 10.0, 32, 500), asked("again", arrival, 9)]


SLOW = Link("slow", 8.0, 2.0, 0.5)
"""A block goes out in a second, two blocks come back in four and a half."""


def test_a_load_takes_the_time_of_the_link() -> None:
    run = served(flooded(20.0), link=SLOW)
    assert run.tier is not None
    store, *_, load = run.tier.copies
    # The step of "a" ends at 1. In the step after it, which is empty, its copy begins.
    assert store == Copy(0, True, 2, 2, 1.0, 1.0 + 0.5 + 1.0)
    assert load[:3] == (2, False, 2)
    assert (load.begins, load.ends) == (20.0, 20.0 + 0.5 + 4.0)
    # Its ninth token is computed in a step of its own after the load.
    assert run.requests.first_token[2] == 25.5
    assert run.tier.loads == {2: (8, 4.5)}
    assert run.requests.hits[2] == 0
    assert run.summary()["loaded_tokens"] == 8


def test_copies_that_end_in_their_step_take_no_time() -> None:
    run = served(flooded(20.0), link=0)
    assert run.tier is not None
    assert run.requests.first_token[2] == 21.0
    assert [copy.ends - copy.begins for copy in run.tier.copies] == [0.0] * len(run.tier.copies)
    later = served(flooded(20.0), link="3 steps")
    assert later.tier is not None
    assert later.tier.empty_steps == run.tier.empty_steps + 3 * 3  # two stores and a load
    assert later.requests.first_token[2] == 21.0


def test_a_request_that_arrives_during_a_load_is_not_kept_waiting() -> None:
    new = asked("new", 21.0, 5, 900)
    run = served([*flooded(20.0), new], link=SLOW)
    assert run.requests.first_token[3] == 22.0
    assert run.requests.first_token[2] == 25.5


def test_who_takes_the_blocks_of_a_copy_waits_for_it() -> None:
    """The blocks of a request that has ended are free before their copy has begun."""
    requests = [asked("a", 0.0, 12), asked("b", 0.5, 16, 50)]
    run = served(requests, 4, link=SLOW)
    assert run.tier is not None
    assert run.tier.flushed == 1
    assert run.tier.waited_seconds == 2.0  # three blocks out, from 1 on
    assert run.requests.first_token[1] == 1.0 + 2.0 + 1.0
    assert run.seconds >= 4.0


def test_more_gpus_have_more_links() -> None:
    class Four(Ticks):
        num_gpus = 4

    policy = PagedV1(4, cpu_blocks=40, link=SLOW)
    run = simulate(flooded(20.0), policy=policy, pool=36, cost_model=Four(), progress=False)
    assert run.tier is not None
    first = run.tier.copies[0]
    assert first.ends - first.begins == 0.5 + 0.25


@pytest.mark.parametrize("link", ["pcie4", 0])
@pytest.mark.parametrize("is_async", [False, True])
def test_what_is_loaded_again_and_again_is_noticed(link: str | int, is_async: bool) -> None:
    """A prompt of one token in blocks of one: after its load nothing of it is computed."""
    requests = [asked("a", 0.0, 1), asked("flood", 10.0, 3, 500), asked("b", 20.0, 1)]
    policy = PagedV1(1, cpu_blocks=9, link=link, async_scheduling=is_async)
    run = simulate(requests, policy=policy, pool=4, cost_model=Ticks(), progress=False)
    assert run.requests.num_stuck == 1
    assert "again and again" in run.requests.waits_forever["b"]
    late = [*requests, asked("late", 9_000.0, 2, 700)]
    run = simulate(late, policy=policy, pool=4, cost_model=Ticks(), progress=False)
    assert run.requests.num_finished == 3  # others are served beside it


def test_two_that_are_loaded_again_and_again_do_not_hide_each_other() -> None:
    prompts = [asked("a", 0.0, 1), asked("b", 5.0, 1, 70), asked("flood", 10.0, 3, 500)]
    again = [asked("c", 20.0, 1), asked("d", 20.5, 1, 70)]
    policy = PagedV1(1, cpu_blocks=9, link="4 steps", enable_prefix_caching=False)
    clock = {"cost_model": Ticks(), "progress": False}
    run = simulate([*prompts, *again], policy=policy, pool=4, **clock)
    assert run.requests.num_finished == 3 and run.requests.num_stuck == 2


def test_a_chunk_is_copied_whole_and_generated_tokens_only_if_asked() -> None:
    long = [asked("a", 0.0, 9, more=9)]
    for fields, blocks in (
        ({}, 2),
        ({"blocks_per_chunk": 2}, 2),
        ({"blocks_per_chunk": 3}, 0),
        ({"offload_prompt_only": False}, 4),
        ({"store_threshold": 2}, 0),
    ):
        run = served(long, **fields)
        assert run.tier is not None
        assert run.tier.blocks(out=True) == blocks, fields


def test_arc_and_lru_evict_differently() -> None:
    """Two prompts are used again and again; then others come once, in a tier for four."""
    reused = [asked(f"r{i}", 100.0 * i, 5, 10 * (i % 2)) for i in range(4)]
    flood = [asked(f"f{i}", 50.0 + 100 * i, 32, 500 + 40 * i) for i in range(4)]
    scan = [asked(f"s{i}", 500.0 + 50 * i, 5, 900 + 10 * i) for i in range(6)]
    last = [asked("flood", 950.0, 32, 4_000), asked("again", 1_000.0, 5, 0)]
    requests = sorted([*reused, *flood, *scan, *last], key=lambda each: each.arrival_s)
    loads = {}
    for eviction in ("lru", "arc"):
        run = served(requests, cpu_blocks=4, eviction=eviction)
        assert run.tier is not None
        loads[eviction] = run.tier.loads.get(len(requests) - 1)
    assert loads["lru"] is None and loads["arc"] is not None


# -- many at random --------------------------------------------------------------------------------


class Watched(PagedV1TierServer):
    """Holds every step against the tables, and adds up what every request computes."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.computed: Counter[int] = Counter()
        self.seen: Counter[str] = Counter()

    def schedule(self, clock: float) -> Step | None:
        step = super().schedule(clock)
        if step is None or step.usage is None:
            return step
        parts = self._now[1]
        manager, size = self.scheduler.kv_cache_manager, self.scheduler.cache_config.block_size
        held = {block for table in self.tables().values() for block in table} - {0}
        assert sum(step.usage[:3]) == len(held) * size
        assert step.usage[1] <= len(held) * size
        free = manager.block_pool.get_num_free_blocks()
        assert len(held) + free <= manager.block_pool.num_gpu_blocks - 1
        assert step.begins is not None and step.begins >= clock
        assert (step.until is None) == bool(parts)
        assert bool(step.batch) == bool(parts)
        self.computed.update({part.row: part.end - part.start for part in parts})
        self.seen["waits"] += step.begins > clock
        self.seen["reserved"] += step.usage[1] > 0
        self.seen["empty"] += not parts
        self.seen["preempted"] += len(list(step.preempted))
        return step


def some_case(r: random.Random) -> tuple[Any, ...]:
    block_size = r.choice([1, 2, 4, 8])
    scheduler = SchedulerConfig(
        r.choice([8, 16, 60]) if (chunks := r.random() < 0.8) else 60,
        r.choice([1, 2, 4, 8]),
        LONGEST,
        enable_chunked_prefill=chunks,
        long_prefill_token_threshold=r.choice([0, 0, 5]),
        watermark=r.choice([0.0, 0.1]),
        scheduler_reserve_full_isl=r.random() < 0.7,
        async_scheduling=r.random() < 0.4,
    )
    cache = CacheConfig(
        block_size,
        r.randint(32 // block_size, 90 // block_size) + 1,
        enable_prefix_caching=r.random() < 0.8,
    )
    tier = OffloadingConfig(
        r.choice([1, 3, 8, 50]),
        blocks_per_chunk=r.choice([1, 1, 2, 3]),
        cache_policy=r.choice(["lru", "arc"]),
        offload_prompt_only=r.random() < 0.5,
        store_threshold=r.choice([0, 0, 2]),
        sync_load_budget_tokens=r.choice([0, 0, 8]),
    )
    links = [0, 1, 4, Link("fast", 1e12, 1e12), Link("fair", 1e9, 2e9)]
    links.append(Link("slow", 5e7, 5e7, 1e-3, share=True))
    return scheduler, cache, tier, r.choice(links), some_requests(r, 27)


def check_copies(server: Watched) -> None:
    """Each direction is a queue; a copy takes what the link says."""
    link, copies = server.copying, server.use.copies
    if not isinstance(link, Link):
        return
    for ways in ([True, False],) if link.share else ([True], [False]):
        queue = sorted((copy for copy in copies if copy.out in ways), key=lambda copy: copy.begins)
        for before, after in pairwise(queue):
            assert before.ends <= after.begins
    for copy in copies:
        took = link.seconds(copy.num_blocks * (server.use.block_bytes or 0), out=copy.out)
        assert copy.ends - copy.begins == pytest.approx(took)


def test_every_run_ends_and_every_token_is_accounted_for() -> None:
    seen: Counter[str] = Counter()
    for seed in range(CASES):
        *given, requests = some_case(random.Random(seed))
        server = Watched(*given)
        server.tell(Roofline())
        log, outcomes = WasteLog(server.pool, CACHED_PARTS), Outcomes(requests)
        for number, _ in enumerate(steps(server, requests, log, outcomes, Roofline())):
            assert number < ENOUGH, seed
        log.check()
        check_copies(server)
        assert set(outcomes.stuck()) == set(outcomes.why), seed
        loads, size = server.use.loads, server.scheduler.cache_config.block_size
        assert sum(tokens for tokens, _ in loads.values()) == server.use.blocks(out=False) * size
        assert server.use.num_kept <= server.use.num_blocks
        assert (server.use.empty_steps, log.iterations) == (
            server.seen["empty"],
            server._num_steps - server.seen["empty"],
        )
        for row, each in enumerate(requests):
            if outcomes.finished[row] == outcomes.finished[row] and not outcomes.preemptions[row]:
                told = server.computed[row] + outcomes.hits[row] + loads.get(row, (0, 0.0))[0]
                # The last token of a prompt that is loaded whole is computed again.
                assert told - (each.total_tokens - 1) in (0, 1), (seed, row)
                seen["whole prompts"] += told == each.total_tokens
        seen += server.seen
        seen["finished"] += outcomes.num_finished
        seen["stuck"] += outcomes.num_stuck
        seen["loads"] += len(loads)
    assert min(seen.values()) > CASES / 40, seen


# -- what is told, and what is refused -------------------------------------------------------------


def test_a_row_a_summary_and_a_table_have_what_was_loaded(tmp_path: Path) -> None:
    run, without = served(flooded(20.0), link=SLOW), served(flooded(20.0), cpu_blocks=0)
    run.requests.save_csv(tmp_path / "rows.csv")
    with (tmp_path / "rows.csv").open(newline="") as opened:
        rows = [(row["loaded_tokens"], row["load_s"]) for row in csv.DictReader(opened)]
    assert rows == [("0", "0.0"), ("0", "0.0"), ("8", "4.5")]
    summary = json.loads(json.dumps(run.summary()))
    assert (summary["blocks_out"], summary["blocks_in"]) == (10, 2)
    assert (summary["bytes_out"], summary["bytes_in"]) == (40.0, 8.0)
    assert summary["empty_s"] > 0 == summary["evicted_blocks"]
    assert without.tier is None and "blocks_out" not in without.summary()
    assert "loaded tokens" in str(run.compare(run))
    assert "loaded tokens" not in str(run.compare(without))


def test_a_run_with_a_tier_is_recorded() -> None:
    policy = PagedV1(4, cpu_blocks=40, link=SLOW)
    means = {"cost_model": Ticks(), "progress": False, "record": True}
    run = simulate(flooded(20.0), policy=policy, pool=36, **means)
    assert run.timeline is not None and len(run.timeline.find(kind="finish")) == 3


def test_a_router_hears_of_both_tiers() -> None:
    policy = PagedV1(4, cpu_blocks=5, link=0)
    means = {"cost_model": Ticks(), "progress": False, "kv_events": True}
    run = simulate(flooded(20.0), policy=policy, pool=36, **means)
    assert run.tier is not None and run.kv_events is not None
    on_cpu = Counter(
        type(each).__name__
        for batch in run.kv_events
        for each in batch.events
        if getattr(each, "medium", "") == "CPU"
    )
    assert on_cpu["BlockStored"] == run.tier.blocks(out=True) > 0


def test_a_cell_of_a_sweep_takes_the_fields() -> None:
    workload = {"name": "sharegpt_like", "n": 20, "seed": 0}
    cell = {"workload": workload, "policy": "v1", "num_cpu_blocks": 50, "eviction": "arc"}
    found = pagesim.simulate_cell(**cell, link="pcie5")
    assert found["cpu_blocks"] == 50 and found["blocks_out"] > 0


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"sliding_window": 8}, "windows"),
        ({"groups": "full,full"}, "one KV cache group"),
        ({"groups": "full,window:64"}, "windows"),
        ({"cpu_blocks": -1}, "cpu_blocks"),
        ({"blocks_per_chunk": 0}, "blocks_per_chunk"),
        ({"eviction": "fifo"}, "fifo"),
        ({"link": "wet string"}, "wet string"),
        ({"link": -1}, "link"),
        ({"store_threshold": -1}, "store_threshold"),
    ],
)
def test_a_tier_that_cannot_be_is_refused(fields: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        PagedV1(**{"cpu_blocks": 9} | fields)


def test_what_a_tier_makes_impossible_is_refused_by_name() -> None:
    requests = flooded(20.0)
    with pytest.raises(UsageError, match=r"fast_forward=True is not possible here: cpu_blocks"):
        simulate(requests, policy=PagedV1(cpu_blocks=9, fast_forward=True), progress=False)

    class NoBytes(Ticks):
        kv_bytes_per_token = None

    with pytest.raises(UsageError, match="kv_bytes_per_token"):
        simulate(requests, policy=PagedV1(cpu_blocks=9), cost_model=NoBytes(), progress=False)
    run = simulate(
        requests, policy=PagedV1(cpu_blocks=9, link=2), cost_model=NoBytes(), progress=False
    )
    assert run.summary()["bytes_out"] is None


def test_how_long_copies_take_is_said_in_three_ways() -> None:
    assert copying_of(" 5 steps ") == copying_of(5) == 5
    assert copying_of("pcie5") is LINKS["pcie5"]
    speed = copying_of("40GB")
    assert isinstance(speed, Link) and speed.in_bytes_per_second == 40e9
    with pytest.raises(TypeError, match="link"):
        copying_of(1.5)  # type: ignore[arg-type]
