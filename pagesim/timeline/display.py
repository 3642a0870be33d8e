"""Shows a run as a single HTML file or as the output of a notebook cell."""

from os import PathLike
from typing import Protocol, overload

from pagesim.files import replacing
from pagesim.files.jsonl import Json
from pagesim.journal.effects import Name
from pagesim.player.describe import describe
from pagesim.player.notebook import notebook_html
from pagesim.player.page import page
from pagesim.player.static_svg import static_svg
from pagesim.timeline import file
from pagesim.timeline.events import Effect, Event, Opened, TableChange, Tokens
from pagesim.timeline.file import header, packed
from pagesim.timeline.gist import gist
from pagesim.timeline.header import state_as_dict
from pagesim.timeline.questions import check_text

MAX_EVENTS = 20_000
"""The most events in one page; ``run[a:b]`` chooses which."""


class Run(file.Run, Protocol):
    """What a page shows: a `Timeline`."""

    @overload
    def __getitem__(self, index: int) -> Event: ...

    @overload
    def __getitem__(self, index: slice) -> "Run": ...


def to_html(run: Run, path: str | PathLike[str], title: str | None = None) -> None:
    """Write a single HTML file that plays ``run`` anywhere, without a server."""
    file_of_run, title = packed_for_player(run, title)
    text = page(file_of_run, title=title, alt=described(run))
    with replacing(path) as file:
        file.write(text.encode())


def notebook_output(run: Run, title: str | None = None) -> str:
    """The player as HTML, with a still picture for where no script may run."""
    file_of_run, title = packed_for_player(run, title)
    picture = still_picture(run)
    return notebook_html(file_of_run, title=title, alt=described(run), static_svg=picture)


def packed_for_player(run: Run, title: str | None, **extras: Json) -> tuple[bytes, str]:
    """The file for the player, and its title; ``extras`` are more keys of its header."""
    shown = run[:MAX_EVENTS]
    title = check_text("title", title or run.notes.title or gist(shown))
    if len(run) > MAX_EVENTS:
        which = f"the first {MAX_EVENTS:,} of {len(run):,} events; run[a:b] shows others"
        title = f"{title} ({which})"
    return packed(shown, title=title, **extras), title


def still_picture(run: Run) -> str:
    """The step that the run opens at, or the last one in which a sequence holds a block, as SVG."""
    shown = run[:MAX_EVENTS]
    head = header(shown) | {"sequences": run.sequences}
    # Only the last steps are searched: going further back takes too long.
    last = range(len(shown), max(len(shown) - 100, 0), -1)
    busy = (at for at in last if shown.at(at).tables)
    step = next(busy, len(shown)) if shown.notes.opens is None else shown.notes.opens
    state = state_as_dict(shown.at(step))
    if not step:
        return static_svg(head, state, "Nothing has happened yet.")
    return static_svg(head, state, shown[step - 1].caption, concerned(shown[step - 1]))


def concerned(event: Event) -> set[Name]:
    """The tables and sequences that an event is about."""
    rows: list[Opened | Tokens | TableChange | Effect]
    rows = [*event.opened, *event.tokens, *event.tables, *event.effects]
    names = {event.subject, *event.closed, *(row.table for row in rows)}
    return {name for name in names if name is not None}


def described(run: Run) -> str:
    """What the player shows, in words."""
    shown = run[:MAX_EVENTS]
    what = describe(header(shown), state_as_dict(shown.at(-1)))
    return f"A recorded run of {len(shown)} steps. At its end: {what}"
