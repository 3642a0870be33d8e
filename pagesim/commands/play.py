"""`pagesim play`: a recorded run as one HTML page."""

import re
from pathlib import Path

import click

from pagesim.commands.common import INPUT_FILE, OUTPUT_FILE, Answer, BadInput, answering, blaming


@answering("pagesim play run.jsonl.gz -o run.html --open")
@click.argument("file", type=INPUT_FILE)
@click.option("-o", "--out", type=OUTPUT_FILE, required=True, help="The HTML page to write.")
@click.option("--open", "open_it", is_flag=True, help="Open the HTML page in the browser.")
@click.option("--title", help="The title of the page.  [default: the run's own]")
@click.option(
    "--steps",
    metavar="A:B",
    help="Play only these steps, such as 20000:40000; either end may be omitted.  "
    "[default: the first 20000]",
)
def play(file: Path, out: Path, open_it: bool, title: str | None, steps: str | None) -> Answer:
    """Turn a recorded run into one HTML page that steps through it.

    FILE is a recorded run: simulate --record, generate --record or run.save in Python writes one.
    The page opens in any browser, without a server. It holds at most 20,000 steps: the first
    20,000, unless --steps selects others. Exit code 2 when FILE is not a recorded run.
    """
    import webbrowser

    from pagesim.timeline import TimelineError, load
    from pagesim.timeline.display import MAX_EVENTS

    first, last = _bounds(steps)
    with blaming(file, TimelineError):
        run = load(file)
    part = run[first:last]
    with blaming(out, TypeError):  # a title that is too long
        part.to_html(out, title and click.format_filename(title))
    shown = min(len(part), MAX_EVENTS)
    opened = open_it and webbrowser.open(out.resolve().as_uri())
    text = f"{out}: {shown} steps"
    if shown < len(part):
        text = f"{out}: the first {shown} of {len(part)} steps; --steps A:B selects others"
    text += "" if opened or not open_it else "; no browser found"
    value = {"path": str(file), "out": str(out), "steps": shown, "of": len(run)}
    return Answer(True, text, value | {"opened": bool(opened)})


def _bounds(steps: str | None) -> tuple[int | None, int | None]:
    """``A:B`` as the two ends of a slice."""
    if steps is None:
        return None, None
    match = re.fullmatch(r"(\d{0,9}):(\d{0,9})", steps)
    if match is None:
        raise BadInput(f"--steps must be A:B, like 20000:40000, not {steps!r}")
    first, last = (int(end) if end else None for end in match.groups())
    return first, last
