"""A kernel at work: its programs beside the pool, what they load, and what they hold after it.

What is drawn is compared with a softmax over all scores so far: not with the player's own steps.
"""

from collections.abc import Iterator
from itertools import groupby, pairwise, product

import numpy as np
import pytest
from numpy.typing import NDArray

import pagesim
from tests.e2e.browser import Page
from tests.e2e.test_themes import hard_to_read
from tests.timeline.test_film import READS, Read, story

HEADS, SIZE = 4, 4
SCORES = np.random.default_rng(0).normal(0, 2, (2, HEADS, 9))
LENGTHS = (9, 6)
TABLES = ([0, 2, 3], [0, 1])


def batch() -> pagesim.Story:
    """Two sequences of 9 and 6 tokens that share their first block."""
    found = pagesim.Story(gpu_blocks=8, block_size=SIZE)
    one = found.arrive("one two three four five")
    two = one.fork()
    one.write("six seven eight nine")
    two.write("zero")
    assert ([*one.block_ids], [*two.block_ids]) == TABLES
    return found


def held(seq: int, head: int, first: int, last: int) -> tuple[NDArray[np.float64], float, float]:
    """Weights, m and l of the keys ``first`` … ``last - 1`` of a sequence, all at once."""
    scores = SCORES[seq, head, first:last]
    weights = np.exp(scores - scores.max())
    return weights, float(scores.max()), float(weights.sum())


def reads(heads: int = HEADS) -> Iterator[Read]:
    """A kernel with a program for each head of each sequence: a block a load."""
    for seq, head in product(range(2), range(heads)):
        for load, block in enumerate(TABLES[seq], 1):
            first, last = SIZE * (load - 1), min(SIZE * load, LENGTHS[seq])
            weights, m, l = held(seq, head % HEADS, 0, last)  # noqa: E741
            slots = [SIZE * block + place for place in range(last - first)]
            error = 3e-8 if last == LENGTHS[seq] else None
            now = weights[first:].tolist()
            yield Read((seq, head), load, seq, 0, head, slots, now, m, l, 1.0, error)


def partitions() -> Iterator[Read]:
    """The same for the first sequence, with a program for each block, two heads in each."""
    for head in range(2):
        parts = [held(0, head, first, min(first + SIZE, 9)) for first in (0, 4, 8)]
        for part, (weights, m, l) in enumerate(parts):  # noqa: E741
            slots = [SIZE * TABLES[0][part] + place for place in range(len(weights))]
            yield Read((0, 0, part), 1, 0, 8, head, slots, weights.tolist(), m, l, 1.0)
        _, m, total = held(0, head, 0, 9)
        weights = np.exp([part[1] - m for part in parts])
        yield Read((0, head), 2, 0, 8, head, [], weights.tolist(), m, total, 1.0, 1e-8)


def check_bars(heights: list[float], weights: NDArray[np.float64], full: float) -> None:
    """The bars are as high as the weights: on one scale, on which ``full`` is 1."""
    assert len(heights) == len(weights)
    assert heights == pytest.approx([full * weight for weight in weights], abs=1.2)


def test_each_step_is_the_softmax_so_far(page: Page) -> None:
    """Also of the keys of earlier loads: where m rises their bars shrink."""
    page.show(batch().run.film(reads()))
    assert not any(program["heights"] for program in page.look("programs"))
    rose = 0
    for step in (1, 2, 3, 4):
        page.go(step)
        drawn = page.look("programs")
        assert len(drawn) == 8
        full = max(height for program in drawn for height in program["heights"])
        for program, (seq, head) in zip(drawn, product(range(2), range(HEADS)), strict=True):
            weights, m, l = held(seq, head, 0, min(SIZE * step, LENGTHS[seq]))  # noqa: E741
            check_bars(program["heights"], weights, full)
            said = program["texts"]
            rises = 1 < step <= len(TABLES[seq]) and m > held(seq, head, 0, SIZE * (step - 1))[1]
            arrow = " \u2191" if rises else ""
            assert f"{m:.2f}{arrow}" in said and f"{l:.2f}" in said
            assert f"s{seq} \u00b7 head {head}" in said
            rose += rises
    assert rose >= 3, "the scores are such that m rises"
    assert "1e-7" in page.text(".ps-stage") and page.console() == []


