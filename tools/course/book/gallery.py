"""The gallery: every figure with its title and its words."""

import shutil
from collections.abc import Iterator
from html import escape
from pathlib import Path
from xml.etree import ElementTree

from tools.course import ROOT
from tools.course.book.page import Page

FIGURES = ROOT / "figures" / "gallery"
INDEX = "gallery/index.html"
_SVG = "{http://www.w3.org/2000/svg}"


def pages() -> list[Page]:
    """One page with all figures; `copy` brings the pictures."""
    parts = [
        "<h1>Gallery</h1><p>Every figure is drawn by <code>make figures</code> from runs of the simulator, and "
        "follows the colours of the page. A click shows one alone.</p>"
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
    _, _, width, height = root.attrib["viewBox"].split()
    return (
        f'<figure><a href="{name}"><img loading="lazy" src="{name}" width="{width}" height="{height}" '
        f'alt="{escape(words)}"></a><figcaption>{escape(title)}</figcaption></figure>'
    )


def copy(target: Path) -> Iterator[Path]:
    """Bring the pictures to the site."""
    for path in FIGURES.rglob("*.svg"):
        to = target / "gallery" / path.relative_to(FIGURES)
        to.parent.mkdir(parents=True, exist_ok=True)
        yield Path(shutil.copyfile(path, to))
