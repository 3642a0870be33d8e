"""An exercise in JupyterLab: a wrong answer shows its counterexample, a right one turns green."""

import pytest

from pagesim import exercises
from pagesim.exercises import notebooks
from tests.e2e.browser import Page
from tests.e2e.lab import Lab

SET = """const [id, text] = arguments;
jupyterapp.shell.currentWidget.content.widgets.find(cell => cell.model.id === id)
  .model.sharedModel.setSource(text)"""
COLOR = "return getComputedStyle(arguments[0]).borderLeftColor"
GREEN, RED = "rgb(0, 158, 115)", "rgb(213, 94, 0)"
SLOTS = exercises.get("2.1")
WRONG = SLOTS.solution.replace("table[position // block_size]", "position // block_size")


@pytest.fixture
def notebook(lab: Lab, page: Page) -> Page:
    """The released notebook of chapter 2, as a student opens it."""
    notebooks.write(lab.root / "class", [2], force=True)
    lab.open(page, "class/ex02.ipynb")
    return page


def answer(lab: Lab, page: Page, text: str) -> None:
    """Write the answer to 2.1, and run the notebook."""
    page.js(SET, "answer-2-1", text)
    page.js("document.querySelector('.pagesim-verdict')?.classList.add('old')")
    lab.command(page, "notebook:run-all-cells")
    page.until("return document.querySelector('.pagesim-verdict:not(.old)')")
    page.js("arguments[0].scrollIntoView()", page.all(".pagesim-verdict")[0])


def test_wrong_shows_its_case_in_the_player_and_right_turns_green(lab: Lab, notebook: Page) -> None:
    page = notebook
    answer(lab, page, WRONG)
    first = ".pagesim-verdict"
    assert page.all(first)[0].get_attribute("data-right") == "false"
    assert page.js(COLOR, page.all(first)[0]) == RED
    text = page.text(first)
    assert "2.1 Slots: wrong" in text and "table = [1], num_tokens = 1" in text
    assert "1 * 1 + 0 = 1" in text, "why, for this very case"
    yours, right = (box.text.splitlines() for box in page.all(f"{first} div > div")[:2])
    assert (yours, right) == (["yours", "[0]"], ["expected", "[1]"])
    assert "Nbgrader" not in page.text("#jp-menu-panel"), "a teacher's menu"
    page.shot("exercise-wrong")

    assert len(page.all("iframe.pagesim-frame")) == 1, "the blank ones show no run"
    page.frame("iframe.pagesim-frame").ready().click("pair-first")
    before = page.picture()
    assert page.turn("next") == [1, 1], "the learner's run beside the right one"
    assert page.picture() != before
    page.top()

    answer(lab, page, SLOTS.solution)
    assert page.all(first)[0].get_attribute("data-right") == "true"
    assert page.js(COLOR, page.all(first)[0]) == GREEN
    assert "2.1 Slots: right" in page.text(first)
    page.shot("exercise-right")
    assert (lab.root / "class" / "pagesim-progress.json").exists()


def test_a_loop_without_end_ends_and_the_kernel_lives(lab: Lab, notebook: Page) -> None:
    page = notebook
    answer(lab, page, "def slots(table, num_tokens, block_size):\n    while True:\n        pass")
    assert "No answer after 2 s: is there a loop that never ends?" in page.text(".pagesim-verdict")
    answer(lab, page, SLOTS.solution)
    assert "2.1 Slots: right" in page.text(".pagesim-verdict")
