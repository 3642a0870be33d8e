"""Damaged and made-up files: an error with file and line, or a run that holds together."""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path
from typing import Any

import pytest

import pagesim
from pagesim.timeline import TimelineError, reader
from tests.timeline import hostile
from tests.timeline.hostile import changed, places, some, try_to_load, without, write
from tests.timeline.runs import recorded

SMALL: dict[str, Any] = {
    "format": "pagesim-timeline/1",
    **{"block_size": 2, "num_gpu_blocks": 4, "num_cpu_blocks": 2, "caching": True},
    "events": 0,
    "title": "T",
    "tokens": {"7": "cat"},
    "questions": [{"at": 0, "ask": "which?", "answer": [1], "why": "because"}],
    "state": {
        "tables": [["s", [0], [7]]],
        "free": [[1, 2], [4, 5]],
        "refs": [[0, 1]],
        "evictor": [[3], []],
        "cached": [3],
    },
}


def small(*events: dict[str, Any], **header: Any) -> list[Any]:
    """The lines of a small file with these events."""
    return [{**SMALL, "events": len(events), **header}, *events]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    folder = tmp_path_factory.mktemp("valid")
    for kind in ("manager-caching", "window-caching", "tables-caching"):
        recorded(kind, 5, 25).save(folder / f"{kind}.jsonl")
        recorded(kind, 5, 25).save(folder / f"{kind}.jsonl.gz")
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("name", ["manager-caching.jsonl", "manager-caching.jsonl.gz"])
def test_cut_off_anywhere(name: str, files: dict[str, bytes], tmp_path: Path) -> None:
    data, path = files[name], tmp_path / name
    for end in range(0, len(data) - 1, 50 if name.endswith("jsonl") else 10):
        path.write_bytes(data[:end])
        assert try_to_load(path), f"the first {end} bytes of {len(data)} were read as a run"


@pytest.mark.parametrize("name", ["tables-caching.jsonl", "tables-caching.jsonl.gz"])
def test_flipped_bytes(name: str, files: dict[str, bytes], tmp_path: Path) -> None:
    rng, data, path = random.Random(1), files[name], tmp_path / name
    outcomes = set()
    for _ in range(400):
        bad = bytearray(data)
        bad[rng.randrange(len(bad))] ^= 1 << rng.randrange(8)
        path.write_bytes(bad)
        outcomes.add(bool(try_to_load(path)))
    assert True in outcomes


def test_lines_missing_doubled_and_exchanged(files: dict[str, bytes], tmp_path: Path) -> None:
    lines, path = files["manager-caching.jsonl"].splitlines(keepends=True), tmp_path / "x.jsonl"
    for i in range(len(lines)):
        path.write_bytes(b"".join(lines[:i] + lines[i + 1 :]))
        assert try_to_load(path)
        path.write_bytes(b"".join(lines[: i + 1] + lines[i:]))
        assert try_to_load(path)
        path.write_bytes(b"".join([*lines[:i], *lines[i : i + 2][::-1], *lines[i + 2 :]]))
        try_to_load(path)


@pytest.mark.parametrize("name", ["manager-caching.jsonl", "window-caching.jsonl"])
def test_every_value_replaced_by_wrong_ones(
    name: str, files: dict[str, bytes], tmp_path: Path
) -> None:
    lines = [json.loads(line) for line in files[name].splitlines()]
    path = tmp_path / name
    refused = tried = 0
    for at in some(list(places(lines))[1:], 250, seed=2):
        for new in some(hostile.WRONG, 5, seed=tried):
            tried += 1
            refused += bool(try_to_load(write(path, changed(lines, at, new))))
        try_to_load(write(path, without(lines, at)))
    assert refused > tried / 2


@pytest.mark.parametrize("wrong", hostile.WRONG, ids=lambda value: repr(value)[:12])
def test_every_value_of_a_small_file_replaced(wrong: Any, tmp_path: Path) -> None:
    event = {
        **{"event": "append_slots", "of": "s", "step": 1, "called": "x", "error": "y"},
        "opened": [["new", [1]]],
        "effects": [
            *(["write", 0, "s", [8]], ["take", 1], ["copy", 0, 1, 2], ["share", 1]),
            *(["unshare", 1], ["evict", 3], ["take", 3], ["null", 3, "s", 0], ["swap_out", 0, 4]),
            *(["promote", 0], ["hit", 0, None, []], ["unshare", 0], ["take", 4], ["return", 4]),
        ],
        "tables": [["new", 0, [1]]],
        "closed": ["new"],
        "queues": {"waiting": ["a"], "running": [], "swapped": [1]},
    }
    lines = small(event)
    assert try_to_load(write(tmp_path / "x.jsonl", lines)) == ""
    for at in list(places(lines))[1:]:
        try_to_load(write(tmp_path / "x.jsonl", changed(lines, at, wrong)))


