"""Damaged and made-up files: an error with file and line, or a run that holds together."""

import gzip
import json
import random
from pathlib import Path
from typing import Any

import pytest

import pagesim
from pagesim.files import jsonl
from pagesim.timeline import TimelineError, checked, reader
from tests.timeline import hostile
from tests.timeline.hostile import changed, places, some, try_to_load, without, write
from tests.timeline.runs import recorded

SMALL: dict[str, Any] = {
    "format": "pagesim-timeline/2",
    "block_size": 2,
    "pools": [["GPU", 4], ["CPU", 2]],
    "lists": [["free", "linked"], ["evictor", "linked"], ["CPU free", "sorted"]],
    "queues": ["waiting", "running", "swapped"],
    "caching": True,
    "events": 0,
    "title": "T",
    "tokens": {"7": "cat"},
    "opens": 0,
    "questions": [{"at": 0, "ask": "which?", "answer": [1], "why": "because"}],
    "state": {
        "tables": [["s", [0], [7]]],
        "lists": [[1, 2], [3], [4, 5]],
        "refs": [[0, 1]],
        "cached": [3],
        "queues": [[], [], []],
    },
}


def small(*events: dict[str, Any], **header: Any) -> list[Any]:
    """The lines of a small file with these events."""
    return [{**SMALL, "events": len(events), **header}, *events]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    folder = tmp_path_factory.mktemp("valid")
    for kind in ("manager-caching", "window-caching", "tables-caching", "groups"):
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
    for _ in range(3 * hostile.PLACES):
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


@pytest.mark.parametrize("name", ["manager-caching.jsonl", "window-caching.jsonl", "groups.jsonl"])
def test_every_value_replaced_by_wrong_ones(
    name: str, files: dict[str, bytes], tmp_path: Path
) -> None:
    lines = [json.loads(line) for line in files[name].splitlines()]
    path = tmp_path / name
    refused = tried = 0
    for at in some(list(places(lines))[1:], hostile.PLACES, seed=2):
        for new in some(hostile.WRONG, 5, seed=tried):
            tried += 1
            refused += bool(try_to_load(write(path, changed(lines, at, new))))
        try_to_load(write(path, without(lines, at)))
    assert refused > tried / 2


@pytest.mark.parametrize("wrong", hostile.WRONG, ids=lambda value: repr(value)[:12])
def test_every_value_of_a_small_file_replaced(wrong: Any, tmp_path: Path) -> None:
    event = {
        **{"event": "append_slots", "of": "s", "step": 1, "called": "x", "error": "y"},
        "opened": [["new", [1]], ["late", [1], 2]],
        "tokens": [["s", 1, [8]], ["late", 1, [5]]],
        "effects": [
            *(["write", 0, "s", 1, 1], ["take", 1, "free"], ["copy", 0, 1, 2], ["share", 1]),
            *(["unshare", 1], ["evict", 3], ["take", 3, "evictor"], ["null", 3, "s", 0]),
            *(["move", 0, 4], ["cache", 0], ["hit", 0, None, 0, 0], ["unshare", 0]),
            *(["take", 4, "CPU free"], ["computed", 4], ["free", 4, "CPU free", 0]),
            *(["free", 3, "free", -1], ["null", 2, None, None]),
        ],
        "tables": [["new", 0, [1]]],
        "closed": ["new"],
        "queues": [["enter", "waiting", 0, "a", 1], ["leave", "waiting", 0, "a"]],
        "scheduled": [["a", 1, 7, True], ["b", None, 1, False]],
        "marks": [["weight", "slots", [[0, 0.5], [11, 1]]], ["read", "blocks", [[5, 2]]]],
        "reads": [
            [[0, 1], "s", 0, 1, [0, None], [1, 0.5], 0.5, 1.5, 2],
            [[0], "s", 0, 1, [], [1, 0.5], 0.5, 1.5, 2],
        ],
        "difference": 1e-7,
    }
    lines = small(event)
    assert try_to_load(write(tmp_path / "x.jsonl", lines)) == ""
    for at in some(list(places(lines))[1:], hostile.PLACES, seed=hostile.WRONG.index(wrong)):
        try_to_load(write(tmp_path / "x.jsonl", changed(lines, at, wrong)))


