"""Render the gallery: ``python -m figures`` writes figures/gallery/, the same bytes each time."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from xml.etree import ElementTree

from figures import save
from figures.pictures import PICTURES, names

GALLERY = Path(__file__).parent / "gallery"
SVG_TEXT = "{http://www.w3.org/2000/svg}text"


def render(folder: Path, only: Iterable[str] = ()) -> list[Path]:
    """Draw the pictures named in ``only``, or all, into a folder; returns the paths written."""
    paths = []
    for name in only or names():
        figure, alt = PICTURES[name]()
        paths += save(figure, folder / name, alt)
    return paths


def words(path: Path) -> list[str]:
    """What a picture or its alt text says; nothing for a PNG, whose pixels are the machine's."""
    if path.suffix == ".svg":
        texts = ElementTree.fromstring(path.read_bytes()).iter(SVG_TEXT)
        return [text.text or "" for text in texts]
    return [path.read_text(encoding="utf-8")] if path.suffix == ".txt" else []


def outdated(folder: Path, only: Iterable[str] = ()) -> list[str]:
    """Files of a rendered gallery that are missing, or do not say what is drawn today.

    Words are compared, not bytes: another matplotlib may write its paths differently.
    """
    with tempfile.TemporaryDirectory() as fresh:
        return [
            path.name
            for path in render(Path(fresh), only)
            if not (folder / path.name).exists() or words(folder / path.name) != words(path)
        ]


def main() -> None:
    """Render into the folder named on the command line, figures/gallery by default."""
    parser = argparse.ArgumentParser(prog="python -m figures", description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=GALLERY)
    parser.add_argument("--only", nargs="+", choices=names(), default=[], metavar="NAME")
    parser.add_argument(
        "--check", action="store_true", help="write nothing; fail if the folder is out of date"
    )
    given = parser.parse_args()
    if given.check:
        if found := outdated(given.folder, given.only):
            sys.exit(f"{given.folder} is out of date: {', '.join(found)}; run python -m figures")
        print(f"{given.folder} is up to date")
        return
    for path in render(given.folder, given.only):
        print(f"wrote {os.path.relpath(path)}")


if __name__ == "__main__":
    main()
