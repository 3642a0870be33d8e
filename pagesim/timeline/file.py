"""Writes a run to a file and reads it back; ``FORMAT.md`` in this folder describes the file.

Reading trusts nothing: a damaged, truncated or made-up file raises a TimelineError that names the
file and the line, before anything absurd is believed or much memory is used.
"""

from __future__ import annotations

import gzip
import io
from collections.abc import Iterator
from itertools import islice
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any, BinaryIO

from pagesim.files import replacing
from pagesim.files.jsonl import numbered_objects
from pagesim.journal.effects import show
from pagesim.timeline.checked import TimelineError
from pagesim.timeline.edition1 import FORMAT_1, Edition1
from pagesim.timeline.header import FORMAT, LINKED, SORTED, state_as_dict
from pagesim.timeline.lines import as_json
from pagesim.timeline.reader import Reader

if TYPE_CHECKING:
    from pagesim.timeline.run import Timeline

PIECE = 1_000
"""Lines that are packed at once: a call of the compressor costs more than a line."""


def save(run: Timeline, path: str | PathLike[str]) -> None:
    """Write ``run`` to ``path``, gzipped if its name ends in .gz. An old file stays until then."""
    with replacing(path) as file:
        if fspath(path).endswith(".gz"):
            _pack(run, file)
        else:
            file.writelines(pieces(run))


def packed(run: Timeline, **extras: Any) -> bytes:
    """The gzipped file as bytes, the same each time; ``extras`` are keys of the header."""
    buffer = io.BytesIO()
    _pack(run, buffer, **extras)
    return buffer.getvalue()


def _pack(run: Timeline, file: BinaryIO, **extras: Any) -> None:
    with gzip.GzipFile(filename="", fileobj=file, mode="wb", mtime=0) as packed:
        packed.writelines(pieces(run, **extras))


def pieces(run: Timeline, **extras: Any) -> Iterator[bytes]:
    """The file in pieces of many lines: the header, then a line for each event."""
    head = header(run) | {key: value for key, value in extras.items() if value}
    yield f"{as_json(head)}\n".encode()
    lines = run.lines()
    while piece := "".join(islice(lines, PIECE)):
        yield piece.encode()


def header(run: Timeline) -> dict[str, Any]:
    """The first line of the file, as a dict."""
    state = run.at(0)
    return {
        "format": FORMAT,
        "block_size": state.block_size,
        "pools": [list(pool) for pool in state.pools.items()],
        "lists": [[n, SORTED if n in state.sorted_lists else LINKED] for n in state.lists],
        "queues": list(state.queues),
        "caching": state.caching,
        "events": len(run),
        "first": run.first,
        **run.notes.as_dict(),
        "state": state_as_dict(state),
    }


def load(path: str | PathLike[str]) -> Timeline:
    """Read a run from a file. TimelineError if it is none, OSError if it cannot be opened."""
    from pagesim.timeline.run import Timeline

    name = fspath(path)
    numbered = numbered_objects(name, TimelineError)
    number, first = next(numbered, (1, {}))
    if first.get("format") not in (FORMAT, FORMAT_1):
        raise TimelineError(
            f"{name}:{number}: format must be {FORMAT!r}, not {show(first.get('format'))}"
        )
    old = Edition1(first, f"{name}:{number}") if first["format"] == FORMAT_1 else None
    reader = Reader(old.header if old else first, f"{name}:{number}")
    for number, words in numbered:
        where = f"{name}:{number}"
        reader.event(old.event(words, where) if old else words, where)
    found, promised = len(reader.log), reader.num_events
    if found != promised:
        raise TimelineError(f"{name}:{number}: the file ends after {found} of {promised} events")
    return Timeline(reader.log, stop=len(reader.log), first=reader.first, notes=reader.notes)
