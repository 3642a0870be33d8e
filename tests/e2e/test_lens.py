"""The lens: what its beats say, beside the block tables, the slots and the tensors of the run."""

from typing import Any

import numpy as np
import pytest

import pagesim
from pagesim.cache import KVPool
from pagesim.timeline.kv_shape import KVShape
from tests.e2e.browser import Page
from tests.e2e.test_groups import shown

WORDS = "Four score and seven years ago our fathers brought forth"
SUMS = "return [...document.querySelectorAll('.ps-lens .ps-sum')].map((p) => p.textContent)"
AHEAD = "return document.querySelectorAll('.ps-lens .ahead').length"
OPEN = "return !document.querySelector('.ps-lens').hidden"
FOCUS = """
    const { activeElement: node } = document, cell = node.closest('.ps-cell');
    return cell?.dataset.block ?? node.className"""


def story(**more: Any) -> pagesim.Story:
    """Two sequences, so that slots are no positions."""
    made = pagesim.Story(gpu_blocks=12, block_size=4, **more)
    made.arrive("one two three", name="a")
    return made


def speech(model: Any = "llama-3.1-8b") -> pagesim.Timeline:
    made = story()
    made.arrive(WORDS, name="b")
    return made.run.annotate(model=model)


def click(page: Page, text: str, css: str = ".ps-stage .under text") -> None:
    """Press the mouse on a word, where it is."""
    x, y = page.look("middleOfText", css, text)
    for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
        event = {"type": kind, "x": x, "y": y, "button": "left", "clickCount": 1}
        page.driver.execute_cdp_cmd("Input.dispatchMouseEvent", event)


def look(page: Page, text: str = "fathers") -> list[str]:
    """Open the lens at a word, all beats at once; their sums."""
    page.still()
    click(page, text)
    return page.js(SUMS)


def count(text: str) -> list[int]:
    """The numbers in a text."""
    kept = "".join(c if c.isdigit() else " " for c in text.replace(",", ""))
    return [int(word) for word in kept.split()]


