"""axe-core finds nothing wrong, in any kind of page and in both themes.

Words inside of pictures it cannot judge: test_themes and test_everyone measure their contrast.
"""

from pathlib import Path

import pytest

import pagesim
from tests.e2e import scenes
from tests.e2e.browser import Page
from tests.e2e.test_race import pair as race
from tests.e2e.test_site import KINDS, visit
from tests.e2e.test_slides import REVEAL
from tests.timeline.test_film import READS, story
from tools.course import NOTEBOOKS, ROOT, site, slides

AXE = ROOT / "node_modules/axe-core/axe.min.js"
RUN = """
    const done = arguments[arguments.length - 1];
    axe.run(document, {iframes: false, resultTypes: ['violations']}).then(({violations}) =>
      done(violations.map(({id, nodes}) =>
        [id, nodes.slice(0, 3).map((node) => node.html.slice(0, 120))])))"""

pytestmark = pytest.mark.skipif(not AXE.is_file(), reason="no axe-core: make web-setup")


def violations(page: Page) -> list[tuple[str, list[str]]]:
    """What axe-core says against the page, without the frames in it: they are pages themselves."""
    page.js(AXE.read_text(encoding="utf-8"))
    return page.driver.execute_async_script(RUN)


PLAYERS = {
    "small": scenes.small,
    "scheduled": lambda: scenes.scheduled(preemption_mode="swap"),
    "many": lambda: scenes.scheduled(40),
    "film": lambda: story().run.film(READS),
    "pair": lambda: pagesim.compare(scenes.scheduled(), scenes.scheduled(preemption_mode="swap")),
    "race": race,
}


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("name", PLAYERS)
def test_a_player(page: Page, name: str, theme: str) -> None:
    page.dark(theme == "dark")
    page.show(PLAYERS[name](), address="step=3")
    page.themed(theme)
    page.wait('[data-mounted="true"]')
    if name == "small":
        page.click("predict")
        page.choose(1)
    assert violations(page) == []


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site with three chapters, and the slides of one."""
    target = tmp_path_factory.mktemp("course")
    names = ("00_start_here", "04_growing_and_sharing", "08_how_big_is_the_cache")
    site.build([NOTEBOOKS / f"{name}.ipynb" for name in names], target)
    if (REVEAL / "dist/reveal.js").is_file():
        slides.build([NOTEBOOKS / "04_growing_and_sharing.ipynb"], target / "deck", REVEAL)
    return target


PAGES = [
    *KINDS,
    "00_start_here",
    "04_growing_and_sharing",
    "08_how_big_is_the_cache",
    "deck/04_growing_and_sharing",
    "live/where",
]


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("name", PAGES)
def test_a_page_of_the_course(page: Page, course: Path, name: str, theme: str) -> None:
    if not (course / f"{name}.html").is_file():
        pytest.skip("reveal.js is not installed: make slides does it")
    page.dark(theme == "dark")
    visit(page, course / f"{name}.html")
    if name.startswith("live"):
        page.wait('[data-mounted="true"]')
    assert violations(page) == []
    if name == "museum/w08":
        page.one(".search input").send_keys("block")
        page.wait(".search li a")
        assert violations(page) == []
    if name.startswith("deck"):
        page.js("Reveal.next()")
        page.js("document.querySelectorAll('details').forEach((one) => (one.open = true))")
        assert violations(page) == []
