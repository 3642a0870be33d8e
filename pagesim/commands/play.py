"""`pagesim play`: a recorded run as one HTML page."""

from __future__ import annotations

from pathlib import Path

import click

from pagesim.commands.common import (
    INPUT_FILE,
    OUTPUT_FILE,
    Answer,
    BadInput,
    example,
    finish,
    naming,
)


@click.command(epilog=example("pagesim play run.jsonl.gz -o run.html --open"))
@click.argument("file", type=INPUT_FILE)
@click.option("-o", "--out", type=OUTPUT_FILE, required=True, help="The page to write.")
@click.option("--open", "open_it", is_flag=True, help="Open it in the browser afterwards.")
@click.option("--title", help="What the page is called; the file's name otherwise.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_context
def play(
    context: click.Context, file: Path, out: Path, open_it: bool, title: str | None, as_json: bool
) -> None:
    """Put a recorded run (run.save) into one HTML page that steps through it.

    The page opens anywhere, without a server. Exit code 2 when the file is no recorded run.
    """
    import webbrowser

    from pagesim.timeline import TimelineError, load

    try:
        run = load(file)
        run.to_html(out, title or file.name)
    except (TimelineError, OSError) as error:
        raise BadInput(naming(file, error)) from error
    opened = open_it and webbrowser.open(out.resolve().as_uri())
    text = f"{out}: {len(run)} steps" + ("" if opened or not open_it else "; no browser found")
    value = {"path": str(file), "out": str(out), "steps": len(run), "opened": bool(opened)}
    finish(context, Answer(True, text, value), as_json)
