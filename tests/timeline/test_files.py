"""What is saved is what is loaded; a file is replaced whole or not at all."""

import gzip
import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

import pagesim
from pagesim.timeline import Question, file
from pagesim.timeline.header import state_as_dict
from tests.timeline.random_calls.manager import ManagerRun
from tests.timeline.random_calls.tables import TableRun
from tests.timeline.runs import SOURCES, recorded, reloaded

NAMES = ("run.jsonl", "run.jsonl.gz")
KINDS = ("free list", "evictor")


@pytest.mark.parametrize("kind", SOURCES)
def test_there_and_back(kind: str, tmp_path: Path) -> None:
    for seed, name in enumerate(NAMES, 2):
        run = recorded(kind, seed, 40)
        for part in (run, run[seed : len(run) - seed][2:], run[4:4]):
            loaded = reloaded(part, str(tmp_path / name))
            loaded.save(tmp_path / f"again-{name}")
            assert (tmp_path / f"again-{name}").read_bytes() == (tmp_path / name).read_bytes()


def test_the_same_bytes_each_time(tmp_path: Path) -> None:
    paths = [tmp_path / "one.jsonl.gz", tmp_path / "two.jsonl.gz"]
    for path in paths:
        recorded("manager-caching", 1, 60).save(path)
    assert paths[0].read_bytes() == paths[1].read_bytes()
    plain = tmp_path / "run.jsonl"
    recorded("manager-caching", 1, 60).save(plain)
    assert gzip.decompress(paths[0].read_bytes()) == plain.read_bytes()
    assert file.packed(recorded("manager-caching", 1, 60)) == paths[0].read_bytes()


def test_the_header(tmp_path: Path) -> None:
    run = recorded("manager-caching", 2, 40)
    run[7:30].save(tmp_path / "run.jsonl")
    header = json.loads((tmp_path / "run.jsonl").read_bytes().splitlines()[0])
    assert {key: header[key] for key in list(header) if key != "state"} == {
        "format": "pagesim-timeline/2",
        "block_size": 4,
        "pools": [["GPU", 24], ["CPU", 16]],
        "lists": [[f"{pool} {what}", "linked"] for pool in ("GPU", "CPU") for what in KINDS],
        "queues": [],
        "caching": True,
        "events": 23,
        "first": 7,
        "sequences": run[7:30].sequences,
    }
    assert header["state"] == json.loads(json.dumps(state_as_dict(run.at(7))))
    assert pagesim.load(tmp_path / "run.jsonl")[3:].first == 10


def test_what_the_author_adds_is_kept(tmp_path: Path) -> None:
    run = recorded("manager-naive", 2, 10)
    asked = [at for at in run.find(kind="take") if at > 0][:2]
    questions = [Question(at, "which?", "taken", "because", "first") for at in (0, *asked)]
    labels = {1: "cat", -2: "</script>"}
    run.annotate(title="<b>π", tokens=labels, questions=questions, opens=asked[1])
    assert reloaded(run, tmp_path / "x.jsonl.gz").notes == run.notes
    run[asked[0] : asked[1]].save(tmp_path / "piece.jsonl")
    notes = pagesim.load(tmp_path / "piece.jsonl").notes
    assert notes.questions == (Question(0, "which?", "taken", "because", "first"),)
    assert (notes.title, notes.tokens, notes.opens) == ("<b>π", labels, asked[1] - asked[0])
    assert run[: asked[1]].notes.opens == asked[1], "a piece ends with a state"
    assert run[: asked[1] - 1].notes.opens is run[asked[1] + 1 :].notes.opens is None
    assert run.annotate(opens=0)[:5].notes.opens == 0


@pytest.mark.parametrize(
    "wrong",
    [
        *({"title": 5}, {"title": "\ud800"}, {"tokens": {"1": "cat"}}, {"tokens": {1: None}}),
        *({"questions": ["?"]}, {"questions": [Question(-1, "?", ())]}),
        *({"questions": [Question(0, "?", ("x",))]}, {"questions": [Question(0, "?", (), None)]}),
        *(
            {"questions": [Question(0, "?", "stolen")]},
            {"questions": [Question(0, "?", which="2")]},
        ),
        *({"questions": [Question(0, "?", 7)]}, {"questions": [Question(0, "?", which=["all"])]}),
        *({"opens": -1}, {"opens": 11}, {"opens": 1.0}, {"opens": "1"}, {"opens": True}),
    ],
)
def test_what_an_author_cannot_add(wrong: Any) -> None:
    run = recorded("manager-naive", 2, 10)
    with pytest.raises((TypeError, ValueError)):
        run.annotate(**wrong)
    assert run.notes == recorded("manager-naive", 2, 10).notes


@pytest.mark.parametrize("name", NAMES)
def test_an_error_while_saving_leaves_the_old_file(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, new = recorded("manager-naive", 1, 20), recorded("manager-naive", 2, 40)
    old.save(tmp_path / name)
    before = (tmp_path / name).read_bytes()

    def breaks(run: pagesim.Timeline, plain: Any = pagesim.Timeline.lines) -> Iterator[str]:
        yield from islice(plain(run), 20)
        raise OSError("the disk is full")

    monkeypatch.setattr(pagesim.Timeline, "lines", breaks)
    with pytest.raises(OSError, match="disk is full"):
        new.save(tmp_path / name)
    assert (tmp_path / name).read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_saving_where_there_is_no_folder(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        recorded("manager-naive", 1, 5).save(tmp_path / "nowhere" / "run.jsonl")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["<img onerror=1>", "</script>", "π \N{CAT}", '"\\\n\0', "", -5])
def test_names_are_data(name: str | int, tmp_path: Path) -> None:
    source = TableRun(4, caching=True)
    with pagesim.record(source.allocator) as run:
        table = pagesim.BlockTable(4, source.allocator)
        table.allocate([1, -2, 3**39, 4, 5])
        run.label(table, name)
        table.append_token_ids([6])
    reloaded(run, tmp_path / "run.jsonl")
    assert list(run.at(-1).tables) == [name]


def test_saving_while_recording(tmp_path: Path) -> None:
    source = ManagerRun(6, caching=False)
    with pagesim.record(source.manager) as run:
        source.steps(20)
        half = reloaded(run, tmp_path / "half.jsonl.gz")
        source.steps(20)
    assert list(half) == list(run)[: len(half)] != list(run)
