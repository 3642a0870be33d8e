"""Without a pointer: all of the picture is reached, and one voice says what is there."""

import pagesim
from tests.e2e import scenes
from tests.e2e.browser import Page
from tests.e2e.test_layout import rows
from tests.e2e.test_pair import opened

LABELS = """
    return [...document.querySelectorAll('.ps-cell .edge')].map((node) => node.ariaLabel)"""
SPEAKS = """
    return [...document.querySelectorAll('[aria-live=polite], [role=status]')]
      .filter((node) => node.checkVisibility()).map((node) => node.className)"""


def test_a_block_is_called_what_is_read_on_it(page: Page) -> None:
    page.show(scenes.small(), 4)
    labels = page.js(LABELS)
    for block in (0, 2):
        words = [text.text for text in page.all(f'.ps-cell[data-block="{block}"] text')]
        assert len(words) > 4 and labels[block].startswith(f"block {' '.join(words)}, ")
    assert labels[11] == "block 11, free"
    page.show(rows(), 9)
    (first, *_) = page.js(LABELS.replace(" .edge", ""))
    assert first.startswith("s0, slots 0 to "), "in one stretch it is the request that has a name"


def test_a_pool_without_blocks_is_no_group(page: Page) -> None:
    groups = LABELS.replace(".ps-cell .edge", ".ps-stage g[role=group]")
    page.show(scenes.small())
    assert page.js(groups) == ["GPU pool", "CPU pool"]
    story = pagesim.Story(gpu_blocks=4, block_size=4)
    story.arrive(range(5))
    page.show(story.run)
    assert page.js(groups) == ["GPU pool"]


EDGE = "return getComputedStyle(document.querySelector('.ps-said')).borderLeftColor"


def test_two_tabs_lead_to_the_picture(page: Page) -> None:
    page.show(scenes.small(), 4)
    (stage,), bare = page.look("boxes", ".ps-stage"), page.js(EDGE)
    page.js("document.querySelector('.pagesim-player').focus()")
    page.key("TAB")
    assert page.js("return document.activeElement.dataset.action") == "picture"
    assert page.look("boxes", ".ps-stage") == [stage], "it pushes nothing away"
    assert page.js(EDGE) == bare
    page.key("ENTER", '[data-action="picture"]')
    assert page.js("return document.activeElement === document.querySelector('.finger')")
    page.key("ESCAPE", ".finger")
    assert page.js(EDGE) != bare, "the focus is seen where the steps are told"


WALK = """
    const finger = document.querySelector('.finger'), detail = document.querySelector('.ps-detail');
    const told = new Set(), tops = [];
    const press = (key) => {
      finger.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true }));
      told.add(detail.textContent);
    };
    finger.focus();
    told.add(detail.textContent);
    for (let row = 0; row < 20; row++) {
      for (let i = 0; i < 14; i++) press('ArrowRight');
      for (let i = 0; i < 14; i++) press('ArrowLeft');
      tops.push(finger.y.baseVal.value);
      press('ArrowDown');
    }
    const clickable = [...document.querySelectorAll('.ps-stage .under :is(rect, text)')]
      .filter(({ hit }) => hit && !hit.word && !hit.at).map(({ hit }) => JSON.stringify(hit));
    return [told.size, new Set(clickable).size, tops];"""


def test_arrow_keys_reach_sequences_entries_and_chips(page: Page) -> None:
    """All that a click reaches: each is told, framed where it stands, and can be followed."""
    page.size(1400, 900)
    for run, step in ((scenes.small(), 4), (scenes.scheduled(), 14), (rows(), 9)):
        page.show(run, step)
        told, clickable, tops = page.js(WALK)
        assert told >= clickable > 3
        assert tops == sorted(tops) and len(set(tops)) > 3
        assert page.one(".ps-detail").get_attribute("aria-live") == "polite"
        page.key("ENTER", ".finger")
        assert page.all(".ps-jumps:not([hidden])"), "what is pointed at is followed"
    assert page.console() == []


def test_what_is_pointed_at_stays_so_at_another_step(page: Page) -> None:
    page.show(scenes.small(), 4)
    page.js("document.querySelector('.finger').focus()")
    page.key("ARROW_DOWN", ".finger")
    words = page.text(".ps-detail")
    assert words.startswith("Block ")
    page.key("PAGE_DOWN", ".finger")
    assert page.step == 8 and page.text(".ps-detail").split(":")[0] == words.split(":")[0]


def test_of_two_players_one_voice_is_heard(page: Page) -> None:
    opened(page, scenes.small(), scenes.small()[:4])
    assert page.js(SPEAKS) == ["ps-heard"]
    page.key("ARROW_RIGHT", "body")
    heard = page.text(".ps-heard")
    told = page.js("return pagesimPair.differences")
    for words in ("step 1 of", "one: ", "other: ", page.text(".ps-caption"), *told):
        assert words in heard
    page.click("pair-play")
    assert page.js(SPEAKS) == [], "silent while it plays"


def test_the_blocks_of_a_pair_are_reached_too(page: Page) -> None:
    opened(page, scenes.small(), scenes.small()[:4])
    page.click("pair-last")
    steps = page.steps
    page.key("ARROW_RIGHT", '.ps-cell[data-block="0"] .edge')
    assert page.js("return document.activeElement.parentNode.dataset.block") == "1"
    page.key("ENTER", '.ps-cell[data-block="1"] .edge')
    assert page.all('.ps-cell [aria-pressed="true"]')
    page.key("ESCAPE", '.ps-cell[data-block="1"] .edge')
    assert page.steps == steps and not page.all('.ps-cell [aria-pressed="true"]')
