"""What a scheduler tells a recording: who moves between queues, who computes, what was decided."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pagesim.journal import Journal
from pagesim.journal.effects import BACK, QUEUE, SCHEDULED, Name, Row, moves
from pagesim.v1.request import Request
from pagesim.v1.request_queue import RequestQueue
from pagesim.v1.state import first_table
from pagesim.v1.step import Step

HOLDING = "kv_holding_waiting"


class SchedulerNotes:
    """Writes the decisions of one scheduler to a journal.

    ``holding`` has the requests that wait and hold blocks; None if there is no second tier.
    """

    def __init__(
        self,
        journal: Journal,
        waiting: RequestQueue,
        holding: RequestQueue | None,
        num_groups: int,
    ) -> None:
        self.journal = journal
        self.waiting = waiting
        self.holding = holding
        self.num_groups = num_groups

    def queues(self, running: Iterable[Request]) -> dict[str, Iterable[Request]]:
        """All queues by the names that a recording has for them."""
        queues = {"waiting": self.waiting, "running": running}
        return queues if self.holding is None else queues | {HOLDING: self.holding}

    def moved(self, request: Request, source: str | None, target: str | None) -> None:
        """A request has left one queue and entered another; None is outside."""
        self.journal.note_all(self._moves, request, source, target)

    def _moves(self, request: Request, source: str | None, target: str | None) -> Iterable[Row]:
        place = BACK if target != "waiting" else list(self.waiting).index(request)
        return moves(self._as_queued(request.request_id), source, target, place)

    def ended(self, request: Request) -> None:
        """A request leaves its queue, because it is finished."""
        self.journal.note_all(self._leaves, request)

    def _leaves(self, request: Request) -> Iterable[Row]:
        queues = self.queues(()).items()
        source = next((name for name, queue in queues if request in queue), "running")
        return self._moves(request, source, None)

    def decided(self, kind: str, request: Request) -> None:
        """What was done for a request so far is an event of this kind."""
        self.journal.decided(kind, request.request_id)

    def scheduled(self, step: Step) -> None:
        """Who computes how many tokens in a step that is decided, and who waits now."""
        self.journal.note_all(self._rows_of, step)

    def _rows_of(self, step: Step) -> Iterator[Row]:
        decoding = {
            request.request_id
            for request in step.running
            if request.num_computed_tokens + 1
            == request.num_tokens + request.num_output_placeholders
        }
        for name, num_tokens in step.num_tokens.items():
            yield SCHEDULED, *self._as_queued(name), num_tokens, name not in decoding
        if self.holding is not None:  # requests that were passed over are back in their places
            for queue, requests in ((HOLDING, self.holding), ("waiting", self.waiting)):
                order = [self._as_queued(request.request_id) for request in requests]
                yield QUEUE, queue, order

    def _as_queued(self, request_id: Name) -> tuple[Name, Name]:
        """A request, and its first table."""
        return request_id, first_table(request_id, self.num_groups)
