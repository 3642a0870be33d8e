"""An x-ray as a film: what a program reads lights up, and m, \u2113 and acc move."""

import pytest

import pagesim
from tests.e2e.browser import Page
from tests.e2e.test_themes import hard_to_read
from tests.timeline.test_film import READS, story


def test_a_film(page: Page) -> None:
    run: pagesim.Timeline = story().run.film(READS)
    page.show(run, 1)
    assert (page.look("lit", 0), page.look("lit", 1)) == (2, 0)
    assert page.look("shades") == ["lit lit-4", "lit lit-1"], "weights of 1 and 0.25"
    assert page.look("dials") == [["m 1.50", 1.5], ["\u2113 1.25", 1.25], ["|acc| 2.00", 2]]
    page.key("ARROW_RIGHT")
    assert (page.look("lit", 0), page.look("lit", 1)) == (0, 1)
    assert page.look("dials")[1:] == [["\u2113 1.75", 1.75], ["|acc| 2.50", 2.5]]
    assert "program (0, 0), head 1 reads 1 key" in page.text(".ps-caption")
    assert page.console() == []


def test_the_reads_of_a_program_have_one_scale(page: Page) -> None:
    """A weight of 0.02 is pale, although it is the largest of its load."""
    weak = READS[1]._replace(weights=[0.02])
    page.show(story().run.film([READS[0], weak]), 2)
    assert page.look("shades") == ["lit lit-0"]
    page.show(story().run.film([READS[0], weak._replace(head=2)]), 2)
    assert page.look("shades") == ["lit lit-4"], "another head has a scale of its own"


def test_only_the_words_of_the_reader_are_shaded(page: Page) -> None:
    """A shared block is in two tables; one of them is read through."""
    found = story()
    found.writers[0].fork()
    page.show(found.run.film(READS), 1)
    css = ".ps-stage .under .lit[height='17']"
    heads = page.look("boxes", ".ps-stage .name")
    assert [head["says"] for head in heads] == ["s0: 3 tokens", "s1: 3 tokens"]
    shaded = page.look("boxes", css)
    assert len(shaded) == 2
    assert all(heads[0]["y"] < shade["y"] < heads[1]["y"] for shade in shaded)


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


def test_a_word_names_the_program_that_reads_it(page: Page) -> None:
    page.show(story().run.film(READS), 1)
    page.look("pointAt", page.one('.ps-cell[data-block="0"] .edge'), None, 5)
    assert page.text(".ps-note").endswith("slot 0program (0, 0), head 1 reads it (1.0)")


def test_attention_shades_the_words(page: Page) -> None:
    run = story().run.mark(1, {0: 0.1, 1: 0.6, 2: 0.3}, "attention of s0, layer 1")
    page.show(run, 1)
    assert page.look("shades") == ["lit lit-1", "lit lit-4", "lit lit-2"]
    said = "attention of s0, layer 1: most of it, 0.7, on block 0."
    assert page.text(".ps-caption").endswith(said)
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


def test_a_film_has_the_colours_of_its_run(page: Page) -> None:
    found = pagesim.Story(gpu_blocks=8, block_size=2)
    found.arrive("a b").leave()
    found.arrive("c d")
    for name, run in (("run", found.run), ("film", found.run.film([READS[0]]))):
        page.show(run, len(run))
        colors = [path.get_attribute("fill") for path in page.all(".ps-cell path")]
        assert "#E69F00" in colors and "#56B4E9" not in colors, name


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
