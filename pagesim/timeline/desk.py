"""A scheduler being recorded: its decisions become events, each call of `schedule()` a step."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from pagesim.effects import DECISIONS, ENTER, LEAVE, SCHEDULED
from pagesim.state import Queues
from pagesim.timeline.capture import QUEUES, request_of
from pagesim.timeline.log import Waiter
from pagesim.timeline.tap import Tap
from pagesim.v0.scheduler import Scheduler
from pagesim.v0.sequence import SequenceGroup

WAITING, RUNNING, SWAPPED = range(3)
Leaving = tuple[str, SequenceGroup, int]
"""A kind of event, the group that leaves its queue (or stays, if only a member is freed), and whom
the event names."""


class Desk:
    """Knows the queues of a scheduler as they change from decision to decision.

    In the middle of a step the scheduler's own queues lag behind: who runs is taken out and put
    back at the end. Here a request moves when that is decided, and when the step ends both agree.
    """

    def __init__(self, tap: Tap, scheduler: Scheduler) -> None:
        self.tap, self.scheduler = tap, scheduler
        self.deciding = False
        """Whether `schedule()` is at work."""
        self._step = 0
        self._undone = False
        self._queues: list[list[SequenceGroup]] = [[], [], []]

    # -- the queues ------------------------------------------------------------------------------

    def read(self) -> None:
        """Note how the queues differ from what is known of them, and know it."""
        for queue, name in enumerate(QUEUES):
            known, now = self._queues[queue], list(getattr(self.scheduler, name))
            if known != now:
                self._differ(queue, known, now)
                self._queues[queue] = now

    def know(self) -> None:
        """The queues as they are; nothing is noted."""
        self._queues = [list(getattr(self.scheduler, name)) for name in QUEUES]

    def join(self) -> None:
        """Requests that are there when a recording in progress learns of the scheduler.

        They come into the run by an event of their own: what was recorded before knew none of them.
        """
        log = self.tap.log
        log.begin(replace(log.start, queues=Queues((queue, ()) for queue in QUEUES)))
        if self.scheduler.has_unfinished_seqs():
            self.read()
            self.tap.close("record", lambda: None)

    def _differ(self, queue: int, known: list[SequenceGroup], now: list[SequenceGroup]) -> None:
        first = 0  # they differ, so this ends
        while known[first : first + 1] == now[first : first + 1]:
            first += 1
        last = 0
        shorter = min(len(known), len(now)) - first
        while last < shorter and known[-1 - last] is now[-1 - last]:
            last += 1
        for group in known[first : len(known) - last]:
            self._note(LEAVE, queue, group, first)
        for place, group in enumerate(now[first : len(now) - last], first):
            self._note(ENTER, queue, group, place)

    def enter(self, group: SequenceGroup, queue: int, place: int | None = None) -> None:
        """A group enters a queue, at its end if no place is given."""
        waiters = self._queues[queue]
        place = len(waiters) if place is None else place
        waiters.insert(place, group)
        self._note(ENTER, queue, group, place)

    def leave(self, group: SequenceGroup) -> None:
        """A group leaves the queue that it is in."""
        for queue in (RUNNING, SWAPPED, WAITING):  # the last may be very long
            waiters = self._queues[queue]
            for place, other in enumerate(waiters):
                if other is group:
                    del waiters[place]
                    self._note(LEAVE, queue, group, place)
                    return

    def _note(self, kind: int, queue: int, group: SequenceGroup, place: int) -> None:
        self.tap.log.move(kind, queue, self._waiter(group), place)

    def _waiter(self, group: SequenceGroup) -> Waiter:
        return self.tap.log.waiter(request_of(group), group.first_seq.seq_id)

    # -- decisions -------------------------------------------------------------------------------

    def decide(self, kind: str, group: SequenceGroup, call: Callable[[], Any]) -> Any:
        """Let ``call`` happen as one event about a group: whatever it does is the decision's."""
        return self.tap.run(kind, lambda: group.first_seq.seq_id, call)

    def dismiss(self, leaving: Iterable[Leaving], call: Callable[..., None], *args: Any) -> None:
        """Let ``call`` free the sequences of groups, one group after the other: an event each."""
        tap, pending = self.tap, deque(leaving)
        first = len(tap.rows)

        def close() -> None:
            nonlocal first
            kind, group, seq_id = pending.popleft()
            if kind in DECISIONS:
                self.leave(group)
            tap.close(kind, lambda: seq_id)
            first = len(tap.rows)

        def freeing(seq_id: int) -> None:
            while len(pending) > 1 and all(seq.seq_id != seq_id for seq in pending[0][1].seqs):
                close()

        tap.open, tap.freeing = True, freeing
        try:
            call(*args)
        except BaseException as error:
            kind, _, seq_id = pending[0] if pending else ("abort", None, None)
            tap.fail(first, kind, lambda: seq_id, error)
            raise
        finally:
            tap.open, tap.freeing = False, None
        while pending:
            close()

    # -- steps -----------------------------------------------------------------------------------

    def schedule(self, call: Callable[[], Any]) -> Any:
        """Let ``call`` make a step: its decisions, and then an event that says who computes.

        If it raises and has taken everything back, one event is left, which says so.
        """
        tap, log = self.tap, self.tap.log
        self._step += 1
        log.begin_step(self._step)
        before, self._undone, self.deciding = len(log), False, True
        try:
            result = call()
        except BaseException as error:
            if self._undone or len(log) == before:
                tap.fail(len(tap.rows), "schedule", lambda: None, error)
            else:  # it was stopped when all was decided
                self._close()
            raise
        finally:
            self.deciding = False
        metadata, outputs, _ = result
        for given, meta in zip(outputs.scheduled_seq_groups, metadata, strict=True):
            group = given.seq_group
            tokens = given.token_chunk_size if meta.is_prompt else len(group.seqs)
            request, sequence = self._waiter(group)
            log.row(SCHEDULED, tokens, request, meta.is_prompt, sequence)
        self._close()
        return result

    def _close(self) -> None:
        self.read()
        self.tap.close("schedule", lambda: None)

    def all_or_nothing(self, call: Callable[[], Any]) -> Any:
        """Let ``call`` decide a step; what it had decided when it raised is forgotten."""
        mark = self.tap.mark()
        try:
            return call()
        except BaseException:
            self.tap.cut(mark)
            self.know()
            self._undone = True
            raise
