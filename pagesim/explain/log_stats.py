"""The line that vLLM writes every few seconds: what it says of an engine at that moment.

V0 (0.2 to 0.10, every 5 seconds), with a line of its own for the hit rates (0.6 to 0.10):

    Avg prompt throughput: 0.0 tokens/s, Avg generation throughput: 16.7 tokens/s, Running: 16 reqs,
    Swapped: 0 reqs, Pending: 2 reqs, GPU KV cache usage: 92.1%, CPU KV cache usage: 0.0%.
    Prefix cache hit rate: GPU: 21.43%, CPU: 0.00%

V1 (0.7 to 0.33, every 10 seconds; 0.7 has no "Engine 000"):

    Engine 000: Avg prompt throughput: 0.0 tokens/s, Avg generation throughput: 5.4 tokens/s,
    Running: 1 reqs, Waiting: 14 reqs, GPU KV cache usage: 76.5%, Prefix cache hit rate: 92.0%

In 0.33.0, "Deferred", "KV fetch" and "Preemptions" stand before the usage if they are not 0, the
hit rate only appears once something was looked up, and with one logger for several engines the
line begins "4 Engines Aggregated".
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

BEGIN = "Avg prompt throughput"
_RATE = r"([0-9]{1,3}(?:\.[0-9]{1,6})?)%"
HITS = re.compile(rf"Prefix cache hit rate: GPU: {_RATE}, CPU: {_RATE}")
"""V0's line for the hit rates; on a server without a GPU, only the second one counts."""

_NUMBER = r"([0-9]{1,12}(?:\.[0-9]{1,12})?)"
_FIELDS = {
    "prompt": "Avg prompt throughput",
    "generation": "Avg generation throughput",
    "running": "Running",
    "swapped": "Swapped",
    "waiting": "Pending|Waiting",
    "deferred": "Deferred",
    "preemptions": "Preemptions",
    "external": "External prefix cache hit rate",
    "hits": "(?<!External )(?<!MM )Prefix cache hit rate",
}
_PATTERNS = {name: re.compile(rf"(?:{text}): {_NUMBER}") for name, text in _FIELDS.items()}
_USAGE = re.compile(rf"([A-Z]{{3}}) KV cache usage: {_NUMBER}%")
_ENGINE = re.compile(r"Engine ([0-9]{3,6}): $")
_FETCH = re.compile(r"KV fetch: ([0-9]{1,9}) waiting to start, ([0-9]{1,9}) in progress")


@dataclass(frozen=True, slots=True)
class Stats:
    """What one line says; usage and hit rates in percent, None if they are not in it.

    ``engine`` is the number of a data-parallel replica; one line for all of them counts as 0.
    """

    version: str
    engine: int
    prompt: float
    generation: float
    running: int
    waiting: int
    usage: float
    swapped: int = 0
    cpu_usage: float | None = None
    deferred: int = 0
    preemptions: int | None = None
    hits: float | None = None
    external: float | None = None
    fetching: int = 0

    @property
    def stuck(self) -> bool:
        """Whether nothing runs although something waits."""
        return not self.running and bool(self.waiting or self.swapped)

    @property
    def idle(self) -> bool:
        """Whether there is no request at all."""
        return not self.running and not self.waiting and not self.swapped


def stats_of(line: str) -> Iterator[Stats]:
    """What a line says; where two were written without a line end, both."""
    before, *parts = line.split(BEGIN)
    for part in parts:
        if (found := _stats(before, BEGIN + part)) is not None:
            yield found
        before = part


def _stats(before: str, text: str) -> Stats | None:
    found = {
        name: float(match[1])
        for name, pattern in _PATTERNS.items()
        if (match := pattern.search(text)) is not None
    }
    usages = dict(_USAGE.findall(text))
    if not {"prompt", "generation", "running", "waiting"} <= found.keys() or not usages:
        return None
    engine = _ENGINE.search(before[-40:])
    fetch = _FETCH.search(text)
    version = "v0" if "Pending:" in text else "v1"
    number = 0 if engine is None else int(engine[1])
    cpu = usages.get("CPU") if version == "v0" else None
    return Stats(
        version,
        number,
        found["prompt"],
        found["generation"],
        int(found["running"]),
        int(found["waiting"]),
        float(next(iter(usages.values()))),
        int(found.get("swapped", 0)),
        None if cpu is None else float(cpu),
        int(found.get("deferred", 0)),
        int(found["preemptions"]) if "preemptions" in found else None,
        found.get("hits"),
        found.get("external"),
        0 if fetch is None else int(fetch[1]) + int(fetch[2]),
    )
