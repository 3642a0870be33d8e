"""Render the gallery: ``python -m figures`` writes figures/gallery/, the same bytes each time."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from figures import alt_text, save
from figures.block_layout import block_layout
from figures.scenes import NAMES, forked_and_swapped
from figures.snapshot import read_snapshot

GALLERY = Path(__file__).parent / "gallery"


def render(folder: Path) -> list[Path]:
    """Draw every picture of the gallery into `folder`; returns the paths written."""
    snapshot = read_snapshot(forked_and_swapped(), names=NAMES)
    figure = block_layout(
        snapshot, title="One cache: B was forked from A, C was swapped to the CPU"
    )
    return save(figure, folder / "block_layout", alt_text(snapshot))


def main() -> None:
    """Render into the folder named on the command line, figures/gallery by default."""
    parser = argparse.ArgumentParser(prog="python -m figures", description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=GALLERY)
    for path in render(parser.parse_args().folder):
        print(f"wrote {os.path.relpath(path)}")


if __name__ == "__main__":
    main()
