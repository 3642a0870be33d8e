"""A quirk told: on a terminal step by step, and in a notebook."""

import html as escaping
import re
import textwrap
from collections.abc import Iterator

from pagesim.files.jsonl import JsonObject
from pagesim.quirks.asked import asked
from pagesim.quirks.page import Page
from pagesim.timeline.run import Timeline

WIDTH = 96
MAX_EVENTS = 60
"""The most events that a terminal shows."""


def told(page: Page, source: str, run: Timeline | None, facts: JsonObject) -> str:
    """Expectation, scene, what happens in it, reason and remedy, in this order."""
    lines = [
        f"{page.quirk_id}  {page.title}",
        f"vLLM {page.release} ({page.engine}), {page.subject}"
        + "; mended in pagesim" * page.is_mended,
        "",
        *_wrapped(page.claim),
        *_section("Expected", page.expected),
        *("", "The scene (a block has 4 slots if it does not say otherwise)"),
        textwrap.indent(source.rstrip(), "  "),
    ]
    if run is not None:
        lines += ["", "Step by step", *_events(run)]
    lines += [
        "",
        "Found",
        *(f"  {name.replace('_', ' ')}: {value}" for name, value in facts.items()),
    ]
    for name, text in (
        ("What happens", page.what_happens),
        ("Why", page.why),
        ("What to do", page.what_to_do),
    ):
        lines += _section(name, text)
    if page.threads:
        lines += ["", "Met in public"]
        lines += [
            line for its in page.threads for line in _wrapped(f"{its.link}: {its.what}", "  ")
        ]
    if pages := asked(page.quirk_id):
        lines += ["", "Asked", *(f"  {its.title} {its.page}" for its in pages)]
    if page.beside:
        lines += ["", f"The same on the other engine: pagesim quirks {page.beside}"]
    return "\n".join(lines)


def _explained(page: Page) -> list[tuple[str, str]]:
    return [
        ("What happens", page.what_happens),
        ("Why", page.why),
        ("What to do", page.what_to_do),
    ]


def _section(name: str, text: str) -> list[str]:
    return ["", name, *_wrapped(text, "  ")]


def _wrapped(text: str, indent: str = "") -> list[str]:
    return [
        line
        for paragraph in text.replace("`", "").split("\n\n")
        for line in textwrap.wrap(
            paragraph,
            WIDTH,
            initial_indent=indent,
            subsequent_indent=indent,
            break_long_words=False,
            break_on_hyphens=False,
        )
    ]


def _events(run: Timeline) -> Iterator[str]:
    for number, event in enumerate(run[:MAX_EVENTS], 1):
        yield from textwrap.wrap(
            event.caption, WIDTH, initial_indent=f"  {number:>3}  ", subsequent_indent=" " * 7
        )
    if len(run) > MAX_EVENTS:
        yield f"       … and {len(run) - MAX_EVENTS} more; -o shows them all"


def html(page: Page) -> str:
    """What a page says, for a notebook."""
    parts = [
        f"<h3>{_inline(f'{page.quirk_id} {page.title}')}</h3>",
        f"<p><b>{_inline(page.claim)}</b> (vLLM {page.release})</p>",
    ]
    for name, text in [("Expected", page.expected), *_explained(page)]:
        parts.append(f"<p><i>{name}.</i> {_inline(text)}</p>")
    links = [
        f'<a href="{its.link}">{_inline(its.name)}</a>: {_inline(its.what)}' for its in page.threads
    ]
    if links:
        parts.append(f"<p><i>Met in public.</i> {' '.join(links)}</p>")
    return "".join(parts)


def _inline(text: str) -> str:
    return re.sub(r"`(.+?)`", r"<code>\1</code>", escaping.escape(text).replace("\n\n", "</p><p>"))
