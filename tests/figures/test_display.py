"""Figures become the same bytes each time, and images that carry their alternative text."""

import base64
import inspect
import io
import os
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from xml.etree import ElementTree

import pytest

from pagesim import figures
from pagesim.errors import UsageError
from pagesim.figures import __main__ as gallery
from pagesim.figures import block_layout, kv_size, style
from pagesim.figures.__main__ import GALLERY, main, words
from pagesim.figures.display import image_bytes, img_tag
from pagesim.figures.sheet import blank
from pagesim.journal.state import State
from tests.figures.conftest import cache_of
from tests.kernels.children import ROOT, python

LONG = "PAGESIM_LONG" in os.environ
# Simulating and drawing the others takes some seconds: `make figures` looks at all of them.
QUICK = ["block_layout", "kv_size", "prefix_hits"] + ["occupancy_timeline"] * LONG
WORDED = ["batch_size", "memory_waste", "sharing"]
BY_BROWSER = {"player.png", "race.gif", "race_phone.gif"}  # make film takes them


@pytest.fixture(scope="module")
def cache() -> State:
    """A small one; two sequences share a block."""
    tables = {"A": ((0,), (1, 2)), "B": ((0, 1), (1, 2, 3))}
    return cache_of(2, 3, 2, tables, (2,), (3, 4))


def test_the_image_carries_its_alt_text_escaped(cache: State) -> None:
    figure = block_layout(cache)
    tag = img_tag(figure, 'blocks "3" & 7\n <shared>')
    assert ' alt="blocks &quot;3&quot; &amp; 7 &lt;shared&gt;" ' in tag
    (data,) = re.findall(r'src="data:image/svg\+xml;base64,([^"]+)"', tag)
    assert base64.b64decode(data) == image_bytes(figure, ".svg", 'blocks "3" & 7 <shared>')


def test_on_a_dark_page_the_neutral_colours_turn_and_the_palette_stays() -> None:
    figure, sheet = blank(360, 60)
    for place, color in enumerate((*style.COLORS, *style.DARK)):
        box = style.Box(30 * place, 0, 30, 60)
        sheet.rectangle(box, fill=color, edge=None)
        sheet.write(*box.center, str(place), color=style.ink_on(color))
    svg = image_bytes(figure, ".svg", "colours").decode()
    turned = dict(re.findall(r'\[fill="(#\w{6})"\] \{ fill: (#\w{6}) !important', svg))
    assert turned == {light.lower(): dark for light, dark in style.DARK.items()}
    body = svg.split("</style>")[1]
    fills = re.findall(r"fill: (#[0-9a-f]{6})", body)
    rectangles, inks = fills[:-16], fills[-16:]
    assert len(rectangles) == 1 + 16 and len(set(rectangles)) == 16  # the sheet is one of them
    for fill, ink in zip(rectangles[1:], inks, strict=True):
        for colors in ((fill, ink), (turned.get(fill, fill), turned.get(ink, ink))):
            assert style.contrast(*colors) > 4.5, (fill, ink, colors)
    assert style.contrast(style.DARK[style.MUTED], style.DARK[style.PAPER]) > 4.5


def test_the_image_follows_jupyterlabs_theme(cache: State) -> None:
    tag = img_tag(block_layout(cache), "three sequences")
    for light, scheme in (("true", "light"), ("false", "dark")):
        rule = f'[data-jp-theme-light="{light}"] .pagesim-figure {{ color-scheme: {scheme}; }}'
        assert rule in tag
    assert '<img class="pagesim-figure" ' in tag


def test_an_image_without_words_is_refused() -> None:
    with pytest.raises(ValueError, match="alt is empty"):
        img_tag(blank(9, 9)[0])
    assert blank(9, 9)[0]._repr_html_() is None


def test_show_displays_html_and_the_words(cache: State, monkeypatch: pytest.MonkeyPatch) -> None:
    display = pytest.importorskip("IPython.display", reason="notebooks need IPython")
    shown = []
    monkeypatch.setattr(display, "display", lambda data, **options: shown.append((data, options)))
    figure = block_layout(cache, title="A title.")
    figures.show(figure)
    figures.show(figure, alt="three sequences")
    (own, options), (given, _) = shown
    assert options == {"raw": True}
    assert own["text/plain"] == f"A title. {figures.alt_text(cache)}"
    assert own["text/html"] == figure._repr_html_()
    assert given["text/plain"] == "three sequences"
    assert 'alt="three sequences"' in given["text/html"]


def test_show_without_ipython_says_what_to_install(
    cache: State, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "IPython.display", None)
    with pytest.raises(ImportError, match=r"pip install .pagesim\[lab\]"):
        figures.show(block_layout(cache))


def test_a_file_of_any_kind_carries_the_words(tmp_path: Path) -> None:
    figure = kv_size(["opt-13b"], title="Keys & values: 2 × 40 heads")  # noqa: RUF001
    words, title = figures.alt_text(figure), "Keys & values: 2 × 40 heads"  # noqa: RUF001
    for kind in (".svg", ".png", ".pdf"):
        assert figures.save(figure, tmp_path / f"it{kind}") == tmp_path / f"it{kind}"
    tree = ElementTree.parse(tmp_path / "it.svg").getroot()
    assert tree.get("role") == "img"
    first = [(child.tag.split("}")[1], child.text) for child in tree][:2]
    assert first == [("title", title), ("desc", words)]
    image = pytest.importorskip("PIL.Image").open(tmp_path / "it.png")
    assert image.text == {"Title": title, "Description": words}
    pdf = (tmp_path / "it.pdf").read_bytes()
    for name, text in (("Title", title), ("Subject", words)):
        assert b"/" + name.encode() + b" " + in_pdf(text) in pdf
    for word in (b"CreationDate", b"Producer", b"Matplotlib"):
        assert word not in pdf


