"""The pictures of a film, taken of the player's own page in Chromium: nothing is drawn twice.

What moves on the page is stopped at chosen times, so the same run gives the same pictures.
"""

import tempfile
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pagesim.figures.chromium import Chromium
from pagesim.timeline import Timeline
from pagesim.timeline.pair import Compared

FRAME = 100
"""Milliseconds of a picture while something moves."""
SLOWER, PART = 2.0, 0.6
"""Motion is shown so many times slower than on the page, and takes at most this part of a step."""
LAST = 3
"""So many times as long the end stays."""
HIDDEN = (
    ".ps-bar, .ps-lines, .ps-differences, .ps-about, .ps-course, .ps-share, .ps-keys, .ps-foot"
    " { display: none !important } .ps-race .ps-course { display: block !important }"
    " html { overflow: hidden } .pagesim-pair, .pagesim-player { padding: 12px !important }"
)
"""What a reader can press, and what changes only for one who does."""
HIDE = """(() => { const style = new CSSStyleSheet(); style.replaceSync(%r);
document.adoptedStyleSheets = [style]; })()"""
STEP = """(() => { pagesimPlayer.goto(%d); return pagesimPlayer.beats.length; })()"""
BEAT = """(() => { pagesimPlayer.beat(%d);
const end = one => one.effect.getComputedTiming().endTime;
window.moving = document.getAnimations().filter(one => isFinite(end(one)));
moving.forEach(one => one.pause());
return moving.length ? 320 : 0; })()"""
"""A beat is held, and its animations with it. After a click it would last so many milliseconds."""
LOAD = """(() => { pagesimPlayer.goto(%d); document.querySelector('[data-action="next"]').click();
const end = one => one.effect.getComputedTiming().endTime;
window.moving = document.getAnimations().filter(one => isFinite(end(one)));
moving.forEach(one => one.pause());
return Math.max(0, ...moving.map(end)); })()"""
"""What moves without beats: the bars of a kernel's programs."""
AT = """moving.forEach(one => {
one.currentTime = %f * one.effect.getComputedTiming().endTime })"""
HEIGHT = "Math.ceil(document.querySelector('.pagesim-pair, .pagesim-player').scrollHeight)"

Shots = Iterator[tuple[bytes, int]]
"""Pictures, with the milliseconds for which each is seen."""


@dataclass(frozen=True, slots=True)
class Camera:
    """How a film is taken."""

    path: str
    """Where Chromium is."""
    width: int
    scale: float
    theme: str

    def steps(self, run: Timeline, steps: Sequence[int], seconds: float) -> Shots:
        """Each step for some seconds, and how the one before it became this one."""
        with tempfile.TemporaryDirectory() as folder, self._opened(run, folder) as page:
            before = None
            for place, step in enumerate(steps):
                rest = 1000 * seconds * (LAST if place == len(steps) - 1 else 1)
                if before is not None and step == before + 1:
                    moves = [BEAT % beat for beat in range(page.run(STEP % step))]
                    moves = moves or [LOAD % before]
                    longest = PART * 1000 * seconds / len(moves)
                    for move in moves:
                        lasts = min(SLOWER * page.run(move), longest)
                        for at in range(0, int(lasts), FRAME):
                            page.run(AT % (at / lasts))
                            yield self._shot(page), FRAME
                            rest -= FRAME
                page.run(f"pagesimPlayer.goto({step})")
                yield self._shot(page), max(round(rest), FRAME)
                before = step

    def race(self, pair: Compared, seconds: float) -> Shots:
        """Both runs by one clock, or by their steps, for some seconds; the end stays for 3 more."""
        with tempfile.TemporaryDirectory() as folder, self._opened(pair, folder) as page:
            clocks = [run.notes.clock for run in pair.runs]
            last = page.run("+document.querySelector('.pagesim-pair .ps-slider').max")
            ends = sorted({time for clock in clocks for time in clock}) if all(clocks) else []
            frames = max(round(1000 * seconds / FRAME), 1)
            for frame in range(frames):
                part = frame / frames
                step = bisect_right(ends, part * ends[-1]) if ends else int(part * last)
                page.run(f"pagesimPair.goto({step})")
                yield self._shot(page), FRAME
            page.run(f"pagesimPair.goto({last})")
            yield self._shot(page), 1000 * LAST

    def _opened(self, shown: Timeline | Compared, folder: str) -> Chromium:
        shown.to_html(Path(folder) / "film.html")
        page = Chromium(self.path, Path(folder) / "film.html", self.width, self.scale, self.theme)
        page.run(HIDE % HIDDEN)
        return page

    def _shot(self, page: Chromium) -> bytes:
        return page.png(self.width, page.run(HEIGHT))
