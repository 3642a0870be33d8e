"""`make site`: a first page that runs, and a book that needs no server."""

import re
import time
from pathlib import Path

import pytest

from tests.e2e.browser import Page, corner
from tests.e2e.test_themes import contrast
from tools.course import NOTEBOOKS, site

CHAPTERS = sorted(NOTEBOOKS.glob("*.ipynb"))
KINDS = (
    *("index", "museum/index", "museum/w08", "museum/g04", "questions/index", "exercises/ex05"),
    *("questions/block-boundary", "gallery/index", "reference/commands", "reference/pagesim.v1"),
    *("docs/claims", "docs/terms", "docs/simulating", "docs/kit-format", "docs/cli", "try"),
)
"""A page of each kind, but chapters."""
PAGES = [*KINDS, *(path.stem for path in CHAPTERS)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("site")
    written = site.build(CHAPTERS, target)
    assert {f"{name}.html" for name in PAGES} <= {
        path.relative_to(target).as_posix() for path in written
    }
    return target


def visit(page: Page, path: Path) -> Page:
    """Open a page as on a machine without a network."""
    page.driver.execute_cdp_cmd("Network.enable", {})
    page.driver.execute_cdp_cmd("Network.setBlockedURLs", {"urls": ["http://*", "https://*"]})
    page.requests()
    page.driver.get(path.as_uri())
    return page


def test_every_link_leads_somewhere(folder: Path) -> None:
    assert site.broken(folder) == []


@pytest.mark.parametrize("name", [path.stem for path in CHAPTERS])
def test_a_page_is_alive_without_a_network(page: Page, folder: Path, name: str) -> None:
    visit(page, folder / f"{name}.html")
    count = len([player.turn("next") for player in page.players()])
    assert count == (NOTEBOOKS / f"{name}.ipynb").read_text("utf-8").count("pagesim-frame")
    page.shot(f"site-{name}")
    remote = {url for url in page.requests() if url.startswith("http")}
    assert remote == set()


def test_a_player_starts_when_it_is_seen(page: Page, folder: Path) -> None:
    visit(page, folder / "05_swapping.html")
    frames = "return [...document.querySelectorAll('iframe')].map((one) => one.srcdoc !== '')"
    assert page.js(frames)[-1] is False
    page.js("[...document.querySelectorAll('iframe')].at(-1).scrollIntoView()")
    page.until(f"return (() => {{ {frames} }})().at(-1)")


@pytest.mark.parametrize("name", PAGES)
def test_a_page_fits_every_window(page: Page, folder: Path, name: str) -> None:
    """What is wide scrolls in its box, and nothing is written too small to be read."""
    visit(page, folder / f"{name}.html")
    page.js("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    for width in (360, 768, 1400):
        page.size(width, 900)
        assert page.js("return document.documentElement.scrollWidth") == width
        assert page.look("smallestLetters") >= 11
        page.shot(f"site-{name.replace('/', '-')}-{width}")
    assert page.console() == []


def test_every_page_fits_a_phone_and_asks_nobody(page: Page, folder: Path) -> None:
    page.size(360, 900)
    wide, outside = [], set()
    for path in sorted(folder.rglob("*.html")):
        visit(page, path)
        wide += [path] if page.js("return document.documentElement.scrollWidth") != 360 else []
        outside |= {url for url in page.requests() if url.startswith("http")}
    assert (wide, outside) == ([], set())
    assert page.console() == []


@pytest.mark.parametrize("width", [360, 800, 1000, 1400])
def test_nothing_moves_when_the_race_comes(page: Page, folder: Path, width: int) -> None:
    page.size(width, 900)
    visit(page, folder / "index.html")
    page.frame(".race iframe").wait("[data-mounted]")
    page.top()
    assert page.shifted() < 0.01
    (room,) = page.look("boxes", ".race")
    (frame,) = page.look("boxes", ".race iframe")
    assert room["bottom"] - 60 < frame["bottom"] <= room["bottom"]


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_dark_when_the_system_is(page: Page, folder: Path, name: str) -> None:
    visit(page, folder / f"{name}.html")
    grounds = set()
    for dark in (False, True):
        page.dark(dark)
        grounds.add(page.js("return getComputedStyle(document.body).backgroundColor"))
        texts = page.look("textsOfPage")
        assert len(texts) > 20
        faint = {text for text, ink, ground in texts if contrast(ink, ground) < 4.5}
        assert faint == set()
    assert len(grounds) == 2


def test_the_reader_chooses_the_colours(page: Page, folder: Path) -> None:
    """Of the page, of its figures and of its players; the next page has them too."""
    visit(page, folder / "01_why_pages.html")
    page.one(".theme").click()
    page.one(".theme").click()
    visit(page, folder / "01_why_pages.html")
    figure = page.all(".output img")[0]
    page.js("arguments[0].scrollIntoView({block: 'center'})", figure)
    assert corner(figure) < 0.2
    page.frame("iframe.pagesim-frame").ready().themed("dark")


def test_the_first_page_runs_and_stops_for_the_reader(page: Page, folder: Path) -> None:
    page.moving()
    visit(page, folder / "index.html")
    page.frame(".race iframe").wait("[data-mounted]")
    play = "[data-action=pair-play]"
    page.until(f"return document.querySelector('{play}').getAttribute('aria-pressed') === 'true'")
    bar = [each for each in page.all(".ps-bar > *") if each.is_displayed()]
    assert len(bar) == 3, "play, the slider and the time"
    page.one(play).click()  # a reader stops it, and it stays so
    page.until(f"return document.querySelector('{play}').getAttribute('aria-pressed') === 'false'")
    time.sleep(2)  # twice as long as the page looks away
    assert page.one(play).get_attribute("aria-pressed") == "false"
    step = page.js("return document.querySelector('.pagesim-pair').dataset.step")
    page.js("document.querySelector('.ps-slider').focus()")
    page.key("ARROW_RIGHT", ".ps-slider")
    assert page.js("return +document.querySelector('.pagesim-pair').dataset.step") == int(step) + 1
    page.top()
    for tile in page.all(".tile"):
        page.js("arguments[0].scrollIntoView({block: 'center'})", tile)
        page.driver.switch_to.frame(tile.find_element("css selector", "iframe"))
        page.ready().top()


def enter(page: Page, name: str) -> None:
    """Go into the player of a tile, when it has its document: it may be replaced until then."""
    frame = f'.tile[data-show="{name}"] iframe'
    page.js("document.querySelector(arguments[0]).scrollIntoView({block: 'center'})", frame)
    inside = "document.querySelector(arguments[0])?.contentDocument"
    page.until(f"return !!{inside}?.querySelector('[data-mounted]')", frame)
    page.driver.switch_to.frame(page.one(frame))


TILES = "when", "where", "who"


def test_each_tile_plays_and_can_be_read(page: Page, folder: Path) -> None:
    for width in (360, 600, 932, 1400):
        page.size(width, 900)
        visit(page, folder / "index.html")
        for name in TILES:
            enter(page, name)
            page.until("return document.adoptedStyleSheets.length > 0")
            assert page.look("smallestText") >= 11, (width, name)
            assert page.step < page.js("return pagesimPlayer.steps")
            page.top()
    page.moving()
    visit(page, folder / "index.html")
    for name in TILES:
        enter(page, name)
        page.until("return pagesimPlayer.step > 1")
        page.top()


def test_follow_one_word(page: Page, folder: Path) -> None:
    """Its button opens the lens, on a page that leads back."""
    visit(page, folder / "index.html")
    page.one(".go a").click()
    page.wait(".ps-lens:not([hidden]) li:last-child:not(.ahead)")
    assert page.look("traced") == 3
    page.one('header a[href$="index.html"]').click()
    page.until("return location.pathname.endsWith('/index.html')")
    assert page.one("h1").is_displayed() and page.console() == []


@pytest.mark.parametrize("name", ["when", "where", "who"])
def test_the_player_of_a_tile_fits_every_window(page: Page, folder: Path, name: str) -> None:
    for width in (360, 768, 1400):
        page.size(width, 900)
        visit(page, folder / f"live/{name}.html")
        page.ready()
        assert page.js("return document.documentElement.scrollWidth") == width
        assert page.look("smallestText") >= 11 and page.look("overlaps") == []
        for dark in (False, True):
            page.dark(dark)
            page.themed("dark" if dark else "light")
            links = [text for text in page.look("textsOfPage") if text[0] in page.text("header")]
            assert links and all(contrast(ink, ground) >= 4.5 for _, ink, ground in links)
    assert page.console() == []


def test_nothing_moves_for_a_reader_who_wants_no_motion(page: Page, folder: Path) -> None:
    page.still()
    visit(page, folder / "index.html")
    page.frame(".race iframe").wait("[data-mounted]")
    assert page.one("[data-action=pair-play]").get_attribute("aria-pressed") != "true"


def test_what_if(page: Page, folder: Path) -> None:
    visit(page, folder / "index.html")
    batch = page.text("[data-of=batch]")
    page.js("document.querySelector('[name=block][value=\"0\"]').click()")
    assert int(page.text("[data-of=batch]")) < int(batch)
    (words,) = page.look("boxes", ".bar .token")
    (bar,) = page.look("boxes", ".bar")
    share = (words["right"] - words["left"]) / (bar["right"] - bar["left"])
    assert f"{100 * share:.0f}" == page.text("[data-of=token]").split()[0]


def test_a_prediction_is_compared(page: Page, folder: Path) -> None:
    """However it is written; every answer of the course is right, and another is not."""
    for chapter in CHAPTERS:
        visit(page, folder / f"{chapter.stem}.html")
        verdicts = page.js("""
          const bare = (text) => text.replace(/[[\\]{}]/g, "");
          const ways = [(t) => t, bare, (t) => t.toUpperCase(), (t) => `77${bare(t)}`, () => ""];
          return [...document.querySelectorAll("form.predict")].map((form) => ways.map((way) => {
            delete form.dataset.verdict;
            for (const field of form.querySelectorAll("input")) {
              field.value = way(field.dataset.answer);
            }
            form.requestSubmit();
            return form.dataset.verdict ?? null;
          }))""")
        expected = ["right", "right", "right", "wrong", None]
        assert verdicts == [expected] * len(verdicts), chapter.stem
        half_empty = page.js("""
          return [...document.querySelectorAll("form.predict")].map((form) => {
            const fields = [...form.querySelectorAll("input")], last = fields.at(-1);
            fields.forEach((field) => (field.value = field === last ? "" : "7"));
            form.requestSubmit();
            const named = form.textContent.split(last.labels[0].textContent).length > 2;
            return [document.activeElement === last, named === fields.length > 1];
          })""")
        assert half_empty == [[True, True]] * len(verdicts), chapter.stem


def test_the_search_leads_to_a_section(page: Page, folder: Path) -> None:
    visit(page, folder / "museum/w08.html")
    field = page.one(".search input")
    field.send_keys("softmax in pieces")
    page.wait(".search li a").click()
    page.until("return location.hash === '#2-a-softmax-in-pieces-by-hand'")
    assert [url for url in page.requests() if url.startswith("http")] == []


def test_a_player_stands_beside_its_section(page: Page, folder: Path) -> None:
    visit(page, folder / "05_swapping.html")
    for width, beside in ((1400, True), (1200, True), (768, False)):
        page.size(width, 900)
        (text, *_), (stage, *_) = (
            page.look("boxes", f".beside > {css}") for css in ("div:first-child", ".stage")
        )
        assert (stage["left"] >= text["right"]) is beside
        assert (stage["top"] >= text["bottom"] - 1) is not beside


def test_the_player_asks_at_the_step_that_chapter_0_names(page: Page, folder: Path) -> None:
    """Where a token fills a block or needs one, in the same words: none names an answer."""
    visit(page, folder / "00_start_here.html")
    page.frame("iframe.pagesim-frame").ready().click("predict")
    asked = set()
    for step in (2, 3, 5):
        page.go(step)
        assert page.data("asking") == str(step)
        asked.add(re.sub(r"\d", "#", page.text(".ps-ask")))
    page.go(4)
    assert page.data("asking") is None, "the token has room in its block"
    assert len(asked) == 1, asked


def test_the_mathematics_is_drawn(page: Page, folder: Path) -> None:
    visit(page, folder / "03_reading_through_a_table.html")
    formulas = page.look("boxes", "main math")
    assert len(formulas) > 10
    for each in formulas:
        assert each["right"] - each["left"] > 4 and each["bottom"] - each["top"] > 4
    over, under, *_ = page.look("boxes", "main math mfrac > *")
    assert over["y"] < under["y"]