def in_pdf(text: str) -> bytes:
    """A string beyond ASCII as PDF writes it: UTF-16 with the marks of a string escaped."""
    raw = b"\xfe\xff" + text.encode("utf-16-be")
    for mark in (b"\\", b"(", b")"):
        raw = raw.replace(mark, b"\\" + mark)
    return b"(" + raw.replace(b"\n", b"\\n").replace(b"\r", b"\\r") + b")"


def test_a_name_of_another_kind_is_refused(tmp_path: Path) -> None:
    figure = kv_size(["opt-13b"])
    kinds = r"the name of a figure must end in \.svg, \.png or \.pdf"
    for name in ("it.jpg", "it"):
        with pytest.raises(UsageError, match=f"{name}: {kinds}"):
            figures.save(figure, tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_dark_is_what_an_svg_becomes_on_a_dark_page(cache: State) -> None:
    follows, light, dark = (block_layout(cache, theme=theme) for theme in (None, "light", "dark"))
    svg = {figure: image_bytes(figure, ".svg").decode() for figure in (follows, light, dark)}
    assert "prefers-color-scheme" in svg[follows]
    for fixed in (light, dark):
        assert "prefers-color-scheme" not in svg[fixed]
        assert "data-jp-theme" not in img_tag(fixed)
    was, now = (re.findall(r"#[0-9a-f]{6}\b", svg[figure]) for figure in (light, dark))
    assert now == [style.DARK.get(color.upper(), color).lower() for color in was]
    image = pytest.importorskip("PIL.Image")
    for figure, paper in ((follows, style.PAPER), (dark, style.DARK[style.PAPER])):
        corner = image.open(io.BytesIO(image_bytes(figure, ".png"))).convert("RGB").getpixel((1, 1))
        assert "#{:02X}{:02X}{:02X}".format(*corner) == paper
    with pytest.raises(UsageError, match="theme must be 'light', 'dark' or None, not 'black'"):
        block_layout(cache, theme="black")


def test_every_figure_is_a_function_that_knows_both_themes() -> None:
    names = set(figures.__all__) - {"Picture", "alt_text", "film", "save", "show"}
    modules = {path.stem for path in (ROOT / "figures" / "charts").glob("*.py")}
    assert names <= modules
    for name in names:
        signature = inspect.signature(getattr(figures, name))
        assert {"theme", "title"} <= signature.parameters.keys()
        assert "Error" in getattr(figures, name).__doc__ or name == "pool_map"


def files_of(names: Iterable[str]) -> set[str]:
    return {f"{name}.{kind}" for name in names for kind in ("png", "svg")}


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The quick pictures, drawn in this process."""
    folder = tmp_path_factory.mktemp("gallery")
    gallery.render(folder, QUICK)
    return folder


@pytest.mark.skipif(not LONG, reason="make nightly draws in another process")
def test_the_gallery_has_the_same_bytes_in_every_process(fresh: Path, tmp_path: Path) -> None:
    """What is drawn from files and from simulations, with another order of all sets."""
    done = python("-m", "pagesim.figures", tmp_path, "--only", *QUICK, PYTHONHASHSEED="2")
    assert done.returncode == 0, done.stderr
    first, again = (
        {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
        for folder in (fresh, tmp_path)
    )
    assert again == first


def test_the_committed_gallery_is_the_one_that_is_drawn(fresh: Path) -> None:
    assert {path.name for path in fresh.iterdir() if path.is_file()} == files_of(QUICK)
    there = {path.name for path in GALLERY.iterdir() if path.is_file()} - BY_BROWSER
    assert there == files_of(gallery.names()), "python -m pagesim.figures writes the gallery"
    for path in fresh.glob("*.*"):
        assert words(GALLERY / path.name) == words(path)


@pytest.mark.parametrize("name", WORDED)
def test_every_number_of_a_slow_picture_is_said_in_its_words(name: str) -> None:
    sentence, *shown = words(GALLERY / f"{name}.svg")
    numbers = {word for word in shown if re.fullmatch(r"\d+\.\d", word)}
    assert len(numbers) > 5
    assert [number for number in numbers if number not in sentence] == []


@style.picture
def small(word: str) -> tuple[figures.Picture, str]:
    """A sheet with a word."""
    figure, sheet = blank(90, 30)
    sheet.write(45, 15, word)
    return figure, "a word"


def test_check_finds_what_is_out_of_date(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(gallery.PICTURES, "kv_size", lambda: small("28 KiB"))

    def draw(*arguments: str) -> None:
        command = ["figures", str(tmp_path), "--only", "kv_size", *arguments]
        monkeypatch.setattr(sys, "argv", command)
        main()

    with pytest.raises(SystemExit, match=r"out of date: kv_size\.svg, kv_size\.png"):
        draw("--check")
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]
    draw()
    draw("--check")
    assert "is up to date" in capsys.readouterr().out
    monkeypatch.setitem(gallery.PICTURES, "kv_size", lambda: small("29 KiB"))
    with pytest.raises(SystemExit, match=r"date: kv_size\.svg; run python -m pagesim.figures"):
        draw("--check")
