"""Memory before paging as a run for the player: the pool in units, a row of them per request.

The player shows blocks and tables, and reads nothing but a timeline. So the slots are drawn as
units of a few slots each, and a request's table is what it holds: consecutive units from admission
to the end or, with token attention, one unit after another as it grows.
"""

from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Protocol

from pagesim.errors import NoFreeBlocksError, UsageError
from pagesim.journal import Journal, event
from pagesim.journal.effects import BACK, FREE, MAX_BLOCKS, PATCH, SCHEDULED, TAKE, WRITE
from pagesim.journal.state import Queues, State, TableState
from pagesim.simulation.baselines.policy import MemoryPolicy
from pagesim.simulation.paged_requests import prompt_of
from pagesim.simulation.waste import Slots
from pagesim.timeline.record import record
from pagesim.timeline.run import Timeline
from pagesim.workload.request import Request

RESERVE = "ensure_num_empty_slots"
"""The name of a reservation in a timeline: the block layer's call for room without tokens."""
FREE_LIST = "GPU free list"


class AddressedPolicy(MemoryPolicy, Protocol):
    """A memory policy that says which slots a request holds, and why it was refused."""

    def held(self, request_id: str) -> Sequence[int]:
        """The slots of a request, in the order of its tokens; none if it holds nothing."""

    def why_refused(self, request: Request) -> str:
        """Why :meth:`admit` has just refused it."""


class Row:
    """One request: what it holds, and what is written there. Its number is its sequence's name."""

    def __init__(self, number: int, request: Request) -> None:
        self.number, self.request, self.name = number, request, request.request_id
        self.units: list[int] = []
        self.tokens: list[int] = []


def number(memory: "RecordedMemory", result: object, row: Row, *_: object) -> int:
    """The subject of an event about a row: its number."""
    return row.number