EVENTS = {
    "take what is not in front": [{"event": "e", "effects": [["take", 2]]}],
    "take twice": [{"event": "e", "effects": [["take", 1], ["take", 1]]}],
    "take what was evicted before": [
        {"event": "e", "effects": [["evict", 3]]},
        {"event": "e", "effects": [["take", 3]]},
    ],
    "take what was evicted, twice": [
        {"event": "e", "effects": [["evict", 3], ["take", 3], ["take", 3]]}
    ],
    "take what is not in front, beside an evicted one": [
        {"event": "e", "effects": [["evict", 3], ["take", 2]]}
    ],
    "take what is owned": [{"event": "e", "effects": [["take", 0]]}],
    "return what is free": [{"event": "e", "effects": [["return", 1]]}],
    "return what is shared": [{"event": "e", "effects": [["share", 0], ["return", 0]]}],
    "unshare the last": [{"event": "e", "effects": [["unshare", 0]]}],
    "share what is free": [{"event": "e", "effects": [["share", 1]]}],
    "hit what is free": [{"event": "e", "effects": [["hit", 1, "s", [1]]]}],
    "evict what is owned": [{"event": "e", "effects": [["evict", 0]]}],
    "write where nobody owns": [{"event": "e", "effects": [["write", 1, "s", [1]]]}],
    "no such block": [{"event": "e", "effects": [["take", 6]]}],
    "a negative block": [{"event": "e", "effects": [["take", -1]]}],
    "no such effect": [{"event": "e", "effects": [["steal", 1]]}],
    "an effect without a block": [{"event": "e", "effects": [["take"]]}],
    "an effect without a name": [{"event": "e", "effects": [[]]}],
    "an effect with too much": [{"event": "e", "effects": [["take", 1, 1]]}],
    "null in an unknown table": [{"event": "e", "effects": [["null", 0, "t", 0]]}],
    "close an unknown table": [{"event": "e", "closed": ["t"]}],
    "close twice": [{"event": "e", "closed": ["s", "s"]}],
    "open what is there": [{"event": "e", "opened": [["s", []]]}],
    "a gap in a table": [{"event": "e", "tables": [["s", 2, [0]]]}],
    "a table of nothing that exists": [{"event": "e", "tables": [["s", 0, [9]]]}],
    "no event": [{"of": "s"}],
    "an event of many letters": [{"event": "e" * 10_001}],
    "an event without letters": [{"event": ""}],
    "not an object": [[]],
}


@pytest.mark.parametrize("what", EVENTS)
def test_what_cannot_happen(what: str, tmp_path: Path) -> None:
    path = write(tmp_path / "x.jsonl", small({"event": "fine"}, *EVENTS[what]))
    assert try_to_load(path).startswith(f"{path}:{len(EVENTS[what]) + 2}: ")


HEADERS = {
    "another format": {"format": "pagesim-timeline/2"},
    "no size": {"block_size": 0},
    "10**12 blocks": {"num_gpu_blocks": 10**12},
    "2**30 blocks": {"num_cpu_blocks": 2**30},
    "10**9 events": {"events": 10**9},
    "fewer events": {"events": 0},
    "no state": {"state": None},
    "a negative first": {"first": -1},
}
STATES = {
    "a table twice": {"tables": [["s", [0], []], ["s", [0], []]]},
    "more tokens than slots": {"tables": [["s", [0], [1, 2, 3]]]},
    "a block free twice": {"free": [[1, 1], []]},
    "a block free and owned": {"free": [[0], []]},
    "a block free and in the evictor": {"free": [[3], []]},
    "a CPU block on the GPU": {"free": [[4], []]},
    "a GPU block on the CPU": {"free": [[], [1]]},
    "three pools": {"free": [[], [], []]},
    "a count of 0": {"refs": [[0, 0]]},
    "a null block that does not exist": {"null": 6},
}


