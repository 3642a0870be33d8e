"""How fast a workload is simulated: the real scheduler stepped token by token, and fast-forwarded.

    python tests/bench/simulation.py [--trace FILE] [--requests 1000 10000 100000]

Azure's conversation trace (without FILE: a stream drawn from its fitted lengths), all requests at
time 0, 8,000 blocks of 16, max_num_seqs 256, 16,384 batched tokens, accounting on. Both runs of a
row must agree in every number they keep; tokens are output tokens of the requests that finished.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from pagesim import workload
from pagesim.simulation import Outcomes, Roofline, Server
from pagesim.simulation.fast_forward import FastForwardServer
from pagesim.simulation.paged import PagedServer
from pagesim.simulation.serving import serve
from pagesim.simulation.waste import WasteLog
from pagesim.v0.config import CacheConfig, SchedulerConfig

SCHEDULER = SchedulerConfig(16_384, 256, 16_384)
CACHE = CacheConfig(16, 8_000)


def timed(engine: Server, stream: workload.Workload) -> tuple[float, WasteLog, Outcomes]:
    """Seconds of one run, and what it wrote."""
    log, outcomes = WasteLog(CACHE.num_gpu_blocks * CACHE.block_size), Outcomes(stream.requests)
    start = time.perf_counter()
    serve(engine, stream.requests, log, outcomes, Roofline())
    seconds = time.perf_counter() - start
    log.check()
    return seconds, log, outcomes


def row(stream: workload.Workload) -> str:
    """One line of the table."""
    fast, log, outcomes = timed(FastForwardServer(SCHEDULER, CACHE), stream)
    slow, stepped, told = timed(PagedServer(SCHEDULER, CACHE), stream)
    if (log.seconds != stepped.seconds).any() or told.preemptions != outcomes.preemptions:
        raise SystemExit("the two runs differ")
    finished = zip(stream, outcomes.finished, strict=True)
    tokens = sum(request.output_tokens for request, at in finished if at == at)
    return (
        f"{len(stream):>9,} {log.iterations:>10,} {outcomes.num_preemptions:>11,} {tokens:>12,}"
        f" {slow:>8.2f} s {tokens / slow:>11,.0f} {fast:>8.2f} s {tokens / fast:>12,.0f}"
        f" {slow / fast:>6.0f}x"
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--trace", type=Path, help="a workload file instead of the fitted stream")
    parser.add_argument("--requests", type=int, nargs="*", default=[1_000, 10_000, 100_000])
    arguments = parser.parse_args()
    print(
        f"{'requests':>9} {'iterations':>10} {'preemptions':>11} {'tokens':>12}"
        f" {'stepped':>10} {'tokens/s':>11} {'forwarded':>10} {'tokens/s':>12} {'ratio':>7}"
    )
    for n in arguments.requests:
        if arguments.trace:
            stream = workload.load(arguments.trace).first(n)
        else:
            stream = workload.azure_conv_like(n, seed=0)
        print(row(stream.saturated()), flush=True)


if __name__ == "__main__":
    main()
