"""Texts that are edited in the site's pages: what comes of them, read without a browser."""

import json
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from pagesim.exercises.registry import exercises, get
from tests.documents import Document
from tools.course.book import exercises as exercise_pages
from tools.course.live import files, inside, pages

pytestmark = pytest.mark.ch00


KERNELS = {"0.3", "2.5", "3.3", "4.4", "5.4", "6.5", "11.4", "13.1", "13.2", "15.2"}
NUMPY = {"1.1", "1.2", "1.3", "3.2", "5.2", "14.1", "14.3", "15.1", "16.1", "16.4"}
"""Arrays are what they are about, or what their oracle keeps: a simulation's log, a pool, lanes."""


def ran(text: str) -> dict[str, Any]:
    return json.loads(inside.run(text, "A story"))


@pytest.fixture(params=[True, False], ids=["with Pyodide", "without"])
def alive(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    monkeypatch.setattr(files, "are_here", lambda: request.param)
    return bool(request.param)


@pytest.mark.parametrize("story", [*pages.stories()], ids=lambda story: story.name)
def test_a_story_has_a_run_of_its_own(story: pages.Story) -> None:
    run = pages.recorded(story)
    assert len(run) > 4 and story.title and story.words
    assert max(map(len, story.source.splitlines())) <= 58, "it fits beside its picture"


def test_what_a_notebook_would_show() -> None:
    answer = ran("import pagesim\ns = pagesim.Story()\na = s.arrive('x')\nprint(1)\na.block_ids")
    assert answer["printed"] == "1\n[0]\n"
    assert "A story" in answer["page"], "the last story is shown, under the title of the page"
    assert "page" not in ran("6 * 7")
    assert len(ran("print('x' * 99_999)")["printed"]) == inside.MOST_PRINTED


def test_an_error_has_the_lines_of_the_reader_alone() -> None:
    text = "import pagesim\ndef f(a):\n    a.write('x')\ns = pagesim.Story()\na = s.arrive('y')\n"
    answer = ran(f"{text}a.leave()\nf(a)")
    assert [(frame["line"], frame["in"]) for frame in answer["frames"]] == [(7, ""), (3, "f")]
    assert answer["problem"].startswith("UsageError: ") and "page" in answer
    wrong = ran("x = 1\ny = (")
    assert wrong["frames"][0]["line"] == 2 and wrong["problem"].startswith("SyntaxError: ")
    assert "SystemExit" in ran("raise SystemExit(3)")["problem"]


def test_an_exercise_is_checked() -> None:
    exercise = get("2.3")
    right = json.loads(inside.check("2.3", exercise.solution))
    assert right["verdict"]["right"] and "page" not in right
    wrong = json.loads(inside.check("2.3", "def free_list_after(num_blocks, ops): return []"))
    assert not wrong["verdict"]["right"] and wrong["verdict"]["words"] and wrong["page"]
    assert json.loads(inside.check("2.3", exercise.stub))["verdict"]["tried"] == 0
    for text in ("x = 1", "1 / 0"):
        assert "problem" in json.loads(inside.check("2.3", text))


def test_what_needs_neither_a_kernel_nor_arrays_is_checked_in_a_page() -> None:
    """Found where nothing else is; a list here as well, so that none is lost by an import."""
    every = {exercise.number for exercise in exercises()}
    assert every - KERNELS - NUMPY == {*files.checked()}


def test_what_can_be_edited_and_what_can_be_read(alive: bool) -> None:
    """Each text is there in any case; without Pyodide no page asks for it, and none promises it."""
    made = [pages.page(), *exercise_pages.pages()]
    live = {
        name
        for page in made
        for _, attributes in Document(page.body).tags
        if (name := attributes.get("data-live"))
    }
    stories = {f"run:{name}" for name in pages.STORIES}
    assert live == (stories | {f"check:{number}" for number in files.checked()} if alive else set())
    assert all(bool(page.policy) is alive for page in made if page.url != exercise_pages.INDEX)
    text = unescape("".join(page.body for page in made))
    assert all(exercise.title in text for exercise in exercises())


def test_the_policy_lets_nothing_in(alive: bool) -> None:
    rules = dict(rule.strip().split(" ", 1) for rule in pages.allowed().split(";") if rule)
    if alive:
        assert rules["default-src"] == "'none'" and rules["worker-src"] == "'self'"
        scripts = rules["script-src"].split()
        assert all(each == "'self'" or each.startswith("'sha256-") for each in scripts)
    else:
        assert rules == {}


def test_nothing_is_written_without_pyodide(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "PYODIDE", tmp_path / "none")
    assert files.copy(tmp_path) == {} and [*tmp_path.iterdir()] == []
