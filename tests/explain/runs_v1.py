"""Random runs of V1's scheduler, with settings that make trouble likely."""

import random
from typing import Any

import pagesim
from pagesim import v1
from pagesim.timeline import Timeline
from tests.explain.truth_v1 import Truth


def settings(rng: random.Random) -> tuple[v1.SchedulerConfig, v1.CacheConfig]:
    choice = rng.choice
    is_chunked = rng.random() < 0.85
    config = v1.SchedulerConfig(
        choice([8, 16, 24]) if is_chunked else 64,
        choice([2, 3, 6]),
        64,
        enable_chunked_prefill=is_chunked,
        long_prefill_token_threshold=choice([0, 0, 4, 6]),
        policy=choice(["fcfs", "fcfs", "fcfs", "priority"]),
        watermark=choice([0.0, 0.0, 0.1, 0.3]),
        scheduler_reserve_full_isl=rng.random() < 0.85,
        async_scheduling=rng.random() < 0.15,
    )
    caching = rng.random() < 0.8
    window = choice([None, None, None, None, None, 6])
    size = choice([2, 4])
    cache = v1.CacheConfig(
        size, choice([7, 9, 14, 24]), enable_prefix_caching=caching, sliding_window=window
    )
    return config, cache


def random_run(seed: int, steps: int = 60) -> tuple[Timeline, Truth]:
    """A recorded run, and the truth about it."""
    rng = random.Random(seed)
    scheduler = v1.Scheduler(*settings(rng))
    truth = Truth(scheduler)
    late, salted = scheduler.scheduler_config.async_scheduling, rng.random() < 0.3
    in_flight: list[tuple[v1.SchedulerOutput, list[Any]]] = []
    shapes = [[7] * 9, list(range(12)), list(range(8)), [5, 6, 7, 8, 1]]
    count = 0
    with pagesim.record(scheduler) as run:
        for _ in range(steps):
            if rng.random() < 0.5:
                count += 1
                prompt = rng.choice(shapes) + rng.choices(range(3), k=rng.choice([0, 1, 3, 8]))
                prompt *= 4 if rng.random() < 0.04 else 1
                request = v1.Request(
                    f"r{count}",
                    prompt[:63],
                    block_size=scheduler.cache_config.block_size,
                    max_tokens=rng.randrange(1, 16),
                    priority=rng.randrange(2),
                    arrival_time=float(count),
                    cache_salt="other" if salted and rng.random() < 0.3 else None,
                )
                scheduler.add_request(request)
            if rng.random() < 0.03 and scheduler.requests:
                name = rng.choice(list(scheduler.requests))
                scheduler.finish_requests(name, v1.RequestStatus.FINISHED_ABORTED)
            output = scheduler.schedule()
            ready = [n for n in output.num_scheduled_tokens
                     if not scheduler.requests[n].is_prefill_chunk]  # fmt: skip
            in_flight.append((output, ready))
            if len(in_flight) > late:
                output, ready = in_flight.pop(0)
                sampled = {name: [rng.randrange(3)] for name in ready}
                scheduler.update_from_output(output, sampled)
    truth.salted = salted
    return run, truth
