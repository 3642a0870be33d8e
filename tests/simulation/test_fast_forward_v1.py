"""V1's fast-forward is exact: tables at every step, times, rows, preemptions, hits, who starves.

`make test` plays a sample of the streams, `make nightly` all of them: PAGESIM_STREAMS.
"""

import os
import random
from typing import Any

import pytest

from pagesim.errors import UsageError
from pagesim.simulation import PagedV1, simulate
from pagesim.simulation.fast_forward_v1 import FastForwardV1Server
from pagesim.simulation.paged_v1 import PagedV1Server
from pagesim.v1 import CacheConfig, SchedulerConfig
from pagesim.workload import Request
from tests.simulation.two_servers import play_both

BOTH = (PagedV1Server, FastForwardV1Server)
LONGEST, PER_HASH = 400, 24
"""A hash id stands for 24 tokens: blocks of 16 and 32 lie across two of them."""
STREAMS = int(os.environ.get("PAGESIM_STREAMS", "30"))


def random_stream(r: random.Random) -> list[Request]:
    """Some begin alike, some are alike; outputs are short, long, or a single token."""
    requests, now, alike = [], 0.0, r.random() < 0.5
    longest = r.choice([30, 60, 120, 300])
    for i in range(r.randint(1, 25)):
        now += r.choice([0, 0, 0, 0.02, 1.0])
        prompt, ids = r.choice([1, 16, 32, 64, r.randint(1, longest)]), ()
        if alike and r.random() < 0.8:
            count = -(-prompt // PER_HASH)
            same = r.randint(0, count)
            family = 1000 * r.randint(0, 2)
            ids = (*range(family, family + same), *range(10**6 * i, 10**6 * i + count - same))
        output = r.choice([1, 2, r.randint(1, 90), r.randint(30, 99)])
        requests.append(Request(str(i), now, prompt, output, ids, (), PER_HASH))
    return requests


def random_case(seed: int) -> tuple[tuple[Any, Any], list[Request], int]:
    """There is too little of everything now and then, and sometimes too little forever."""
    r = random.Random(seed)
    block_size, seats = r.choice([16, 16, 16, 32, 64]), r.choice([2, 5, 10, 20])
    requests = random_stream(r)
    budget, chunks = r.choice([seats, max(seats, 16), 40, 200, 512]), r.random() < 0.7
    scheduler = SchedulerConfig(
        budget,
        seats,
        LONGEST if chunks else min(LONGEST, budget),
        enable_chunked_prefill=chunks,
        watermark=r.choice([0.0, 0.0, 0.05, 0.2]),
    )
    most = max(each.total_tokens for each in requests) // block_size
    num_blocks = 1 + max(1, most + r.choice([-1, -1, 1, 1, 2, 2, 4, 8]))
    cache = CacheConfig(block_size, num_blocks, enable_prefix_caching=r.random() < 0.7)
    return (scheduler, cache), requests, num_blocks * block_size + r.choice([0, 3])


def test_the_same_run_step_by_step() -> None:
    seen = {"preempted": 0, "hits": 0, "refound": 0, "stuck": 0, "ignored": 0, "finished": 0}
    for seed in range(STREAMS):
        outcomes, _ = play_both(BOTH, *random_case(seed), seed)
        seen["preempted"] += outcomes.num_preemptions
        seen["hits"] += sum(outcomes.hits)
        seen["refound"] += sum(outcomes.refound)
        seen["stuck"] += outcomes.num_stuck
        seen["finished"] += outcomes.num_finished
        seen["ignored"] += outcomes.num_ignored
    assert seen.pop("ignored") >= 0
    assert min(seen.values()) > 20, seen  # or the cases would be too easy


@pytest.mark.parametrize(
    ("given", "reason"),
    [({"token_ids": (1, 2, 3, 4)}, "'a' has token_ids"), ({"hash_ids": (-1,)}, "hash id below 0")],
)
def test_requests_whose_tokens_are_compared_are_stepped(given: Any, reason: str) -> None:
    requests = [Request("a", 0.0, 4, 4, **given)]
    run = simulate(requests, policy="v1", pool=640, progress=False)
    assert run.requests.num_finished == 1
    with pytest.raises(UsageError, match=reason):
        simulate(requests, policy=PagedV1(fast_forward=True), pool=640, progress=False)
    with pytest.raises(UsageError, match=reason):
        FastForwardV1Server(SchedulerConfig(64, 8, 64), CacheConfig(4, 12)).add(0, requests[0])
    off = PagedV1(fast_forward=True, enable_prefix_caching=False)
    assert simulate(requests, policy=off, pool=640, progress=False).requests.num_finished == 1


def test_a_victim_whose_prompt_is_half_computed() -> None:
    requests = [Request("a", 0.0, 30, 60), Request("b", 0.0, 90, 5), Request("c", 0.3, 20, 5)]
    configs = SchedulerConfig(16, 8, 128, watermark=0.0), CacheConfig(16, 9)
    outcomes, _ = play_both(BOTH, configs, requests, 9 * 16, "half")
    assert outcomes.preemptions[1] > 0 and outcomes.num_finished == 3


def test_of_equal_copies_the_first_is_found_and_a_known_prompt_needs_little_budget() -> None:
    """A prompt of whole blocks computes its last one again; without chunks the rest must fit."""
    requests = [
        Request("a", 0.0, 48, 1, (7, 8), (), PER_HASH),
        Request("b", 1.0, 48, 1, (7, 8), (), PER_HASH),
        Request("c", 2.0, 72, 5, (7, 8, 9), (), PER_HASH),
        Request("d", 2.0, 72, 5, (7, 8, 9), (), PER_HASH),
    ]
    config = SchedulerConfig(80, 8, 80, enable_chunked_prefill=False)
    outcomes, _ = play_both(BOTH, (config, CacheConfig(16, 30)), requests, 480, "copies")
    assert list(outcomes.hits) == [0, 32, 48, 64]


def test_the_watermark_holds_nothing_back_while_nothing_runs() -> None:
    requests = [Request("a", 0.0, 90, 4), Request("b", 0.0, 16, 4), Request("c", 0.0, 50, 4)]
    configs = SchedulerConfig(512, 8, LONGEST, watermark=0.5), CacheConfig(16, 8)
    outcomes, _ = play_both(BOTH, configs, requests, 8 * 16, "watermark")
    assert outcomes.num_finished == 3
