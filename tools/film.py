"""The pictures that are taken of the player in a browser: python -m tools.film

Writes README's race (race.gif, and race_phone.gif for narrow screens) and the player of docs/cli.md
(player.png) into figures/gallery. Needs Chromium or Chrome; the runs are simulated here.
"""

import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pagesim
from pagesim import figures
from pagesim.figures.__main__ import GALLERY
from pagesim.figures.chromium import Chromium, installed
from pagesim.figures.film import WAY_OUT
from pagesim.figures.pictures import race_runs
from pagesim.files import replacing

MOST = 1_500_000
"""Bytes of a film: a reader waits for it before the first sentence."""
WIDTHS = {"race.gif": 830, "race_phone.gif": 400}
SCALES = (1.5, 1.25, 1.0)
"""Tried until the film is small enough."""
PLAYER = 1_000
AT = 4
"""The step of the player's picture, in which a shared block is copied."""


def written(folder: Path) -> Iterator[Path]:
    """Take all pictures; the paths, one after another."""
    regions, pages = race_runs().values()
    pair = pagesim.compare(regions, pages)
    for name, width in WIDTHS.items():
        for scale in SCALES:
            path = figures.film(pair, folder / name, width=width, scale=scale)
            if path.stat().st_size <= MOST:
                break
        else:
            sys.exit(f"{path} has {path.stat().st_size:,} bytes, and may have {MOST:,}")
        yield path
    yield _player(folder / "player.png")


def copied() -> pagesim.Timeline:
    """Two prompts, of which one has two outputs: the second copies the block that both end in."""
    story = pagesim.Story(gpu_blocks=12, block_size=4)
    first = story.arrive("Four score and seven years ago our fathers brought")
    other = story.arrive("It was a dark and stormy night")
    second = first.fork()
    second.write("forth")
    for writer, word in ((first, "to"), (other, "the"), (second, "on"), (first, "this")):
        writer.write(word)
    other.leave()
    first.leave()
    return story.run.annotate(title="One prompt, two outputs: the second one copies a block")


def _player(path: Path) -> Path:
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "run.html"
        copied().to_html(page)
        with Chromium(installed() or "", page, PLAYER, 1.5, "light") as browser:
            browser.run(f"pagesimPlayer.goto({AT})")
            height = browser.run("document.querySelector('.pagesim-player').scrollHeight")
            with replacing(path) as file:
                file.write(browser.png(PLAYER, height))
    return path


if __name__ == "__main__":
    if not installed():
        sys.exit(f"the pictures are taken in a browser, and none is here: {WAY_OUT}")
    for made in written(Path(sys.argv[1]) if len(sys.argv) > 1 else GALLERY):
        print(f"wrote {os.path.relpath(made)}, {made.stat().st_size:,} bytes")
