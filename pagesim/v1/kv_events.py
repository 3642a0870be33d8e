"""What a router hears of a cache: which blocks are found from now on, no more, or none at all.

An engine publishes the events of a step as a batch, which is a line of a file. The first line of
the file has its format; hashes are hexadecimal.

Source: vLLM 0.33.0, ``vllm/distributed/kv_events.py``.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from os import PathLike, fspath
from typing import Any

from pagesim.checks import check_number, explained, misfit
from pagesim.errors import shortened
from pagesim.files import replacing
from pagesim.files.jsonl import numbered_objects
from pagesim.sizing.kv_cache_spec import KVCacheSpec, MambaSpec, SlidingWindowSpec
from pagesim.v1.kv_cache_utils import BlockHash
from pagesim.v1.request import Request

FORMAT, MEDIUM_GPU = "pagesim-kv-events/1", "GPU"

ExternalBlockHash = bytes | int
"""A hash as routers know it; vLLM sends 64 bits of it unless it is told to send all."""


@dataclass(frozen=True, slots=True)
class BlockStored:
    """Blocks are found from now on, or further copies of them, before they are computed.

    ``token_ids`` follow the parent, and include those of blocks that are not cached: there may be
    no hash at all. ``extra_keys`` has for each hash what it depends on beside tokens.
    """

    block_hashes: list[ExternalBlockHash]
    parent_block_hash: ExternalBlockHash | None
    token_ids: list[int]
    block_size: int
    lora_id: int | None = None
    medium: str | None = MEDIUM_GPU
    lora_name: str | None = None
    extra_keys: list[tuple[Any, ...] | None] | None = None
    group_idx: int | None = None
    kv_cache_spec_kind: str | None = None
    kv_cache_spec_sliding_window: int | None = None


@dataclass(frozen=True, slots=True)
class BlockRemoved:
    """One copy of each block is found no more; there may be others."""

    block_hashes: list[ExternalBlockHash]
    medium: str | None = MEDIUM_GPU
    group_idx: int | None = None


@dataclass(frozen=True, slots=True)
class AllBlocksCleared:
    """No block on the GPU is found any more."""


KVCacheEvent = BlockStored | BlockRemoved | AllBlocksCleared
TYPES = {kind.__name__: kind for kind in (BlockStored, BlockRemoved, AllBlocksCleared)}


@dataclass(frozen=True, slots=True)
class KVEventBatch:
    """What an engine publishes at a time ``ts`` in seconds."""

    ts: float
    events: list[KVCacheEvent]


def stored(
    request: Request,
    hashes: Sequence[BlockHash],
    chosen: Iterable[int],
    start: int,
    end: int,
    block_size: int,
    group_idx: int,
) -> BlockStored:
    """Of a request's blocks from ``start`` up to ``end``, the ``chosen`` ones are found."""
    salted = {0: (request.cache_salt,)} if request.cache_salt else {}
    return BlockStored(
        [hashes[index] for index in chosen],
        hashes[start - 1] if start else None,
        request.all_token_ids[start * block_size : end * block_size],
        block_size,
        extra_keys=[salted.get(index) for index in chosen] or None,
        group_idx=group_idx,
    )


def removed(key: BlockHash) -> BlockRemoved:
    """A block is found no more by this key."""
    return BlockRemoved([getattr(key, "block_hash", key)], group_idx=getattr(key, "group_id", 0))


def with_kind(event: KVCacheEvent, groups: Sequence[KVCacheSpec]) -> KVCacheEvent:
    """A pool's event with the kind of its group, if something is stored."""
    if not isinstance(event, BlockStored):
        return event
    spec, kind, window = groups[event.group_idx or 0], "full_attention", None
    if isinstance(spec, SlidingWindowSpec):
        kind, window = "sliding_window", spec.sliding_window
    elif isinstance(spec, MambaSpec):
        kind = "mamba"
    return replace(event, kv_cache_spec_kind=kind, kv_cache_spec_sliding_window=window)


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