def test_programs_meet_in_a_page(page: Page) -> None:
    """Block 0 is both sequences': eight programs load it, and its frame is drawn once."""
    page.show(batch().run.film(reads()), 1)
    assert page.look("around", ".over .frame") == [0]
    assert len(page.look("arrived")) == 8 and len(page.look("trunks")) == 2
    page.go(2)
    assert sorted(page.look("around", ".over .frame")) == [1, 2]
    lefts = {round(program["left"]) for program in page.look("programs")}
    assert {round(right) for right in page.look("arrived")} == lefts, "the lines end at programs"
    page.go(3)
    assert (page.look("around", ".over .frame"), len(page.look("arrived"))) == ([3], 4)
    caption = page.text(".ps-caption")
    assert "4 programs of s0 read 1 key from block 3" in caption and "s1" not in caption


def test_what_is_pointed_at_is_outlined(page: Page) -> None:
    page.show(batch().run.film(reads()), 2)
    page.look("pointAt", page.all(".ps-stage .program")[1], None, 40)
    assert [p["outlined"] for p in page.look("programs")] == [i == 1 for i in range(8)]
    assert page.look("around", ".trace .traced") == [2]
    assert page.look("traced") == 3, "the program, its page, and the entry of its table"
    said = page.text(".ps-detail")
    _, m, _ = held(0, 1, 0, 8)
    assert (
        "block 2" in said and f"six {held(0, 1, 0, 8)[0][5]:.2f}" in said and f"m {m:.2f}" in said
    )
    page.look("pointAt", page.one('.ps-cell[data-block="1"] .edge'), None, 5)
    assert [p["outlined"] for p in page.look("programs")] == [i >= 4 for i in range(8)]
    assert "4 programs read it now: s1 \u00b7 head 0" in page.text(".ps-detail")


def test_a_program_can_be_focused(page: Page) -> None:
    page.show(batch().run.film(reads()), 2)
    page.js("document.querySelectorAll('.ps-stage .program')[6].focus()")
    assert [p["outlined"] for p in page.look("programs")] == [i == 6 for i in range(8)]
    assert "head 2: load 2 of 2: block 1" in page.text(".ps-detail")
    page.key("ARROW_RIGHT", ".ps-stage .program")
    assert page.step == 3
    assert page.console() == [] and len(page.all('.ps-cell [tabindex="0"]')) == 1, "as before"


def lasting(page: Page) -> int:
    """How long the step that is held will take, in milliseconds."""
    of = "(one) => one.effect.getComputedTiming().duration"
    return int(page.js(f"return Math.max(...document.getAnimations().map({of}))"))


def test_one_sequence_is_ahead_of_the_other(page: Page) -> None:
    """Its scores come first, when its block has arrived."""
    page.moving()
    page.show(batch().run.film(reads()), 1)
    page.key("ARROW_RIGHT")
    came = dict[int, int]()
    for moment in range(0, lasting(page), 30):
        page.look("hold", moment)
        programs = page.look("programs")
        for seq, block in ((0, "2"), (1, "1")):
            program = programs[seq * HEADS]
            if f"{SCORES[seq, 0, SIZE]:.2f}" in program["texts"] and seq not in came:
                came[seq] = moment
                chips = page.look("boxes", ".ps-ghosts text", block)
                assert any(program["top"] < chip["y"] < program["bottom"] for chip in chips)
    assert came[0] < came[1]


def test_cause_before_effect(page: Page) -> None:
    """Scores come; m rises and is named; older bars shrink; new ones come. No number lies."""
    page.moving()
    page.show(batch().run.film(reads()), 1)
    before = [program["heights"] for program in page.look("programs")]
    page.key("ARROW_RIGHT")
    end = lasting(page)
    page.still()
    full = max(height for program in page.look("programs") for height in program["heights"])
    named, shrunk, said, scored = 0, 0, set[float](), set[int]()
    for moment in range(0, end, 90):
        page.look("hold", moment)
        lengths = [bar["right"] - bar["left"] for bar in page.look("boxes", ".ps-stage .weight")]
        now = page.look("programs")
        unit = lengths[1] / (sum(now[0]["heights"]) / full)
        for number, program in enumerate(now):
            seq, head = divmod(number, HEADS)
            _, m0, l0 = held(seq, head, 0, SIZE)
            _, m, l = held(seq, head, 0, min(2 * SIZE, LENGTHS[seq]))  # noqa: E741
            bars, old = program["heights"], before[number]
            drawn = sum(bars) / full
            scores = [f"{s:.2f}" for s in SCORES[seq, head, SIZE : min(2 * SIZE, LENGTHS[seq])]]
            if all(score in program["texts"] for score in scores):
                scored.add(number)
                assert sum(bars[len(old) :]) < 1, "scores become bars"
            for total in (l0, l0 * float(np.exp(m0 - m)), l):
                if f"{total:.2f}" in program["claimed"]:
                    assert total == pytest.approx(drawn, abs=0.2), "a sum is that of the bars"
                    said.add(total)
            assert lengths[2 * number + 1] == pytest.approx(unit * drawn, rel=0.1, abs=2)
            isnew = f"{m:.2f} \u2191" in program["texts"]
            assert program["marked"] <= 2 * isnew, "nothing else is marked"
            named += program["marked"] == 2
            if isnew and program["marked"] == 2:
                assert number in scored, "the score that is the largest is seen"
            if bars[: len(old)] != pytest.approx(old, abs=0.5):
                assert isnew, "m is known before older bars shrink"
                shrunk += 1
            elif m > m0:
                assert sum(bars[len(old) :]) < 1, "new bars come when older ones have shrunk"
    assert named and shrunk and len(said) > 12 and len(scored) == 2 * HEADS


