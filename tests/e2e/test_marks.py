"""Numbers on slots, such as attention weights: they shade the words, one mark at a time."""

import pytest

from tests.e2e.browser import Page
from tests.e2e.test_themes import hard_to_read
from tests.timeline.test_film import story


def test_a_mark_has_one_scale_in_the_run(page: Page) -> None:
    """A weight of 0.02 is pale, although it is the largest of its step."""
    found = story()
    found.writers[0].write("to")
    run = found.run.mark(1, {0: 1.0, 1: 0.25}, "layer 0").mark(2, {2: 0.02}, "layer 0")
    page.show(run, 2)
    assert page.look("shades") == ["lit lit-0"]


def test_only_the_words_of_the_reader_are_shaded(page: Page) -> None:
    """A shared block is in two tables; the event is about one of them."""
    found = story()
    found.writers[0].fork()
    page.show(found.run.mark(2, {0: 1.0, 1: 0.25}, "attention"), 2)
    heads = page.look("boxes", ".ps-stage .name")
    assert [head["says"] for head in heads] == ["s0: 3 tokens", "s1: 3 tokens"]
    shaded = page.look("boxes", ".ps-stage .under .lit[height='17']")
    assert len(shaded) == 2
    assert all(heads[1]["y"] < shade["y"] for shade in shaded)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_shade_keeps_the_colour_of_its_sequence(page: Page, theme: str) -> None:
    """It is paler the less it counts, never of another hue, and its words stay readable."""
    page.dark(theme == "dark")
    run = story().run.mark(1, {0: 0.1, 1: 0.6, 2: 0.3}, "attention")
    page.show(run, 1)
    looks = page.js("""
        return [...document.querySelectorAll('.ps-stage :is(.lit, .rest)')].map((node) => {
          const look = getComputedStyle(node);
          return [look.fill, look.stroke, +look.opacity];
        })""")
    paper = page.js("return getComputedStyle(document.body).backgroundColor")
    assert {look[0] for look in looks} == {paper} and {look[1] for look in looks} == {"none"}
    assert len({look[2] for look in looks}) > 2
    assert hard_to_read(page) == []
    bars = [bar["right"] - bar["left"] for bar in page.look("boxes", ".ps-cell .weight")]
    assert bars[0] < bars[2] < bars[1]


def test_attention_shades_the_words(page: Page) -> None:
    run = story().run.mark(1, {0: 0.1, 1: 0.6, 2: 0.3}, "attention of s0, layer 1")
    page.show(run, 1)
    assert page.look("shades") == ["lit lit-1", "lit lit-4", "lit lit-2"]
    said = "attention of s0, layer 1: most of it, 0.7, on block 0."
    assert said in page.text(".ps-caption")
    stage = page.text(".ps-stage")
    assert "shaded: attention of s0, layer 1" in stage and "0.7" in stage
    page.choose(0)
    assert page.text(".ps-detail").endswith(" attention of s0, layer 1: 0.1, 0.6.")
    below = page.js("""
        const [word] = [...document.querySelectorAll('.ps-cell[data-block="0"] text')].slice(1);
        const [shade] = document.querySelectorAll('.ps-cell[data-block="0"] .lit');
        return Boolean(shade.compareDocumentPosition(word) & Node.DOCUMENT_POSITION_FOLLOWING);""")
    assert below, "a word is written over its shade"
    page.go(0)
    assert page.look("shades") == []


def test_one_mark_at_a_time_shades(page: Page) -> None:
    """Layers and heads: the reader chooses, and the choice holds at the next step."""
    found = story()
    found.writers[0].write("to")
    run = found.run
    for step in (1, 2):
        run.mark(step, {0: 1.0, 1: 0.25}, "layer 0").mark(step, {2: 1.0}, "layer 1")
    page.show(run, 1)
    assert page.look("shades") == ["lit lit-4", "lit lit-1"]
    assert page.one('[data-action="shade-0"]').get_attribute("aria-pressed") == "true"
    page.click("shade-1")
    assert (page.look("shades"), page.look("lit", 1)) == (["lit lit-4"], 1)
    assert "shaded: layer 1" in page.text(".ps-stage")
    assert page.one('[data-action="shade-1"]').get_attribute("aria-pressed") == "true"
    page.go(2)
    assert (page.look("shades"), page.look("lit", 1)) == (["lit lit-4"], 1)
    assert page.console() == []
