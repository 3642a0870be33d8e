"""A run as something to look at: one HTML file, or the output of a notebook's cell."""

from __future__ import annotations

from os import PathLike

from pagesim.files import replacing
from pagesim.timeline.file import Run, header, packed
from pagesim.timeline.header import state_as_dict

MAX_EVENTS = 20_000
"""More than this is not put into one page; ``run[a:b]`` chooses which."""


def to_html(run: Run, path: str | PathLike[str], title: str | None = None) -> None:
    """Write the player with ``run`` in it as one file that opens anywhere, without a server."""
    from pagesim.player.page import page

    shown, title = _window(run, title)
    text = page(_packed(shown, title), title=title, alt=_alt(shown))
    with replacing(path) as file:
        file.write(text.encode())


def notebook_output(run: Run, title: str | None = None) -> str:
    """The player as an HTML output, and a picture of the last step where no script may run."""
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


def _packed(run: Run, title: str) -> bytes:
    """The file for the player; a part of a run has the colours that the whole has."""
    return packed(run, title=title, sequences=run.sequences if run.first else None)


def _window(run: Run, title: str | None) -> tuple[Run, str]:
    title = title or run.notes.title or "What happened to the pages"
    if len(run) <= MAX_EVENTS:
        return run, title
    which = f"the first {MAX_EVENTS:,} of {len(run):,} events; run[a:b] shows others"
    return run[:MAX_EVENTS], f"{title} ({which})"


def _alt(run: Run) -> str:
    from pagesim.player.describe import describe

    what = describe(header(run), state_as_dict(run.at(-1)))
    return f"A recorded run of {len(run)} steps. At its end: {what}"