def test_an_outline_shows_how_high_a_bar_was(page: Page) -> None:
    """Before it was rescaled: until the next step."""
    page.show(batch().run.film(reads()), 1)
    shrunk = 0
    for step in (1, 2, 3):
        before = [program["heights"] for program in page.look("programs")]
        page.go(step)
        for program, was in zip(page.look("programs"), before, strict=True):
            for old, height, now in zip(program["old"], was, program["heights"], strict=False):
                if height > now + 3 or old:
                    assert old == pytest.approx(height, abs=0.6)
                    shrunk += 1
    assert shrunk >= 5
    page.go(4)
    assert not any(map(any, (program["old"] for program in page.look("programs"))))


def test_each_part_of_a_load_is_named_while_it_lasts(page: Page) -> None:
    """Those before it have a tick; without a new max nothing is rescaled, and that has none."""
    page.moving()
    page.show(batch().run.film(reads()), 1)
    assert [text[0] for text in page.look("parts")] == ["\u2713", "2", "\u2713"]
    page.key("ARROW_RIGHT")
    filled = []
    for moment in range(0, lasting(page), 60):
        page.look("hold", moment)
        filled.append(page.look("parts", True))
    seen = [now for now, _ in groupby(filled)]
    assert seen == [["1"], ["1", "2"], ["2"], ["2", "3"], ["3"]]


def test_what_all_programs_of_a_sequence_do_is_not_repeated(page: Page) -> None:
    """And so all of them, and what the answer is compared with, are on the first screen."""
    page.size(1400, 800)
    page.show(batch().run.film(reads()), 4)
    assert page.look("programs")[-1]["bottom"] < 720 and "1e-7" in page.text(".ps-stage .sign")
    assert all(len(program["texts"]) == 3 for program in page.look("programs"))
    page.show(batch().run.film(partitions(), [0]), 1)
    assert "merges 3 partitions" not in page.text(".ps-stage")
    page.go(2)
    assert page.text(".ps-stage").count("merges 3 partitions") == 2


def test_a_step_back_is_the_step_in_reverse(page: Page) -> None:
    page.show(batch().run.film(reads()), 1)
    expected = page.picture()[0]
    last = [program["heights"] for program in page.look("programs")]
    page.go(2)
    first = [program["heights"] for program in page.look("programs")]
    page.moving()
    page.key("ARROW_LEFT")
    page.look("hold", 0)
    assert page.step == 1
    for moment, heights in ((0, first), (lasting(page) - 1, last)):
        page.look("hold", moment)
        for program, those in zip(page.look("programs"), heights, strict=True):
            drawn = program["heights"][: len(those)]
            assert drawn == pytest.approx(those, abs=0.5)
            assert sum(program["heights"][len(those) :]) < 0.5
    page.js("document.getAnimations().forEach((one) => one.finish())")
    page.until("return document.getAnimations().length === 0")
    assert page.picture()[0] == expected
    page.key("ARROW_RIGHT")
    assert page.js("return document.getAnimations().length") == 0, "for those who want no motion"


WORDS = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]


