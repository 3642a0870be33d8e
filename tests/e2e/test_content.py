"""What the picture shows: words in physical blocks, slot numbers, rows, the first step."""

import itertools
import time
from pathlib import Path

import pytest
from matplotlib.image import imread

import pagesim
from tests.e2e import scenes
from tests.e2e.browser import PATIENCE, Page
from tests.e2e.test_geometry import shared
from tests.e2e.test_layout import rows
from tests.timeline.scenes import told


def test_physical_blocks_hold_the_words(page: Page) -> None:
    page.show(shared(), 4)
    assert page.look("words", 0) == ["0", "Four", "score", "and", "seven", "s1 s2"]
    # The second writer copied nothing: it is the last owner, and writes where the words are.
    assert page.look("words", 1) == ["1", "years", "ago", "our", "mothers", "s2"]
    assert page.look("words", 2) == ["2", "years", "ago", "our", "fathers", "s1"]
    assert page.look("words", 3) == ["3"]
    page.go(2)
    assert page.look("words", 1) == ["1", "years", "ago", "our", "s1 s2"], "before the last words"


def test_a_word_too_wide_loses_its_end_and_a_number_is_left_out(page: Page) -> None:
    page.size(1000, 800)
    page.show(told("a incomprehensibilities 12345678901234"), 1)
    _, short, cut, owner = page.look("words", 0)
    assert (short, owner) == ("a", "s0")
    assert "incomprehensibilities".startswith(cut.removesuffix("\u2026")) and 2 < len(cut) < 20
    assert page.text(".ps-stage").count(cut) == 2, "in the pool and in the row alike"


def test_a_block_keeps_its_words_on_the_way_to_the_cpu_and_back(page: Page) -> None:
    run = scenes.small()
    page.show(run)
    for step in range(len(run) + 1):
        page.go(step)
        state = run.at(step)
        for table in state.tables.values():
            for k, block in enumerate(table.block_ids):
                tokens = [str(token) for token in table.token_ids[4 * k : 4 * k + 4]]
                words = page.look("words", block)
                assert words[1 : 1 + len(tokens)] == tokens, (step, block)


def test_the_words_are_those_of_the_last_writer(page: Page) -> None:
    """The child's table was the last to name the block; then it left it to its parent."""
    story = pagesim.Story(gpu_blocks=4, block_size=4)
    parent = story.arrive("one two")
    child = parent.fork()
    child.write("hers")
    parent.write("his")
    page.show(story.run, len(story.run))
    assert page.look("words", 0) == ["0", "one", "two", "his", "s0"]
    assert page.look("words", 1) == ["1", "one", "two", "hers", "s1"]


def test_cached_blocks_without_owners_keep_theirs(page: Page) -> None:
    run = told("one two three four", leave=True, block_size=2, caching=True)
    page.show(run, len(run))
    assert page.look("words", 0) == ["0", "one", "two", "unused"]


def test_twelve_blocks_of_a_step_are_named_and_the_others_counted(page: Page) -> None:
    for blocks, more in ((12, False), (14, True)):
        page.show(told(range(blocks), gpu_blocks=16, block_size=1), 1)
        assert (" and 2 more" in page.text(".ps-changes")) is more
        assert (" more" in page.text(".ps-changes")) is more


def test_slot_numbers_on_demand(page: Page) -> None:
    page.show(shared(), 4)
    page.key("s")
    assert page.look("words", 2)[:5] == ["2", "8", "9", "10", "11"]
    page.click("slots")
    assert page.look("words", 2)[1] == "years"


