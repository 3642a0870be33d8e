"""Events as Python reads them: what each row of a log says, by name."""

from dataclasses import dataclass
from typing import Any

from pagesim.files.jsonl import JsonObject
from pagesim.journal import effects as fx
from pagesim.journal.effects import EFFECTS, Name
from pagesim.journal.state import Job

ON = ("blocks", "slots")
"""What a mark can put numbers on."""
MAX_MARK = 1e300
"""Beyond the largest number of a mark."""

Entry = tuple[Any, ...]
"""An event: its kind, the table or sequence that it concerns, its step, and all its rows."""


@dataclass(frozen=True, slots=True)
class Effect:
    """One elementary change to ``block``, which is the source of a copy or a move.

    ``to`` is the target of a copy or a move. ``list`` is the list that a block leaves (take, hit)
    or enters (free), and ``place`` the position in it: 0 is the front, -1 the back. ``table``,
    ``first`` and ``count`` are the table and the positions of a write or a hit. ``owners`` is the
    number of owners that the source of a copy had. ``index`` is the entry of the table that became
    null.
    """

    kind: str
    block: int
    to: int | None = None
    list: str | None = None
    place: int | None = None
    table: Name | None = None
    first: int | None = None
    count: int = 0
    owners: int | None = None
    index: int | None = None


@dataclass(frozen=True, slots=True)
class TableChange:
    """A change of a table: from entry ``start`` on, it now holds ``block_ids``."""

    table: Name
    start: int
    block_ids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Opened:
    """The beginning of a table, with the tokens it has and the number of slots already written."""

    table: Name
    token_ids: tuple[int, ...] = ()
    num_slots: int = 0


@dataclass(frozen=True, slots=True)
class Tokens:
    """The tokens of a table from position ``first`` on, which became known in this event."""

    table: Name
    first: int
    token_ids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Mark:
    """Numbers to show on blocks or, if ``on`` is "slots", on slots, as pairs (id, number)."""

    name: str
    on: str
    numbers: tuple[tuple[int, float], ...]


@dataclass(frozen=True, slots=True)
class Holds:
    """What a program of a kernel holds after a load, for one query and head of a table.

    ``query`` is the position of the query. ``weights`` belong to the keys in ``slots``, relative to
    the largest score ``m``; None is a key outside the pool. Without slots, partitions are merged.
    ``l`` is the sum of all weights so far, and ``acc`` the length of the accumulated vector.
    """

    program: tuple[int, ...]
    table: Name
    query: int
    head: int
    slots: tuple[int | None, ...]
    weights: tuple[float, ...]
    m: float
    l: float  # noqa: E741
    acc: float


@dataclass(frozen=True, slots=True)
class Move:
    """A request that leaves a queue or enters it; ``place`` is its position there, 0 the front.

    ``sequence`` is the request's first sequence, if it is known.
    """

    enters: bool
    queue: str
    place: int
    request: Name
    sequence: Name | None = None


@dataclass(frozen=True, slots=True)
class Scheduled:
    """A request that computes in a step: tokens of its prompt, or one per sequence."""

    request: Name
    sequence: Name | None
    num_tokens: int
    is_prompt: bool


@dataclass(frozen=True, slots=True)
class Lookup:
    """A question to the KV cache groups of one kind: how many of ``asked`` tokens they have.

    ``groups`` are their ids; ``found`` is the number of tokens at which a hit in them would end.
    """

    groups: tuple[int, ...]
    asked: int
    found: int


@dataclass(frozen=True, slots=True)
class Event:
    """One public call, or one decision of a scheduler, with its effects in order.

    ``kind`` is the call's name, or one of :data:`DECISIONS`. It is "failed" for a call that raised
    and was undone; ``called`` then names the call, and ``error`` is its message. ``subject`` is the
    table or sequence concerned. ``opened`` and ``closed`` are the tables that begin or end in this
    event, and ``tokens`` the tokens that became known. ``moves`` are the changes of queues, in
    order. ``step`` counts the calls of ``schedule()``, and ``scheduled`` is what such a call
    decided to compute. ``lookups`` are what a "get_computed_blocks" asked several KV cache groups.
    ``begun`` are the copies to a second tier, or back, that begin, and ``ended`` the numbers of
    those that end. ``reads`` are what the programs of a kernel hold, and ``difference`` bounds how
    far its output is from theirs.
    """

    kind: str
    subject: Name | None
    effects: tuple[Effect, ...] = ()
    tables: tuple[TableChange, ...] = ()
    opened: tuple[Opened, ...] = ()
    closed: tuple[Name, ...] = ()
    tokens: tuple[Tokens, ...] = ()
    moves: tuple[Move, ...] = ()
    scheduled: tuple[Scheduled, ...] = ()
    marks: tuple[Mark, ...] = ()
    step: int | None = None
    called: str | None = None
    error: str | None = None
    caption: str = ""
    lookups: tuple[Lookup, ...] = ()
    begun: tuple[Job, ...] = ()
    ended: tuple[int, ...] = ()
    reads: tuple[Holds, ...] = ()
    difference: float | None = None


def event_of(entry: Entry) -> Event:
    """An event as an object, without its caption."""
    kind, subject, step, *rows = entry
    parts: JsonObject = {}
    for row in rows:
        if row[0] == fx.FAILED:
            parts["called"], parts["error"] = row[1:]
        elif row[0] == fx.DIFFERENCE:
            parts["difference"] = row[1]
        else:
            part, value = _value(*row)
            parts[part] = (*parts.get(part, ()), value)
    return Event(kind, subject, step=step, **parts)


def _value(kind: str, *what: Any) -> tuple[str, Any]:
    """The field of the event that a row belongs to, and its value."""
    if kind in EFFECTS:
        block, *more = what
        return "effects", Effect(kind, block, **dict(zip(EFFECTS[kind].fields, more, strict=True)))
    if kind == fx.LOOKUP:
        return "lookups", Lookup(*what)
    if kind == fx.BEGIN:
        return "begun", Job(*what)
    if kind == fx.END:
        return "ended", what[0]
    if kind in (fx.LEAVE, fx.ENTER):
        return "moves", Move(kind == fx.ENTER, *what)
    if kind == fx.CLOSE:
        return "closed", what[0]
    if kind == fx.SCHEDULED:
        return "scheduled", Scheduled(*what)
    if kind == fx.HOLDS:
        return "reads", Holds(*what)
    name, at, *many = what
    if kind == fx.OPEN:
        return "opened", Opened(name, tuple(many), at)
    part, made = {
        fx.PATCH: ("tables", TableChange),
        fx.TOKENS: ("tokens", Tokens),
        fx.MARK: ("marks", Mark),
    }[kind]
    return part, made(name, at, tuple(many))


def is_schedule(entry: Entry) -> bool:
    """Whether an event ends a call of ``schedule()``, or says that it failed."""
    return entry[0] == "schedule" or (
        entry[0] == fx.FAILED and any(row[:2] == (fx.FAILED, "schedule") for row in entry[3:])
    )
