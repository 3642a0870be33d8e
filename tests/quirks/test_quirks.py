"""Every quirk is a page that reads well, and its scene finds what vLLM's release answered."""

import ast
import json
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import pagesim.quirks
from pagesim.commands.cli import cli
from pagesim.errors import UsageError
from pagesim.quirks import Quirk, get, page, quirks
from pagesim.story import Engine

MAX_LINES = 15
ALL = pytest.mark.parametrize("quirk", quirks(), ids=lambda quirk: quirk.quirk_id)


@ALL
def test_the_scene_finds_what_the_release_answered(quirk: Quirk) -> None:
    """It is small, and its facts can be told."""
    facts = quirk.scenario().facts
    assert facts == quirk.answer and facts
    assert json.loads(json.dumps(quirk.answer)) == json.loads(json.dumps(facts))
    body = ast.parse(quirk.source).body[0]
    assert isinstance(body, ast.FunctionDef)
    assert body.end_lineno is not None and body.end_lineno - body.lineno <= MAX_LINES


def served(quirk: Quirk) -> tuple[int, list[Any]]:
    """How many blocks can be used in the scene that is played, and which requests come."""
    calls: list[tuple[Engine, list[Any]]] = []

    def add(engine: Engine, *request: Any, **options: Any) -> Any:
        calls.append((engine, [*request, options]))
        return right(engine, *request, **options)

    right = Engine.add
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Engine, "add", add)
        run = quirk.scenario().run
    assert run is not None
    null_blocks = quirk.page.engine == "V1"
    return run.at(0).pools["GPU"] - null_blocks, [its for engine, its in calls if engine.run is run]


@pytest.mark.parametrize(
    "quirk", [its for its in quirks() if its.page.beside], ids=lambda quirk: quirk.quirk_id
)
def test_twins_serve_the_same_requests_with_as_many_blocks(quirk: Quirk) -> None:
    twin = quirk.beside()
    assert twin is not None and twin.page.engine != quirk.page.engine
    assert served(quirk) == served(twin)
    assert quirk.answer != twin.answer


def test_the_quirks_that_a_page_names_exist() -> None:
    for quirk in quirks():
        its, twin = quirk.page, quirk.beside()
        assert twin is None or twin.page.beside == quirk.quirk_id
        told = " ".join((its.claim, its.expected, its.what_happens, its.why, its.what_to_do))
        for other in re.findall(r"\b[qwgo]\d\d\b", told):
            assert get(other).quirk_id == other


def test_every_surprise_that_was_reproduced_is_there() -> None:
    ids = [quirk.quirk_id for quirk in quirks()]
    wanted = {"q": 46, "w": 33, "g": 28, "o": 27}
    assert ids == [f"{letter}{n:02}" for letter, last in wanted.items() for n in range(1, last + 1)]
    assert sum(bool(quirk.page.threads) for quirk in quirks()) >= 40


def test_a_thread_is_named_after_its_link() -> None:
    for thread in [each for quirk in quirks() for each in quirk.page.threads]:
        name, number = thread.name.split("#")
        link = rf"github\.com/[\w-]+/{name}/(issues|pull|discussions)/{number}$"
        assert re.search(link, thread.link), thread


def test_they_are_played_and_told(tmp_path: Path) -> None:
    for arguments in (["w09"], ["q19", "-o", str(tmp_path / "q19.html")], ["--engine", "v0"]):
        result = CliRunner().invoke(cli, ["quirks", *arguments])
        assert result.exit_code == 0, result.output
        assert "outgrows" in result.output
    assert (tmp_path / "q19.html").read_text().count("pagesim-timeline") >= 2
    answer = json.loads(CliRunner().invoke(cli, ["quirks", "w09", "--json"]).output)
    assert answer["found"] == get("w09").answer and answer["beside"] == "q19"
    assert "outgrows" in pagesim.quirks.show("w09")._repr_html_()


@pytest.mark.parametrize(
    "arguments",
    [["x99"], ["-o", "a.html"], ["w08", "--engine", "v1"], ["w08", "--open"], ["--subject", "x"]],
)
def test_what_cannot_be_told_is_refused(arguments: list[str], tmp_path: Path) -> None:
    result = CliRunner().invoke(cli, ["quirks", *arguments])
    assert result.exit_code == 2


GOOD = """# w99 A title

V1 · scheduling · beside q99 · mended

A claim.

## Expected
This.

## What happens
That.

## Why
So.

## What to do
Nothing.

## Threads
* [vllm#1](https://github.com/vllm-project/vllm/issues/1): somebody
  met it.
* [dynamo#2](https://github.com/ai-dynamo/dynamo/pull/2): mended.
"""


def test_a_page_is_read() -> None:
    read = page.read(GOOD, "w99")
    assert (read.quirk_id, read.title, read.engine, read.subject) == (
        "w99",
        "A title",
        "V1",
        "scheduling",
    )
    assert (read.beside, read.is_mended, read.claim) == ("q99", True, "A claim.")
    assert [thread.what for thread in read.threads] == ["somebody met it.", "mended."]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("# w99 A", "# A"),
        ("V1 ·", "V2 ·"),
        ("scheduling", "weather"),
        ("A claim.\n", "A claim.\n\nAnother.\n"),
        ("## Why\nSo.\n", ""),
        ("* [vllm#1]", "* vllm#1 "),
    ],
)
def test_a_page_that_cannot_be_read_says_where(old: str, new: str) -> None:
    assert old in GOOD
    with pytest.raises(UsageError, match="w99"):
        page.read(GOOD.replace(old, new), "w99")
