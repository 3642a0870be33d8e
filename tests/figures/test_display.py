"""Figures become the same bytes each time, and images that carry their alternative text."""

from __future__ import annotations

import base64
import os
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

import figures
from figures.block_layout import block_layout
from figures.display import img_tag, svg_bytes

ROOT = Path(__file__).resolve().parents[2]
GALLERY = ROOT / "figures" / "gallery"


def words(svg: bytes) -> list[str]:
    texts = ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")
    return [text.text or "" for text in texts]


def test_the_image_carries_its_alt_text_escaped(cache: figures.Snapshot) -> None:
    figure = block_layout(cache)
    tag = img_tag(figure, 'blocks "3" & 7\n <shared>')
    assert tag.startswith('<img alt="blocks &quot;3&quot; &amp; 7 &lt;shared&gt;" ')
    data = re.search(r'src="data:image/svg\+xml;base64,([^"]+)"', tag)
    assert data and base64.b64decode(data[1]) == svg_bytes(figure)


def test_an_image_without_words_is_refused(cache: figures.Snapshot) -> None:
    with pytest.raises(ValueError, match="alt is empty"):
        img_tag(block_layout(cache), "  ")


def test_show_displays_html_and_the_words(
    cache: figures.Snapshot, monkeypatch: pytest.MonkeyPatch
) -> None:
    display = pytest.importorskip("IPython.display", reason="notebooks need IPython")
    shown = []
    monkeypatch.setattr(display, "display", lambda data, **options: shown.append((data, options)))
    figures.show(block_layout(cache), alt="three sequences")
    ((data, options),) = shown
    assert options == {"raw": True}
    assert data["text/plain"] == "three sequences"
    assert 'alt="three sequences"' in data["text/html"]


def test_show_without_ipython_says_what_to_install(
    cache: figures.Snapshot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "IPython.display", None)
    with pytest.raises(ImportError, match=r"pip install .pagesim\[lab\]"):
        figures.show(block_layout(cache), alt="three sequences")


def test_the_svg_names_no_date_and_no_version(cache: figures.Snapshot) -> None:
    svg = svg_bytes(block_layout(cache))
    assert b"dc:date" not in svg
    assert b"Matplotlib" not in svg


def render(folder: Path, seed: str) -> dict[str, bytes]:
    command = [sys.executable, "-m", "figures", str(folder)]
    env = os.environ | {"PYTHONHASHSEED": seed}
    done = subprocess.run(
        command, cwd=ROOT, env=env, check=True, capture_output=True, text=True, timeout=120
    )
    files = {path.name: path.read_bytes() for path in sorted(folder.iterdir())}
    assert len(done.stdout.splitlines()) == len(files)
    return files


def test_the_gallery_has_the_same_bytes_in_every_process(tmp_path: Path) -> None:
    first = render(tmp_path / "one", "1")
    pictures = ("block_layout", "thread_map")
    assert sorted(first) == [
        f"{name}.{kind}" for name in pictures for kind in ("png", "svg", "txt")
    ]
    assert render(tmp_path / "two", "2") == first


def test_the_committed_gallery_is_the_one_that_is_drawn(tmp_path: Path) -> None:
    fresh = render(tmp_path, "0")
    names = {path.name for path in GALLERY.iterdir()}
    by_browser = {"player.png"}  # the player's picture, in README: no part of what is drawn here
    assert names - by_browser == set(fresh), "python -m figures writes the gallery"
    # The words, not the bytes: another matplotlib may write its paths differently.
    for name, data in fresh.items():
        committed = (GALLERY / name).read_bytes()
        if name.endswith(".svg"):
            assert words(committed) == words(data)
        elif name.endswith(".txt"):
            assert committed == data
