"""The lines of a log that tell of a single event: what is counted, and the numbers in them."""

import re
from dataclasses import dataclass, field

from pagesim.explain.log_engine import MOST_LINES

_N = r"([0-9]{1,12})"

EVENTS = {
    # V0, 0.4 to 0.10; every 50th preemption is logged: the 1st, the 51st, ...
    "preempted": r"is preempted (?:by|in) .{0,40}?mode .{0,300}?"
    rf"total_num_cumulative_preemption={_N}",
    # V0, to 0.10; since 0.6 with lookahead slots
    "ignored": rf"Input prompt \({_N} tokens\).{{0,60}}? exceeds the capacity of block_manager",
    # V0, to 0.10
    "over the limit": rf"Input prompt \({_N} tokens\) is too long and exceeds limit of {_N}",
    # V0, to 0.10
    "no room to swap": "Aborted due to the lack of CPU swap space",
    # both, 0.1 to 0.33
    "no memory": "No available memory for the cache blocks",
    # PyTorch
    "out of memory": "CUDA out of memory|OutOfMemoryError",
    # both, 0.4 to 0.33, as the answer to the client
    "rejected": rf"(?:longer than the maximum model length of|maximum context length is) {_N}",
    # 0.9 to 0.33
    "not reset": rf"Failed to reset prefix cache because some blocks \({_N}\) are not freed yet",
    # V1, 0.11 to 0.33
    "load failed": rf"(?:Failing|KV load failure:) {_N} request",
    # 0.33
    "unpinned": "stays pageable|unpinned DMA|unpinned host memory",
    # V1, 0.9 to 0.33
    "padding": rf"Add {_N} padding layers",
    # V1, 0.11 to 0.33, with a KV connector
    "transfers": "KV Transfer metrics: ",
}
"""By name: how the line is found, and above it in which releases."""

_PATTERNS = {name: re.compile(text) for name, text in EVENTS.items()}
_TRANSFERRED = re.compile(
    r"kv_offload_(load|store)_(bytes|time)[^=,]{0,60}=([0-9]{1,20}(?:\.[0-9]{1,20})?)"
)


@dataclass(slots=True)
class Event:
    """How often it happened, in which lines at first, and the largest number in them."""

    count: int = 0
    lines: list[int] = field(default_factory=list)
    most: int = 0
    second: int = 0


def events_of(line: str) -> dict[str, tuple[int, ...]]:
    """What happened according to this line, with the numbers in it."""
    return {
        name: tuple(int(text) for text in found.groups())
        for name, pattern in _PATTERNS.items()
        if (found := pattern.search(line)) is not None
    }


def count(events: dict[str, Event], line: int, text: str) -> None:
    """Add to the events what this line tells."""
    for name, numbers in events_of(text).items():
        event = events.setdefault(name, Event())
        event.count += 1
        if len(event.lines) < MOST_LINES:
            event.lines.append(line)
        event.most = max(event.most, *numbers[:1], 0)
        event.second = max(event.second, *numbers[1:], 0)


def transferred(line: str) -> dict[str, float]:
    """The bytes and seconds of loads and stores that a line of the second tier states (0.33.0)."""
    found: dict[str, float] = {}
    for way, what, text in _TRANSFERRED.findall(line):
        found[f"{way} {what}"] = found.get(f"{way} {what}", 0.0) + float(text)
    return found
