"""A run, or two, as a moving picture: a GIF for a slide or a chat, taken of the player."""

from collections.abc import Iterable
from functools import partial
from os import PathLike
from pathlib import Path
from textwrap import shorten
from typing import cast
from warnings import warn

from pagesim.checks import check_int
from pagesim.errors import UsageError
from pagesim.figures.charts.block_layout import block_layout
from pagesim.figures.chromium import installed
from pagesim.figures.encode import image_bytes
from pagesim.figures.gif import gif
from pagesim.figures.shots import LAST, Camera, Shots
from pagesim.figures.sources import is_path, read
from pagesim.files import replacing
from pagesim.simulation import Simulation
from pagesim.timeline import Timeline
from pagesim.timeline.pair import Compared

MOST = 400
"""Steps of a film: beyond that a GIF is a burden, and the player shows it better."""
LINE = 96
"""Letters of a caption in a line."""
WAY_OUT = "install Chromium or Chrome (on Debian: make e2e-setup)"

Filmed = Timeline | Simulation | Compared | str | PathLike[str]


def film(
    run: Filmed,
    path: str | PathLike[str],
    *,
    steps: Iterable[int] | None = None,
    seconds: float | None = None,
    width: int = 830,
    scale: float = 1.0,
    theme: str = "light",
) -> Path:
    """Write a run to a .gif, step by step with the player's motion, or two runs side by side.

    `run` is a Timeline, its file, or a simulation with record=True: then `steps` are the numbers of
    the steps to show (by default all), each is seen for `seconds` (by default 1), and the last
    three times as long. Or `run` is a `pagesim.compare`: then both go by one clock, in `seconds`
    (by default 9), and their end is seen for 3 more. The page is `width` CSS
    pixels wide, and the picture `scale` times as many.

    A film is taken of the player's page in Chromium or Chrome. Where neither is installed, a run
    becomes a film of `block_layout` pictures without motion, and a warning says so; two runs cannot
    be filmed. Returns the path. UsageError for two runs without a browser, another suffix, a step
    outside the run, more than 400 steps, or a number out of range.
    """
    target, source = Path(path), _source(run)
    if target.suffix.lower() != ".gif":
        raise UsageError(f"{target}: the name of a film must end in .gif")
    _check_look(width, scale, theme)
    browser = installed()
    camera = Camera(browser or "", width, scale, theme)
    if isinstance(source, Compared):
        if not browser:
            raise UsageError(f"two runs are filmed in a browser, and none is here: {WAY_OUT}")
        if steps is not None:
            raise UsageError("steps are those of one run: two go by their clocks")
        shots = camera.race(source, _lasting(seconds, 9.0))
    else:
        if not browser:
            warn(f"no browser is here, so nothing moves in {target}: {WAY_OUT}", stacklevel=2)
        draw = camera.steps if browser else partial(_drawn, theme=theme)
        shots = draw(source, _wanted(steps, len(source)), _lasting(seconds, 1.0))
    data = gif(shots)
    with replacing(target) as file:
        file.write(data)
    return target


def _check_look(width: int, scale: float, theme: str) -> None:
    if theme not in ("light", "dark"):
        raise UsageError(f"theme must be light or dark, not {theme!r}")
    if not 200 <= check_int("width", width, 1) <= 2_000 or not 0.5 <= scale <= 4:
        raise UsageError(
            f"a film is 200 to 2,000 wide, at a scale of 0.5 to 4, not {width} at {scale}"
        )


def _source(run: Filmed) -> Timeline | Compared:
    source = read(run) if is_path(run) else run
    found = getattr(source, "timeline", source)
    if not isinstance(found, Timeline | Compared):
        raise TypeError(
            f"a film is made of a Timeline, its file, a recorded run or pagesim.compare(a, b), "
            f"not {run!r:.80}"
        )
    return found


def _lasting(seconds: float | None, usual: float) -> float:
    if seconds is None:
        return usual
    if not 0.02 <= seconds <= 60:
        raise UsageError(f"seconds must be between 0.02 and 60, not {seconds!r}")
    return seconds


def _wanted(steps: Iterable[int] | None, last: int) -> list[int]:
    steps = list(range(last + 1) if steps is None else steps)
    if not steps or len(steps) > MOST:
        raise UsageError(f"a film has 1 to {MOST} steps, not {len(steps)}: choose some with steps=")
    for step in steps:
        if not 0 <= check_int("steps", step, 0) <= last:
            raise UsageError(f"step {step} is not in this run: it has the steps 0 to {last}")
    return steps


def _drawn(run: Timeline, steps: list[int], seconds: float, theme: str) -> Shots:
    """Without a browser: a `block_layout` of each step, with its blocks framed."""
    for place, step in enumerate(steps):
        event = run[step - 1] if step else None
        effects = event.effects if event else ()
        touched = {block for effect in effects for block in (effect.block, effect.to)} - {None}
        caption = f"{step}. {event.caption}" if event else "0. The beginning."
        title = shorten(caption, LINE, placeholder="…", break_on_hyphens=False)
        framed = cast("set[int]", touched)
        figure = block_layout(run, step=step, title=title, highlight=framed, theme=theme)
        times = LAST if place == len(steps) - 1 else 1
        yield image_bytes(figure, ".png", None), round(1000 * seconds * times)
