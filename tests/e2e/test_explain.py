"""A report above the player: each finding leads to its step."""

from pagesim.explain.page import write
from pagesim.explain.reading import history_of
from pagesim.explain.report import findings
from tests.e2e.browser import Page
from tests.explain.scenes import Scene, text


def test_a_finding_opens_the_player_at_its_step(page: Page) -> None:
    scene = Scene(7, enable_prefix_caching=False)
    scene.add("a", text(8), max_tokens=12)
    scene.add("b", text(8, 50), max_tokens=12)
    scene.step(20)
    scene.add("big", text(40))
    scene.step(4)
    history = history_of(scene.run)
    found = findings(history)
    assert len(found) > 1
    write(scene.run, page.files / "report.html", "A run", "What it was", found)
    page.open(page.files / "report.html", "")
    assert page.step == found[0].steps[0]
    for finding, item in zip(found, page.all(".report li"), strict=True):
        item.find_element("css selector", "a").click()
        assert page.step == finding.steps[0]
        assert finding.title in item.text
    assert page.console() == []
    page.dark(True)
    page.themed("dark")
    page.shot("report")