def test_contiguous_memory_is_a_strip(page: Page) -> None:
    run = rows()
    page.show(run, 10)
    assert page.text(".ps-stage").count("GPU memory, in slots") == 1
    wide = """
        const nodes = [...document.querySelectorAll(arguments[0])];
        const d = nodes.map((node) => node.getAttribute("d")).join("");
        return d.match(/h[0-9.]+/g).map((part) => +part.slice(1));"""
    lines = page.js(wide, ".memory .unit")
    assert len(lines) < run.at(10).num_blocks / 10, "no gap in a line"
    unit = sum(lines) / run.at(10).num_blocks
    reserved = sum(page.js(wide, ".memory .reserved")) / unit
    tables = run.at(10).tables.values()
    assert abs(reserved - sum(len(t.block_ids) - len(t.token_ids) for t in tables)) < 0.1


def test_a_thin_row_has_its_name_above_itself(page: Page) -> None:
    page.size(1000, 800)
    page.show(rows(pool=16384, longest=4000), 6)
    names, bars = page.look("boxes", ".memory text.strong"), page.look("boxes", ".ps-cell.stretch")
    assert names and all(name["bottom"] <= bars[i]["top"] + 2 for i, name in enumerate(names))


def test_a_row_of_larger_units_counts_slots_as_well(page: Page) -> None:
    run = rows(unit=4)
    page.show(run, 10)
    (_, table), *_ = run.at(10).tables.items()
    first, last = 4 * table.block_ids[0], 4 * table.block_ids[-1] + 3
    assert f"slots {first}\u2013{last}" in page.text(".ps-stage")
    filled = page.js("""
        const rects = [...document.querySelectorAll('.ps-stage .under rect')]
          .filter((r) => r.getAttribute('height') === '15');
        const [whole] = rects.filter((r) => r.getAttribute('class') === 'thin');
        const [tokens] = rects.filter((r) => r.getAttribute('fill') === '#56B4E9'
          && r.getAttribute('class') !== 'reserved');
        return tokens.getAttribute('width') / whole.getAttribute('width');""")
    assert abs(filled - len(table.token_ids) / (last - first + 1)) < 0.01


@pytest.mark.parametrize("unit", [1, 4])
def test_contiguous_memory_has_no_blocks(page: Page, unit: int) -> None:
    """Neither in a caption, nor among the changes, nor in the line about what is pointed at."""
    run = rows(unit)
    page.show(run)
    for step in (6, 7, 15, len(run) - 1):
        page.go(step)
        for css in (".ps-caption", ".ps-changes"):
            assert "block" not in page.text(css) and "slot" in page.text(css), step
    page.go(15)
    table, *_ = run.at(15).tables.values()
    first, last = unit * table.block_ids[0], unit * table.block_ids[-1] + unit - 1
    row = page.one(".ps-stage .name")
    page.look("pointAt", row, row)
    assert f"slots {first}\u2013{last}" in page.text(".ps-detail")
    page.look("pointAt", page.one(".ps-stage .stretch"))
    assert page.text(".ps-detail").startswith("Slot")
    assert "block" not in page.text(".ps-detail")


def test_it_opens_where_there_is_something_to_see(page: Page) -> None:
    run = scenes.scheduled()
    page.show(run, address="")
    first = next(i for i in range(len(run)) if any(t.token_ids for t in run.at(i).tables.values()))
    assert page.step == first > 0
    page.click("predict")
    assert page.step == 0, "questions begin at the beginning"


def test_a_step_has_an_address(page: Page, tmp_path: Path) -> None:
    page.show(scenes.small(), address="step=5&follow=s1")
    assert page.step == 5
    assert page.text(".ps-stage .picked").startswith("s1")
    page.key("ARROW_RIGHT")
    assert page.js("return location.hash") == "#step=6&follow=s1"
    page.choose(0)
    assert page.js("return location.hash") == "#step=6&follow=block0"
    for nonsense in ("step=999", "step=-1", "step=x&follow=<b>", "follow=block999", "%"):
        page.open(tmp_path / "run.html", nonsense)
        assert page.data("ready") == "true"
        assert 0 <= page.step <= 8
    assert page.console() == []


