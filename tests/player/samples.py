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


LISTS = (GPU, *_) = ("GPU free list", "CPU free list", "GPU evictor", "CPU evictor")
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


def written_by_hand(name: str) -> tuple[Words, list[Words]]:
    """A file of tests/data/timelines2: its first line, and the others."""
    file = Path(__file__).parents[1] / "data" / "timelines2" / f"{name}.jsonl"
    head, *events = map(json.loads, file.read_text(encoding="utf-8").splitlines())
    return head, events


def text_of(head: Words, events: list[Words]) -> str:
    """The file as text."""
    lines = (json.dumps(words, ensure_ascii=False) for words in (head, *events))
    return "\n".join(lines) + "\n"


def packed(head: Words, events: list[Words]) -> bytes:
    """The file, gzipped."""
    return gzip.compress(text_of(head, events).encode(), mtime=0)


def sharing() -> tuple[Words, list[Words]]:
    """Fork, copy-on-write, swap out and in, lookahead, a window, a failure, queues: no caching."""
    return written_by_hand("sharing")


def caching() -> tuple[Words, list[Words]]:
    """Caching, hits of owned and of idle blocks, marking as computed, eviction."""
    return written_by_hand("caching")


def scheduling() -> tuple[Words, list[Words]]:
    """Two requests: one runs from the start, one is admitted, preempted and aborted."""
    return written_by_hand("scheduling")


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
