"""Small timeline files written by hand, and what a reader of the format makes of them."""

import gzip
import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.timeline import applier

Words = dict[str, Any]

HOSTILE = (
    "<img src=x onerror=alert(1)>",
    "</script><script>alert(1)</script>",
    "</template></textarea>' \" &quot; ]]>",
    "__proto__",
    "\u2028\x01\x02\x03 \N{SNOWMAN}",
)


GPU, CPU, GPU_EVICTOR, CPU_EVICTOR = LISTS = (
    "GPU free list",
    "CPU free list",
    "GPU evictor",
    "CPU evictor",
)
QUEUES = ("waiting", "running", "swapped")


def empty_state(gpu: int, cpu: int) -> Words:
    """The state of two unused pools."""
    return {
        "tables": [],
        "lists": [list(range(gpu)), list(range(gpu, gpu + cpu)), [], []],
        "refs": [],
        "cached": [],
        "computed": [],
        "null": None,
        "queues": [[], [], []],
    }


def header(gpu: int, cpu: int, block_size: int, events: list[Words], **more: Any) -> Words:
    """The first line of a file."""
    words: Words = {
        "format": "pagesim-timeline/2",
        "block_size": block_size,
        "pools": [["GPU", gpu], ["CPU", cpu]],
        "lists": [[name, "linked"] for name in LISTS],
        "queues": list(QUEUES),
        "caching": False,
        "events": len(events),
        "first": 0,
        "state": empty_state(gpu, cpu),
    }
    return words | more


def take(*blocks: int, of: str = GPU) -> list[list[Any]]:
    """Blocks leave a list."""
    return [["take", block, of] for block in blocks]


def give(*blocks: int, to: str = GPU, place: int = 0) -> list[list[Any]]:
    """Blocks lose their last owner."""
    return [["free", block, to, place] for block in blocks]


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
    out = [["leave", "running", 1, "b"], ["enter", "swapped", 0, "b"]]
    state = empty_state(6, 3) | {"queues": [[], [0, "b"], []]}
    events = [
        event("allocate", 0, *take(0), ["write", 0, 0, 0, 2], *take(1), ["write", 1, 0, 2, 1],
              opened=[[0, []]], tokens=[[0, 0, [10, 11, 12]]], tables=[[0, 0, [0, 1]]]),
        event("fork", "b", ["share", 0], ["share", 1], opened=[["b", [10, 11, 12]]],
              tables=[["b", 0, [0, 1]]]),
        event("append_slots", "b", *take(2), ["unshare", 1], ["copy", 1, 2, 2],
              ["write", 2, "b", 3, 1], tokens=[["b", 3, [13]]], tables=[["b", 1, [2]]]),
        event("append_slots", 0, *take(3), ["write", 1, 0, 3, 1], tokens=[[0, 3, [14]]],
              tables=[[0, 2, [3]]]),
        event("failed", 9, called="allocate", error="no room"),
        event("swap_out", "b", ["unshare", 0], *give(2), *take(6, 7, of=CPU),
              ["move", 0, 6], ["move", 2, 7], tables=[["b", 0, [6, 7]]], queues=out, step=1),
        event("free", 0, *give(0, 1, 3), closed=[0], queues=[["leave", "running", 0, 0]]),
        event("swap_in", "b", *give(6, 7, to=CPU), *take(3, 1),
              ["move", 6, 3], ["move", 7, 1], tables=[["b", 0, [3, 1]]]),
        event("append_slots", "b", *take(0), *give(3), ["null", 0, "b", 0],
              *take(3), ["write", 3, "b", 4, 1], tokens=[["b", 4, [15]]],
              tables=[["b", 0, [0, 1, 3]]]),
        event("free", "b", *give(1, 3), closed=["b"], queues=[["leave", "swapped", 0, "b"]]),
    ]  # fmt: skip
    more = {"title": "sharing", "tokens": {"10": "ten"}, "state": state}
    return header(6, 3, 2, events, **more), events


