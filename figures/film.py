"""A run as a moving picture: a GIF for a slide or a chat, one frame per step."""

from collections.abc import Iterable
from io import BytesIO
from os import PathLike
from pathlib import Path
from textwrap import shorten
from typing import Unpack

from matplotlib.figure import Figure

from pagesim.checks import check_int
from pagesim.errors import UsageError
from pagesim.figures.cache_view import Reading
from pagesim.figures.charts.block_layout import block_layout
from pagesim.figures.encode import image_bytes
from pagesim.figures.sources import is_path, read
from pagesim.files import replacing
from pagesim.simulation import Simulation
from pagesim.timeline import Timeline

MOST = 400
"""Frames of a film: beyond that a GIF is a burden, and the player shows it better."""
LINE = 96
"""Letters of a caption in a line."""


def film(
    run: Timeline | Simulation | str | PathLike[str],
    path: str | PathLike[str],
    *,
    steps: Iterable[int] | None = None,
    seconds: float = 1.0,
    theme: str = "light",
    **reading: Unpack[Reading],
) -> Path:
    """Write steps of a run to a .gif: one `block_layout` per step, with its blocks framed.

    `run` is a Timeline, its file, or a simulation with record=True. `steps` are the numbers of the
    steps to draw (by default all, from the beginning). A frame lasts `seconds`, and the last frame
    three times as long. Returns the path. Needs Pillow, which Matplotlib installs. UsageError for
    another suffix, a step outside the run, more than 400 frames, or a time out of range.
    """
    from PIL import Image

    target, timeline = Path(path), _timeline(run)
    wanted = list(range(len(timeline) + 1) if steps is None else steps)
    _check(target, wanted, seconds, len(timeline))
    frames = [_frame(timeline, step, theme, reading) for step in wanted]
    images = [Image.open(BytesIO(frame)).convert("RGB") for frame in frames]
    size = max(i.width for i in images), max(i.height for i in images)
    sheets = []
    for image in images:
        sheets.append(Image.new("RGB", size, image.getpixel((0, 0))))
        sheets[-1].paste(image, (0, 0))
    third = size[0] // 3, size[1] // 3
    small = [sheet.resize(third, Image.Resampling.NEAREST) for sheet in sheets]
    colors = Image.new("RGB", (small[0].width, sum(sheet.height for sheet in small)))
    for index, sheet in enumerate(small):
        colors.paste(sheet, (0, index * sheet.height))
    palette = colors.quantize(256)  # one for all frames: a colour that comes late is in it
    first, *rest = [sheet.quantize(palette=palette, dither=Image.Dither.NONE) for sheet in sheets]
    lasting, out = [round(1000 * seconds)] * len(rest) + [round(3000 * seconds)], BytesIO()
    first.save(out, "GIF", save_all=True, append_images=rest, duration=lasting, loop=0)
    with replacing(target) as file:
        file.write(out.getvalue())
    return target


def _timeline(run: Timeline | Simulation | str | PathLike[str]) -> Timeline:
    source = read(run) if is_path(run) else run
    found = getattr(source, "timeline", source)
    if not isinstance(found, Timeline):
        raise TypeError(
            f"a film is made of a Timeline, its file or a recorded run, not {run!r:.80}"
        )
    return found


def _check(target: Path, steps: list[int], seconds: float, last: int) -> None:
    if target.suffix.lower() != ".gif":
        raise UsageError(f"{target}: the name of a film must end in .gif")
    if not steps or len(steps) > MOST:
        raise UsageError(
            f"a film has 1 to {MOST} frames, not {len(steps)}: choose some with steps="
        )
    for step in steps:
        if not 0 <= check_int("steps", step, 0) <= last:
            raise UsageError(f"step {step} is not in this run: it has the steps 0 to {last}")
    if not 0.02 <= seconds <= 60:
        raise UsageError(f"seconds must be between 0.02 and 60, not {seconds!r}")


def _frame(run: Timeline, step: int, theme: str, reading: Reading) -> bytes:
    event = run[step - 1] if step else None
    touched = {b for e in event.effects for b in (e.block, e.to) if b is not None} if event else ()
    caption = f"{step}. {event.caption}" if event else "0. The beginning."
    title = shorten(caption, LINE, placeholder="…", break_on_hyphens=False)
    figure: Figure = block_layout(
        run, step=step, title=title, highlight=touched, theme=theme, **reading
    )
    return image_bytes(figure, ".png", None)
