"""Writes a run to a file and reads it back; ``FORMAT.md`` in this folder describes the file.

Reading trusts nothing: a damaged, truncated or made-up file raises a TimelineError that names the
file and the line, before anything absurd is believed or much memory is used.
"""

from __future__ import annotations

import gzip
import io
import json
import os
from collections.abc import Iterator, Mapping
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pagesim.jsonl import numbered_objects
from pagesim.timeline.effects import Effect, Event, Move, Name, Queues, show
from pagesim.timeline.reader import Reader, TimelineError
from pagesim.timeline.state import State

if TYPE_CHECKING:
    from pagesim.timeline.run import Timeline

FORMAT = "pagesim-timeline/1"


def save(run: Timeline, path: str | PathLike[str]) -> None:
    """Write ``run`` to ``path``, gzipped if its name ends in .gz. An old file stays until then."""
    target = Path(path)
    part = target.with_name(target.name + ".part")
    try:
        with part.open("wb") as raw:
            if target.name.endswith(".gz"):
                with gzip.GzipFile(filename="", fileobj=raw, mode="wb", mtime=0) as packed:
                    packed.writelines(lines(run))
            else:
                raw.writelines(lines(run))
        os.replace(part, target)
    finally:
        part.unlink(missing_ok=True)


def packed(run: Timeline, **extras: Any) -> bytes:
    """The gzipped file as bytes, the same each time; ``extras`` are keys of the header."""
    buffer = io.BytesIO()
    with gzip.GzipFile(filename="", fileobj=buffer, mode="wb", mtime=0) as file:
        file.writelines(lines(run, **extras))
    return buffer.getvalue()


def lines(run: Timeline, **extras: Any) -> Iterator[bytes]:
    """The lines of the file: the header, then one for each event."""
    yield _line(header(run) | {key: value for key, value in extras.items() if value})
    for event in run:
        yield _line(event_as_dict(event))


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


def event_as_dict(event: Event) -> dict[str, Any]:
    """An event in the words of the file; what is empty is left out."""
    optional = {
        "effects": [_effect(effect) for effect in event.effects],
        "opened": [[name, list(tokens)] for name, tokens in event.opened],
        "tables": [[change.table, change.start, list(change.block_ids)] for change in event.tables],
        "closed": list(event.closed),
        "queues": [_move(move) for move in event.moves],
        "scheduled": [
            [it.request, it.sequence, it.num_tokens, it.is_prompt] for it in event.scheduled
        ],
        "called": event.called,
        "error": event.error,
    }
    words: dict[str, Any] = {"event": event.kind, "of": event.subject}
    words |= {key: value for key, value in optional.items() if value}
    if event.step is not None:
        words["step"] = event.step
    return words | {"caption": event.caption}


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


def _line(words: Mapping[str, Any]) -> bytes:
    return json.dumps(words, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def _queues(queues: Queues) -> dict[str, list[Name]]:
    return {
        "waiting": list(queues.waiting),
        "running": list(queues.running),
        "swapped": list(queues.swapped),
    }


def _move(move: Move) -> list[Any]:
    words = ["enter" if move.enters else "leave", move.queue, move.place, move.request]
    return words if move.sequence is None else [*words, move.sequence]


def _effect(effect: Effect) -> list[Any]:
    words: list[Any] = [effect.kind, effect.block]
    if effect.kind in ("write", "hit"):
        words += [effect.table, list(effect.tokens)]
    elif effect.kind == "copy":
        words += [effect.to, effect.owners]
    elif effect.kind in ("swap_out", "swap_in"):
        words.append(effect.to)
    elif effect.kind == "null":
        words += [effect.table, effect.index]
    return words
