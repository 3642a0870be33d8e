"""Contiguous memory as a run for the player: the pool cut into units, each request one row of them.

The player shows blocks and tables, and reads nothing but a timeline. So the slots are drawn as
units of a few slots each, and a request's table is its row: consecutive units, all of them held
from admission to the end. Only "max" can be shown, where all rows are alike: a timeline's free list
is a stack, and of other contiguous allocators it would have to give what is not in front.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pagesim.checks import check_int
from pagesim.errors import UsageError
from pagesim.journal.effects import MAX_BLOCKS
from pagesim.simulation.baselines.contiguous import ContiguousPolicy
from pagesim.simulation.paged_requests import prompt_of
from pagesim.simulation.simulate import Simulation, simulate
from pagesim.timeline.edition1 import FORMAT_1, edition2
from pagesim.timeline.reader import Reader
from pagesim.timeline.run import Timeline
from pagesim.v0.block.block_ids import FreeBlockIds
from pagesim.workload.request import Request, Workload

RESERVE = "ensure_num_empty_slots"
"""What reserving is called in a timeline: the block layer's word for room without tokens."""


def record_max(
    requests: Workload | Sequence[Request], *, pool: int, max_model_len: int, unit: int = 1
) -> Simulation:
    """`simulate(…, policy="max", saturated=True)`, with a ``timeline`` of every step.

    ``pool``, ``max_model_len`` and ``unit`` are in slots; a block of the timeline is one unit. Its
    tables and tokens bear the names that the timeline of policy "paged" gives to the same requests.
    UsageError unless pool and ``max_model_len`` are whole numbers of units.
    """
    memory = _RecordedRows(pool, max_model_len, unit)
    memory.arrive(requests)
    simulation = simulate(
        requests, policy=memory, max_model_len=max_model_len, saturated=True, progress=False
    )
    return replace(simulation, policy="max", timeline=memory.timeline())


