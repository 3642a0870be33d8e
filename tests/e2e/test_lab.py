"""JupyterLab: the chapters run, and the player in them does what its reader asks."""

import json

import nbformat
import pytest

from tests.e2e.browser import Page, corner
from tests.e2e.lab import ROOT, Lab
from tools.course import pictures

CHAPTERS = sorted(path.name for path in (ROOT / "notebooks").glob("*.ipynb"))
STAGES = """
const race = [...document.querySelectorAll('.ps-race')];
const all = race.length ? race : [...document.querySelectorAll('.ps-stage, .ps-said')];
return all.map((one) => one.outerHTML.replace(/<g class="trace [a-z]+">.*?<.g>/g, ""))
"""
SHOW = """
from tests.e2e import scenes
run = scenes.small()
run
"""
KERNEL_IS_NOTED = """const {kernel} = jupyterapp.shell.currentWidget.sessionContext.session;
return kernel.info.then(() => new Promise(done => setTimeout(() => done(true), 500)))"""


@pytest.mark.parametrize("name", CHAPTERS)
def test_a_chapter_runs_and_its_players_step(lab: Lab, page: Page, name: str) -> None:
    lab.open(page, f"notebooks/{name}")
    cells = lab.run_all(page)
    shown = sum("pagesim-frame" in str(cell.get("outputs")) for cell in cells)
    assert len(page.all("iframe.pagesim-frame")) >= shown
    for player in page.players():
        assert player.data("ready") == "true"
        player.unfold()
        before, steps = all_stages(player), player.steps
        player.turn("next")
        assert all_stages(player) != before
        assert player.turn("prev") == steps
        assert all_stages(player) == before
    page.shot(f"lab-{name.removesuffix('.ipynb')}")


def all_stages(page: Page) -> list[str]:
    """What is shown and said of a step, when nothing moves; a linked page has two stages.

    Without the pixels: a frame that grows may move by a part of one. And without the trace of the
    word that the pointer, which has pressed a button, happens to rest on.
    """
    page.still()
    page.until("return document.getAnimations().length === 0")
    return page.js(STAGES)


def test_a_signed_chapter_shows_its_players_before_a_cell_is_run(lab: Lab, page: Page) -> None:
    """An unsigned one shows the still picture alone: that is what `make lab` signs against."""
    unsigned, signed = (lab.copy("02_blocks_tables_slots.ipynb", f"{x}.ipynb") for x in "us")
    lab.open(page, unsigned)
    page.wait(".jp-OutputArea details[open] img")
    assert page.all("iframe.pagesim-frame") == []

    lab.sign(signed)
    lab.open(page, signed)
    first = page.frame("iframe.pagesim-frame").ready().step  # it opens where something happens
    page.click("next")
    assert page.step == first + 1
    assert {cell.get("execution_count") for cell in lab.cells(page.top())} == {None}
    page.shot("lab-signed")


def test_an_answer_stays_folded_until_it_is_clicked(lab: Lab, page: Page) -> None:
    """Committed, and run again with the rest: no truth is in sight before the click."""
    lab.open(page, lab.copy("02_blocks_tables_slots.ipynb", "folded.ipynb"))
    for run in (False, True):
        if run:
            lab.run_all(page)
        page.wait(".jp-OutputArea details.answer")
        answer = page.all(".jp-OutputArea details.answer")[0]
        assert answer.text.strip() == "The answer"
        assert "the answer:" not in page.js("return document.body.innerText")
        page.shot("lab-folded")
        page.js("arguments[0].querySelector('summary').click()", answer)
        assert "the answer: [28, 29, 30, 31, 8" in answer.text
        page.js("arguments[0].querySelector('summary').click()", answer)


def test_a_prediction_is_judged_and_kept_beside_the_notebook(lab: Lab, page: Page) -> None:
    source = """
import pagesim
story = pagesim.Story(gpu_blocks=8, block_size=4)
s0 = story.arrive("a b c d e")
pagesim.predict("ch02 first", GUESS, truth=lambda: s0.block_ids)
"""
    for guess, verdict in (("[1, 0]", "Wrong"), ("[0, 1]", "Right")):
        lab.open(page, lab.notebook("predict.ipynb", source.replace("GUESS", guess)))
        lab.run_all(page)
        page.wait(".jp-OutputArea-output")
        assert f"{verdict}. You said {guess}." in page.js("return document.body.innerText")
    kept = json.loads((lab.root / "pagesim-progress.json").read_text("utf-8"))
    assert kept["predictions"] == {"ch02 first": {"first": False, "right": True}}


def test_what_is_folded_keeps_its_distance(lab: Lab, page: Page) -> None:
    lab.open(page, lab.copy("02_blocks_tables_slots.ipynb", "distance.ipynb"))
    lab.run_all(page)
    page.wait("iframe.pagesim-frame")
    gaps = page.js("""
        return [...document.querySelectorAll('.jp-RenderedMarkdown details + p')].map((p) =>
          p.getBoundingClientRect().top - p.previousElementSibling.getBoundingClientRect().bottom);
    """)
    assert gaps and min(gaps) > 8


