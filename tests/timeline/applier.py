"""A reader of timeline files that knows FORMAT.md and nothing else: no pagesim in here."""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any


def states(path: Path) -> Iterator[dict[str, Any]]:  # noqa: C901 (an effect, a branch)
    """The state in words of the file, before the first event and after each one."""
    data = path.read_bytes()
    text = gzip.decompress(data) if path.suffix == ".gz" else data
    header, *events = map(json.loads, text.splitlines())
    assert header["format"] == "pagesim-timeline/2"
    assert header["events"] == len(events)
    orders, state = dict(header["lists"]), header["state"]
    lists = dict(zip(orders, state["lists"], strict=True))
    queues = dict(zip(header["queues"], state["queues"], strict=True))
    tables = {t[0]: [t[1], t[2], t[3] if t[3:] else len(t[2])] for t in state["tables"]}
    refs, requests = dict(map(tuple, state["refs"])), dict(map(tuple, state.get("requests", [])))
    cached, computed = set(state["cached"]), set(state["computed"])
    jobs = {job[0]: job for job in state.get("jobs", [])}
    assert ("tier" in header) == ("jobs" in state)
    for event in [None, *events]:
        for name, tokens, *written in event.get("opened", []) if event else []:
            tables[name] = [[], list(tokens), written[0] if written else len(tokens)]
        for name, first, tokens in event.get("tokens", []) if event else []:
            assert first == len(tables[name][1])
            tables[name][1] += tokens
        for kind, block, *more in event.get("effects", []) if event else []:
            if kind == "take":
                lists[more[0]].remove(block)
                refs[block] = 1
                computed.discard(block)
            elif kind == "free":
                assert refs.pop(block) == 1
                lists[more[0]].insert(0 if more[1] == 0 else len(lists[more[0]]), block)
            elif kind in ("share", "unshare"):
                refs[block] += 1 if kind == "share" else -1
                assert refs[block] > 0
            elif kind in ("write", "hit"):
                if kind == "hit" and not refs.get(block):
                    next(ids for ids in lists.values() if block in ids).remove(block)
                refs[block] = refs.get(block, 0) + (kind == "hit")
                if more[0] is not None:
                    tables[more[0]][2] = max(tables[more[0]][2], more[1] + more[2])
            elif kind in ("cache", "evict"):
                (cached.add if kind == "cache" else cached.remove)(block)
            elif kind == "computed":
                computed.add(block)
            elif kind == "begin":
                jobs[block] = [block, *more]
            elif kind == "end":
                del jobs[block]
            elif kind == "null":
                state["null"] = block
            else:
                assert kind in ("copy", "move", "lookup"), kind
        for name, entry, ids in event.get("tables", []) if event else []:
            tables[name][0][entry:] = ids
        for name in event.get("closed", []) if event else []:
            del tables[name]
        for what, queue, place, request, *first in event.get("queues", []) if event else []:
            if what == "enter":
                queues[queue].insert(place, request)
                requests |= {request: first[0]} if first else {}
            else:
                assert queues[queue].pop(place) == request
        queued = dict.fromkeys(name for names in queues.values() for name in names)
        firsts = [[name, requests[name]] for name in queued if name in requests]
        yield json.loads(json.dumps({
            "tables": [[n, ids, t, w][: 3 + (w != len(t))] for n, (ids, t, w) in tables.items()],
            "lists": [sorted(lists[n]) if orders[n] == "sorted" else lists[n] for n in orders],
            "refs": [[block, count] for block, count in sorted(refs.items()) if count],
            "cached": sorted(cached),
            "computed": sorted(b for b in computed if refs.get(b) or b in cached),
            "null": state["null"],
            "queues": list(queues.values()),
            **({"requests": firsts} if firsts else {}),
            **({"jobs": [*jobs.values()]} if "tier" in header else {}),
        }))  # fmt: skip
