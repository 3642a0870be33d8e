"""Reads lines, mostly of JSON, that may be damaged, endless or fabricated, in bounded memory."""

import gzip
import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from math import isfinite
from typing import Any

MAX_LINE, MAX_BYTES = 32 * 2**20, 4 * 2**30
"""The most bytes of a line and of an unpacked file: a gzipped megabyte may hold a gigabyte."""

BOM = b"\xef\xbb\xbf"
"""What some editors write in front of UTF-8."""

Json = None | bool | int | float | str | Sequence["Json"] | Mapping[str, "Json"]
"""What JSON can hold."""

JsonObject = dict[str, Any]
"""An object of JSON as it was read: none of its values has been checked."""

Lines = Iterator[tuple[int, bytes]]
"""The lines of a file with their numbers, from 1."""


def finite(value: Json) -> float | None:
    """The value if it is a number, but neither infinite nor NaN; else None."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
        return None
    return float(value)


def numbered_objects(name: str, error: type[ValueError]) -> Iterator[tuple[int, JsonObject]]:
    """The lines of a ``.jsonl`` or ``.jsonl.gz`` file with their numbers, one in memory at a time.

    A line that cannot be read or is not a JSON object raises ``error`` with the file and the line.
    """
    return objects(numbered_lines(name, error), name, error)


def objects(lines: Lines, name: str, error: type[ValueError]) -> Iterator[tuple[int, JsonObject]]:
    """The same for lines that are already being read."""
    for number, raw in lines:
        try:
            line = json.loads(raw)
        except (RecursionError, ValueError) as problem:  # also a number of 5,000 digits
            raise error(f"{name}:{number}: not JSON: {problem}") from problem
        if not isinstance(line, dict):
            raise error(f"{name}:{number}: must be a JSON object, not {raw[:40]!r}")
        yield number, line


def numbered_lines(name: str, error: type[ValueError]) -> Lines:
    """The lines of a file, gzipped if its name says so, with their numbers from 1.

    A damaged archive, and more than :data:`MAX_LINE` or :data:`MAX_BYTES`, raise ``error``.
    """
    number = size = 0
    try:
        with gzip.open(name) if name.endswith(".gz") else open(name, "rb") as file:
            while raw := file.readline(MAX_LINE):
                number += 1
                if len(raw) == MAX_LINE:
                    raise error(f"{name}:{number}: longer than {MAX_LINE} bytes")
                size += len(raw)
                if size > MAX_BYTES:
                    raise error(f"{name}:{number}: the file has more than {MAX_BYTES} bytes")
                yield number, raw
    except (EOFError, gzip.BadGzipFile, zlib.error) as problem:
        raise error(f"{name}:{number + 1}: the compressed file is damaged: {problem}") from problem
