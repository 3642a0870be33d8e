"""How fast are V1's manager, requests and scheduler? Prints operations per second, and what
recording costs; run by `make bench`.

The work: 64 requests with prompts of 512 tokens and 256 more, one a step, on 4,097 blocks of 16;
and 96 requests (256 prompt, 128 output tokens) through a scheduler with 2,000 blocks, so that some
are preempted. The medians of several runs.
"""

import argparse
import contextlib
import gc
import json
import statistics
from collections.abc import Callable
from time import process_time

import pagesim
from pagesim.v1 import (
    CacheConfig,
    KVCacheManager,
    Request,
    RequestStatus,
    Scheduler,
    SchedulerConfig,
)


def prompt(number: int, length: int, shared: int = 0) -> list[int]:
    own = [(number * 1_000_003 + at * 7919) % 50_000 for at in range(shared, length)]
    return [at * 31 % 50_000 for at in range(shared)] + own


def manager(caching: bool, record: bool) -> tuple[float, int]:
    """Seconds in the manager, and its calls; making requests and their hashes is not timed."""
    it = KVCacheManager(4097, 16, 1024, caching)
    requests = [Request(str(i), prompt(i, 512), block_size=16) for i in range(64)]
    seconds = 0.0
    with pagesim.record(it) if record else contextlib.nullcontext():
        for step in range(257):
            start = process_time()
            for request in requests:
                count = 1 if step else 512
                it.allocate_slots(request, count)
                request.num_computed_tokens += count
            seconds += process_time() - start
            for request in requests:
                request.status = RequestStatus.RUNNING
                request.append_output_token_ids(7)
        start = process_time()
        for request in requests:
            it.free(request)
        seconds += process_time() - start
    if it.usage:
        raise RuntimeError("blocks were lost: the figures mean nothing")
    return seconds, 64 * 258


def request(caching: bool, record: bool) -> tuple[float, int]:
    """Seconds to make requests and to append their tokens, with hashes where they are cached."""
    prompts = [prompt(i, 512) for i in range(64)]
    start = process_time()
    size = 16 if caching else None
    requests = [Request(str(i), tokens, block_size=size) for i, tokens in enumerate(prompts)]
    for _ in range(256):
        for each in requests:
            each.append_output_token_ids(7)
    return process_time() - start, 64 * 257


def scheduler(caching: bool, record: bool) -> tuple[float, int]:
    """Seconds in schedule() and update_from_output(), and the tokens that were computed."""
    config = SchedulerConfig(4096, 96, 1024)
    it = Scheduler(config, CacheConfig(16, 2000, enable_prefix_caching=caching))
    for i in range(96):
        tokens = prompt(i, 256, 128 if i % 4 == 0 else 0)
        it.add_request(Request(str(i), tokens, block_size=16, max_tokens=128))
    seconds, computed = 0.0, 0
    with pagesim.record(it) if record else contextlib.nullcontext():
        while it.requests:
            start = process_time()
            output = it.schedule()
            seconds += process_time() - start
            tokens = output.num_scheduled_tokens
            sampled = {name: [7] for name in tokens if not it.requests[name].is_prefill_chunk}
            start = process_time()
            it.update_from_output(output, sampled)
            seconds += process_time() - start
            computed += output.total_num_scheduled_tokens
    return seconds, computed


Work = Callable[[bool, bool], tuple[float, int]]


def measure(work: Work, caching: bool, repeat: int) -> dict[str, object]:
    """Operations per second, and how many times as long it takes while it is recorded."""
    seconds: dict[bool, float] = {}
    operations = 0
    for record in (False, True):
        runs = []
        for _ in range(repeat):
            gc.collect()
            spent, operations = work(caching, record)
            runs.append(spent)
        seconds[record] = statistics.median(runs)
    row: dict[str, object] = {"work": work.__name__, "caching": caching}
    row["ops_per_s"] = round(operations / seconds[False])
    if work is not request:
        row["recorded"] = round(seconds[True] / seconds[False], 2)
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=5)
    repeat = parser.parse_args().repeat
    for work in (manager, request, scheduler):
        for caching in (False, True):
            print(json.dumps(measure(work, caching, repeat)))


if __name__ == "__main__":
    main()
