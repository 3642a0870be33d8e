"""The gallery: every figure with its title and its words."""

import shutil
from collections.abc import Iterator
from html import escape
from pathlib import Path
from xml.etree import ElementTree

from tools.course.book.page import Page
from tools.course.book.pictures import FIGURES

INDEX = "gallery/index.html"
PHOTOGRAPH = "player.png"
"""The player, which a guide shows."""
_SVG = "{http://www.w3.org/2000/svg}"


def pages() -> list[Page]:
    """One page with all figures; `copy` brings the pictures."""
    parts = [
        "<h1>Gallery</h1><p><code>make figures</code> draws every figure from runs of the "
        "simulator. A click on a title shows one alone.</p>"
    ]
    parts += [_figure(path) for path in sorted(FIGURES.glob("*.svg"))]
    parts.append("<h2>Pictures of the book</h2>")
    parts += [_figure(path) for path in sorted((FIGURES / "book").glob("*.svg"))]
    return [Page(INDEX, "Gallery", f'<div class="gallery">{"".join(parts)}</div>', "", INDEX)]


def _figure(path: Path) -> str:
    root = ElementTree.parse(path).getroot()
    title = root.findtext(f"{_SVG}title") or path.stem.replace("_", " ")
    words = root.findtext(f"{_SVG}desc") or title
    name = path.relative_to(FIGURES).as_posix()
    return (
        f'<figure><img src="{name}" alt="{escape(words)}">'
        f'<figcaption><a href="{name}">{escape(title)}</a></figcaption></figure>'
    )


def copy(target: Path) -> Iterator[Path]:
    """Bring the pictures to the site."""
    for path in (*FIGURES.rglob("*.svg"), FIGURES / PHOTOGRAPH):
        to = target / "gallery" / path.relative_to(FIGURES)
        to.parent.mkdir(parents=True, exist_ok=True)
        yield Path(shutil.copyfile(path, to))
