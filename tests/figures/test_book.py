"""The book's pictures: legible on both pages, the same bytes each time, and what the code says."""

import os
import re
from functools import lru_cache
from xml.etree import ElementTree

import pytest
from matplotlib.colors import to_hex, to_rgba
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.text import Text
from matplotlib.transforms import Bbox

from pagesim.figures import style
from pagesim.figures.__main__ import GALLERY, words
from pagesim.figures.book import BOOK
from pagesim.figures.book.batching import ANSWERS, DECODE, PREFILL, continuous, static, steps_of
from pagesim.figures.book.five_kinds import kinds
from pagesim.figures.book.kit import LOOK
from pagesim.figures.book.server import HERE, here, server
from pagesim.figures.book.two_pools import moments
from pagesim.figures.encode import image_bytes
from pagesim.figures.slim import slim
from pagesim.figures.style import Picture
from tests.figures.charts import fill, overlapping, places, rectangles, shown

LONG = "PAGESIM_LONG" in os.environ  # make nightly
CALLED = sorted(BOOK)


@pytest.fixture(scope="module", params=CALLED)
def drawn(request: pytest.FixtureRequest) -> tuple[str, Picture]:
    """Each picture, with its name: drawn once, and only read."""
    return request.param, BOOK[request.param]()


@lru_cache(maxsize=2)
def grounds(figure: Figure) -> list[tuple[Text, Bbox, Patch | None, Bbox]]:
    """Each text, what was painted last under its middle (None: the sheet), and both places."""
    patches = sorted(figure.axes[0].patches, key=lambda patch: patch.get_zorder())
    painted = [patch for patch in patches if to_rgba(patch.get_facecolor())[3] == 1]
    opaque = [(patch.get_window_extent(), patch) for patch in painted]
    found = []
    for text, box in places(figure):
        x, y = (box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2
        under = [each for each in opaque if each[0].contains(x, y)]
        extent, patch = under[-1] if under else (figure.bbox, None)
        found.append((text, box, patch, extent))
    return found


def test_every_text_is_large_enough_and_apart_from_the_others(drawn: tuple[str, Picture]) -> None:
    _, figure = drawn
    assert overlapping(figure) == []
    pixel = figure.get_size_inches()[0] * 72 / 400  # in points, in a narrow column
    assert [t.get_text() for t in figure.axes[0].texts if t.get_fontsize() < 7.5 * pixel] == []
    for text, box, _, within in grounds(figure):
        # Nothing sticks out of what it is written in.
        assert within.x0 - 1 <= box.x0 and box.x1 <= within.x1 + 1, text.get_text()


def test_every_text_is_legible_on_a_light_and_on_a_dark_page(drawn: tuple[str, Picture]) -> None:
    _, figure = drawn
    for text, _, ground, _ in grounds(figure):
        ink = to_hex(text.get_color()).upper()
        paper = to_hex(ground.get_facecolor()).upper() if ground is not None else style.PAPER
        for dark in ({}, style.DARK):
            seen = style.contrast(dark.get(ink, ink), dark.get(paper, paper))
            assert seen >= 4.5, (text.get_text(), ink, paper)


@pytest.mark.parametrize("name", CALLED if LONG else CALLED[::9])
def test_a_picture_has_the_same_bytes_each_time(name: str) -> None:
    first, again = (image_bytes(BOOK[name](), ".svg") for _ in range(2))
    assert slim(first) == slim(again)


def test_a_picture_is_the_one_in_the_gallery(drawn: tuple[str, Picture]) -> None:
    name, figure = drawn
    kept = GALLERY / "book" / f"{name}.svg"
    assert words(kept) == [figure.alt, *shown(figure)]
    assert {path.stem for path in kept.parent.iterdir()} == set(BOOK)


def test_its_words_begin_with_its_title_and_fit_into_markdown(drawn: tuple[str, Picture]) -> None:
    _, figure = drawn
    assert figure.alt.startswith(f"{figure.heading}. ") and figure.alt.endswith(".")
    assert len(figure.alt.split()) > 10 and len(figure.alt) < 600
    assert re.findall(r"[\[\]<>*`\n]", figure.alt) == []


@pytest.mark.parametrize("name", ["fused", "batching"])  # the second one has a hatch
def test_slim_keeps_every_shape_and_both_looks(name: str) -> None:
    figure = BOOK[name]()
    full = image_bytes(figure, ".svg")
    small = slim(full)
    assert len(small) < len(full) / 2
    trees = [ElementTree.fromstring(svg) for svg in (full, small)]
    for tag in ("text", "path"):
        assert len({len(tree.findall(f".//{{*}}{tag}")) for tree in trees}) == 1
    light, dark = small.decode().split("@media (prefers-color-scheme: dark)")
    for color, turned in style.DARK.items():
        assert (color.lower() in light) == (turned in dark)
    assert re.findall(r'(?:fill|stroke)="#', small.decode()) == []
    used = set(re.findall(r'class="(\w+)"', small.decode()))
    assert used == set(re.findall(r"\.(c\d+) \{", light))


@pytest.mark.parametrize("part", HERE if LONG else [*HERE][::3])
def test_a_map_lights_one_part(part: str) -> None:
    for figure in (here(part=part), server(here=part)):
        lit = [box for box in rectangles(figure) if fill(box) == LOOK]
        assert len(lit) == 1
        inside = [text.get_text() for text, _, ground, _ in grounds(figure) if ground is lit[0]]
        assert inside[0] == part
    assert part in here(part=part).alt


def test_batches_compute_each_token_once_and_never_have_too_many_seats() -> None:
    for lanes, steps in ((static(), 17), (continuous(), 14)):
        assert steps_of(lanes) == steps
        for request, lane in lanes.items():
            computed = [lane[step] for step in sorted(lane) if lane[step] in (PREFILL, DECODE)]
            assert computed == [PREFILL] + [DECODE] * (ANSWERS[request] - 1)
        for step in range(steps):
            assert sum(step in lane for lane in lanes.values()) <= 3


def test_the_strip_has_every_kind_and_a_swap_ends_in_other_places() -> None:
    found, rows = kinds()
    assert set(found) == set(style.PARTS) - {"cached"}
    assert sum(map(len, rows.values())) == len(found) - found.count("free")
    (before, away, after), (went, came) = moments()
    assert [index for index, _ in went] == before["s0"]
    assert [6 + index for _, index in went] == away["s0"] == [6 + index for index, _ in came]
    assert [index for _, index in came] == after["s0"] != before["s0"]
