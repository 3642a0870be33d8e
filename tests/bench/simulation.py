"""How fast a workload is simulated: the real schedulers stepped token by token, and fast-forwarded.

    python tests/bench/simulation.py [--trace FILE] [--requests 1000 10000 100000]

Azure's conversation trace (without FILE: a stream drawn from its fitted lengths), all requests at
time 0, 8,000 blocks of 16, max_num_seqs 256, 16,384 batched tokens, accounting on. Then a stream
with long answers, and the first requests of Mooncake's trace, whose prompts begin alike. V0 and V1,
without and with prefix caching, take turns. Both runs of a row must agree in every number they
keep; tokens are output tokens of the requests that finished.
"""

import argparse
import time
from pathlib import Path

from pagesim import workload
from pagesim.simulation import Limits, Outcomes, Paged, PagedV1, Policy, Roofline
from pagesim.simulation.serving import serve
from pagesim.simulation.waste import WasteLog

LIMITS = Limits(max_model_len=16_384, max_num_seqs=256, max_num_batched_tokens=16_384)
SLOTS = 8_000 * 16


def engines(fast_forward: bool) -> dict[str, Policy]:
    """The rows of the table."""
    return {
        "V0": Paged(fast_forward=fast_forward),
        "V1": PagedV1(enable_prefix_caching=False, fast_forward=fast_forward),
        "V1 caching": PagedV1(fast_forward=fast_forward),
    }


def timed(policy: Policy, stream: workload.Workload) -> tuple[float, WasteLog, Outcomes]:
    """Seconds of one run, and what it wrote."""
    server = policy.server(SLOTS, LIMITS, stream.requests)
    log, outcomes = WasteLog(SLOTS, server.parts), Outcomes(stream.requests)
    start = time.perf_counter()
    serve(server, stream.requests, log, outcomes, Roofline())
    seconds = time.perf_counter() - start
    log.check()
    return seconds, log, outcomes


def row(stream: workload.Workload, name: str) -> str:
    """One line of the table."""
    fast, log, outcomes = timed(engines(True)[name], stream)
    slow, stepped, counted = timed(engines(False)[name], stream)
    same = (log.seconds == stepped.seconds).all() and counted.refound == outcomes.refound
    if not same or counted.preemptions != outcomes.preemptions or counted.hits != outcomes.hits:
        raise SystemExit("the two runs differ")
    finished = zip(stream, outcomes.finished, strict=True)
    tokens = sum(request.output_tokens for request, at in finished if at == at)
    return (
        f"{name:<11}{len(stream):>9,} {log.iterations:>10,} {outcomes.num_preemptions:>11,}"
        f" {tokens:>12,} {slow:>8.2f} s {tokens / slow:>11,.0f} {fast:>8.2f} s"
        f" {tokens / fast:>12,.0f} {slow / fast:>6.0f}x"
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--trace", type=Path, help="a workload file instead of the fitted stream")
    parser.add_argument("--requests", type=int, nargs="*", default=[1_000, 10_000])
    arguments = parser.parse_args()
    streams = []
    for n in arguments.requests:
        if arguments.trace:
            streams.append(workload.load(arguments.trace).first(n))
        else:
            streams.append(workload.azure_conv_like(n, seed=0))
    if not arguments.trace:
        streams.append(workload.sharegpt_like(max(arguments.requests) // 10, seed=0))
        streams.append(workload.mooncake_conversation().first(100))
    print(
        f"{'engine':<11}{'requests':>9} {'iterations':>10} {'preemptions':>11} {'tokens':>12}"
        f" {'stepped':>10} {'tokens/s':>11} {'forwarded':>10} {'tokens/s':>12} {'ratio':>7}"
    )
    for stream in streams:
        print(stream.name)
        for name in engines(True):
            print(row(stream.saturated(), name), flush=True)


if __name__ == "__main__":
    main()
