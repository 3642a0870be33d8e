"""What a file says is text, whatever it looks like, in every host of the player."""

from html import escape
from pathlib import Path

import pytest

import pagesim
from pagesim.player.page import page as page_of
from tests.e2e import scenes
from tests.e2e.browser import Page
from tests.player import samples

# Each would set window.owned if any part of the page took it for more than text.
PAYLOADS = [
    "<img src=x onerror=\"top.owned='img'\">",
    "</script><script>top.owned='script'</script>",
    "</template></main><svg onload=\"top.owned='svg'\">",
    "'></iframe><script>top.owned='frame'</script>",
    '"><style>*{display:none}</style><b onclick="top.owned=\'quote\'">',
    "&lt;img src=x onerror=top.owned='entity'&gt;",
    "]]>--><script>top.owned='cdata'</script><!--",
    "javascript:top.owned='url'",
    "${top.owned='template'}`'\\\"",
    "\u202egnp.exe \u2066\u2067 RTL \u05d0\u05d1 \u0627",
    "\u0000\u0001\u001b[31m\u2028\u2029\ufeff",
    "x" * 10_000,
]
TOKENS = [*PAYLOADS[:6], "ok"]
OWNED = "return window.owned ?? null"


@pytest.fixture(params=["file", "notebook output", "loaded"])
def player(request: pytest.FixtureRequest, page: Page, tmp_path: Path) -> Page:
    run = scenes.hostile(PAYLOADS, TOKENS, title=PAYLOADS[1], why=PAYLOADS[0])
    target = tmp_path / "run.html"
    if request.param == "loaded":
        run.save(tmp_path / "run.jsonl.gz")
        run = pagesim.load(tmp_path / "run.jsonl.gz")
    if request.param != "notebook output":
        run.to_html(target)
        return page.open(target)
    target.write_text(f"<!DOCTYPE html><meta charset=utf-8>{run._repr_html_()}", encoding="utf-8")
    page.driver.get(target.as_uri())
    return page.frame("iframe").ready()


def everything(player: Page) -> None:
    """Go everywhere a name is shown: steps, search, selection, hover, a question and its answer."""
    player.click("predict")
    player.click("next")
    player.click("skip")
    player.click("next")
    player.choose(1)
    player.click("predict")
    for step in range(2, len(PAYLOADS) + 1):
        player.go(step)
        player.choose(step - 1)
    for payload in PAYLOADS[:3]:
        player.fill(".ps-search", payload)


def test_nothing_runs_and_nothing_is_added(player: Page) -> None:
    everything(player)
    assert player.js(OWNED) is None
    assert player.js("return document.querySelectorAll('img, iframe, b[onclick]').length") == 0
    assert player.js("return document.querySelectorAll('script, style').length") == 3
    assert [url for url in player.requests() if url.endswith("/x")] == []
    player.shot("hostile")
    player.top()
    assert player.js(OWNED) is None
    assert len(player.all("body > iframe")) <= 1 and len(player.all("body script")) <= 2


def test_all_of_it_is_found_as_text(player: Page) -> None:
    captions = []
    for step in range(1, len(PAYLOADS) + 1):
        player.go(step)
        captions.append(player.text(".ps-caption"))
    for payload, caption in zip(PAYLOADS, captions, strict=True):
        assert payload in caption
    assert player.text("h1") == PAYLOADS[1]
    names = [row[0] for row in player.state()["tables"]]
    assert names == PAYLOADS
    player.choose(1)
    assert TOKENS[1] in player.text(".ps-detail")


def test_a_long_name_does_not_break_the_page(player: Page) -> None:
    player.go(len(PAYLOADS))
    wide, window = player.js("return [document.documentElement.scrollWidth, window.innerWidth]")
    assert wide <= window
    box = player.one(".ps-stage").rect
    assert box["width"] <= window and box["height"] > 100


def test_a_made_up_file_cannot_either(page: Page, tmp_path: Path) -> None:
    """Names where the format has kinds and numbers; as one who does not use pagesim writes it."""
    events = [
        samples.event(PAYLOADS[0], PAYLOADS[1], *samples.take(0)) | {"caption": PAYLOADS[2]},
        samples.event("x", None, [PAYLOADS[0], 0]),
    ]
    made = samples.packed(samples.header(2, 0, 4, events), events)
    html = page_of(made, title=PAYLOADS[1], alt=PAYLOADS[3])
    assert escape(PAYLOADS[1]) in html
    (tmp_path / "made.html").write_text(html, encoding="utf-8")
    page.open(tmp_path / "made.html").click("next")
    assert page.js(OWNED) is None
    assert PAYLOADS[2] in page.text(".ps-caption")
    assert "unknown effect" in page.text(".ps-problem") and "line 3" in page.text(".ps-problem")