def test_a_swipe_is_a_step(page: Page) -> None:
    page.show(scenes.small(), 3)
    stage = page.one(".ps-picture")
    for dx, dy, step in ((-80, 5, 4), (80, 5, 3), (-80, 70, 3), (10, 0, 3)):
        page.look("swipe", stage, dx, dy)
        assert page.step == step


def test_a_projector_gets_the_picture_and_a_subtitle(page: Page) -> None:
    page.size(1920, 1080)
    page.show(scenes.small(), 4)
    page.click("fullscreen")
    page.until("return document.fullscreenElement !== null")
    page.until("return document.querySelector('.ps-said').getBoundingClientRect().top > 700")
    (stage,), (said,) = page.look("boxes", ".ps-stage"), page.look("boxes", ".ps-said")
    assert stage["bottom"] <= said["top"] + 1 and said["bottom"] <= page.js("return innerHeight")
    font = "return getComputedStyle(document.querySelector('.ps-caption')).fontSize"
    assert page.js(font) == "28px"
    assert len({bar["top"] for bar in page.look("boxes", ".pagesim-player > .ps-bar")}) == 1, (
        "one row of controls"
    )


def test_a_step_is_saved_as_a_picture_of_its_own(page: Page, tmp_path: Path) -> None:
    downloads = {"behavior": "allow", "downloadPath": str(tmp_path)}
    page.driver.execute_cdp_cmd("Browser.setDownloadBehavior", downloads)
    page.show(shared(), 4)
    for kind in ("svg", "png"):
        page.click(f"save-{kind}")
    for kind in ("svg", "png"):
        wait_for(tmp_path / f"step-4.{kind}")
    said = [page.text("h1"), *" ".join(map(page.text, (".ps-caption", ".ps-changes"))).split()]
    pixels = imread(tmp_path / "step-4.png")
    high, wide = pixels.shape[:2]
    assert wide / high == pytest.approx(16 / 9, abs=0.01), "as a slide"
    assert len({tuple(pixel) for row in pixels[::7, ::7] for pixel in row}) > 10, "it is drawn"
    text = (tmp_path / "step-4.svg").read_text()
    assert "Four" in text and "http:" not in text.replace("http://www.w3.org/2000/svg", "")
    page.driver.get((tmp_path / "step-4.svg").as_uri())
    shown = page.js("return [...document.querySelectorAll(':root > text')].map(t => t.textContent)")
    assert [shown[0], *" ".join(shown[1:]).split()] == said, "the title and the caption"
    boxes = page.look("boxes", ":root > text, :root > svg")
    assert all(a["bottom"] <= b["top"] + 1 for a, b in itertools.pairwise(boxes)), "no overlap"
    assert "this step" in text, "the legend"
    fill = page.js("return getComputedStyle(document.querySelector('.badge')).fill")
    assert fill == "rgb(179, 0, 94)", "the style is inside"
    assert page.console() == []


def wait_for(path: Path) -> None:
    deadline = time.monotonic() + PATIENCE
    while not path.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert path.exists(), path.name


def test_from_a_word_to_its_bytes(page: Page) -> None:
    page.show(shared(), 4)
    words = "\u201cfathers\u201d \u00b7 token 7 of s1block 2, offset 3 \u2192 slot 11"
    for place in (".ps-stage .under text", '.ps-cell[data-block="2"] text'):
        page.look("pointAtText", place, "fathers")
        assert page.text(".ps-note") == words, place
        assert page.text(".ps-detail").startswith("Block 2 (GPU)"), place
        assert page.look("traced") == 3
    page.js("document.querySelector('.ps-picture').dispatchEvent(new PointerEvent('pointerleave'))")
    assert page.look("traced") == 0


def test_a_printed_step_has_no_controls(page: Page) -> None:
    page.show(scenes.scheduled(), 12)
    page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    assert not any(control.is_displayed() for control in page.all("button, input"))
    assert page.one(".ps-stage").is_displayed() and page.one(".ps-caption").is_displayed()
    page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})


FOCUS = "return document.activeElement.parentNode.dataset.block"


