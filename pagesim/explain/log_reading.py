"""Reads a log, whatever is in it: a stream of lines, none of them long, and when each was written.

A log may be huge, binary, or one endless line, so no more than a piece of it is in memory.
"""

import re
from collections.abc import Iterator
from typing import Protocol

from pagesim.files.jsonl import MAX_BYTES

MOST_BYTES = 1 << 16
"""A longer line is cut off here: no line of vLLM's that matters is as long."""

COLOR = re.compile(r"\x1b\[[0-9;]{0,20}[A-Za-z]")
CLOCK = re.compile(r"(?<![0-9:])([01][0-9]|2[0-3]):([0-5][0-9]):([0-5][0-9])(?![0-9:])")

DAY = 86_400


class Readable(Protocol):
    """What is read: a file that is open for bytes, compressed or not."""

    def readline(self, size: int, /) -> bytes: ...


def log_lines(file: Readable) -> Iterator[bytes]:
    """The lines of a file, each cut off after `MOST_BYTES`; ValueError beyond `MAX_BYTES`."""
    begins, size = True, 0
    while line := file.readline(MOST_BYTES):
        size += len(line)
        if size > MAX_BYTES:
            raise ValueError(f"more than {MAX_BYTES:,} bytes: give the last part of it")
        if begins:
            yield line
        begins = line.endswith(b"\n")


def plain(line: str | bytes) -> str:
    """The line as text without colors."""
    text = line[:MOST_BYTES]
    if isinstance(text, bytes):
        text = text.decode("utf-8", "replace")
    return COLOR.sub("", text) if "\x1b" in text else text


def clock(line: str) -> int | None:
    """The time of day of a line in seconds, whatever the date before it looks like."""
    found = CLOCK.search(line)
    if found is None:
        return None
    hours, minutes, seconds = (int(part) for part in found.groups())
    return hours * 3600 + minutes * 60 + seconds


def seconds_between(earlier: int | None, later: int | None, otherwise: int) -> int:
    """The time between two lines less than a day apart; ``otherwise`` if one has no time."""
    if earlier is None or later is None:
        return otherwise
    return (later - earlier) % DAY
