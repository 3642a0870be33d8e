"""Two runs on one page: what may be compared, and what the page carries."""

import base64
import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest

import pagesim
from pagesim.timeline.file import header
from tests.commands import runs
from tests.timeline.scenes import told


def grown(words: str) -> pagesim.Timeline:
    return told(*(f"{word} goes" for word in words.split()))


def headers(page: str) -> list[dict[str, Any]]:
    """The header of each file that a page carries."""
    files = re.findall(r'<template class="pagesim-timeline">(.*?)</template>', page)
    texts = [gzip.decompress(base64.b64decode(file)).decode() for file in files]
    return [json.loads(text.split("\n", 1)[0]) for text in texts]


def test_both_runs_and_one_colour_for_a_sequence(tmp_path: Path) -> None:
    one, other = grown("a b c"), grown("a b c d e")
    pair = pagesim.compare(one, other, titles=("few", "many"))
    pair.to_html(tmp_path / "pair.html")
    found = headers((tmp_path / "pair.html").read_text())
    assert [head["title"] for head in found] == ["few", "many"]
    assert [head["events"] for head in found] == [len(one), len(other)]
    assert found[0]["sequences"] == found[1]["sequences"] == other.sequences


def test_titles_are_the_runs_own_or_letters() -> None:
    one = grown("a").annotate(title="mine")
    assert pagesim.compare(one, grown("b")).titles == ("mine", "B")


def test_a_notebook_shows_both() -> None:
    shown = pagesim.compare(grown("a"), grown("b"))._repr_html_()
    assert shown.count('<section class="pagesim-player"></section>') == 2
    assert "A still picture" in shown


def test_recorded_simulations_can_be_compared() -> None:
    stream = pagesim.workload.paper_sharegpt(3, seed=0)
    given: Any = {"pool": 4096, "record": True, "progress": False}
    one, other = (pagesim.simulate(stream, block_size=size, **given) for size in (16, 32))
    pair = pagesim.compare(one, other)
    assert pair.runs == (one.timeline, other.timeline)
    assert pair.titles == ("A", "B")
    rows = pagesim.simulate(stream, policy="max", **given)
    assert pagesim.compare(rows, one).titles == (rows.title, one.title)


def test_a_simulations_run_knows_its_clock(tmp_path: Path) -> None:
    """Also saved, and cut: a time for each call of schedule()."""
    requests = [pagesim.workload.Request(f"r{i}", 0.1 * i, 20, 5 + i) for i in range(4)]
    for policy in ("paged", "v1", "max"):
        done = pagesim.simulate(requests, policy=policy, pool=4096, record=True, progress=False)
        run, ends = done.timeline, done.waste.seconds[done.waste.column("batch") > 0]
        assert run is not None
        schedules = run.find(kind="schedule")
        assert run.notes.clock == pytest.approx(ends.tolist(), abs=1e-6)
        assert len(schedules) == len(ends) > 10
        run.save(tmp_path / "run.jsonl.gz")
        assert pagesim.load(tmp_path / "run.jsonl.gz").notes.clock == run.notes.clock
        first, last = schedules[3], schedules[7]
        assert run[first:last].notes.clock == run.notes.clock[3:7], policy
        assert run[first:last][1:].notes.clock == run.notes.clock[4:7]
        assert "clock" not in header(run[: schedules[0]])


def test_a_clock_must_be_times(tmp_path: Path) -> None:
    run = pagesim.Story(gpu_blocks=2).run
    run.save(tmp_path / "run.jsonl")
    text = (tmp_path / "run.jsonl").read_text()
    for bad in ("true", '"1"', "null", "[1]", "1e999"):
        damaged = text.replace('"block_size"', f'"clock": [0.5, {bad}], "block_size"', 1)
        (tmp_path / "bad.jsonl").write_text(damaged)
        with pytest.raises(pagesim.TimelineError, match="clock"):
            pagesim.load(tmp_path / "bad.jsonl")


@pytest.mark.parametrize(
    ("bad", "error", "message"),
    [
        (3, TypeError, "b must be a Timeline or a recorded simulation, not 3"),
        ("run.jsonl", TypeError, "b must be a Timeline"),
    ],
)
def test_what_cannot_be_compared(bad: object, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        pagesim.compare(grown("a"), bad)
    for titles in ((1, 2), ("a",), "ab", 3, ("a", "\udcff")):
        with pytest.raises(TypeError, match="titles must be two strings"):
            pagesim.compare(grown("a"), grown("b"), titles=titles)  # type: ignore[arg-type]


def test_a_page_refuses_a_title_that_no_file_can_hold(tmp_path: Path) -> None:
    for title in (3, "\udcff"):
        with pytest.raises(TypeError, match="title must be a string"):
            grown("a").to_html(tmp_path / "page.html", title)  # type: ignore[arg-type]
    assert not list(tmp_path.iterdir())


def test_a_simulation_without_a_timeline_is_told() -> None:
    run = pagesim.simulate(pagesim.workload.paper_sharegpt(2, seed=0), progress=False)
    with pytest.raises(pagesim.UsageError, match="pass record=True"):
        pagesim.compare(run, grown("a"))


@pytest.mark.parametrize("bad", ["a", "b", "--out"])
def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str], bad: str) -> None:
    files = {name: tmp_path / f"{name}.jsonl.gz" for name in ("a", "b")}
    for name, path in files.items():
        grown(name).save(path)
    out = tmp_path / "page.html"
    command = ["compare", *map(str, files.values()), "-o", str(out)]
    assert runs.run(*command) == 0
    assert capsys.readouterr().out == f"{out}: 1 and 1 steps\n"
    titles = [head["title"] for head in headers(out.read_text())]
    assert titles == ["a", "b"]
    if bad == "--out":  # an input is never written over
        command[-1] = str(files["b"])
    else:
        files[bad].write_bytes(b"no run")
    before = out.read_bytes(), files["b"].read_bytes()
    assert runs.run(*command) == 2
    assert (bad if bad == "--out" else files[bad].name) in capsys.readouterr().err
    assert (out.read_bytes(), files["b"].read_bytes()) == before