FIGURE = "from pagesim.figures import show, sheet\nshow(sheet.blank(90, 60)[0], alt='a sheet')"


def test_pictures_have_the_theme_of_the_lab_and_not_of_the_system(lab: Lab, page: Page) -> None:
    """In a text and in an output; the first is in the notebook, so it goes where that goes."""
    name = lab.notebook("pictures.ipynb", FIGURE)
    notebook = nbformat.read(lab.root / name, as_version=4)
    source = pictures.filled("![](attachment:merge.svg)")
    notebook.cells.insert(0, nbformat.v4.new_markdown_cell(source))
    nbformat.write(notebook, lab.root / name)
    lab.open(page, name)
    lab.run_all(page)

    def look(dark: bool) -> None:
        page.until(f"return document.body.dataset.jpThemeLight === '{str(not dark).lower()}'")
        for system in (True, False):
            page.dark(system)
            picture, figure = map(page.wait, (".jp-RenderedMarkdown img", "img.pagesim-figure"))
            page.until("return arguments[0].complete && arguments[0].width > 700", picture)
            assert ((corner(picture) < 0.2), (corner(figure) < 0.2)) == (dark, dark), system
            assert picture.get_attribute("alt").startswith("Two partitions")

    with lab.dark(page):
        look(dark=True)
    look(dark=False)


@pytest.fixture
def player(lab: Lab, page: Page) -> Page:
    """A notebook with one run, shown; the tab is inside the player."""
    lab.open(page, lab.notebook("player.ipynb", SHOW))
    lab.run_all(page)
    player = page.frame("iframe.pagesim-frame").ready()
    player.js("pagesimPlayer.goto(0)")
    return player


def test_buttons_keys_go_to_and_predict(player: Page) -> None:
    player.click("next")
    assert player.step == 1
    player.click("prev")
    assert player.step == 0
    player.key("ARROW_RIGHT")
    player.key("ARROW_RIGHT")
    assert player.step == 2
    player.key("HOME")
    player.go(5)
    assert player.step == 5
    assert "copies it to block 3" in player.text(".ps-caption")
    player.click("first")
    player.click("predict")
    player.click("next")
    assert player.data("asking") == "0"
    player.choose(0)
    assert player.text(".ps-score") == "1 of 1 right"
    player.shot("lab-predict")


def test_no_key_reaches_the_notebook(lab: Lab, player: Page) -> None:
    """In command mode a and b insert cells, x and d d take them away, m and y change them."""
    before = lab.cells(player.top())
    player.frame("iframe.pagesim-frame")
    for css in (".pagesim-player", '[data-action="next"]', ".ps-slider", ".ps-search"):
        for key in ("a", "b", "d", "d", "x", "m", "ARROW_DOWN", "ARROW_UP", "PAGE_DOWN", "END"):
            player.key(key, css)
    assert player.step == 8
    assert lab.cells(player.top()) == before


def test_the_keys_would_reach_the_notebook_from_outside(lab: Lab, player: Page) -> None:
    """Else the test before would pass for want of shortcuts."""
    lab.command(player.top(), "notebook:enter-command-mode")
    count = "return jupyterapp.shell.currentWidget.content.widgets.length"
    before = player.js(count)
    player.driver.switch_to.active_element.send_keys("b")
    player.until(f"{count} > arguments[0]", before)


def test_the_player_follows_the_labs_theme(lab: Lab, player: Page) -> None:
    ground = "return getComputedStyle(document.body).backgroundColor"
    light = player.js(ground)
    assert player.data("theme") == "light"
    with lab.dark(player):
        player.frame("iframe.pagesim-frame").themed("dark")
        assert player.js(ground) != light
        player.shot("lab-dark")


def test_the_picture_beside_it_has_words(player: Page) -> None:
    player.top()
    image, frame = player.one(".jp-OutputArea details img"), player.one("iframe.pagesim-frame")
    alt = image.get_attribute("alt") or ""
    assert alt.startswith("A recorded run of 8 steps.") and alt == frame.get_attribute("aria-label")
    assert player.until("return !document.querySelector('.jp-OutputArea details').open")
    player.js("document.querySelector('.jp-OutputArea details').open = true")
    assert player.until("return document.querySelector('.jp-OutputArea details img').naturalWidth")


@pytest.mark.parametrize("path", ["notebooks/02_blocks_tables_slots.ipynb", "exercises/ex02.ipynb"])
def test_a_notebook_that_was_only_opened_need_not_be_saved(lab: Lab, page: Page, path: str) -> None:
    """JupyterLab writes the kernel's Python into a notebook that has another, or none."""
    (lab.root / "exercises").mkdir(exist_ok=True)
    lab.copy("exercises/ex02.ipynb", "exercises/ex02.ipynb")
    lab.open(page, path)
    assert page.js(KERNEL_IS_NOTED)
    assert not page.js("return jupyterapp.shell.currentWidget.context.model.dirty")