@pytest.mark.parametrize("layout", ["flash", "cuda"])
def test_five_beats_from_a_word_to_its_bytes(page: Page, layout: str) -> None:
    run = speech(KVShape("made", 4, 2, 16, 2, layout))
    page.show(run, 2)
    sums = look(page)
    position, state = WORDS.split().index("fathers"), run.at(2)
    k, offset = divmod(position, 4)
    block = state.tables["b"].block_ids[k]
    key = KVPool.zeros(4, 12, 4, 2, 16, np.float16).keys[0]
    if layout == "cuda":
        key = np.zeros((12, 2, 16 // 8, 4, 8), np.float16).transpose(0, 3, 1, 2, 4)
    start = block * key.strides[0] + offset * key.strides[1]
    pieces = 1 if layout == "flash" else 2 * 16 // 8
    assert count(sums[0]) == [position]
    assert count(sums[1]) == [position, 4, k, offset]
    assert count(sums[2]) == [k, block]
    assert count(sums[3]) == [block, 4 * 2 * key[0].nbytes // 1024]
    assert count(sums[4])[-1] == start
    said = page.text(".ps-lens li:last-child p:nth-of-type(2)")
    assert count(said) == ([128 // 2, start] if pieces == 1 else [pieces, 16, 64, start])
    slot = page.text(".ps-lens li:nth-child(3) p:nth-of-type(2)")
    assert count(slot) == [block, 4, offset, block * 4 + offset]
    assert page.look("traced") == 3 and page.console() == []


def test_another_layer_has_the_same_table(page: Page) -> None:
    page.show(speech(), 2)
    before = look(page)
    page.js("""const slider = document.querySelector('.ps-lens [type="range"]');
        slider.value = 31; slider.dispatchEvent(new Event("input"));""")
    assert page.js(SUMS) == before, "only the tensor is another"
    heads = page.js("return [...document.querySelectorAll('.ps-lens h2')].map(h => h.textContent)")
    assert count(heads[4]) == [5, 31]
    lit = "return [...document.querySelectorAll('.ps-lens li:nth-child(4) [fill-opacity=\"1\"]')]"
    spots = page.js(f"{lit}.map((r) => r.getBoundingClientRect().right)")
    frame = page.js(
        "return document.querySelector('.ps-lens li:nth-child(4) rect:last-of-type')"
        ".getBoundingClientRect().right"
    )
    assert len(spots) == 2 and max(spots) == pytest.approx(frame, abs=1)


def test_counts_in_mib(page: Page) -> None:
    page.show(speech(), 2)
    look(page)
    plain = page.text(".ps-stage"), page.text(".ps-curve")
    page.click("mib")
    block = KVShape.of("llama-3.1-8b")
    size = 12 * 4 * 2 * block.layers * block.kv_heads * block.head_dim * block.bytes // 2**20
    assert f"12 blocks = {size} MiB" in page.text(".ps-stage")
    assert f"= {size} MiB" in page.text(".ps-curve")
    assert page.look("overlaps") == []
    page.click("mib")
    assert (page.text(".ps-stage"), page.text(".ps-curve")) == plain


def test_a_reader_chooses_the_model_if_the_file_names_none(page: Page) -> None:
    made = story()
    made.arrive(WORDS, name="b")
    page.show(made.run, 2)
    sums = {tuple(look(page))}
    for index in range(1, len(page.all(".ps-lens option"))):
        page.js(
            "const menu = document.querySelector('.ps-lens select'); menu.selectedIndex ="
            " arguments[0]; menu.dispatchEvent(new Event('change'))",
            index,
        )
        sums.add(tuple(page.js(SUMS)))
    assert len({one[:3] for one in sums}) == 1, "no model changes the table"
    assert len(sums) >= 4
    page.show(speech(), 2)
    look(page)
    assert len(page.all(".ps-lens option")) == 1


def test_by_the_keyboard(page: Page) -> None:
    page.still()
    page.show(speech(), 2)
    page.js("document.querySelector('[data-block=\"2\"] .edge').focus()")
    page.key("ENTER", '[data-block="2"] .edge')
    assert not page.js(OPEN)
    page.key("ENTER", '[data-block="2"] .edge')
    assert page.js(OPEN) and page.js(FOCUS) == "ps-lens"
    assert page.text(".ps-detail").startswith("Block 2")
    name = page.one(".ps-lens").get_attribute("aria-label")
    assert "years" in str(name)
    for key, ahead, position, name in (
        ("ARROW_LEFT", 1, 4, "years"),
        ("ARROW_LEFT", 2, 4, "years"),
        ("ARROW_RIGHT", 1, 4, "years"),
        ("ARROW_DOWN", 1, 5, "ago"),
        ("ARROW_UP", 1, 4, "years"),
        ("ARROW_UP", 1, 3, "seven"),
    ):
        page.key(key, ".ps-lens")
        assert (page.js(AHEAD), count(page.js(SUMS)[0])) == (ahead, [position]), key
        assert name in str(page.one(".ps-lens").get_attribute("aria-label"))
    assert page.step == 2, "the arrows are the lens's"
    page.key("ESCAPE", ".ps-lens")
    assert not page.js(OPEN) and page.js(FOCUS) == "1"


def test_a_step_that_takes_the_word_away(page: Page) -> None:
    made = story(cpu_blocks=4)
    writer = made.arrive("years ago our fathers", name="b")
    writer.swap_out()
    writer.leave()
    page.show(made.run, 2)
    block = count(look(page)[2])[-1]
    page.go(3)
    where = page.text(".ps-lens li:nth-child(3) p:nth-of-type(2)")
    assert count(page.js(SUMS)[2])[-1] == made.run.at(3).tables["b"].block_ids[0] != block
    assert "CPU" in where and count(where)[:2] == [0, 0], "the first of the CPU"
    page.go(4)
    assert page.js(OPEN) and page.js(SUMS) == []
    page.go(2)
    assert count(page.js(SUMS)[2])[-1] == block


def test_each_beat_takes_its_number_from_the_last(page: Page) -> None:
    page.moving()
    page.show(speech(), 2)
    click(page, "fathers")
    page.until(AHEAD.replace("return ", "return 0 === "))
    page.until("return document.getAnimations().length === 0")
    page.click("lens-back")
    assert page.js(AHEAD) == 1
    page.click("lens-deeper")
    was, begins = page.js("""
        const moves = document.getAnimations().filter((one) => one.effect.target.tagName === "B");
        moves.forEach((one) => { one.pause(); one.currentTime = 0; });
        const [from, to] = [...document.querySelectorAll(".ps-lens li")].slice(3);
        return [[...from.querySelectorAll("b")].at(-1), to.querySelector("b")]
          .map((b) => b.getBoundingClientRect().toJSON());""")
    assert (begins["x"], begins["y"]) == pytest.approx((was["x"], was["y"]), abs=1)


@pytest.mark.parametrize(("width", "place"), [(400, "below"), (768, "below"), (1400, "side")])
def test_it_covers_no_word_and_all_can_be_read(page: Page, width: int, place: str) -> None:
    page.size(width, 860)
    page.show(speech(), 2)
    look(page)
    found = page.js("""
        const lens = document.querySelector(".ps-lens"), box = lens.getBoundingClientRect();
        const sizes = [...lens.querySelectorAll("*")].filter((n) => n.textContent)
          .map((n) => parseFloat(getComputedStyle(n).fontSize));
        const wide = [...lens.querySelectorAll("*")].map((n) => n.getBoundingClientRect().right);
        return [lens.dataset.place, Math.min(...sizes), Math.max(...wide) - box.right,
          box.bottom - innerHeight, document.documentElement.scrollWidth];""")
    assert found[0] == place and found[1] >= 11 and found[2] <= 0 and found[4] <= width
    if place == "below":
        assert found[3] <= 1, "a sheet at the bottom of the screen"
    else:
        lens = page.look("boxes", ".ps-lens")[0]
        for text in page.look("boxes", ".ps-stage text"):
            assert text["right"] < lens["left"] or text["top"] > lens["bottom"], text


def test_the_numbers_themselves(page: Page) -> None:
    vectors = tuple(tuple(i + j / 8 for j in range(4)) for i in range(4))
    page.show(speech(KVShape("tiny", 2, 1, 4, 4, values={("b", 7): vectors})), 2)
    look(page)
    assert "K = 0, 0.125, 0.25, 0.375" in page.text(".ps-lens")
    page.js("""const slider = document.querySelector('.ps-lens [type="range"]');
        slider.value = 1; slider.dispatchEvent(new Event("input"));""")
    assert "V = 3, 3.125, 3.25, 3.375" in page.text(".ps-lens")


def test_groups_have_three_beats_and_contiguous_memory_none(page: Page) -> None:
    page.still()
    page.size(1400, 900)
    shown(page, "three", 9)
    cell = page.one('.ps-cell[data-block="12"] .edge')
    box = page.look("boxes", '.ps-cell[data-block="12"] .edge')[0]
    page.js(
        "arguments[0].dispatchEvent(new MouseEvent('click', {bubbles: true, clientX: arguments[1],"
        " clientY: arguments[2]}))",
        cell,
        box["left"] + 12,
        box["y"],
    )
    assert page.js(OPEN) and len(page.js(SUMS)) == 3
    assert not page.one(".ps-lens select").is_displayed()


@pytest.mark.parametrize("moving", [True, False])
def test_a_word_has_an_address(page: Page, moving: bool) -> None:
    if moving:
        page.moving()
    page.show(speech(), address="step=2&follow=b&word=7")
    page.until(AHEAD.replace("return ", "return 0 === "))
    assert page.step == 2 and count(page.js(SUMS)[0]) == [7]
    assert "fathers" in str(page.one(".ps-lens").get_attribute("aria-label"))
    for nonsense in (
        "word=7",
        "follow=b",
        "follow=b&word=",
        "follow=b&word=99",
        "follow=b&word=2.5",
    ):
        page.open(page.files / "run.html", f"step=2&{nonsense}")
        assert not page.js(OPEN), nonsense
    assert page.console() == []


def test_the_address_of_a_block_has_no_word(page: Page) -> None:
    made = story()
    made.arrive(WORDS, name=3)
    page.show(made.run, address="step=2&follow=s3&word=1")
    assert page.js(OPEN)
    page.open(page.files / "run.html", "step=2&follow=block3&word=1")
    assert not page.js(OPEN)


def test_a_prediction_is_not_the_lens(page: Page) -> None:
    page.show(speech(), 1)
    page.click("predict")
    click(page, "three")
    assert not page.js(OPEN)
