"""Files of edition 1 still load, and every state in them is the one that edition told."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest

import pagesim
from pagesim.timeline.header import state_as_dict
from tests.timeline import applier1, hostile
from tests.timeline.hostile import changed, places, some, try_to_load, without, write

FILES = sorted((Path(__file__).parents[1] / "data" / "timelines1").glob("*.jsonl.gz"))
NAMES = [path.name for path in FILES]


def told(state: dict[str, Any]) -> dict[str, Any]:
    """A state of edition 1 in the words of edition 2."""
    names = ("tables", "refs", "cached", "computed", "null", "requests")
    return {key: state[key] for key in names if key in state} | {
        "lists": [*state["free"], *state["evictor"]],
        "queues": list(state["queues"].values()),
    }


@pytest.mark.parametrize("path", FILES, ids=NAMES)
def test_the_state_at_every_step(path: Path, tmp_path: Path) -> None:
    run = pagesim.load(path)
    run.save(tmp_path / "again.jsonl.gz")
    again = pagesim.load(tmp_path / "again.jsonl.gz")
    step = 0
    for step, state in enumerate(applier1.states(path)):
        assert told(state) == json.loads(json.dumps(state_as_dict(run.at(step)))), step
        assert again.at(step) == run.at(step)
    assert step == len(run) > 50
    assert list(again) == list(run)


def test_the_files_have_every_effect_of_edition_1() -> None:
    text = b"".join(gzip.decompress(path.read_bytes()) for path in FILES)
    words = set(re.findall(rb'\["(\w+)",\d', text))
    assert words >= {
        *(b"take", b"return", b"share", b"unshare", b"write", b"copy"),
        *(b"swap_out", b"swap_in", b"promote", b"hit", b"evict", b"null"),
    }


def test_queues_given_whole(tmp_path: Path) -> None:
    header, *_ = map(json.loads, gzip.decompress(FILES[0].read_bytes()).splitlines())
    state = header["state"] | {"queues": {"waiting": ["x"], "running": ["y"], "swapped": []}}
    event = {"event": "e", "queues": {"waiting": ["y", "z"], "swapped": ["x"]}}
    path = write(tmp_path / "x.jsonl", [header | {"state": state, "events": 1}, event])
    run = pagesim.load(path)
    assert run.at(0).queues == {"waiting": ("x",), "running": ("y",), "swapped": ()}
    assert run.at(1).queues == {"waiting": ("y", "z"), "running": (), "swapped": ("x",)}


def test_every_value_replaced_by_wrong_ones(tmp_path: Path) -> None:
    """An error with a line, or a run that holds together: nothing else."""
    path = FILES[NAMES.index("window-caching-7.jsonl.gz")]
    header, *events = map(json.loads, gzip.decompress(path.read_bytes()).splitlines())
    lines = [header | {"events": 30}, *events[:30]]
    refused = tried = 0
    for at in some(list(places(lines))[1:], hostile.PLACES, seed=2):
        for new in some(hostile.WRONG, 4, seed=tried):
            tried += 1
            refused += bool(try_to_load(write(tmp_path / "x.jsonl", changed(lines, at, new))))
        try_to_load(write(tmp_path / "x.jsonl", without(lines, at)))
    assert refused > tried / 2