class RecordedMemory:
    """A memory policy whose decisions are written into a journal, and a timeline of them.

    A request waits from its arrival on. Tables and tokens have the same names as in the timeline
    of policy "paged".
    """

    def __init__(self, policy: AddressedPolicy, requests: Sequence[Request], unit: int = 1) -> None:
        self.policy, self.pool, self.unit = policy, policy.pool, unit
        if self.pool // unit > MAX_BLOCKS:
            raise UsageError(
                f"pool is {self.pool} slots: a timeline shows at most {MAX_BLOCKS} units of "
                f"{unit} slots; use a smaller pool"
            )
        self.journal = Journal()
        self._rows = {r.request_id: Row(i, r) for i, r in enumerate(requests)}
        self._waiting: deque[Row] = deque()
        self._running: dict[str, Row] = {}
        self._held: dict[int, Row] = {}
        """The rows that hold something, by number: with static batching, finished ones as well."""
        self._computed: dict[Row, tuple[int, bool]] = {}
        """How many tokens each computes in this step, and whether they are its prompt."""
        self._refused: Row | None = None
        self._recorder = record(self)
        self._timeline = self._recorder.__enter__()

    def state(self) -> State:
        """The present state of the pool. Free units are drawn in the order of their addresses."""
        num_units = self.pool // self.unit
        taken = {unit for row in self._held.values() for unit in row.units}
        tables = {
            row.number: TableState.of(tuple(row.units), tuple(row.tokens), self.unit)
            for row in self._held.values()
        }
        queues = {"waiting": self._waiting, "running": self._running.values()}
        return State(
            block_size=self.unit,
            pools={"GPU": num_units},
            caching=False,
            tables=dict(tables.items()),
            ref_counts={unit: int(unit in taken) for unit in range(num_units)},
            lists={FREE_LIST: tuple(unit for unit in range(num_units) if unit not in taken)},
            queues=Queues({q: tuple(row.name for row in rows) for q, rows in queues.items()}),
            requests={row.name: row.number for rows in queues.values() for row in rows},
            sorted_lists=frozenset({FREE_LIST}),
            live=dict(self._held.items()),
        )

    def finish(self) -> Timeline:
        """The run, once all requests are served; those still waiting never will be."""
        while self._waiting:
            self._ignore(self._waiting[0])
        self._recorder.__exit__(None, None, None)
        return self._timeline

    # -- called by the server, see MemoryPolicy --------------------------------------------------

    def arrive(self, request: Request) -> None:
        """A request joins the queue, whether it can be served or not."""
        self._arrive(self._rows[request.request_id])

    def can_ever_admit(self, request: Request) -> bool:
        """Whether the policy could ever admit it."""
        return self.policy.can_ever_admit(request)

    def step(self) -> None:
        """A new step begins, and every request in memory writes a token."""
        self.policy.step()
        if self.journal.recorder is not None:
            self.journal.recorder.begin_step()
        self._computed.clear()
        for row in self._running.values():
            self._write_one(row)
            self._computed[row] = 1, False

    def admit(self, request: Request) -> bool:
        """Let the head of the queue take slots and write its prompt, or record why it cannot."""
        row = self._rows[request.request_id]
        while self._waiting[0] is not row:  # the server skips what it can never serve
            self._ignore(self._waiting[0])
        if not self.policy.admit(request):
            if self._refused is not row:
                self._refused = row
                with suppress(NoFreeBlocksError):  # only the event of its failure matters
                    self._refuse(row)
            return False
        self._reserve(row)
        self._write_prompt(row)
        self._computed[row] = request.prompt_tokens, True
        return True

    def usage(self, head_waits: bool) -> Slots:
        """Called once per step, when it is settled which requests compute."""
        self._schedule()
        return self.policy.usage(head_waits)

    def release(self, request: Request) -> None:
        """The request leaves; what no request holds any longer is free."""
        self.policy.release(request)
        self._finish(self._rows[request.request_id])

    # -- events ----------------------------------------------------------------------------------

    @event(number, kind="arrive")
    def _arrive(self, row: Row) -> None:
        self._waiting.append(row)
        self._move(row, None, "waiting")

    @event(number, kind="ignore")
    def _ignore(self, row: Row) -> None:
        self._waiting.popleft()
        self._move(row, "waiting", None)

    @event(number, kind=RESERVE)
    def _refuse(self, row: Row) -> None:
        raise NoFreeBlocksError(self.policy.why_refused(row.request))

    @event(number, kind=RESERVE)
    def _reserve(self, row: Row) -> None:
        self._waiting.popleft()
        self._running[row.name] = self._held[row.number] = row
        self.journal.opened(row, row.number)
        self._take(row)
        self._move(row, "waiting", "running")

    @event(number, kind="append_token_ids")
    def _write_prompt(self, row: Row) -> None:
        self._write(row, prompt_of(row.request, row.number))

    @event(number, kind="append_slots")
    def _write_one(self, row: Row) -> None:
        self._take(row)
        self._write(row, row.tokens[-1:])

    @event(kind="schedule")
    def _schedule(self) -> None:
        for row, computed in self._computed.items():
            self.journal.note((SCHEDULED, row.name, row.number, *computed))

    @event(number, kind="finish")
    def _finish(self, row: Row) -> None:
        del self._running[row.name]
        self._move(row, "running", None)
        for held in [held for held in self._held.values() if not self.policy.held(held.name)]:
            for unit in reversed(held.units):
                self.journal.note((FREE, unit, FREE_LIST, BACK))
            self.journal.closed(held)
            del self._held[held.number]

    # -- helpers ---------------------------------------------------------------------------------

    def _move(self, row: Row, source: str | None, target: str | None) -> None:
        self.journal.move((row.name, row.number), source, target, BACK)

    def _take(self, row: Row) -> None:
        """Take the units that the policy has granted since the last call."""
        slots, start = self.policy.held(row.name), len(row.units)
        new = [slots[i] // self.unit for i in range(start * self.unit, len(slots), self.unit)]
        if new:
            row.units += new
            for unit in new:
                self.journal.note((TAKE, unit, FREE_LIST))
            self.journal.note((PATCH, row, start, new))

    def _write(self, row: Row, tokens: list[int]) -> None:
        """Append tokens to the row, unit by unit."""
        at = len(row.tokens)
        self.journal.append(row, at, tokens)
        self.journal.undo(row.tokens.__delitem__, slice(at, None))
        row.tokens += tokens
        while at < len(row.tokens):
            count = min(self.unit - at % self.unit, len(row.tokens) - at)
            self.journal.note((WRITE, row.units[at // self.unit], count))
            at += count


def check_addressed(policy: Any, name: object) -> AddressedPolicy:
    """The policy; UsageError if it does not say which slots a request holds."""
    if not (hasattr(policy, "held") and hasattr(policy, "why_refused")):
        raise UsageError(
            f"record=True needs a policy that says which slots a request holds, by "
            f"held(request_id) and why_refused(request): {name!r} does not"
        )
    return policy  # type: ignore[no-any-return]
