"""Nothing overlaps, at any width, in any state: words, badges, arrows and chips are measured."""

import random
from pathlib import Path

import pytest

import pagesim
from pagesim.simulation.rows import record_max
from tests.e2e import browser, scenes
from tests.e2e.browser import Page
from tests.e2e.test_geometry import shared, simulated
from tests.e2e.test_v1 import engine_run
from tests.timeline.scenes import told

WIDTHS = {400: 860, 640: 800, 760: 800, 1000: 640, 1400: 900, 1920: 1080}
"""A phone held upright, JupyterLab beside its files, on a laptop, a desktop, a projector."""
STATES = 200


def rows(unit: int = 1, pool: int = 80, longest: int = 20) -> pagesim.Timeline:
    """Contiguous memory: five requests, each in a row for the longest answer."""
    requests = [pagesim.workload.Request(f"r{i}", 0.0, 6 + i, 5 + 2 * i) for i in range(5)]
    return record_max(requests, pool=pool, max_model_len=longest, unit=unit).timeline


def of_one_slot() -> pagesim.Timeline:
    """Blocks of one slot: the narrowest logical blocks there are."""
    story = pagesim.Story(gpu_blocks=8, block_size=1)
    story.arrive("one two").write("three")
    return story.run


def hundreds() -> pagesim.Timeline:
    """More blocks than two digits can number, and tables of nine to fourteen of them."""
    return told(*(range(18 + 2 * more) for more in range(6)), gpu_blocks=1200, block_size=2)


def thousands() -> pagesim.Timeline:
    """Blocks of four digits in the tables."""
    return told(*map(range, (5000, 18, 22, 26)), gpu_blocks=2641, block_size=2)


def cached() -> pagesim.Timeline:
    """A block that is taken, written and found from now on, by one with a long name."""
    story = pagesim.Story(gpu_blocks=12, block_size=4, caching=True, engine="v1")
    for name in ("first", "second", "longest-of-all"):
        story.arrive(f"You are a helpful assistant who answers {name} and twice", name=name)
    return story.run


def attention() -> pagesim.Timeline:
    """A prompt of seventeen blocks, and how a word looks at it."""
    story = pagesim.Story(gpu_blocks=20, block_size=4)
    story.arrive(" ".join(f"word{number}" for number in range(66))).write("then")
    weights = {slot: 1 / (slot + 1) ** 2 for slot in range(67)}
    return story.run.mark(2, weights, "attention of layer 1")


def attention_to_many() -> pagesim.Timeline:
    """Numbers on all blocks of a large pool, at a step that takes and writes one of them."""
    run = scenes.scheduled(40)
    step = run.find(kind="take")[-1] + 1
    return run[step - 2 :].mark(2, {slot: 0.037 * (slot % 7) for slot in range(380)}, "attention")


RUNS = {
    "attention": attention,
    "attention to many": attention_to_many,
    "hundreds": hundreds,
    "thousands": thousands,
    "one slot": of_one_slot,
    "V1": engine_run,
    "V1, in flight": lambda: engine_run(async_scheduling=True),
    "V1, a window": lambda: engine_run(sliding_window=6),
    "V1, many blocks": lambda: engine_run(80, 128, max_num_seqs=16),
    "small": scenes.small,
    "figure 8": shared,
    "V1, cached": cached,
    "caching": lambda: scenes.by_chance(3, True, 200),
    "naive": lambda: scenes.by_chance(4, False, 200),
    "scheduled": scenes.scheduled,
    "many": lambda: scenes.scheduled(40),
    "simulated": simulated,
    "rows": rows,
    "rows of units": lambda: rows(4),
}