def test_a_words_way_by_the_keyboard(page: Page) -> None:
    page.show(shared(), 4)
    page.js("document.querySelector('[data-block=\"2\"] .edge').focus()")
    assert (page.look("traced"), page.one(".ps-detail").get_attribute("aria-live")) == (0, "off")
    page.key("ENTER", '[data-block="2"] .edge')
    ways = {
        "ARROW_RIGHT": ("2", "\u201cago\u201d \u00b7 token 5 of s1; block 2, offset 1"),
        "ARROW_DOWN": ("2", "\u201cago\u201d \u00b7 token 5 of s1"),  # the text ends before token 9
        "ARROW_UP": ("0", "\u201cscore\u201d \u00b7 token 1 of s1; block 0, offset 1"),
        "ARROW_LEFT": ("0", "\u201cFour\u201d \u00b7 token 0 of s1"),
    }
    assert page.text(".ps-detail").startswith("\u201cyears\u201d \u00b7 token 4 of s1")
    for key, (block, words) in ways.items():
        page.key(key, f'[data-block="{page.js(FOCUS)}"] .edge')
        assert (page.js(FOCUS), page.look("traced")) == (block, 3), key
        assert page.text(".ps-detail").startswith(words), key
        focused = page.one(f'[data-block="{block}"] .edge')
        assert focused.get_attribute("aria-description").startswith(words), key
    assert page.one(".ps-detail").get_attribute("aria-live") == "polite"
    assert page.one('[data-block="2"] .edge').get_attribute("aria-pressed") == "true"
    page.js("document.querySelector('[data-block=\"1\"] .edge').focus()")
    assert page.one(".ps-detail").get_attribute("aria-live") == "off", "another block, no word"
    page.key("ESCAPE", '[data-block="1"] .edge')
    assert (page.look("traced"), page.step) == (0, 4)
    assert page.one('[data-block="2"] .edge').get_attribute("aria-pressed") == "false"
    assert "Enter" in page.text(".ps-keys")


def test_a_words_way_by_a_finger(page: Page) -> None:
    page.size(400, 860)
    page.show(shared(), 4)
    x, y = page.look("middleOfText", '.ps-cell[data-block="2"] text', "fathers")
    for kind, points in (("touchStart", [{"x": x, "y": y}]), ("touchEnd", [])):
        touch = {"type": kind, "touchPoints": points}
        page.driver.execute_cdp_cmd("Input.dispatchTouchEvent", touch)
    page.until("return document.querySelectorAll('.ps-cell [aria-pressed=true]').length === 1")
    assert page.look("traced") == 3
    assert page.text(".ps-lens li p") == "token 7"


def test_a_followed_block_underlines_no_sequence(page: Page) -> None:
    """Block 1 and sequence 1 have the same number."""
    for run in (scenes.small(), scenes.busy(40)):
        page.show(run, len(run) - 1)
        page.choose(1)
        assert page.all(".ps-stage .picked") == []
        page.one(".ps-stage .name").click()
        assert len(page.all(".ps-stage .picked")) == 1


def test_only_the_tables_that_a_step_changes_are_framed(page: Page) -> None:
    """A prefix that is found is in two tables, of which one is new."""
    story = pagesim.Story(gpu_blocks=8, block_size=2, caching=True)
    story.arrive("a b c d e").write("f")
    story.arrive("a b c d x")
    page.show(story.run, story.run.find(kind="hit")[0] + 1)
    first, second = page.look("boxes", ".ps-stage .name")
    in_tables = [f for f in page.look("boxes", ".over .frame") if f["right"] < head_of_pool(page)]
    assert in_tables
    assert all(frame["y"] > second["y"] > first["y"] for frame in in_tables)


def head_of_pool(page: Page) -> float:
    """Where the pool begins: all to the left of it is tables."""
    return float(page.look("boxes", ".ps-stage .heading", "GPU pool")[0]["left"])
