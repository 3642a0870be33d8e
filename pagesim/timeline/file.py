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
from pagesim.jsonl import numbered_objects
from pagesim.timeline.effects import Name, Queues, show
from pagesim.timeline.lines import as_json
from pagesim.timeline.reader import Reader, TimelineError
from pagesim.timeline.state import State

if TYPE_CHECKING:
    from pagesim.timeline.run import Timeline

FORMAT = "pagesim-timeline/1"
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
        "num_gpu_blocks": state.num_gpu_blocks,
        "num_cpu_blocks": state.num_cpu_blocks,
        "caching": state.caching,
        "events": len(run),
        "first": run.first,
        **run.notes.as_dict(),
        "state": state_as_dict(state),
    }


def state_as_dict(state: State) -> dict[str, Any]:
    """A state in the words of the file."""
    return {
        "tables": [
            [name, list(table.block_ids), list(table.token_ids)]
            for name, table in state.tables.items()
        ],
        "free": [list(state.free_gpu), list(state.free_cpu)],
        "refs": [[block, count] for block, count in state.ref_counts.items() if count],
        "evictor": [list(state.evictor_gpu), list(state.evictor_cpu)],
        "cached": sorted(state.cached),
        "touched": sorted(state.touched),
        "computed": sorted(state.computed),
        "null": state.null_block,
        "queues": _queues(state.queues),
        **({"requests": [list(pair) for pair in state.requests.items()]} if state.requests else {}),
    }


def load(path: str | PathLike[str]) -> Timeline:
    """Read a run from a file. TimelineError if it is none, OSError if it cannot be opened."""
    from pagesim.timeline.run import Timeline

    name = fspath(path)
    numbered = numbered_objects(name, TimelineError)
    number, first = next(numbered, (1, {}))
    if first.get("format") != FORMAT:
        raise TimelineError(
            f"{name}:{number}: format must be {FORMAT!r}, not {show(first.get('format'))}"
        )
    reader = Reader(first, f"{name}:1")
    for number, words in numbered:
        reader.event(words, f"{name}:{number}")
    found, promised = len(reader.log), reader.num_events
    if found != promised:
        raise TimelineError(f"{name}:{number}: the file ends after {found} of {promised} events")
    return Timeline(reader.log, stop=len(reader.log), first=reader.first, notes=reader.notes)


def _queues(queues: Queues) -> dict[str, list[Name]]:
    return {
        "waiting": list(queues.waiting),
        "running": list(queues.running),
        "swapped": list(queues.swapped),
    }