@pytest.mark.parametrize("what", [*HEADERS, *STATES])
def test_headers_that_cannot_be(what: str, tmp_path: Path) -> None:
    words = HEADERS.get(what) or {"state": {**SMALL["state"], **STATES[what]}}
    path = write(tmp_path / "x.jsonl", small({"event": "fine"}, **words))
    line = 2 if what.endswith("events") else 1
    assert try_to_load(path).startswith(f"{path}:{line}: ")


@pytest.mark.parametrize("name", ["x.jsonl", "x.jsonl.gz"])
@pytest.mark.parametrize("data", [b"", b"\n", b"{}", b"[]", b"null", b"\xff\xfe", b"PK\3\4", b"\0"])
def test_no_timeline_at_all(data: bytes, name: str, tmp_path: Path) -> None:
    for stored in (data, gzip.compress(data)):
        (tmp_path / name).write_bytes(stored)
        assert try_to_load(tmp_path / name)


def test_a_missing_file_and_a_folder(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        pagesim.load(tmp_path / "nothing.jsonl.gz")
    with pytest.raises(OSError, match="directory"):
        pagesim.load(tmp_path)


def test_deep_nesting(tmp_path: Path) -> None:
    """Around the depth at which Python's JSON reader gives up, and at which printing does."""
    header, event = json.dumps(small({})[0]), '{"event": "e", "of": @, "error": @, "called": "c"}'
    for depth in [*range(60, 1000, 60), *range(880, 1010, 3), 10_000, 100_000]:
        deep = "[" * depth + "]" * depth
        for line in (event.replace("@", deep), deep, f'{{"event": {deep}}}'):
            (tmp_path / "x.jsonl").write_text(f"{header}\n{line}\n")
            assert try_to_load(tmp_path / "x.jsonl")
        for key in ("format", "events", "title", "tokens", "questions", "state", "first"):
            words = json.dumps({**json.loads(header), key: "@"}).replace('"@"', deep)
            (tmp_path / "x.jsonl").write_text(f"{words}\n")
            assert try_to_load(tmp_path / "x.jsonl")
        questions = f'[{{"at": {deep}, "ask": "", "answer": []}}]'
        words = json.dumps({**json.loads(header), "questions": "@"}).replace('"@"', questions)
        (tmp_path / "x.jsonl").write_text(f"{words}\n")
        assert try_to_load(tmp_path / "x.jsonl")


@pytest.mark.parametrize(
    "event",
    [
        {"event": "e"},
        {"event": "e" * 1000},
        {"event": "e", "of": "s" * 1000},
        {"event": "e", "effects": [["share", 0], ["unshare", 0]] * 100},
        {"event": "e", "effects": [["write", 0, "s", [1] * 1000]]},
        {"event": "e", "tables": [["s", 0, [0]]] * 100},
        {"event": "e", "opened": [["t", []]], "closed": ["t"]},
        {"event": "e", "called": "c", "error": "e" * 1000},
        {"event": "e", "queues": {"waiting": ["s"] * 100}},
    ],
    ids=lambda event: str(event)[:40],
)
def test_whatever_is_kept_is_counted(
    event: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that unpacks to ever more events is refused before they fill the memory."""
    path = write(tmp_path / "x.jsonl", small(*[event] * 500))
    assert try_to_load(path) == ""
    monkeypatch.setattr(reader, "MAX_NUMBERS", 1000)
    assert "the run is too large" in try_to_load(path)
    monkeypatch.setattr(reader, "MAX_EVENTS", 1)
    monkeypatch.setattr(reader, "MAX_NUMBERS", 10**6)
    assert try_to_load(path).endswith(":3: more than 1 events")


def test_markup_is_text(tmp_path: Path) -> None:
    name = "<img src=x onerror=alert(1)></script>"
    event = {"event": "append_slots", "of": name, "opened": [[name, []]]}
    path = write(tmp_path / "x.jsonl", small(event, title=name))
    assert try_to_load(path) == ""
    assert pagesim.load(path)[0].subject == name


def test_the_error_is_a_value_error(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text("{}")
    with pytest.raises(
        ValueError, match=r"x\.jsonl:1: format must be 'pagesim-timeline/1'"
    ) as info:
        pagesim.load(tmp_path / "x.jsonl")
    assert type(info.value) is TimelineError