@pytest.mark.parametrize("width", [400, 1400])
def test_the_words_stand_under_their_bars(page: Page, width: int) -> None:
    """Those that are read now are marked, and blocks that are not read are quiet."""
    page.size(width, 1000)
    page.show(batch().run.film(reads()))
    assert not page.all(".ps-stage .quiet")
    page.go(3)
    programs = page.look("programs")
    words = page.look("boxes", ".ps-stage .under.texts .mid", *WORDS)
    longer = [word for word in words if word["top"] < programs[4]["top"]]
    assert [word["says"] for word in longer] == WORDS
    assert all(word["top"] >= programs[3]["bottom"] - 4 for word in longer)
    bars = page.look("boxes", ".ps-stage .bar")[:9]
    for word, bar in zip(longer, bars, strict=True):
        assert bar["left"] < word["x"] < bar["right"]
    now = page.look("boxes", ".ps-stage .under.texts .strong", *WORDS)
    assert [word["says"] for word in now] == ["nine"], "block 3"
    quiet = "return [...document.querySelectorAll('.ps-cell.quiet')].map((c) => +c.dataset.block)"
    assert page.js(quiet) == [0, 1, 2, 4, 5, 6, 7]


@pytest.mark.parametrize("width", [400, 768, 1400])
def test_words_that_are_marked_still_stand_apart(page: Page, width: int) -> None:
    """In bold they are wider."""
    page.size(width, 1000)
    page.show(batch().run.film(reads()), 2)
    words = page.look("boxes", ".ps-stage .under.texts .mid", *WORDS)[:9]
    for one, other in pairwise(words):
        assert other["left"] - one["right"] > 2 or abs(other["y"] - one["y"]) > 8, one["says"]


def test_where_rows_read_other_words_none_are_written(page: Page) -> None:
    ways = ([0, 1, 2, 3], [1, 0, 3, 2])
    two = [Read((0, h), 1, 0, 0, h, ways[h], [0.5, 1.0] * 2, 1.0, 3.0, 1.0) for h in (0, 1)]
    page.show(batch().run.film(two, [0]), 1)
    assert page.look("boxes", ".ps-stage .under.texts text", *WORDS) == []


def test_partitions_and_their_reduction(page: Page) -> None:
    page.show(batch().run.film(partitions(), [0]), 1)
    drawn = page.look("programs")
    assert [len(program["heights"]) for program in drawn] == [8, 8, 2, 0, 0]
    assert len(page.look("trunks")) == 3
    full = max(height for program in drawn for height in program["heights"])
    page.go(2)
    drawn = page.look("programs")
    for head, merge in enumerate(drawn[3:]):
        whole, m, total = held(0, head, 0, 9)
        of = [
            p["heights"][head * len(p["heights"]) // 2 :][: len(p["heights"]) // 2] for p in drawn
        ]
        check_bars([height for part in of[:3] for height in part], whole, full)
        assert f"{m:.2f}" in merge["texts"] and f"{total:.2f}" in merge["texts"]
        assert len(merge["heights"]) == 3
    assert len(page.look("arrived")) == 2 and page.look("around", ".over .frame") == []


def test_those_without_room_are_counted(page: Page) -> None:
    page.show(batch().run.film(reads(heads=40)), 1)
    drawn = len(page.look("programs"))
    assert 8 <= drawn < 20 and f"and {80 - drawn} more programs" in page.text(".ps-stage")
    page.choose(0)
    assert "80 programs read it now" in page.text(".ps-detail")


@pytest.mark.parametrize("width", [360, 400, 768, 1000, 1400, 1920])
def test_everything_can_be_read(page: Page, width: int) -> None:
    page.size(width, 1000)
    for number, film in enumerate((reads(), partitions(), READS)):
        run = (story() if number == 2 else batch()).run.film(film)
        page.show(run)
        assert page.look("overlapsAt", list(range(len(run) + 1))) == []
        assert page.look("smallestText") >= 11
        for dark in (False, True):
            page.dark(dark)
            page.themed("dark" if dark else "light")
            assert hard_to_read(page) == []


def test_a_film_has_the_colours_of_its_run(page: Page) -> None:
    found = pagesim.Story(gpu_blocks=8, block_size=2)
    found.arrive("a b").leave()
    found.arrive("c d")
    for name, run in (("run", found.run), ("film", found.run.film([READS[0]]))):
        page.show(run, len(run))
        colors = [path.get_attribute("fill") for path in page.all(".ps-cell path")]
        assert "#E69F00" in colors and "#56B4E9" not in colors, name
    assert page.one(".ps-stage .bar").get_attribute("fill") == "#E69F00"
