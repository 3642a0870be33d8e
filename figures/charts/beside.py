"""Numbers of ours beside published ones, in percent: a panel for each study."""

from collections.abc import Iterable, Mapping

from pagesim.errors import UsageError
from pagesim.figures import style
from pagesim.figures.charts.compare import Panel, Row, draw_panels
from pagesim.figures.sources import cannot
from pagesim.figures.style import Picture
from pagesim.studies.paper import Comparison

MOST = 100.0
HOW_TO_READ = "Bar: ours. Diamond: published."


@style.picture
def beside(
    source: Comparison | Iterable[Comparison],
    *,
    title: str | None = None,
    notes: Iterable[str] = (),
) -> tuple[Picture, str]:
    """Draw percentages beside those that somebody has published, to see how near they are.

    ``source`` is a Comparison with one number in each row, such as
    ``studies.group_waste.figure()``, or several, drawn below each other. Errors: see `figures`.
    """
    found = [source] if isinstance(source, Comparison) else source
    if isinstance(found, str | Mapping) or not isinstance(found, Iterable):
        raise cannot("beside", source, "a Comparison, or several")
    panels, words = [], []
    for place, each in enumerate(found):
        if not isinstance(each, Comparison):
            raise cannot("beside", each, "a Comparison, or several")
        panels.append(Panel(f"{each.title}, {each.unit}", _rows(each), MOST, style.color_of(place)))
        words += [f"{each.method} {each.calibration} Published: {each.source}."]
    if not panels:
        raise UsageError("there is nothing to draw: give a Comparison, or several")
    how = [HOW_TO_READ, *words, *notes]
    return draw_panels(title or "Ours and published", "Percent", panels, how)


def _rows(found: Comparison) -> list[Row]:
    rows = []
    for name, numbers in found.ours.items():
        if len(numbers) != 1:
            raise UsageError(f"beside draws one number a row, and {name!r} has {len(numbers)}")
        ((kind, ours),) = numbers.items()
        rows.append(Row(name, ours, found.published.get(name, {}).get(kind)))
    return rows
