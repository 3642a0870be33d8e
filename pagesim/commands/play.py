"""`pagesim play`: a recorded run as one HTML page."""

from __future__ import annotations

import re
from pathlib import Path

import click

from pagesim.commands.common import (
    INPUT_FILE,
    OUTPUT_FILE,
    Answer,
    BadInput,
    blaming,
    check_out,
    example,
    finish,
    with_file_name,
)


@click.command(epilog=example("pagesim play run.jsonl.gz -o run.html --open"))
@click.argument("file", type=INPUT_FILE)
@click.option("-o", "--out", type=OUTPUT_FILE, required=True, help="The page to write.")
@click.option("--open", "open_it", is_flag=True, help="Open it in the browser afterwards.")
@click.option("--title", help="What the page is called; the file's name otherwise.")
@click.option(
    "--steps", metavar="A:B", help="Only these, like 20000:40000; either may be left away."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_context
def play(
    context: click.Context,
    file: Path,
    out: Path,
    open_it: bool,
    title: str | None,
    steps: str | None,
    as_json: bool,
) -> None:
    """Put a recorded run (run.save) into one HTML page that steps through it.

    The page opens anywhere, without a server. It holds 20,000 steps at most, the first ones unless
    --steps says others. Exit code 2 when the file is no recorded run.
    """
    import webbrowser

    from pagesim.timeline import TimelineError, load
    from pagesim.timeline.display import MAX_EVENTS

    first, last = _bounds(steps)
    check_out("--out", out, file)
    try:
        run = load(file)
    except (TimelineError, OSError) as error:
        raise BadInput(with_file_name(file, error)) from error
    part = run[first:last]
    with blaming(out):
        part.to_html(out, title or click.format_filename(file.name))
    shown = min(len(part), MAX_EVENTS)
    opened = open_it and webbrowser.open(out.resolve().as_uri())
    text = f"{out}: {shown} steps"
    if shown < len(part):
        text = f"{out}: the first {shown} of {len(part)} steps; --steps A:B shows others"
    text += "" if opened or not open_it else "; no browser found"
    value = {"path": str(file), "out": str(out), "steps": shown, "of": len(run)}
    finish(context, Answer(True, text, value | {"opened": bool(opened)}), as_json)


def _bounds(steps: str | None) -> tuple[int | None, int | None]:
    """``A:B`` as the two ends of a slice."""
    if steps is None:
        return None, None
    match = re.fullmatch(r"(\d{0,9}):(\d{0,9})", steps)
    if match is None:
        raise BadInput(f"--steps must be A:B, like 20000:40000, not {steps!r}")
    first, last = (int(end) if end else None for end in match.groups())
    return first, last
