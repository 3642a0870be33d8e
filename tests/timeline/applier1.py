"""A reader of files of edition 1 that knows its FORMAT.md and nothing else: no pagesim in here."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any


def states(path: Path) -> Iterator[dict[str, Any]]:
    """The state in words of the file, before the first event and after each one."""
    data = path.read_bytes()
    text = gzip.decompress(data) if path.suffix == ".gz" else data
    header, *events = map(json.loads, text.splitlines())
    assert header["format"] == "pagesim-timeline/1"
    assert header["events"] == len(events)
    size, num_gpu = header["block_size"], header["num_gpu_blocks"]
    state: dict[str, Any] = header["state"]
    tables = {name: [ids, tokens] for name, ids, tokens in state["tables"]}
    free, evictor = state["free"], state["evictor"]
    refs = {block: count for block, count in state["refs"]}
    cached, touched, computed = (set(state[key]) for key in ("cached", "touched", "computed"))
    requests = dict(state.pop("requests", []))
    while True:
        queued = [
            name for queue in ("waiting", "running", "swapped") for name in state["queues"][queue]
        ]
        firsts = [[name, requests[name]] for name in dict.fromkeys(queued) if name in requests]
        yield {
            **state,
            **({"requests": firsts} if firsts else {}),
            "tables": [[name, *table] for name, table in tables.items()],
            "refs": [[block, count] for block, count in sorted(refs.items()) if count],
            "cached": sorted(cached),
            "touched": sorted(touched),
            "computed": sorted(
                block
                for block in computed.union(*evictor)
                if refs.get(block) or block in evictor[block >= num_gpu]
            ),
            "slots": size,
        }
        if not events:
            return
        event = events.pop(0)
        evicted = set()
        for name, tokens in event.get("opened", []):
            tables[name] = [[], list(tokens)]
        for kind, block, *more in event.get("effects", []):
            device = int(block >= num_gpu)
            if kind == "take":
                if block not in evicted:
                    assert free[device].pop(0) == block
                refs[block] = 1
                computed.discard(block)
            elif kind == "return":
                assert refs[block] == 1
                refs[block] = 0
                if block in cached:
                    evictor[device].append(block)
                else:
                    free[device].insert(0, block)
            elif kind == "share":
                refs[block] += 1
            elif kind == "unshare":
                refs[block] -= 1
                assert refs[block] > 0
            elif kind in ("write", "hit"):
                name, tokens = more
                if name is not None:
                    tables.setdefault(name, [[], []])[1] += tokens
                if kind == "hit":
                    refs[block] = refs.get(block, 0) + 1
                    if refs[block] == 1:
                        evictor[device].remove(block)
                        computed.add(block)
            elif kind == "promote":
                cached.add(block)
                if not device:
                    touched.add(block)
            elif kind == "evict":
                evictor[device].remove(block)
                cached.remove(block)
                evicted.add(block)
            elif kind == "null":
                state["null"] = block
            else:
                assert kind in ("copy", "swap_out", "swap_in"), kind
        for name, start, ids in event.get("tables", []):
            table = tables.setdefault(name, [[], []])
            table[0] = table[0][:start] + ids
        for name in event.get("closed", []):
            del tables[name]
        if event["event"] == "mark_blocks_as_computed":
            computed |= touched
            touched.clear()
        changes = event.get("queues", [])
        if isinstance(changes, dict):
            state["queues"], changes = changes, []
        for what, queue, place, request, *first in changes:
            if what == "enter":
                state["queues"][queue].insert(place, request)
                requests |= {request: first[0]} if first else {}
            else:
                assert state["queues"][queue].pop(place) == request
