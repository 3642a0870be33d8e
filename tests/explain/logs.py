"""Lines as vLLM's releases write them, with the numbers that a test needs."""

from pagesim.explain.finding import Finding
from pagesim.explain.log import explain_log

CLOCK = "(APIServer pid=851) INFO 04-28 22:{:02d}:{:02d} [loggers.py:257] "


def v1(at: int, running: int, waiting: int, usage: float, **more: float) -> str:
    """The stats line of V1 (0.33.0 and before), ``at`` so many seconds."""
    engine = f"Engine {int(more.pop('engine', 0)):03d}: "
    prompt, generation = more.pop("prompt", 0.0), more.pop("generation", 0.0)
    parts = [
        f"Avg prompt throughput: {prompt:.1f} tokens/s",
        f"Avg generation throughput: {generation:.1f} tokens/s",
        f"Running: {running} reqs",
        f"Waiting: {waiting} reqs",
    ]
    if "deferred" in more:
        parts.append(f"Deferred: {more['deferred']} reqs")
    if "fetching" in more:
        parts.append(
            f"KV fetch: 0 waiting to start, {more['fetching']} in progress, 0 completed waiting"
        )
    if "preemptions" in more:
        parts.append(f"Preemptions: {more['preemptions']}")
    parts.append(f"GPU KV cache usage: {usage:.1f}%")
    if "hits" in more:
        parts.append(f"Prefix cache hit rate: {more['hits']:.1f}%")
    if "external" in more:
        parts.append(f"External prefix cache hit rate: {more['external']:.1f}%")
    return CLOCK.format(at // 60, at % 60) + engine + ", ".join(parts)


def v0(running: int, pending: int, usage: float, swapped: int = 0, cpu: float = 0.0) -> str:
    """The stats line of V0."""
    return (
        "INFO 11-20 10:00:00 metrics.py:449] Avg prompt throughput: 0.0 tokens/s, Avg generation "
        f"throughput: 0.0 tokens/s, Running: {running} reqs, Swapped: {swapped} reqs, Pending: "
        f"{pending} reqs, GPU KV cache usage: {usage:.1f}%, CPU KV cache usage: {cpu:.1f}%."
    )


def tokens(number: int, length: int | None = None) -> list[str]:
    """What V1 logs of its pool."""
    head = "(EngineCore_DP0 pid=1094) INFO 04-28 22:00:00 [kv_cache_utils.py:1229] "
    lines = [f"{head}GPU KV cache size: {number:,} tokens"]
    if length is not None:
        times = number / length
        lines.append(f"{head}Maximum concurrency for {length:,} tokens per request: {times:.2f}x")
    return lines


def found(*lines: str) -> list[Finding]:
    return explain_log(lines)


def only(*lines: str) -> Finding:
    """The one finding of these lines."""
    (one,) = explain_log(lines)
    return one
