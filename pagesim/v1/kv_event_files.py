"""KV events in files: the events of a step are published as a batch, which is a line of JSON.

The first line of a file has its format; hashes are hexadecimal.

Source of the batch: vLLM 0.33.0, ``vllm/distributed/kv_events.py``.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from os import PathLike, fspath
from typing import Any

from pagesim.checks import check_number, explained, misfit
from pagesim.errors import shortened
from pagesim.files import replacing
from pagesim.files.jsonl import numbered_objects
from pagesim.v1.kv_events import AllBlocksCleared, BlockRemoved, BlockStored, KVCacheEvent

FORMAT = "pagesim-kv-events/1"
TYPES = {kind.__name__: kind for kind in (BlockStored, BlockRemoved, AllBlocksCleared)}


@dataclass(frozen=True, slots=True)
class KVEventBatch:
    """What an engine publishes at a time ``ts`` in seconds."""

    ts: float
    events: list[KVCacheEvent]


@explained
def save_kv_events(batches: Iterable[KVEventBatch], path: str | PathLike[str]) -> None:
    """Write batches to ``path``, gzipped if its name ends in .gz; an old file is replaced whole."""
    is_packed = fspath(path).endswith(".gz")
    with (
        replacing(path) as file,
        gzip.GzipFile("", "wb", 9, file, 0) if is_packed else nullcontext(file) as lines,
    ):
        lines.write(f"{json.dumps({'format': FORMAT})}\n".encode())
        for batch in batches:
            events = [
                {"type": type(each).__name__} | {key: getattr(each, key) for key in each.__slots__}
                for each in batch.events
            ]
            line = json.dumps({"ts": batch.ts, "events": events}, default=bytes.hex)
            lines.write(f"{line}\n".encode())


class KVEventsError(ValueError):
    """The file has no events or is damaged; the message names the file, the line and why."""

    def __init__(self, message: str) -> None:
        super().__init__(shortened(message))


def read_kv_events(path: str | PathLike[str]) -> Iterator[KVEventBatch]:
    """Read the batches of a file one at a time; KVEventsError if it is not such a file."""
    name = fspath(path)
    lines = numbered_objects(name, KVEventsError)
    form = next(lines, (1, {}))[1].get("format")
    if form != FORMAT:
        raise KVEventsError(f"{name}:1: format must be {FORMAT!r}, not {form!r:.80}")
    for number, line in lines:
        try:
            batch = KVEventBatch(check_number("ts", line.get("ts")), _read(line.get("events")))
            if wrong := misfit("batch", batch, KVEventBatch):
                raise TypeError(wrong)
        except (RecursionError, TypeError, ValueError) as error:
            raise KVEventsError(f"{name}:{number}: {error}") from None
        yield batch


def _read(value: Any, field: str = "") -> Any:
    """What a file has as an event, or in this field of one."""
    if isinstance(value, list):
        return [
            tuple(each) if field == "extra_keys" and isinstance(each, list) else _read(each, field)
            for each in value
        ]
    if isinstance(value, dict) and (kind := TYPES.get(str(value.get("type")))):
        return kind(**{name: _read(its, name) for name, its in value.items() if name != "type"})
    return bytes.fromhex(value) if "hash" in field and isinstance(value, str) else value
