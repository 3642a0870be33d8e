"""Small timeline files written by hand, and a second reader of the format to check the player's.

The reader here is as plain as can be: it keeps the format's `state` and edits it.
"""

from __future__ import annotations

import copy
import gzip
import json
from typing import Any

Words = dict[str, Any]

HOSTILE = (
    "<img src=x onerror=alert(1)>",
    "</script><script>alert(1)</script>",
    "</template></textarea>' \" &quot; ]]>",
    "__proto__",
    "\u2028\x01\x02\x03 \N{SNOWMAN}",
)


def empty_state(gpu: int, cpu: int) -> Words:
    """The state of two unused pools."""
    return {
        "tables": [],
        "free": [list(range(gpu)), list(range(gpu, gpu + cpu))],
        "refs": [],
        "evictor": [[], []],
        "cached": [],
        "touched": [],
        "computed": [],
        "null": None,
        "queues": {"waiting": [], "running": [], "swapped": []},
    }


def header(gpu: int, cpu: int, block_size: int, events: list[Words], **more: Any) -> Words:
    """The first line of a file."""
    words: Words = {
        "format": "pagesim-timeline/1",
        "block_size": block_size,
        "num_gpu_blocks": gpu,
        "num_cpu_blocks": cpu,
        "caching": False,
        "events": len(events),
        "first": 0,
        "state": empty_state(gpu, cpu),
    }
    return words | more


def event(kind: str, of: int | str | None, *effects: list[Any], **more: Any) -> Words:
    """One line of a file, its caption made of its kind."""
    return {"event": kind, "of": of, "effects": list(effects), **more, "caption": f"{kind} of {of}"}


def text_of(head: Words, events: list[Words]) -> str:
    """The file as text."""
    lines = (json.dumps(words, ensure_ascii=False) for words in (head, *events))
    return "\n".join(lines) + "\n"


def packed(head: Words, events: list[Words]) -> bytes:
    """The file, gzipped."""
    return gzip.compress(text_of(head, events).encode(), mtime=0)


def sharing() -> tuple[Words, list[Words]]:
    """Fork, copy-on-write, swap out and in, lookahead, a window, a failure, queues: no caching."""
    events = [
        event("allocate", 0, ["take", 0], ["write", 0, 0, [10, 11]], ["take", 1],
              ["write", 1, 0, [12]], tables=[[0, 0, [0, 1]]]),
        event("fork", "b", ["share", 0], ["share", 1], opened=[["b", [10, 11, 12]]],
              tables=[["b", 0, [0, 1]]]),
        event("append_slots", "b", ["take", 2], ["unshare", 1], ["copy", 1, 2, 2],
              ["write", 2, "b", [13]], tables=[["b", 1, [2]]]),
        event("append_slots", 0, ["take", 3], ["write", 1, 0, [14]], tables=[[0, 2, [3]]]),
        event("failed", 9, called="allocate", error="no room"),
        event("swap_out", "b", ["unshare", 0], ["return", 2], ["take", 6], ["take", 7],
              ["swap_out", 0, 6], ["swap_out", 2, 7], tables=[["b", 0, [6, 7]]],
              queues={"waiting": [], "running": [0], "swapped": ["b"]}, step=1),
        event("free", 0, ["return", 0], ["return", 1], ["return", 3], closed=[0]),
        event("swap_in", "b", ["return", 6], ["return", 7], ["take", 3], ["take", 1],
              ["swap_in", 6, 3], ["swap_in", 7, 1], tables=[["b", 0, [3, 1]]]),
        event("append_slots", "b", ["take", 0], ["return", 3], ["null", 0, "b", 0],
              ["take", 3], ["write", 3, "b", [15]], tables=[["b", 0, [0, 1, 3]]]),
        event("free", "b", ["return", 1], ["return", 3], closed=["b"],
              queues={"waiting": [], "running": [], "swapped": []}),
    ]  # fmt: skip
    return header(6, 3, 2, events, title="sharing", tokens={"10": "ten"}), events


def caching() -> tuple[Words, list[Words]]:
    """Promotion, hits in use and in the evictor, marking as computed, eviction."""
    events = [
        event("allocate", 0, ["take", 0], ["write", 0, 0, [1, 2]], ["promote", 0], ["take", 1],
              ["write", 1, 0, [3]], tables=[[0, 0, [0, 1]]]),
        event("allocate", 1, ["hit", 0, 1, [1, 2]], ["take", 2], ["write", 2, 1, [4]],
              tables=[[1, 0, [0, 2]]]),
        event("mark_blocks_as_computed", None),
        event("append_slots", 0, ["write", 1, 0, [5]], ["promote", 1]),
        event("mark_blocks_as_computed", None),
        event("append_slots", 1, ["write", 2, 1, [5]], ["promote", 2]),
        event("free", 0, ["unshare", 0], ["return", 1], closed=[0]),
        event("free", 1, ["return", 0], ["return", 2], closed=[1]),
        event("allocate", 2, ["hit", 0, 2, [1, 2]], ["evict", 1], ["take", 1],
              ["write", 1, 2, [9]], tables=[[2, 0, [0, 1]]]),
        event("allocate", 3, ["hit", 0, 3, [1, 2]], ["hit", 2, 3, [4, 5]], tables=[[3, 0, [0, 2]]]),
        event("free", 2, ["unshare", 0], ["return", 1], closed=[2]),
        event("allocate_immutable_block", None, ["take", 3], ["write", 3, None, [8, 8]],
              ["promote", 3]),
        event("mark_blocks_as_computed", None),
    ]  # fmt: skip
    return header(3, 1, 2, events, caching=True), events


