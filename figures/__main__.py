"""Render the gallery: ``python -m figures`` writes figures/gallery/, the same bytes each time."""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path

from figures import alt_text, save
from figures.block_layout import block_layout
from figures.roofline import roofline, roofline_alt_text
from figures.scenes import NAMES, forked_and_swapped
from figures.snapshot import read_snapshot
from figures.thread_map import thread_map, thread_map_alt

GALLERY = Path(__file__).parent / "gallery"
DATA = Path(__file__).parent / "data"


def render(folder: Path) -> list[Path]:
    """Draw every picture of the gallery into `folder`; returns the paths written."""
    snapshot = read_snapshot(forked_and_swapped(), names=NAMES)
    figure = block_layout(
        snapshot, title="One cache: B was forked from A, C was swapped to the CPU"
    )
    paths = save(figure, folder / "block_layout", alt_text(snapshot))
    # Kernels are not for figures to import: `python -m kernels.simt --json` wrote this.
    threads = json.loads((DATA / "thread_map.json").read_text(encoding="utf-8"))
    figure = thread_map(threads, title="Which thread reads what in vLLM's attention kernel")
    paths += save(figure, folder / "thread_map", thread_map_alt(threads))
    # `make bench` writes this where there is a GPU.
    if (DATA / "roofline.json").exists():
        report = json.loads((DATA / "roofline.json").read_text(encoding="utf-8"))
        paths += save(roofline(report), folder / "roofline", roofline_alt_text(report))
    return paths


def main() -> None:
    """Render into the folder named on the command line, figures/gallery by default."""
    parser = argparse.ArgumentParser(prog="python -m figures", description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=GALLERY)
    for path in render(parser.parse_args().folder):
        print(f"wrote {os.path.relpath(path)}")


if __name__ == "__main__":
    main()
