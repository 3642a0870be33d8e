"""Writes notebooks/exercises from the registry, or says which of them are stale.

python -m tools.course.exercises --check
python -m tools.course.exercises --write
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from pagesim.exercises import notebooks
from tools.course import NOTEBOOKS

FOLDER = NOTEBOOKS / "exercises"


def stale(folder: Path = FOLDER) -> list[str]:
    """What differs from the registry: notebooks with another text, missing ones, strange ones."""
    wanted = {notebooks.file_name(c): notebooks.notebook(c) for c in notebooks.chapters()}
    there = {path.name: path.read_text(encoding="utf-8") for path in folder.glob("*.ipynb")}
    return sorted(name for name in {*wanted, *there} if wanted.get(name) != there.get(name))


def main(arguments: Sequence[str] | None = None) -> int:
    """Return the exit code: 0, or 1 if a notebook is stale."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--write", action="store_true", help="write what is stale")
    parser.add_argument("--check", action="store_true", help="only say it (the default)")
    options = parser.parse_args(arguments)
    found = stale()
    for name in found:
        print(f"{name}: {'written' if options.write else 'stale'}")
    if not options.write:
        return 1 if found else 0
    notebooks.write(FOLDER, notebooks.chapters(), force=True)
    for name in set(found) - set(map(notebooks.file_name, notebooks.chapters())):
        (FOLDER / name).unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main())
