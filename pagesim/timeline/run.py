"""A recorded run: its events, and the state at any step, forwards and backwards."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from os import PathLike
from typing import Any, overload

from pagesim.errors import UsageError
from pagesim.journal.effects import OPEN, Event, Name, is_name
from pagesim.journal.state import State
from pagesim.timeline.captions import caption
from pagesim.timeline.lines import Lines
from pagesim.timeline.log import Log
from pagesim.timeline.notes import Notes
from pagesim.timeline.questions import Question
from pagesim.timeline.search import Search
from pagesim.timeline.seek import Seeker


class Timeline:
    """What happened to the pages, step by step.

    ``len(run)`` events; ``run.at(i)`` is the state after ``i`` of them, ``run.at(0)`` the one in
    which the run began; ``run[i]`` is the event that leads from ``at(i)`` to ``at(i + 1)``, and
    ``run[a:b]`` the run between two steps. In Jupyter it shows itself as the player.
    """

    def __init__(
        self,
        log: Log,
        start: int = 0,
        stop: int | None = None,
        *,
        first: int = 0,
        notes: Notes | None = None,
        recording: Any = None,
    ) -> None:
        self._log, self._start, self._stop = log, start, stop
        self._recording = recording
        self.notes = notes or Notes()
        """Title, words for the tokens and questions: see :meth:`annotate`."""
        self.first = first
        """The number of this run's first event in the run it was cut from."""
        self._seeker = Seeker(log)

    def __len__(self) -> int:
        return (len(self._log) if self._stop is None else self._stop) - self._start

    @overload
    def __getitem__(self, index: int) -> Event: ...

    @overload
    def __getitem__(self, index: slice) -> Timeline: ...

    def __getitem__(self, index: int | slice) -> Event | Timeline:
        if isinstance(index, slice):
            start, stop, step = index.indices(len(self))
            if step != 1:
                raise UsageError(f"a run has no gaps: the step of a slice must be 1, not {step}")
            stop = max(start, stop)
            piece = Timeline(
                self._log,
                self._start + start,
                self._start + stop,
                first=self.first + start,
                notes=self.notes.piece(start, stop),
            )
            piece._seeker = self._seeker
            return piece
        event = self._log.read(self._start + range(len(self))[index])
        return replace(event, caption=caption(event, self._log.start))

    def __iter__(self) -> Iterator[Event]:
        return (self[i] for i in range(len(self)))

    @property
    def sequences(self) -> list[Name]:
        """The sequences (or labels) of the whole run, in the order in which their tables began.

        The order decides their colours, in the player as in the figures.
        """
        log = self._log
        rows = log.rows(0, self._start + len(self))
        began = [*log.first_lives, *(row[2] for row in rows if row[0] == OPEN)]
        return list(dict.fromkeys(log.tables[number].name for number in began))

    def at(self, index: int) -> State:
        """The state after ``index`` events; negative numbers count from the end, -1 is the last."""
        steps = range(len(self) + 1)
        if not -len(steps) <= index < len(steps):
            raise IndexError(f"step {index} is not in this run: it has the steps 0 to {steps[-1]}")
        return self._seeker.state(self._start + steps[index])

    def find(
        self,
        *,
        block: int | None = None,
        sequence: Name | None = None,
        kind: str | None = None,
    ) -> list[int]:
        """The events that concern a block, a sequence (or label), and are or have a kind.

        ``kind`` is an event's ("append_slots", "failed") or an effect's ("copy"). With several
        conditions all of them hold. UsageError for a kind that does not exist.
        """
        search = Search(self._log, self._start, self._start + len(self))
        found = set(range(len(self)))
        if block is not None:
            found &= search.of_block(block)
        if sequence is not None:
            found &= search.of_sequence(sequence)
        if kind is not None:
            found &= search.of_kind(kind)
        return sorted(found)

    def label(self, table: Any, name: Name) -> None:
        """Call a table of this recording by a name of its own, from its beginning.

        UsageError if another table has that name, if the table belongs to another allocator, or if
        the recording is over; TypeError for what is no table or no name.
        """
        if self._recording is None or self._stop is not None:
            raise UsageError(f"the recording is over: {name!r} cannot be given to a table any more")
        if not hasattr(table, "physical_block_ids"):
            raise TypeError(f"table must be a BlockTable, not {table!r}")
        if not is_name(name):
            raise TypeError(f"a name must be a number or a short string, not {name!r:.80}")
        self._recording.label(table, name)

    def annotate(
        self,
        title: str | None = None,
        tokens: Mapping[int, str] | None = None,
        questions: Iterable[Question] | None = None,
    ) -> Timeline:
        """Give the run a title, words for its tokens, or questions of its own; returns the run.

        They are shown by the player and saved with the run. TypeError if they are something else,
        UsageError for a question about what does not happen in its step: see ``Question``.
        """
        notes = self.notes.with_changes(title, tokens, questions)
        for question in notes.questions if questions is not None else ():
            question.blocks(self)
        self.notes = notes
        return self

    @property
    def nbytes(self) -> int:
        """Bytes of memory that the run takes, the states kept for quick seeking included.

        A piece of a run shares the memory of the whole.
        """
        return self._log.nbytes + self._seeker.nbytes

    def lines(self) -> Iterator[str]:
        """The events as the lines of a file: see ``FORMAT.md``."""
        return Lines(self._log).events(self._start, self._start + len(self))

    def save(self, path: str | PathLike[str]) -> None:
        """Write the run to a file (``.jsonl`` or ``.jsonl.gz``): see ``FORMAT.md``."""
        from pagesim.timeline.file import save

        save(self, path)

    def to_html(self, path: str | PathLike[str], title: str | None = None) -> None:
        """Write the player with this run in it as one file that opens anywhere, without a server.

        At most 20,000 events go into a page: of a longer run the first ones, and the page says so.
        """
        from pagesim.timeline.display import to_html

        to_html(self, path, title)

    def _repr_html_(self) -> str:
        from pagesim.timeline.display import notebook_output

        return notebook_output(self)

    def __repr__(self) -> str:
        return f"Timeline({len(self)} events)"