@pytest.mark.parametrize("width", WIDTHS)
def test_nothing_overlaps(page: Page, width: int) -> None:
    page.size(width, WIDTHS[width])
    rng, each = random.Random(width), -(-STATES // len(RUNS))
    for name, make in RUNS.items():
        run = make()
        page.show(run)
        steps = [min(2, len(run)), *(rng.randrange(len(run) + 1) for _ in range(each))]
        assert page.look("overlapsAt", steps) == [], name
    assert page.console() == []


def test_on_a_phone_the_words_are_readable(page: Page) -> None:
    page.size(400, 860)
    for name, make in RUNS.items():
        page.show(make())
        assert page.look("smallestText") >= 12, name
        wide = page.js("return document.documentElement.scrollWidth")
        assert wide <= 400, name
        lines = [*page.look("boxes", ".ps-told"), *page.look("boxes", ".ps-share")]
        assert len({round(line["left"]) for line in lines}) == 1, name
        bars, (said,) = (
            page.look("boxes", ".pagesim-player > .ps-bar"),
            page.look("boxes", ".ps-said"),
        )
        assert said["top"] - bars[0]["top"] < 170, (name, "at most five rows of controls")


@pytest.mark.parametrize("width", [360, 480, 600, 620, 768, 900, 1000, 1050, 1240, 1280, 1920])
def test_no_text_is_smaller_than_11_pixels(page: Page, width: int) -> None:
    page.size(width, 900)
    pair = pagesim.compare(scenes.scheduled(), rows())
    for run in (scenes.small(), attention(), scenes.busy(30), rows(), scenes.scheduled(40), pair):
        page.show(run, address="step=12")
        assert page.look("smallestText") >= 11, run
        assert page.js("return document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("width", [400, 1000])
def test_the_picture_stays_where_it_is(page: Page, width: int) -> None:
    """However long a caption is: else the eye loses what has changed."""
    page.size(width, 900)
    for run in (scenes.small(), scenes.scheduled(), rows(), scenes.by_chance(3, True, 120)):
        page.show(run)
        tops = page.js("""
            const stage = document.querySelector('.ps-stage');
            return [...Array(pagesimPlayer.steps + 1).keys()].map((step) => {
              pagesimPlayer.goto(step);
              return Math.round(stage.getBoundingClientRect().top);
            });""")
        assert len(set(tops)) == 1, run


def test_a_long_caption_is_scrolled_and_leaves_no_empty_box(page: Page) -> None:
    page.size(1000, 900)
    page.show(scenes.by_chance(3, True, 120))
    tall = page.js("""
        const [words, said] = ['.ps-words', '.ps-said'].map((css) => document.querySelector(css));
        return [...Array(pagesimPlayer.steps + 1).keys()].map((step) => {
          pagesimPlayer.goto(step);
          return [words.scrollHeight - words.clientHeight, said.offsetHeight, words.tabIndex];
        });""")
    assert max(height for _, height, _ in tall) <= 120
    assert max(more for more, _, _ in tall) > 0, "one has more to say"
    assert {tab for _, _, tab in tall} == {0}, "and can be scrolled with the keyboard"


@pytest.mark.parametrize("width", [1000, 1400])
def test_the_pictures_of_a_pair_stay_where_they_are(page: Page, width: int) -> None:
    page.size(width, 900)
    page.show(pagesim.compare(scenes.scheduled(), rows()), address="")
    page.wait('.pagesim-pair[data-mounted="true"]')
    tops = page.js("""
        const stage = document.querySelector('.ps-stage');
        return [...Array(pagesimPair.steps + 1).keys()].map((step) => {
          pagesimPair.goto(step);
          return Math.round(stage.getBoundingClientRect().top);
        });""")
    assert max(tops) - min(tops) <= 1


def test_headings_keep_their_distance(page: Page) -> None:
    page.size(400, 860)
    page.show(scenes.small(), 1)
    block, filled, *_ = page.look("boxes", ".ps-stage text", "block", "filled")
    assert filled["left"] - block["right"] >= 5


@pytest.mark.parametrize("width", [1000, 1400])
def test_twelve_blocks_stand_in_one_column(page: Page, width: int) -> None:
    """Beside a second pool, and with what sharing saves: that costs no height."""
    page.size(width, 900)
    page.show(scenes.small(), 5)
    cells = page.look("boxes", ".ps-cell .edge")
    assert len({round(cell["left"]) for cell in cells[:12]}) == 1
    (sharing,) = (
        text for text in page.look("boxes", ".ps-stage text") if "sharing" in text["says"]
    )
    chips = page.look("boxes", ".ps-stage text", "GPU free list")[0]
    assert sharing["bottom"] > chips["top"] and sharing["top"] < chips["bottom"], "one row"


@pytest.mark.parametrize("width", [1100, 1400])
def test_what_sharing_saves_stands_beside_a_pool_that_leaves_room(page: Page, width: int) -> None:
    page.size(width, 900)
    page.show(shared())
    page.js("pagesimPlayer.goto(pagesimPlayer.steps)")
    sharing = [one for one in page.look("boxes", ".ps-stage text") if "sharing" in one["says"]]
    first, *_, last = page.look("boxes", ".ps-cell .edge")
    assert [one["left"] > last["right"] for one in sharing] == [True]
    assert first["top"] < sharing[0]["bottom"] < last["bottom"]


def test_cached_blocks_show_their_words(page: Page) -> None:
    page.size(1400, 900)
    page.show(cached())
    page.js("pagesimPlayer.goto(pagesimPlayer.steps)")
    nodes = [one["says"] for one in page.look("boxes", ".ps-stage .cut")]
    assert len(nodes) > 3
    for number, first, *rest in map(str.split, nodes):
        assert number.endswith(":")
        assert len(rest) == 3 or (first, len(rest)) == ("\u2026", 1), (
            "four words, or where it differs"
        )


@pytest.mark.parametrize("name", ["small", "figure 8", "naive", "scheduled", "rows"])
def test_controls_and_stage_fit_a_laptop(page: Page, name: str) -> None:
    page.size(1000, 640)
    page.show(RUNS[name]())
    assert page.look("boxes", ".ps-stage")[0]["bottom"] <= 640


def test_a_turned_phone_is_laid_out_again(page: Page) -> None:
    page.size(860, 400)
    page.show(scenes.small(), 4)
    assert (page.data("units"), page.data("upright")) == ("820", "false")
    page.size(400, 860)
    page.until("return document.querySelector('.pagesim-player').dataset.units === '400'")
    assert page.step == 4
    assert page.look("overlaps") == []


@pytest.mark.parametrize("width", [640, 760, 900, 1000, 1400])
def test_a_unit_of_the_picture_is_a_pixel_or_more(page: Page, width: int) -> None:
    """Else words of 11 units are too small to be read, as beside JupyterLab's side bar."""
    page.size(width, 800)
    page.show(scenes.scheduled(), 12)
    scale = page.js("""
        const svg = document.querySelector('.ps-stage');
        return svg.getBoundingClientRect().width / svg.viewBox.baseVal.width;""")
    assert scale > 0.95
    search = page.look("boxes", '.ps-search, [data-action^="search-"]')
    middles = [each["y"] for each in search]
    assert len(middles) == 3
    assert max(middles) - min(middles) < 3, "a search and its arrows stay together"


def test_a_number_on_a_block_stands_at_its_owners(page: Page) -> None:
    page.size(1400, 900)
    page.show(attention(), 2)
    numbers, words = page.look("boxes", ".over text.tiny"), page.look("boxes", ".ps-cell text")
    assert len(numbers) == 17
    for number in numbers:
        beside = [word for word in words if abs(word["y"] - number["y"]) < 6]
        owners = [word for word in beside if word["says"] == "s0"]
        ids = [word for word in beside if word["says"].isdecimal()]
        own = min(abs(number["left"] - owner["right"]) for owner in owners)
        other = min((abs(block["left"] - number["right"]) for block in ids), default=999)
        assert own < 12 and own < other, number


@pytest.mark.parametrize("name", ["figure 8", "small", "scheduled", "V1, many blocks"])
def test_the_way_of_a_word_crosses_no_other(page: Page, name: str) -> None:
    page.size(1400, 900)
    page.show(RUNS[name](), RUNS[name]().find(kind="write")[-2] + 1)
    assert page.look("crossedByWays") == []


def test_what_is_moved_stands_out_from_the_tables(page: Page) -> None:
    page.size(1400, 900)
    story = pagesim.Story(gpu_blocks=6, cpu_blocks=4, block_size=4)
    story.arrive(range(9)).swap_out()
    page.show(story.run, 1)
    assert (len(page.all(".ps-stage .wire")), len(page.all(".ps-stage .wire.dim"))) == (3, 0)
    page.go(2)
    assert len(page.all(".ps-stage .arrow")) == len(page.all(".ps-stage .wire.dim")) == 3
    assert page.look("arrowEnds") == [6, 7, 8], "each arrow ends in the block that it goes to"


def test_a_frame_that_grows_keeps_no_scrollbar(
    chromium: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a browser of its own: the other one hides all scrollbars."""
    shown = tuple(flag for flag in browser.FLAGS if flag != "--hide-scrollbars")
    monkeypatch.setattr(browser, "FLAGS", shown)
    html = scenes.small()._repr_html_()
    (tmp_path / "frame.html").write_text(f"<!DOCTYPE html>{html}<p>", encoding="utf-8")
    driver = browser.start(tmp_path / "profile")
    try:
        page = Page(driver, tmp_path, tmp_path)
        page.size(1400, 900)
        driver.get((tmp_path / "frame.html").as_uri())
        page.frame("iframe").ready()
        for step in (2, 4, 0, 7):
            page.click("predict")  # what is said grows and shrinks
            page.js("pagesimPlayer.goto(arguments[0])", step)
            page.until("return document.documentElement.scrollHeight <= innerHeight")
            assert page.js("return innerWidth - document.documentElement.clientWidth") == 0, step
    finally:
        driver.quit()
