"""`make site`: the chapters as pages that need no server, with players that are alive."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from notebooks import site
from tests.e2e.browser import Page

CHAPTERS = sorted(site.HERE.glob("*.ipynb"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("site")
    written = site.build(CHAPTERS, target)
    assert {path.stem for path in written} == {path.stem for path in CHAPTERS} | {"index"}
    return target


def visit(page: Page, path: Path) -> Page:
    """Open a page as on a machine without a network."""
    page.driver.execute_cdp_cmd("Network.enable", {})
    page.driver.execute_cdp_cmd("Network.setBlockedURLs", {"urls": ["http://*", "https://*"]})
    page.requests()
    page.driver.get(path.as_uri())
    return page


def test_links_lead_to_pages_that_are_there(page: Page, folder: Path) -> None:
    for path in sorted(folder.glob("*.html")):
        visit(page, path)
        links = page.js(
            "return [...document.querySelectorAll('a[href]')].map(a => a.getAttribute('href'))"
        )
        inside = [link for link in links if not re.match(r"https?:|#", link)]
        assert inside
        assert [link for link in inside if not (folder / link.split("#")[0]).is_file()] == []
    visit(page, folder / "index.html").shot("site-index")
    assert len(page.all("h2 a")) == len(CHAPTERS)
    page.all("h2 a")[0].click()
    page.wait(".jp-Notebook")


@pytest.mark.parametrize("name", [path.stem for path in CHAPTERS])
def test_a_page_is_alive_without_a_network(page: Page, folder: Path, name: str) -> None:
    visit(page, folder / f"{name}.html")
    count = len(page.all("iframe.pagesim-frame"))
    assert count == (site.HERE / f"{name}.ipynb").read_text("utf-8").count("pagesim-frame")
    for number in range(count):
        frame = page.all("iframe.pagesim-frame")[number]
        page.js("arguments[0].scrollIntoView()", frame)
        page.driver.switch_to.frame(frame)
        page.ready().click("next")
        assert page.step == 1
        page.top()
    page.shot(f"site-{name}")
    remote = {url for url in page.requests() if url.startswith("http")}
    assert all("mathjax" in url.lower() for url in remote)
    formulas = "$" in "".join(
        cell.source
        for cell in site.read(site.HERE / f"{name}.ipynb").notebook.cells
        if cell.cell_type == "markdown"
    )
    assert len(remote) == int(formulas)


@pytest.mark.parametrize("name", [path.stem for path in CHAPTERS])
def test_every_picture_has_its_words(page: Page, folder: Path, name: str) -> None:
    visit(page, folder / f"{name}.html")
    words = page.js(
        "return [...document.querySelectorAll('img, iframe')].map(n => n.alt ?? n.title ?? '')"
    )
    assert all(len(text.split()) >= 3 for text in words), words
