"""Shows a run as a single HTML file or as the output of a notebook cell."""

from __future__ import annotations

from os import PathLike

from pagesim.files import replacing
from pagesim.timeline.file import header, packed
from pagesim.timeline.header import state_as_dict
from pagesim.timeline.run import Timeline

MAX_EVENTS = 20_000
"""The most events in one page; ``run[a:b]`` chooses which."""


def to_html(run: Timeline, path: str | PathLike[str], title: str | None = None) -> None:
    """Write a single HTML file that plays ``run`` anywhere, without a server."""
    from pagesim.player.page import page

    shown, title = _window(run, title)
    text = page(_packed(shown, title), title=title, alt=_alt(shown))
    with replacing(path) as file:
        file.write(text.encode())


def notebook_output(run: Timeline, title: str | None = None) -> str:
    """The player as HTML, with a picture of the last step for where no script may run."""
    from pagesim.player.notebook import notebook_html
    from pagesim.player.static_svg import static_svg

    shown, title = _window(run, title)
    head = header(shown) | {"sequences": run.sequences}
    state = state_as_dict(shown.at(-1))
    caption = shown[-1].caption if len(shown) else "Nothing has happened yet."
    return notebook_html(
        _packed(shown, title),
        title=title,
        alt=_alt(shown),
        static_svg=static_svg(head, state, caption),
    )


def _packed(run: Timeline, title: str) -> bytes:
    """The file for the player; a part of a run keeps the colours of the whole."""
    return packed(run, title=title, sequences=run.sequences if run.first else None)


def _window(run: Timeline, title: str | None) -> tuple[Timeline, str]:
    title = title or run.notes.title or "What happened to the pages"
    if len(run) <= MAX_EVENTS:
        return run, title
    which = f"the first {MAX_EVENTS:,} of {len(run):,} events; run[a:b] shows others"
    return run[:MAX_EVENTS], f"{title} ({which})"


def _alt(run: Timeline) -> str:
    from pagesim.player.describe import describe

    what = describe(header(run), state_as_dict(run.at(-1)))
    return f"A recorded run of {len(run)} steps. At its end: {what}"
