"""Blocks that move between GPU and CPU: an arrow for each step that moves some.

An arrow is as wide as its blocks are many. Where exactly the blocks that went out come back, a line
above the CPU joins the two: the request was away for so long.
"""

from collections.abc import Iterable, Mapping, Sequence

from matplotlib.path import Path

from pagesim.errors import UsageError
from pagesim.figures import page, style
from pagesim.figures.page import Scale
from pagesim.figures.sheet import Sheet
from pagesim.figures.sources import cannot
from pagesim.figures.style import Picture
from pagesim.studies.second_tier import Move, Played

NAME, AWAY, GAP, LEVEL = 20.0, 30.0, 44.0, 2.4
PER_BLOCK, LEAST = 0.02, 0.9
"""Points of an arrow's width."""

OUT, IN = style.OKABE_ITO[0], style.OKABE_ITO[1]

Runs = Mapping[str, Played]


@style.picture
def copies(
    source: Runs, *, title: str | None = None, notes: Iterable[str] = ()
) -> tuple[Picture, str]:
    """Draw when blocks are copied to the CPU and back, a lane for each run.

    ``source`` has runs of `studies.second_tier` by name, up to five. All lanes have the same
    steps. Errors: see `figures`.
    """
    _check(source)
    subtitle = "The steps that move blocks, or begin to copy them; the wider an arrow, the more"
    away = {name: _pairs(run.moves) for name, run in source.items()}
    heights = {name: NAME + (AWAY if away[name] else 6) + GAP + 14 for name in source}
    figure, sheet, y = page.sheet(
        title or "When are blocks copied?", subtitle, sum(heights.values()) + 26, list(notes)
    )
    last = max(run.steps for run in source.values())
    across = Scale(0, last, page.MARGIN + 30, page.WIDTH - page.MARGIN - 8)
    words = []
    for name, run in source.items():
        out, back = run.blocks(out=True), run.blocks(out=False)
        said = f"{out:,} blocks out, {back:,} back in {run.steps:,} steps"
        sheet.write(page.MARGIN, y + 8, name, ha="left", bold=True)
        sheet.write(page.WIDTH - page.MARGIN, y + 8, said, ha="right", color=style.MUTED)
        y += heights[name]
        _lane(sheet, run, away[name], across, y - 14)
        words.append(f"{name}: {said}.")
    for step in page.ticks(last):
        sheet.line([across(step)] * 2, [y, y + 3])
        sheet.write(across(step), y + 10, f"{step:,.0f}")
    sheet.line([across(0), across(last)], [y, y])
    sheet.write(page.MARGIN, y + 10, "step", ha="left", color=style.MUTED)
    return figure, " ".join([f"{subtitle}.", *words, *notes])


def _lane(
    sheet: Sheet, run: Played, away: Sequence[tuple[int, int]], across: Scale, gpu: float
) -> None:
    cpu = gpu - GAP
    for name, rail in (("CPU", cpu), ("GPU", gpu)):
        sheet.line([across(0), across(run.steps)], [rail, rail], color=page.GRID, behind=True)
        sheet.write(page.MARGIN, rail, name, ha="left", color=style.MUTED)
    free: list[int] = []
    for left, back in away:
        level = next((i for i, busy in enumerate(free) if busy < left), len(free))
        free[level : level + 1] = [back]
        height = cpu - 5 - LEVEL * level
        xs = [across(left), across(left), across(back), across(back)]
        sheet.line(xs, [cpu, height, height, cpu], color=style.MUTED, width=0.7)
    for (step, is_out), blocks in _by_step(run.moves).items():
        start, tip, way = (gpu, cpu, -1) if is_out else (cpu, gpu, 1)
        wide, x, color = max(PER_BLOCK * blocks, LEAST), across(step), OUT if is_out else IN
        neck, thin, half = tip - 5 * way, wide / 2, wide / 2 + 2
        one = [(x - thin, start), (x - thin, neck), (x - half, neck)]
        other = [(x + half, neck), (x + thin, neck), (x + thin, start)]
        sheet.path(Path([*one, (x, tip), *other, one[0]], closed=True), fill=color, edge=None)


def _by_step(moves: Sequence[Move]) -> dict[tuple[int, bool], int]:
    """Blocks by step and way."""
    found: dict[tuple[int, bool], int] = {}
    for move in moves:
        key = move.step, move.out
        found[key] = found.get(key, 0) + move.num_blocks
    return found


def _pairs(moves: Sequence[Move]) -> list[tuple[int, int]]:
    """From when to when requests are away, if all that go out come back as they went."""
    gone: dict[int, Move] = {}
    pairs = []
    for move in moves:
        if move.out:
            gone[move.row] = move
        elif (went := gone.pop(move.row, None)) and went.num_blocks == move.num_blocks:
            pairs.append((went.step, move.step))
        else:
            return []
    return [] if gone else sorted(pairs)


def _check(source: Runs) -> None:
    wanted = "runs of studies.second_tier by name"
    if not isinstance(source, Mapping):
        raise cannot("copies", source, wanted)
    for run in source.values():
        if not isinstance(run, Played):
            raise cannot("copies", run, wanted)
    if not 1 <= len(source) <= 5:
        raise UsageError(f"copies takes 1 to 5 {wanted}, not {len(source)}")
