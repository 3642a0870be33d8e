"""`pagesim quirks`: what surprises people in vLLM, listed, told and played."""

import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pagesim.commands.common import OUTPUT_FILE, Answer, BadInput, answering, blaming
from pagesim.files.jsonl import JsonObject

if TYPE_CHECKING:
    from pagesim.quirks.registry import Quirk


@answering("pagesim quirks w08 -o w08.html --open")
@click.argument("quirk_id", required=False)
@click.option(
    "--engine",
    type=click.Choice(["v0", "v1"]),
    help="List only those of this engine.  [default: both]",
)
@click.option(
    "--subject", help="List only those about this, such as preemption.  [default: all subjects]"
)
@click.option("-o", "--out", type=OUTPUT_FILE, help="The HTML page to write, which plays it.")
@click.option("--open", "open_it", is_flag=True, help="Open the HTML page in the browser.")
def quirks(
    quirk_id: str | None, engine: str | None, subject: str | None, out: Path | None, open_it: bool
) -> Answer:
    """List what surprises people in vLLM, or tell one of them.

    Each has a scene that runs here. With its QUIRK_ID, such as w08, you read what one would expect,
    what happens step by step, why, and what to do about it. If the same requests end differently on
    the other engine, the page written by -o plays both side by side.
    """
    from pagesim.quirks import get, telling

    if quirk_id is None:
        if out is not None or open_it:
            raise BadInput("-o and --open play one of them: name it, such as w08")
        return _listed(engine, subject)
    if engine is not None or subject is not None:
        raise BadInput("--engine and --subject are for the list: leave out the id")
    quirk = get(quirk_id.lower())
    scene = quirk.scenario()
    text = telling.told(quirk.page, quirk.source, scene.run, scene.facts)
    if open_it and out is None:
        raise BadInput("--open opens the page that is written: name it with -o")
    if out is not None:
        with blaming(out):
            quirk.to_html(out)
        text += f"\n\n{out} plays it."
        if open_it:
            webbrowser.open(out.resolve().as_uri())
    return Answer(True, text, as_object(quirk) | {"found": scene.facts, "out": out and str(out)})


def _listed(engine: str | None, subject: str | None) -> Answer:
    from pagesim.quirks import quirks
    from pagesim.quirks.page import SUBJECTS

    if subject not in (None, *SUBJECTS):
        raise BadInput(f"--subject must be one of {', '.join(SUBJECTS)}, not {subject!r}")
    chosen = [
        quirk
        for quirk in quirks()
        if engine in (None, quirk.page.engine.lower()) and subject in (None, quirk.page.subject)
    ]
    lines = [f"{its.quirk_id}  {its.page.subject:<18} {its.page.title}" for its in chosen]
    lines.append(f"{len(chosen)} of {len(quirks())}. Read one: pagesim quirks w08")
    return Answer(True, "\n".join(lines), {"quirks": [as_object(quirk) for quirk in chosen]})


def as_object(quirk: "Quirk") -> JsonObject:
    """What --json says of a quirk."""
    from pagesim.quirks.asked import asked

    page = quirk.page
    return {
        "id": page.quirk_id,
        "title": page.title,
        "engine": page.engine,
        "release": page.release,
        "subject": page.subject,
        "claim": page.claim,
        "expected": page.expected,
        "what_happens": page.what_happens,
        "why": page.why,
        "what_to_do": page.what_to_do,
        "mended": page.is_mended,
        "beside": page.beside or None,
        "threads": [{"name": its.name, "link": its.link, "what": its.what} for its in page.threads],
        "questions": [{"title": its.title, "page": its.page} for its in asked(page.quirk_id)],
    }
