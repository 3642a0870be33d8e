"""`pagesim compare`: two recorded runs on one HTML page, or two results in a table."""

from pathlib import Path

import click

from pagesim.commands.common import INPUT_FILE, OUTPUT_FILE, Answer, BadInput, answering, blaming
from pagesim.errors import UsageError
from pagesim.simulation.report import of_measures
from pagesim.simulation.saved import REQUESTS, RUN, SUMMARY, measures_of, what_is


@answering("pagesim compare recompute.jsonl.gz swap.jsonl.gz -o page.html")
@click.argument("a", type=INPUT_FILE)
@click.argument("b", type=INPUT_FILE)
@click.option("-o", "--out", type=OUTPUT_FILE, help="The page to write, for recorded runs.")
@click.option("--open", "open_it", is_flag=True, help="Open the page in the browser.")
@click.option("--titles", nargs=2, help="What to call the two.  [default: the files' names]")
def compare(
    a: Path, b: Path, out: Path | None, open_it: bool, titles: tuple[str, str] | None
) -> Answer:
    """Compare two runs: step by step on one page, or by their results in a table.

    Recorded runs (run.save, simulate --record) go into one HTML page that steps them together. A
    step is a call of schedule() where both runs have a scheduler, otherwise an event; what differs
    is marked. Results are what simulate --json prints or --requests writes, one of them each; the
    table has what both of them have. Exit code 2 when A or B is none of these.
    """
    kinds = {}
    for file in (a, b):
        with blaming(file, UsageError):
            kinds[file] = what_is(file)
        if kinds[file] not in ("", RUN, SUMMARY, REQUESTS):
            raise BadInput(f"{file} holds {kinds[file]}: give two recorded runs, or two results")
    one, other = kinds[a] in (SUMMARY, REQUESTS), kinds[b] in (SUMMARY, REQUESTS)
    if one != other:
        found = (f"{file} holds {kind or 'nothing that is known'}" for file, kind in kinds.items())
        raise BadInput(f"{', '.join(found)}: give two recorded runs, or two results")
    left, right = map(click.format_filename, titles or (a.name, b.name))
    if not one:
        if out is None:
            raise BadInput("give --out: two recorded runs become a page")
        return _page(a, b, out, open_it, (left, right))
    if out is not None or open_it:
        raise BadInput("omit --out and --open: two results are a table, and no page")
    with blaming(a, UsageError):
        first = measures_of(a)
    with blaming(b, UsageError):
        table = of_measures((left, right), first, measures_of(b))
    return Answer(True, str(table), {"names": table.names, "measures": table.rows})


def _page(a: Path, b: Path, out: Path, open_it: bool, titles: tuple[str, str]) -> Answer:
    import webbrowser

    import pagesim
    from pagesim.timeline import TimelineError

    with blaming(a, TimelineError):
        one = pagesim.load(a)
    with blaming(b, TimelineError):
        other = pagesim.load(b)
    with blaming(out, TypeError):  # a title that is too long
        pagesim.compare(one, other, titles=titles).to_html(out)
    opened = open_it and webbrowser.open(out.resolve().as_uri())
    text = f"{out}: {len(one)} and {len(other)} steps"
    text += "" if opened or not open_it else "; no browser found"
    value = {"out": str(out), "steps": [len(one), len(other)], "opened": bool(opened)}
    return Answer(True, text, value)
