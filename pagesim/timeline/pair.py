"""Two runs side by side, stepped together: ``pagesim.compare(recompute, swap)``."""

from dataclasses import dataclass
from os import PathLike
from typing import Any

from pagesim.errors import UsageError
from pagesim.files import replacing
from pagesim.journal.effects import is_text
from pagesim.player.notebook import notebook_html
from pagesim.player.page import page
from pagesim.timeline.display import described, packed_for_player, still_picture
from pagesim.timeline.run import Timeline


@dataclass(frozen=True, slots=True)
class Compared:
    """Two runs, to be shown in a notebook or written to a page."""

    runs: tuple[Timeline, Timeline]
    titles: tuple[str, str]

    @property
    def title(self) -> str:
        """What the page is called."""
        return f"{self.titles[0]} | {self.titles[1]}"

    def to_html(self, path: str | PathLike[str]) -> None:
        """Write a single HTML file that plays both anywhere, without a server."""
        with replacing(path) as file:
            file.write(page(*self._files(), title=self.title, alt=self._alt()).encode())

    def _repr_html_(self) -> str:
        picture = still_picture(self.runs[0])
        return notebook_html(*self._files(), title=self.title, alt=self._alt(), static_svg=picture)

    def _files(self) -> list[bytes]:
        one, other = self.runs
        sequences = list(dict.fromkeys(one.sequences + other.sequences))  # one colour in both
        each = zip(self.runs, self.titles, strict=True)
        return [packed_for_player(run, title, sequences=sequences)[0] for run, title in each]

    def _alt(self) -> str:
        pairs = zip(self.titles, self.runs, strict=True)
        return " ".join(f"{title}: {described(run)}" for title, run in pairs)


def compare(a: Any, b: Any, titles: tuple[str, str] | None = None) -> Compared:
    """Link two runs: the player steps through both together, and marks the differences.

    ``a`` and ``b`` are timelines or recorded simulations (``record=True``), of one engine or of
    two. One step is one call of ``schedule()`` if both runs have a scheduler, and one event
    otherwise; two simulations can also be kept in step by their clocks. A line for each run has the
    running requests, the hits, the preemptions and the blocks held. Sequences with the same name
    are compared. Runs of the same requests on the same memory are a race: both memories are drawn
    on one clock. ``titles`` are shown above the runs; the default is their own titles, or what the
    simulated policies do. TypeError for anything else, UsageError for a simulation
    without a timeline.
    """
    runs = _run("a", a), _run("b", b)
    titled = [getattr(given, "title", None) for given in (a, b)]
    usual = titled if titled[0] != titled[1] and all(map(is_text, titled)) else ("A", "B")
    own = tuple(run.notes.title or name for run, name in zip(runs, usual, strict=True))
    names = own if titles is None else titles
    if not isinstance(names, tuple | list) or [is_text(name) for name in names] != [True, True]:
        raise TypeError(f"titles must be two strings, not {titles!r}")
    return Compared(runs, (names[0], names[1]))


def _run(name: str, given: Any) -> Timeline:
    run = getattr(given, "timeline", given)
    if run is None:
        raise UsageError(f"{name} was simulated without a timeline: pass record=True to simulate")
    if not isinstance(run, Timeline):
        raise TypeError(f"{name} must be a Timeline or a recorded simulation, not {given!r}")
    return run
