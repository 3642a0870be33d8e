"""A recorded run: its events, and the state at any step, forwards and backwards."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from os import PathLike
from typing import Any, overload

from pagesim.checks import check_int
from pagesim.errors import UsageError
from pagesim.journal.effects import OPEN, Name, is_name
from pagesim.journal.state import State
from pagesim.timeline import search
from pagesim.timeline.asked import Asked
from pagesim.timeline.captions import caption
from pagesim.timeline.display import notebook_output, to_html
from pagesim.timeline.events import Entry, Event, event_of, is_schedule
from pagesim.timeline.file import save
from pagesim.timeline.film import Read, checked_mark, film
from pagesim.timeline.kv_shape import KVShape
from pagesim.timeline.lines import line
from pagesim.timeline.log import Log
from pagesim.timeline.notes import Notes
from pagesim.timeline.questions import Question
from pagesim.timeline.seek import Seeker


class Timeline:
    """A recorded run: what happens to the pages, step by step.

    A run has ``len(run)`` events. ``run.at(i)`` is the state after ``i`` of them and ``run.at(0)``
    the initial state; ``run[i]`` is the event that leads from ``at(i)`` to ``at(i + 1)``, and
    ``run[a:b]`` is the run between two steps. Jupyter displays a run as the player.
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
        """Title, labels for the tokens, questions, first step: see :meth:`annotate`."""
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
                notes=replace(self.notes.piece(start, stop), clock=self._times(start, stop)),
            )
            piece._seeker = self._seeker
            return piece
        event = event_of(self._log.entry(self._start + range(len(self))[index]))
        return replace(event, caption=caption(event, self._log.start))

    def _times(self, start: int, stop: int) -> tuple[float, ...]:
        """When the calls of ``schedule()`` between two steps had ended."""
        if not self.notes.clock:
            return ()
        ends = [i for i, entry in enumerate(self.entries()) if is_schedule(entry)]
        return self.notes.clock[bisect_left(ends, start) : bisect_left(ends, stop)]

    def __iter__(self) -> Iterator[Event]:
        return (self[i] for i in range(len(self)))

    def entries(self) -> Iterator[Entry]:
        """The events as rows: quicker to read than as objects, which have captions."""
        return self._log.between(self._start, self._start + len(self))

    @property
    def sequences(self) -> list[Name]:
        """The sequences (or labels) of the whole run, in the order in which their tables began.

        The order decides the colours of the sequences, in the player and in the figures.
        """
        entries = self._log.between(0, self._start + len(self))
        began = (row[1] for entry in entries for row in entry[3:] if row[0] == OPEN)
        return list(dict.fromkeys([*self.notes.sequences, *self._log.start.tables, *began]))

    def at(self, index: int) -> State:
        """Return the state after ``index`` events; a negative index counts from the end."""
        steps = range(len(self) + 1)
        if not -len(steps) <= index < len(steps):
            raise IndexError(f"step {index} is not in this run: it has the steps 0 to {steps[-1]}")
        return self._seeker.state(self._start + steps[index])

    def find(
        self, *, block: int | None = None, sequence: Name | None = None, kind: str | None = None
    ) -> list[int]:
        """Return the numbers of the events that meet all conditions given.

        A condition is a block, a sequence (or its label; of several KV cache groups, a request or
        one of its tables, "r1@0"), or a kind. The kind is that of an event
        ("append_slots", "failed") or of an effect ("copy"). UsageError for an unknown kind.
        """
        tests = [
            *([] if block is None else [search.of_block(block)]),
            *([] if sequence is None else [search.of_sequence(sequence, self._log)]),
            *([] if kind is None else [search.of_kind(kind, self._log)]),
        ]
        return [i for i, entry in enumerate(self.entries()) if all(test(entry) for test in tests)]

    @property
    def asked(self) -> Asked:
        """The settings of the scheduler that was recorded, and the lengths of its prompts."""
        return self._log.asked

    def label(self, table: Any, name: Name) -> None:
        """Name a table of this recording; the name holds from the table's beginning.

        UsageError if another table has that name, if the table belongs to another allocator, or if
        the recording has ended; TypeError if ``table`` or ``name`` has the wrong type.
        """
        if self._recording is None or self._stop is not None:
            raise UsageError(f"the recording has ended: no table can be named {name!r} any more")
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
        opens: int | None = None,
        model: KVShape | None = None,
    ) -> Timeline:
        """Give a run a title, labels for its tokens, questions, a model, or where it opens.

        ``opens`` is the step at which the player opens, with the state ``run.at(opens)``. If it is
        not given, the player opens at the first step in which a block holds tokens, or at the first
        question if that comes earlier. All annotations are shown by the player and saved with the
        run. TypeError for an annotation of the wrong type; UsageError for a step that the run does
        not have, or for a question about something that does not happen in its step (see
        ``Question``).
        """
        notes = self.notes.with_changes(title, tokens, questions, opens)
        if opens is not None and opens > len(self):
            raise UsageError(f"opens={opens} is not in this run: it has the steps 0 to {len(self)}")
        for question in notes.questions if questions is not None else ():
            question.blocks(self)
        self.notes = notes if model is None else replace(notes, model=KVShape.of(model))
        return self

    def mark(
        self, step: int, numbers: Mapping[int, float], what: str, *, on: str = "slots"
    ) -> Timeline:
        """Put numbers, such as attention weights, on slots at a step; returns the run.

        ``numbers`` maps slots to numbers; a slot is ``block * block_size + offset`` in the first
        pool. With ``on="blocks"`` it maps blocks instead. ``what`` is a name for these numbers,
        such as "attention of request 0, layer 1". The step's state is ``run.at(step)``. The player
        shades the words by the step's first mark, or by the one that the reader chooses, and the
        caption names the block with the largest sum. Marks are saved with the run. TypeError or
        UsageError for a number that is not finite, or for a slot or step outside the run.
        """
        if not check_int("step", step, 0) or step > len(self):
            raise UsageError(
                f"step {step} has no event: the steps of this run are 1 to {len(self)}"
            )
        mark = checked_mark(self.at(0), numbers, what, on)
        self._log.add(self._start + step - 1, mark)
        return self

    def film(self, reads: Iterable[Read], names: Sequence[Name] | None = None) -> Timeline:
        """Make a film of a kernel that reads the pages of this run's last state.

        The film is a run with one step for each load: in it all programs load their next keys.
        ``reads`` is the result of ``kernels.xray.reads(trace)``. ``names`` are the sequences of the
        batch, in their order; the default is the tables of the last state. With several KV cache
        groups they are the tables that the kernel reads, "r1@0". The player draws each program
        with the blocks that it loads, the weights of all its keys so far, m and l. Numbers keep
        six digits. The last step compares the output. UsageError for a sequence without a name, or
        a slot outside the first pool.
        """
        log = film(self.at(-1), reads, names)
        notes = replace(self.notes, questions=(), opens=None, clock=())
        notes = replace(notes, sequences=tuple(self.sequences))
        return Timeline(log, stop=len(log), notes=notes)

    @property
    def nbytes(self) -> int:
        """The memory used by the run in bytes, including the states kept for quick seeking.

        A slice shares the memory of the whole run.
        """
        return self._log.nbytes + self._seeker.nbytes

    def lines(self) -> Iterator[str]:
        """Yield the lines of the run's file: see ``FORMAT.md``."""
        start = self._log.start
        return (line(entry, caption(event_of(entry), start)) for entry in self.entries())

    def save(self, path: str | PathLike[str]) -> None:
        """Write the run to a file (``.jsonl`` or ``.jsonl.gz``): see ``FORMAT.md``."""
        save(self, path)

    def to_html(self, path: str | PathLike[str], title: str | None = None) -> None:
        """Write a single HTML file that plays this run in any browser, without a server.

        The file holds at most 20,000 events. It shows the first 20,000 of a longer run, and says
        so.
        """
        to_html(self, path, title)

    def _repr_html_(self) -> str:
        return notebook_output(self)

    def __repr__(self) -> str:
        return f"Timeline({len(self)} events)"
