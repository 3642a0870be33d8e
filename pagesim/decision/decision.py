"""What one step decided, and why: the verdict on a request, the victims, the queues."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from pagesim.decision.watch import GROW, Check
from pagesim.files.jsonl import JsonObject
from pagesim.journal.effects import Name
from pagesim.journal.state import State, TableState, name_parts
from pagesim.timeline import Timeline

ADMITTED, RUNS, RETURNS = "is admitted", "runs on", "returns from the CPU"
WAITS, SWAPPED, PREEMPTED = "waits", "waits on the CPU", "is preempted"
IGNORED, FAILED = "is ignored: vLLM drops it", "is not decided"
YES = (ADMITTED, RUNS, RETURNS)
"""The verdicts after which a request is running."""

Queues = Mapping[str, tuple[Name, ...]]


@dataclass(frozen=True, slots=True)
class Victim:
    """A request that made room: the blocks that it gave back, and where it is after the step.

    ``place`` counts from 0, the front of ``queue``. ``tokens`` are
    those that it had computed.
    """

    request: Name
    blocks: int
    tokens: int
    queue: str
    place: int

    def __str__(self) -> str:
        where = "the front" if self.place == 0 else f"place {self.place + 1}"
        freed = f"{self.blocks:,} block{'' if self.blocks == 1 else 's'}"
        begins = "goes on when it is swapped in" if self.queue == "swapped" else "begins again"
        return (
            f"{self.request} is preempted: it gives {freed} back and stands at {where} "
            f"of {self.queue}; it had computed {self.tokens:,} tokens, and {begins}"
        )


@dataclass(frozen=True, slots=True)
class Decision:
    """What the next step decides.

    ``verdict`` says what became of ``request``, and ``why`` the reasons, in sentences. ``checks``
    are all comparisons of blocks, in the order in which the engine made them. ``before`` and
    ``after`` are the queues, front first. ``run`` is the step as a recorded run, with the state of
    the pool before it, ``run.at(0)``, and after it, ``run.at(-1)``. ``error`` is the message if the
    engine stopped.
    """

    engine: str
    request: Name | None
    verdict: str
    why: tuple[str, ...]
    checks: tuple[Check, ...]
    preempted: tuple[Victim, ...]
    before: Queues
    after: Queues
    run: Timeline
    error: str | None = None

    @property
    def ok(self) -> bool:
        """Whether the request is running after the step; without one, whether all go on."""
        return self.verdict in YES and not (self.request is None and self.preempted)

    def __str__(self) -> str:
        lines = [] if self.request is None else [f"{self.request} {self.verdict}"]
        lines += [f"  {reason}" for reason in self.why]
        lines += [f"  the engine stops: {self.error}"] if self.error else []
        lines += [str(check) for check in self.checks if check.kind == GROW and not check.fits]
        lines += [str(victim) for victim in self.preempted] or ["nobody is preempted"]
        for name, queue in self.after.items():
            then = self.before[name]
            was = "" if then == queue else f"   (before: {_listed(then)})"
            lines.append(f"{name + ':':<9}{_listed(queue)}{was}")
        return "\n".join(lines)

    def summary(self) -> JsonObject:
        """Return it as JSON can hold it."""
        return {
            "engine": self.engine,
            "request": self.request,
            "verdict": self.verdict,
            "why": list(self.why),
            "checks": [
                {
                    "request": check.request,
                    "kind": check.kind,
                    "needs": check.needs,
                    "free": check.free,
                    "watermark": check.watermark,
                    "fits": check.fits,
                    "never": check.never,
                }
                for check in self.checks
            ],
            "preempted": [
                {
                    "request": victim.request,
                    "blocks": victim.blocks,
                    "queue": victim.queue,
                    "place": victim.place,
                }
                for victim in self.preempted
            ],
            "before": {name: list(queue) for name, queue in self.before.items()},
            "after": {name: list(queue) for name, queue in self.after.items()},
            "error": self.error,
        }

    def _repr_html_(self) -> str:
        from html import escape

        return f"<pre>{escape(str(self))}</pre>{self.run._repr_html_()}"


def _listed(names: Iterable[Name]) -> str:
    return ", ".join(map(str, names)) or "none"


def victims(run: Timeline) -> tuple[Victim, ...]:
    """Who made room, in the order in which the engine chose them."""
    queues, found = run.at(-1).queues, []
    for number in run.find(kind="preempt"):
        name = next(move.request for move in run[number].moves if not move.enters)
        held = _tables(run.at(number), name)
        queue = next((each for each in queues if name in queues[each]), "waiting")
        place = queues[queue].index(name) if name in queues[queue] else 0
        blocks = len({block for table in held for block in table.block_ids if table.fill})
        tokens = max((table.num_slots for table in held), default=0)
        found.append(Victim(name, blocks, tokens, queue, place))
    return tuple(found)


def _tables(state: State, request: Name) -> list[TableState]:
    """The tables of a request: one, or one for each KV cache group."""
    first = state.requests.get(request, request)
    parts = name_parts(first) if state.groups else None
    if parts is None:
        return [state.tables[first]] if first in state.tables else []
    return [
        table for name, table in state.tables.items() if (name_parts(name) or ("",))[0] == parts[0]
    ]
