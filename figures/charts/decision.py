"""One decision of a scheduler: the pool and the queues before and after it, and the reasons."""

from pagesim.decision import Decision
from pagesim.figures import style
from pagesim.figures.cache_view import cache_view
from pagesim.figures.charts.cache_words import words
from pagesim.figures.charts.pool_map import draw_grid, draw_legend, grids, legend_height
from pagesim.figures.page import wrapped
from pagesim.figures.sheet import blank
from pagesim.figures.sources import cannot
from pagesim.figures.style import MARGIN, Picture
from pagesim.journal.effects import Name

LINE, GAP, TITLE = 13.0, 16.0, 24.0


@style.picture
def decision(source: Decision, *, title: str | None = None) -> tuple[Picture, str]:
    """Draw what a step decides: the pool before and after it, with the queues.

    ``source`` is what `pagesim.what_if` returns. Its first line is the title, and its other lines
    stand above the pools. TypeError for anything else.
    """
    if not isinstance(source, Decision):
        raise cannot("decision", source, "what pagesim.what_if returns")
    heading, *lines = str(source).splitlines()
    if source.request is None:
        heading, lines = "The next step", [heading, *lines]
    lines = [line.strip() for line in lines]
    facts = [line for line in lines if not line.startswith(tuple(_heads(source)))]
    texts = [each for fact in facts for each in wrapped(fact, style.WIDTH - 2 * MARGIN)]
    y = MARGIN + TITLE + LINE * len(texts) + 6
    changes = source.run.at(0) != source.run.at(-1)
    first = ("Before the step" if changes else "Before and after the step", 0, source.before)
    panels = []
    for name, step, queues in (first, ("After the step", -1, source.after))[: 1 + changes]:
        cache = cache_view(source.run, step=step)
        listed = " \N{MIDDLE DOT} ".join(f"{each} {_listed(queues[each])}" for each in queues)
        queued = wrapped(f"{name}: {listed}", style.WIDTH - 2 * MARGIN)
        placed = grids(cache, y + LINE * len(queued))
        panels.append((name, cache, queued, y, placed))
        y = placed[-1].bottom + legend_height(cache) + GAP
    figure, sheet = blank(style.WIDTH, y - GAP + MARGIN, title or heading)
    for number, text in enumerate(texts):
        sheet.write(MARGIN, MARGIN + TITLE + LINE * (number + 0.5), text, ha="left")
    for _, cache, queued, top, placed in panels:
        for number, text in enumerate(queued):
            sheet.write(MARGIN, top + LINE * (number + 0.5), text, ha="left", bold=True)
        for grid in placed:
            draw_grid(sheet, cache, grid, ())
        draw_legend(sheet, cache, placed[-1].bottom + 6, placed[0].labelled, False)
    said = [f"{name}: {words(cache)}" for name, cache, *_ in panels]
    return figure, " ".join([f"{'. '.join([heading, *lines])}.", *said])


def _heads(source: Decision) -> list[str]:
    """How the lines begin that name a queue: the panels have them."""
    return [f"{name}:" for name in source.after]


def _listed(names: tuple[Name, ...]) -> str:
    few = ", ".join(map(str, names[:12])) or "none"
    return f"{few} and {len(names) - 12} more" if len(names) > 12 else few
