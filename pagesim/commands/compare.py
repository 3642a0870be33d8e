"""`pagesim compare`: two recorded runs on one HTML page, or two results in a table."""

from pathlib import Path

import click

from pagesim.commands.common import INPUT_FILE, OUTPUT_FILE, Answer, BadInput, answering, blaming
from pagesim.errors import UsageError
from pagesim.simulation import report
from pagesim.simulation.saved import REQUESTS, RUN, SUMMARY, measures_of, what_is


@answering("pagesim compare recompute.jsonl.gz swap.jsonl.gz -o page.html")
@click.argument("a", type=INPUT_FILE)
@click.argument("b", type=INPUT_FILE)
@click.option("-o", "--out", type=OUTPUT_FILE, help="The HTML page to write, for recorded runs.")
@click.option("--open", "open_it", is_flag=True, help="Open the HTML page in the browser.")
@click.option(
    "--titles", nargs=2, help="Titles for A and B.  [default: the runs' own, or the files' names]"
)
def compare(
    a: Path, b: Path, out: Path | None, open_it: bool, titles: tuple[str, str] | None
) -> Answer:
    """Compare two runs on one HTML page, or two results in a table.

    If A and B are recorded runs (run.save, simulate --record), --out becomes one HTML page that
    steps through them side by side and marks the differences. One step is one call of schedule(),
    or one event if either run has no scheduler.

    If A and B are results, both from simulate --json or both from simulate --requests, a table
    shows the measures that they share. Exit code 2 when A or B is neither a run nor a result.
    """
    kinds = {}
    for file in (a, b):
        with blaming(file, UsageError):
            kinds[file] = what_is(file)
        if kinds[file] not in ("", RUN, SUMMARY, REQUESTS):
            raise BadInput(f"{file} holds {kinds[file]}: give two recorded runs, or two results")
    one, other = kinds[a] in (SUMMARY, REQUESTS), kinds[b] in (SUMMARY, REQUESTS)
    if one != other:
        found = (f"{file} holds {kind or 'an unknown format'}" for file, kind in kinds.items())
        raise BadInput(f"{', '.join(found)}: give two recorded runs, or two results")
    left, right = map(click.format_filename, titles or (a.name, b.name))
    if not one:
        if out is None:
            raise BadInput("give --out FILE: comparing two recorded runs writes an HTML page")
        return _page(a, b, out, open_it, titles and (left, right))
    if out is not None or open_it:
        raise BadInput("omit --out and --open: comparing two results prints a table, not a page")
    with blaming(a, UsageError):
        first = measures_of(a)
    with blaming(b, UsageError):
        table = report.compare((left, right), first, measures_of(b))
    return Answer(True, str(table), {"names": table.names, "measures": table.rows})


def _page(a: Path, b: Path, out: Path, open_it: bool, titles: tuple[str, str] | None) -> Answer:
    import webbrowser

    import pagesim
    from pagesim.timeline import TimelineError

    with blaming(a, TimelineError):
        one = pagesim.load(a)
    with blaming(b, TimelineError):
        other = pagesim.load(b)
    own = one.notes.title, other.notes.title
    if titles is None and (None in own or own[0] == own[1]):
        left, right = (click.format_filename(file.name).split(".")[0] for file in (a, b))
        titles = left or "A", right or "B"
    with blaming(out, TypeError):  # a title that is too long
        pagesim.compare(one, other, titles=titles).to_html(out)
    opened = open_it and webbrowser.open(out.resolve().as_uri())
    text = f"{out}: {len(one)} and {len(other)} steps"
    text += "" if opened or not open_it else "; no browser found"
    value = {"out": str(out), "steps": [len(one), len(other)], "opened": bool(opened)}
    return Answer(True, text, value)