def scheduling() -> tuple[Words, list[Words]]:
    """Two requests: one runs from the start, one is admitted, preempted and aborted."""

    def move(what: str, queue: str, place: int, first: int = 1) -> list[Any]:
        return [what, queue, place, f"r{first}", first]

    begin = {"waiting": [], "running": ["r0"], "swapped": []}
    state = empty_state(4, 0) | {"queues": begin, "requests": [["r0", 0]]}
    events = [
        event("arrive", 1, queues=[move("enter", "waiting", 0)]),
        event("admit", 1, ["take", 0], ["write", 0, 1, [5]], tables=[[1, 0, [0]]], step=1,
              queues=[move("leave", "waiting", 0), move("enter", "running", 1)]),
        event("schedule", None, step=1, scheduled=[["r1", 1, 1, True]]),
        event("preempt", 1, ["return", 0], closed=[1], step=2,
              queues=[move("leave", "running", 1), move("enter", "waiting", 0)]),
        event("schedule", None, step=2, scheduled=[["r0", 0, 1, False]],
              queues=[move("leave", "running", 0, 0), move("enter", "running", 0, 0)]),
        event("failed", None, called="schedule", error="no room", step=3),
        event("abort", 1, step=3, queues=[move("leave", "waiting", 0)]),
    ]  # fmt: skip
    return header(4, 0, 2, events, state=state), events


def hostile() -> tuple[Words, list[Words]]:
    """Names, labels and captions that would be markup if they were not text."""
    events = []
    for block, name in enumerate(HOSTILE):
        words = event("allocate", name, ["take", block], ["write", block, name, [block]],
                      tables=[[name, 0, [block]]])  # fmt: skip
        events.append(words | {"caption": HOSTILE[0] + name})
    labels = {str(token): text for token, text in enumerate(HOSTILE)}
    asked = [{"at": 1, "ask": HOSTILE[1], "answer": [1], "why": HOSTILE[0]}]
    more = {"title": HOSTILE[1], "tokens": labels, "questions": asked}
    return header(len(HOSTILE), 0, 2, events, **more), events


def many(steps: int) -> tuple[Words, list[Words]]:
    """A long run of one growing table, to cross keyframes."""
    events = [event("allocate", 7, ["take", 0], ["write", 0, 7, [0]], tables=[[7, 0, [0]]])]
    for i in range(1, steps):
        fresh = [["take", i // 2]] if i % 2 == 0 else []
        more: Words = {"tables": [[7, i // 2, [i // 2]]]} if fresh else {}
        events.append(event("append_slots", 7, *fresh, ["write", i // 2, 7, [i]], **more))
    return header(steps // 2 + 1, 1, 2, events), events


def states(head: Words, events: list[Words]) -> list[Words]:
    """The state at every step, by this module's own reading of the format."""
    found = [copy.deepcopy(head["state"])]
    for words in events:
        found.append(_after(copy.deepcopy(found[-1]), words, head["num_gpu_blocks"]))
    return found


def _after(state: Words, words: Words, gpu: int) -> Words:
    tables = {name: [ids, tokens] for name, ids, tokens in state["tables"]}
    refs = dict(state["refs"])
    cached, touched, computed = (set(state[key]) for key in ("cached", "touched", "computed"))
    for name, tokens in words.get("opened", []):
        tables[name] = [[], list(tokens)]
    for kind, block, *rest in words.get("effects", []):
        free, evictor = state["free"][block >= gpu], state["evictor"][block >= gpu]
        if kind == "take":
            if block in free:
                assert free.pop(0) == block
            refs[block] = 1
            computed.discard(block)
        elif kind == "return":
            del refs[block]
            if block in cached:
                evictor.append(block)
                computed.add(block)  # what waits in the evictor counts as computed
            else:
                free.insert(0, block)
                computed.discard(block)
        elif kind == "share":
            refs[block] += 1
        elif kind == "unshare":
            refs[block] -= 1
        elif kind in ("write", "hit"):
            if kind == "hit":
                refs[block] = refs.get(block, 0) + 1
                if block in evictor:
                    evictor.remove(block)
                    computed.add(block)
            if rest[0] is not None:
                tables.setdefault(rest[0], [[], []])[1].extend(rest[1])
        elif kind == "promote":
            cached.add(block)
            if block < gpu:
                touched.add(block)
        elif kind == "evict":
            evictor.remove(block)
            cached.remove(block)
        elif kind == "null":
            state["null"] = block
    for name, k, ids in words.get("tables", []):
        table = tables.setdefault(name, [[], []])
        table[0] = table[0][:k] + ids
    for name in words.get("closed", []):
        del tables[name]
    if words["event"] == "mark_blocks_as_computed":
        computed |= touched
        touched = set()
    queues, requests = copy.deepcopy(state["queues"]), dict(state.get("requests", []))
    changes = words.get("queues", [])
    for what, queue, place, request, *first in [] if isinstance(changes, dict) else changes:
        if what == "enter":
            queues[queue].insert(place, request)
            requests |= {request: first[0]}
        else:
            assert queues[queue].pop(place) == request
    if isinstance(changes, dict):
        queues = changes
    queued = dict.fromkeys(name for names in queues.values() for name in names)
    firsts = [[name, requests[name]] for name in queued if name in requests]
    return {key: value for key, value in state.items() if key != "requests"} | {
        **({"requests": firsts} if firsts else {}),
        "tables": [[name, ids, tokens] for name, (ids, tokens) in tables.items()],
        "refs": [[block, refs[block]] for block in sorted(refs)],
        "cached": sorted(cached),
        "touched": sorted(touched),
        "computed": sorted(computed),
        "queues": queues,
    }