class RowAllocator:
    """Rows of ``size`` slots, of which the one freed last is given first; the rest is of no use.

    Nothing else than a whole row is ever asked for.
    """

    def __init__(self, pool: int, size: int) -> None:
        self._size = size
        self._free = FreeBlockIds(range(0, pool // size * size, size))
        self.largest = size if self._free else 0

    def allocate(self, size: int) -> tuple[int, int] | None:
        """See :meth:`pagesim.simulation.baselines.buddy.Allocator.allocate`: a row is granted."""
        return (self._free.popleft(), self._size) if self._free else None

    def free(self, start: int) -> None:
        """See :meth:`pagesim.simulation.baselines.buddy.Allocator.free`."""
        self._free.appendleft(start)


class _RecordedRows(ContiguousPolicy):
    """Orca (Max) that writes down, in the words of a timeline file, what the engine tells it."""

    def __init__(self, pool: int, max_model_len: int, unit: int) -> None:
        check_int("unit", unit, 1)
        for name, slots in (("pool", pool), ("max_model_len", max_model_len)):
            if check_int(name, slots, 1) % unit:
                raise UsageError(f"{name} must be a whole number of {unit}-slot units, not {slots}")
        if pool // unit > MAX_BLOCKS:
            raise UsageError(
                f"pool must be at most {MAX_BLOCKS} units of {unit} slots, as many as a timeline "
                f"shows, not {pool} slots"
            )
        super().__init__(pool, max_model_len, "max", RowAllocator(pool, max_model_len))
        self._unit, self._num_units = unit, pool // unit
        self._rows: dict[str, int] = {}
        self._waiting: deque[str] = deque()
        self._running: dict[str, list[int]] = {}
        """The tokens of each request in memory."""
        self._computed: dict[str, tuple[int, bool]] = {}
        """How many tokens each computes in this step, and whether they are its prompt."""
        self._step = 0
        self._refused: str | None = None
        self._events: list[dict[str, Any]] = []

    def arrive(self, requests: Sequence[Request]) -> None:
        """Let these wait, in this order, before the first step."""
        for row, request in enumerate(requests):
            name = request.request_id
            self._rows[name] = row
            self._note("arrive", name, queues=[["enter", "waiting", row, name, row]])
            self._waiting.append(name)

    # -- what the engine tells -------------------------------------------------------------------

    def step(self) -> None:
        """A new step begins, and every request in memory writes a token."""
        super().step()
        self._step += 1
        self._computed.clear()
        for name, tokens in self._running.items():
            self._write("append_slots", name, [tokens[-1]])
            self._computed[name] = 1, False

    def admit(self, request: Request) -> bool:
        """The head of the queue takes a row and writes its prompt, or is told why it cannot."""
        name = request.request_id
        while self._waiting[0] != name:  # the engine passes over what it can never serve
            self._ignore()
        if not super().admit(request):
            if self._refused != name:
                self._refused = name
                self._note("failed", name, called=RESERVE, error=self._why())
            return False
        place = len(self._running)
        units = self._units(name)
        self._waiting.popleft()
        self._running[name] = []
        self._note(
            RESERVE,
            name,
            effects=[["take", unit] for unit in units],
            tables=[[self._rows[name], 0, units]],
            queues=[
                ["leave", "waiting", 0, name],
                ["enter", "running", place, name, self._rows[name]],
            ],
        )
        self._write("append_token_ids", name, prompt_of(request, self._rows[name]))
        self._computed[name] = request.prompt_tokens, True
        return True

    def usage(self, head_waits: bool) -> tuple[int, int, int, int]:
        """Asked once a step, when it is settled which requests compute."""
        batch = [[name, self._rows[name], *does] for name, does in self._computed.items()]
        self._note("schedule", None, scheduled=batch)
        return super().usage(head_waits)

    def release(self, request: Request) -> None:
        """The row is free again: its first unit comes last, and so stands in front."""
        name = request.request_id
        units, place = self._units(name), list(self._running).index(name)
        super().release(request)
        del self._running[name]
        self._note(
            "finish",
            name,
            effects=[["return", unit] for unit in reversed(units)],
            closed=[self._rows[name]],
            queues=[["leave", "running", place, name]],
        )

    # -- the timeline ----------------------------------------------------------------------------

    def timeline(self) -> Timeline:
        """All that was told, as a run."""
        while self._waiting:
            self._ignore()
        header = {
            "format": FORMAT_1,
            "block_size": self._unit,
            "num_gpu_blocks": self._num_units,
            "num_cpu_blocks": 0,
            "events": len(self._events),
            "state": {"free": [list(range(self._num_units)), []]},
        }
        lines = edition2(enumerate([header, *self._events]), "contiguous memory")
        reader = Reader(next(lines)[1], "contiguous memory")
        for number, words in lines:
            reader.event(words, f"contiguous memory, event {number}")
        return Timeline(reader.log, stop=len(reader.log))

    def _note(self, event: str, name: str | None, **words: Any) -> None:
        subject = None if name is None else self._rows[name]
        step = {"step": self._step} if self._step else {}
        self._events.append({"event": event, "of": subject, **step, **words})

    def _write(self, event: str, name: str, tokens: list[int]) -> None:
        """Tokens go behind those that the row holds, unit after unit."""
        units, effects = self._units(name), []
        at = len(self._running[name])
        self._running[name] += tokens
        while tokens:
            room = self._unit - at % self._unit
            unit = units[at // self._unit]
            effects.append(["write", unit, self._rows[name], tokens[:room]])
            tokens, at = tokens[room:], at + room
        self._note(event, name, effects=effects)

    def _units(self, name: str) -> list[int]:
        start, _, granted = self._held[name]
        return list(range(start // self._unit, (start + granted) // self._unit))

    def _ignore(self) -> None:
        name = self._waiting.popleft()
        self._note("ignore", name, queues=[["leave", "waiting", 0, name]])

    def _why(self) -> str:
        free = self.pool - self._granted
        return (
            f"it asks for {self._max_model_len} slots in a row, for it may become that long; "
            f"{free} slots are free, but no such row"
        )