DATA = Path(__file__).parents[1] / "data" / "timelines2"
STEP = 6 if hostile.PLACES < 1000 else 3


IMPOSSIBLE = json.loads((DATA / "impossible.json").read_text())
"""Events, words of a header, and words of its state that cannot be, by what is wrong with them."""

EVENTS = IMPOSSIBLE["events"] | {"an event of many letters": [{"event": "e" * 10_001}]}


@pytest.mark.parametrize("what", EVENTS)
def test_what_cannot_happen(what: str, tmp_path: Path) -> None:
    path = write(tmp_path / "x.jsonl", small({"event": "fine"}, *EVENTS[what]))
    assert try_to_load(path).startswith(f"{path}:{len(EVENTS[what]) + 2}: ")


HEADERS = {
    **IMPOSSIBLE["headers"],
    "many pools": {"pools": [[f"{i}", 0] for i in range(1001)]},
    **{f"sequences {names!r}": {"sequences": names} for names in (7, [1.5], [["a"]], ["\ud800"])},
    **{f"opens {step!r}": {"opens": step} for step in (-1, 2, 1.5, "1", True, [1])},
}
STATES = IMPOSSIBLE["states"]


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
    for depth in [*range(60, 1000, 10 * STEP), *range(880, 1010, STEP), 10_000, 100_000]:
        deep = "[" * depth + "]" * depth
        for line in (event.replace("@", deep), deep, f'{{"event": {deep}}}'):
            (tmp_path / "x.jsonl").write_text(f"{header}\n{line}\n")
            assert try_to_load(tmp_path / "x.jsonl")
        for key in ("format", "events", "title", "tokens", "questions", "state", "first", "opens"):
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
        {"event": "e", "opened": [["t", [1] * 1000]], "closed": ["t"]},
        {"event": "e", "marks": [["m", "slots", [[0, 1]] * 100]]},
        {"event": "e", "reads": [[[0], "s", 0, 0, [0], [1], 0, 1, 1]] * 10},
        {"event": "e", "tables": [["s", 0, [0]]] * 100},
        {"event": "e", "opened": [["t", []]], "closed": ["t"]},
        {"event": "e", "called": "c", "error": "e" * 1000},
        {"event": "e", "queues": [["enter", "waiting", 0, "s"]] * 10},
    ],
    ids=lambda event: str(event)[:40],
)
def test_whatever_is_kept_is_counted(
    event: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that unpacks to ever more events is refused before they fill the memory."""
    path = write(tmp_path / "x.jsonl", small(*[event] * 20))
    assert try_to_load(path) == ""
    monkeypatch.setattr(checked, "MAX_NUMBERS", 400)
    assert "the run is too large" in try_to_load(path)
    monkeypatch.setattr(reader, "MAX_EVENTS", 1)
    monkeypatch.setattr(checked, "MAX_NUMBERS", 10**6)
    assert try_to_load(path).endswith(":3: more than 1 events")


def test_the_error_is_a_value_error(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text("{}")
    message = r"x\.jsonl:1: format must be 'pagesim-timeline/2'"
    with pytest.raises(ValueError, match=message) as info:
        pagesim.load(tmp_path / "x.jsonl")
    assert type(info.value) is TimelineError


def test_it_may_open_before_its_first_event(tmp_path: Path) -> None:
    assert pagesim.load(write(tmp_path / "x.jsonl", small(opens=0))).notes.opens == 0


def test_a_number_of_many_digits(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text('{"format": ' + "9" * 5000 + "}")
    with pytest.raises(TimelineError, match=r"x\.jsonl:1: not JSON: Exceeds the limit"):
        pagesim.load(tmp_path / "x.jsonl")


def test_a_file_without_an_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jsonl, "MAX_BYTES", 1000)
    (tmp_path / "x.jsonl.gz").write_bytes(gzip.compress(b'{"a": 1}\n' * 200))
    with pytest.raises(TimelineError, match=r"x\.jsonl\.gz:112: the file has more than 1000 bytes"):
        for _ in jsonl.numbered_objects(str(tmp_path / "x.jsonl.gz"), TimelineError):
            pass
