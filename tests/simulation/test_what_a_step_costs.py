"""What engines charge for their steps is what a ledger of positions finds, in any configuration."""

import os
import random
from collections import Counter

from pagesim.simulation import Outcomes
from pagesim.simulation.fast_forward import FastForwardServer, why_not
from pagesim.simulation.paged import PagedServer
from pagesim.simulation.serving import serve, steps
from pagesim.simulation.waste import WasteLog
from pagesim.v0.config import CacheConfig, SchedulerConfig
from pagesim.workload import Request
from tests.simulation.ledger import Clock, Ledger

LONGEST, PER_HASH = 48, 4
"""A hash id stands for 4 tokens, so that short prompts can begin alike."""

CONFIGURATIONS = int(os.environ.get("PAGESIM_STREAMS", "55"))


def some_requests(r: random.Random, longest_prompt: int) -> list[Request]:
    """Prompts that begin alike, and are alike now and then; there is never enough room."""
    requests, now = [], 0
    for i in range(r.randint(1, 12)):
        now += r.choice([0, 0, 0, 1, 5])
        prompt = r.randint(1, longest_prompt)
        ids = -(-prompt // PER_HASH)
        alike = r.randint(0, ids)
        hash_ids = (*range(alike), *range(100 * i + 100, 100 * i + 100 + ids - alike))
        output = r.randint(1, 20)
        requests.append(Request(str(i), float(now), prompt, output, hash_ids, (), PER_HASH))
    return requests


def paged_case(r: random.Random) -> tuple[SchedulerConfig, CacheConfig, int, list[Request]]:
    block_size = r.choice([1, 2, 4, 8])
    chunked, caching = r.random() < 0.6, r.random() < 0.5
    samples = r.choice([1, 1, 1, 2, 3])
    window = None if caching or r.random() < 0.5 else r.choice([1, 3, 6, 10])
    mode = "swap" if samples > 1 or window else r.choice([None, "swap", "swap", "recompute"])
    scheduler = SchedulerConfig(
        r.choice([8, 16, 24]) if chunked else r.choice([48, 64]),
        r.choice([1, 2, 4, 8]),
        LONGEST,
        enable_chunked_prefill=chunked,
        preemption_mode=mode,
    )
    # As in vLLM a long prompt, and a long request that is recomputed, is let in for the blocks of
    # its window, and then finds too few: so neither is there.
    longest_prompt = 27 if window is None else (window // block_size + 2) * block_size
    cache = CacheConfig(
        block_size,
        r.randint(48 // block_size, 150 // block_size),
        1000,
        enable_prefix_caching=caching,
        sliding_window=window,
    )
    return scheduler, cache, samples, some_requests(r, min(longest_prompt, 27))


def test_paged_engines_charge_what_a_ledger_finds() -> None:
    seen: Counter[str] = Counter()
    for seed in range(CONFIGURATIONS):
        scheduler, cache, samples, requests = paged_case(random.Random(seed))
        pool = cache.num_gpu_blocks * cache.block_size
        engine = PagedServer(scheduler, cache, samples=samples)
        ledger, clock, log = Ledger(engine), Clock(), WasteLog(pool)
        run = steps(engine, requests, log, Outcomes(requests), clock)
        tokens = [log.at(-1).token for _ in run]
        log.check()
        assert clock.asked == ledger.steps, seed
        assert tokens == ledger.tokens, seed
        seen.update(ledger.seen)
        if samples == 1 and why_not(scheduler, cache) is None:
            fast, clock, log = FastForwardServer(scheduler, cache), Clock(), WasteLog(pool)
            serve(fast, requests, log, Outcomes(requests), clock)
            log.check()
            assert clock.asked == ledger.steps, seed
            seen["fast-forwarded"] += 1
    assert min(seen.values()) > CONFIGURATIONS / 20, seen  # or the cases would be too easy
