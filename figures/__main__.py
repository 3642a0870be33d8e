"""Render figures/gallery: ``python -m pagesim.figures``, always the same bytes."""

import argparse
import os
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from xml.etree import ElementTree

from pagesim.figures import save
from pagesim.figures.book import BOOK
from pagesim.figures.encode import image_bytes
from pagesim.figures.pictures import PICTURES, names
from pagesim.figures.slim import slim

GALLERY = Path(__file__).parent / "gallery"
SVG = "{http://www.w3.org/2000/svg}"


def render(folder: Path, only: Iterable[str] = ()) -> list[Path]:
    """Draw the pictures named in ``only``, or all, into a folder; returns the paths written.

    Those of the book become slim SVGs in its folder ``book``.
    """
    (folder / "book").mkdir(parents=True, exist_ok=True)
    paths = []
    for name in only or [*names(), *BOOK]:
        if name in BOOK:
            paths.append(folder / "book" / f"{name}.svg")
            paths[-1].write_bytes(slim(image_bytes(BOOK[name](), ".svg")))
            continue
        figure = PICTURES[name]()
        paths += [save(figure, folder / f"{name}{kind}") for kind in (".svg", ".png")]
    return paths


def words(path: Path) -> list[str]:
    """The text of an SVG, its description first; nothing for a PNG, whose pixels may differ."""
    if path.suffix != ".svg":
        return []
    tree = ElementTree.fromstring(path.read_bytes())
    return [found.text or "" for kind in ("desc", "text") for found in tree.iter(SVG + kind)]


def outdated(folder: Path, only: Iterable[str] = ()) -> list[str]:
    """Files of a rendered gallery that are missing or out of date.

    Words are compared, not bytes: another matplotlib may write its paths differently.
    """
    with tempfile.TemporaryDirectory() as fresh:
        drawn = {path.relative_to(fresh): path for path in render(Path(fresh), only)}
        return [
            name.as_posix()
            for name, path in drawn.items()
            if not (folder / name).exists() or words(folder / name) != words(path)
        ]


def main() -> None:
    """Render into the folder named on the command line, figures/gallery by default."""
    parser = argparse.ArgumentParser(prog="python -m pagesim.figures", description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=GALLERY)
    parser.add_argument("--only", nargs="+", choices=[*names(), *BOOK], default=[], metavar="NAME")
    parser.add_argument(
        "--check", action="store_true", help="write nothing; fail if the folder is out of date"
    )
    given = parser.parse_args()
    if given.check:
        if found := outdated(given.folder, given.only):
            sys.exit(
                f"{given.folder} is out of date: {', '.join(found)}; run python -m pagesim.figures"
            )
        print(f"{given.folder} is up to date")
        return
    for path in render(given.folder, given.only):
        print(f"wrote {os.path.relpath(path)}")
