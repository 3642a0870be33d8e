"""`pagesim compare`: two recorded runs on one HTML page, stepped together."""

from __future__ import annotations

from pathlib import Path

import click

from pagesim.commands.common import INPUT_FILE, OUTPUT_FILE, Answer, answering, blaming


@answering("pagesim compare recompute.jsonl.gz swap.jsonl.gz -o page.html")
@click.argument("a", type=INPUT_FILE)
@click.argument("b", type=INPUT_FILE)
@click.option("-o", "--out", type=OUTPUT_FILE, required=True, help="The page to write.")
@click.option("--open", "open_it", is_flag=True, help="Open the page in the browser.")
@click.option("--titles", nargs=2, help="What to call the two.  [default: the files' names]")
def compare(a: Path, b: Path, out: Path, open_it: bool, titles: tuple[str, str] | None) -> Answer:
    """Put two recorded runs (run.save) into one HTML page that steps them together.

    A step is a call of schedule() where both runs have a scheduler, otherwise an event; what
    differs is marked. Exit code 2 when A or B is not a recorded run.
    """
    import webbrowser

    import pagesim
    from pagesim.timeline import TimelineError

    with blaming(a, TimelineError):
        one = pagesim.load(a)
    with blaming(b, TimelineError):
        other = pagesim.load(b)
    left, right = map(click.format_filename, titles or (a.name, b.name))
    with blaming(out, TypeError):  # a title that is too long
        pagesim.compare(one, other, titles=(left, right)).to_html(out)
    opened = open_it and webbrowser.open(out.resolve().as_uri())
    text = f"{out}: {len(one)} and {len(other)} steps"
    text += "" if opened or not open_it else "; no browser found"
    value = {"out": str(out), "steps": [len(one), len(other)], "opened": bool(opened)}
    return Answer(True, text, value)
