"""What is done to files to break the reader, and what must hold when it has read one."""

import gzip
import json
import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pagesim
from pagesim.timeline import TimelineError
from pagesim.timeline.file import header
from pagesim.timeline.gist import gist

WRONG: list[Any] = [
    *(None, -1, 0, 10**5, 2**31, 2**63, 2**70, 0.5, 1e300, float("nan"), float("inf")),
    *("x", "", "\ud800", "<script>", True, False, [], [None], [[]], {}, {"a": 1}, "9" * 20_000),
]

PLACES = int(os.environ.get("PAGESIM_HOSTILE", "14"))
"""How many values of a file are replaced; `make nightly` has 1,000."""


def try_to_load(path: Path) -> str:
    """The error's text, "" if the file was read. A run that was read must stand up to use."""
    try:
        run = pagesim.load(path)
    except TimelineError as error:
        text = str(error)
        place = text.removeprefix(f"{path}:")
        assert place != text and place.split(":")[0].isdigit(), f"no file:line in {text[:200]!r}"
        assert len(text) < 1_000 and "\n" not in text, text[:300]
        return text
    check(run, path)
    return ""


def check(run: pagesim.Timeline, path: Path) -> None:
    """Every event and state can be had, searched and saved; no block is in two places."""
    for step in range(len(run) + 1):
        state = run.at(step)
        idle = [block for ids in state.lists.values() for block in ids]
        assert len(set(idle)) == len(idle)
        assert not any(state.ref_counts[block] for block in idle)
        assert min(state.ref_counts.values(), default=0) >= 0
    for event in run:
        assert event.caption.endswith(".")
        run.find(sequence=event.subject, kind=event.kind)
    run.find(block=0)
    header(run)
    assert gist(run)
    assert isinstance(run._repr_html_() if len(run) < 3 else "", str)
    again = path.with_name("again.jsonl")
    run.save(again)
    loaded = pagesim.load(again)
    assert list(loaded) == list(run)
    assert loaded.at(-1) == run.at(-1)


def places(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path to every value inside of ``value``, and to itself."""
    yield at
    items: Any = ()
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list):
        items = enumerate(value)
    for key, inner in items:
        yield from places(inner, (*at, key))


def changed(value: Any, at: tuple[Any, ...], new: Any) -> Any:
    """``value`` with ``new`` at a place."""
    if not at:
        return new
    copy = value.copy()
    copy[at[0]] = changed(value[at[0]], at[1:], new)
    return copy


def without(value: Any, at: tuple[Any, ...]) -> Any:
    """``value`` without what is at a place."""
    copy = value.copy()
    if len(at) == 1:
        del copy[at[0]]
    else:
        copy[at[0]] = without(value[at[0]], at[1:])
    return copy


def write(path: Path, lines: list[Any]) -> Path:
    """A file of these lines, gzipped if its name says so."""
    data = "".join(json.dumps(line) + "\n" for line in lines).encode()
    path.write_bytes(gzip.compress(data, 1) if path.suffix == ".gz" else data)
    return path


def some(items: list[Any], count: int, seed: int) -> list[Any]:
    """A sample, all of them if there are not more."""
    return random.Random(seed).sample(items, min(count, len(items)))