def caching() -> tuple[Words, list[Words]]:
    """Caching, hits of owned and of idle blocks, marking as computed, eviction."""

    def idle(*blocks: int) -> list[list[Any]]:
        return [part for b in blocks for part in (*give(b, to=GPU_EVICTOR, place=-1),
                                                  ["computed", b])]  # fmt: skip

    events = [
        event("allocate", 0, *take(0), ["write", 0, 0, 0, 2], ["cache", 0], *take(1),
              ["write", 1, 0, 2, 1], opened=[[0, []]], tokens=[[0, 0, [1, 2, 3]]],
              tables=[[0, 0, [0, 1]]]),
        event("allocate", 1, ["hit", 0, 1, 0, 2], *take(2), ["write", 2, 1, 2, 1],
              opened=[[1, []]], tokens=[[1, 0, [1, 2, 4]]], tables=[[1, 0, [0, 2]]]),
        event("mark_blocks_as_computed", None, ["computed", 0]),
        event("append_slots", 0, ["write", 1, 0, 3, 1], ["cache", 1], tokens=[[0, 3, [5]]]),
        event("mark_blocks_as_computed", None, ["computed", 1]),
        event("append_slots", 1, ["write", 2, 1, 3, 1], ["cache", 2], tokens=[[1, 3, [5]]]),
        event("free", 0, ["unshare", 0], *idle(1), closed=[0]),
        event("free", 1, *idle(0, 2), closed=[1]),
        event("allocate", 2, ["hit", 0, 2, 0, 2], ["evict", 1], *take(1, of=GPU_EVICTOR),
              ["write", 1, 2, 2, 1], opened=[[2, []]], tokens=[[2, 0, [1, 2, 9]]],
              tables=[[2, 0, [0, 1]]]),
        event("allocate", 3, ["hit", 0, 3, 0, 2], ["hit", 2, 3, 2, 2], opened=[[3, []]],
              tokens=[[3, 0, [1, 2, 4, 5]]], tables=[[3, 0, [0, 2]]]),
        event("free", 2, ["unshare", 0], *give(1), closed=[2]),
        event("allocate_immutable_block", None, *take(3, of=CPU), ["write", 3, None, 0, 2],
              ["cache", 3]),
        event("mark_blocks_as_computed", None),
    ]  # fmt: skip
    return header(3, 1, 2, events, caching=True), events


def scheduling() -> tuple[Words, list[Words]]:
    """Two requests: one runs from the start, one is admitted, preempted and aborted."""

    def move(what: str, queue: str, place: int, first: int = 1) -> list[Any]:
        return [what, queue, place, f"r{first}", first]

    state = empty_state(4, 0) | {"queues": [[], ["r0"], []], "requests": [["r0", 0]]}
    events = [
        event("arrive", 1, queues=[move("enter", "waiting", 0)]),
        event("admit", 1, *take(0), ["write", 0, 1, 0, 1], opened=[[1, []]], tokens=[[1, 0, [5]]],
              tables=[[1, 0, [0]]], step=1,
              queues=[move("leave", "waiting", 0), move("enter", "running", 1)]),
        event("schedule", None, step=1, scheduled=[["r1", 1, 1, True]]),
        event("preempt", 1, *give(0), closed=[1], step=2,
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
        words = event("allocate", name, *take(block), ["write", block, name, 0, 1],
                      opened=[[name, []]], tokens=[[name, 0, [block]]],
                      tables=[[name, 0, [block]]])  # fmt: skip
        events.append(words | {"caption": HOSTILE[0] + name})
    labels = {str(token): text for token, text in enumerate(HOSTILE)}
    asked = [{"at": 1, "ask": HOSTILE[1], "answer": [1], "why": HOSTILE[0]}]
    more = {"title": HOSTILE[1], "tokens": labels, "questions": asked}
    return header(len(HOSTILE), 0, 2, events, **more), events


def many(steps: int) -> tuple[Words, list[Words]]:
    """A long run of one growing table, to cross keyframes."""
    events = [event("allocate", 7, *take(0), ["write", 0, 7, 0, 1], opened=[[7, []]],
                    tokens=[[7, 0, [0]]], tables=[[7, 0, [0]]])]  # fmt: skip
    for i in range(1, steps):
        fresh = take(i // 2) if i % 2 == 0 else []
        more: Words = {"tables": [[7, i // 2, [i // 2]]]} if fresh else {}
        more["tokens"] = [[7, i, [i]]]
        events.append(event("append_slots", 7, *fresh, ["write", i // 2, 7, i, 1], **more))
    return header(steps // 2 + 1, 1, 2, events), events


def states(head: Words, events: list[Words]) -> list[Words]:
    """The state at every step, by a reading of the format that knows nothing of pagesim."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "sample.jsonl"
        path.write_text(text_of(head, events), encoding="utf-8")
        return list(applier.states(path))
