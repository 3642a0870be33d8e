"""Writes a run to a file; ``FORMAT.md`` in this folder describes it, and `reader` reads it back."""

import gzip
import io
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from os import PathLike, fspath
from typing import BinaryIO, Protocol

from pagesim.files import replacing
from pagesim.files.jsonl import Json, JsonObject
from pagesim.journal.effects import Name
from pagesim.timeline.asked import Asked
from pagesim.timeline.events import Entry
from pagesim.timeline.header import (
    FORMAT,
    LINKED,
    SORTED,
    groups_as_dict,
    state_as_dict,
    tier_as_dict,
)
from pagesim.timeline.lines import as_json
from pagesim.timeline.notes import Notes
from pagesim.timeline.questions import Steps

PIECE = 1_000
"""Lines that are packed at once: a call of the compressor costs more than a line."""


class Run(Steps, Protocol):
    """What a file holds: a `Timeline`."""

    notes: Notes
    first: int

    @property
    def asked(self) -> Asked: ...

    @property
    def sequences(self) -> list[Name]: ...

    def lines(self) -> Iterator[str]: ...

    def entries(self) -> Iterator[Entry]: ...


def save(run: Run, path: str | PathLike[str]) -> None:
    """Write ``run`` to ``path``, gzipped if its name ends in .gz; an old file is replaced whole."""
    with replacing(path) as file:
        if fspath(path).endswith(".gz"):
            _pack(run, file, **run.asked.as_dict())
        else:
            file.writelines(pieces(run, **run.asked.as_dict()))


def packed(run: Run, **extras: Json) -> bytes:
    """The gzipped file as bytes, the same each time; ``extras`` are keys of the header."""
    buffer = io.BytesIO()
    _pack(run, buffer, **extras)
    return buffer.getvalue()


def _pack(run: Run, file: BinaryIO, **extras: Json) -> None:
    with gzip.GzipFile(filename="", fileobj=file, mode="wb", mtime=0) as packed:
        packed.writelines(pieces(run, **extras))


def pieces(run: Run, **extras: Json) -> Iterator[bytes]:
    """The file in pieces of many lines: the header, then a line for each event."""
    head = header(run) | {key: value for key, value in extras.items() if value}
    yield f"{as_json(head)}\n".encode()
    lines = run.lines()
    while piece := "".join(islice(lines, PIECE)):
        yield piece.encode()


def header(run: Run) -> JsonObject:
    """The first line of the file, as a dict."""
    state = run.at(0)
    notes = replace(run.notes, sequences=tuple(run.sequences)) if run.first else run.notes
    return {
        "format": FORMAT,
        "block_size": state.block_size,
        **groups_as_dict(state),
        "pools": [list(pool) for pool in state.pools.items()],
        **tier_as_dict(state),
        "lists": [[n, SORTED if n in state.sorted_lists else LINKED] for n in state.lists],
        "queues": list(state.queues),
        "caching": state.caching,
        "events": len(run),
        "first": run.first,
        **notes.as_dict(),
        "state": state_as_dict(state),
    }
