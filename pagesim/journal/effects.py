"""The words for what happens to pages: journals write them, timelines keep and show them.

The kinds are small integers, so that a million of them are cheap; ``EFFECTS[kind]`` is the word.
``timeline/FORMAT.md`` says what each does. Nothing here knows a policy: which blocks wait in which
list, and in which order, is said by the class that moves them.
"""

from __future__ import annotations

import reprlib
from dataclasses import dataclass

Name = int | str
"""What a table or a request is called: the id of a sequence, or a label."""

MAX_NAME = 10_000
"""Letters of a name, or of an error's message."""

MAX_BLOCKS = 2_000_000
"""Blocks of all pools of a run: every state of it names them all."""


def is_name(value: object) -> bool:
    """Whether ``value`` can name a table, in memory and in a file: an int, or a string of UTF-8."""
    return type(value) is int or is_text(value)


def is_text(value: object) -> bool:
    """Whether ``value`` is a string that a file can hold: not endless, no half of a character."""
    if not isinstance(value, str) or len(value) > MAX_NAME:
        return False
    return value.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in value)


_repr = reprlib.Repr()
_repr.maxstring = _repr.maxother = 80
show = _repr.repr
"""A value as an error message shows it: short, however long or deep it is."""


def request_name(request_id: object) -> Name:
    """What a request is called in a timeline: its id, or that as text."""
    return request_id if is_name(request_id) else show(request_id)  # type: ignore[return-value]


EFFECTS = (
    "take",
    "free",
    "share",
    "unshare",
    "write",
    "copy",
    "move",
    "cache",
    "hit",
    "evict",
    "computed",
    "null",
)
"""The elementary effects on blocks."""

TAKE, FREE, SHARE, UNSHARE, WRITE, COPY, MOVE, CACHE, HIT, EVICT, COMPUTED, NULL = range(12)
# Rows of a log that are no effects on blocks: how tables and queues change, what is written.
PATCH, OPEN, CLOSE, TOKENS, LEAVE, ENTER, SCHEDULED, MARK = range(12, 20)
# Rows of a journal alone: a table begins to write tokens; the order of a queue.
APPEND, QUEUE = 20, 21

FRONT, BACK = 0, -1
"""Where a freed block goes in its list."""

FAILED = "failed"
"""The kind of an event that is a call which raised and was undone."""

CALLS = (
    "allocate",
    "append_slots",
    "append_token_ids",
    "ensure_num_empty_slots",
    "fork",
    "free",
    "swap",
    "swap_out",
    "swap_in",
    "update",
    "mark_blocks_as_computed",
    "schedule",
    "record",
    "allocate_mutable_block",
    "allocate_immutable_block",
    "allocate_immutable_blocks",
    "allocate_or_get_null_block",
    "full_block",
    "fork_blocks",
    "cow_block_if_not_appendable",
    "promote_to_immutable_block",
)
"""Kinds of events that are a public call of a scheduler, a manager, a table or an allocator."""

DECISIONS = ("arrive", "admit", "preempt", "resume", "finish", "ignore", "abort")
"""Kinds of events that are a scheduler's decisions about one request, and not a call."""


@dataclass(frozen=True, slots=True)
class Effect:
    """One elementary change. ``block`` is concerned; of a copy or a move it is the source.

    ``to``: where a copy or a move goes. ``list``: the list that a block leaves (take, hit) or goes
    to (free), and ``place`` where in it, 0 the front, -1 the back. ``table``, ``first``, ``count``:
    of a write or a hit, the table and its positions. ``owners``: how many shared the source of a
    copy. ``index``: the entry of the table that became null.
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
    """From entry ``start`` on the table now holds ``block_ids``."""

    table: Name
    start: int
    block_ids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Opened:
    """A table begins, with the tokens it has already, ``num_slots`` of whose slots are filled."""

    table: Name
    token_ids: tuple[int, ...] = ()
    num_slots: int = 0


@dataclass(frozen=True, slots=True)
class Tokens:
    """From position ``first`` on the tokens of a table are these: with their write, or later."""

    table: Name
    first: int
    token_ids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Mark:
    """Numbers on blocks or, if ``on`` is "slots", on slots: (id, number) each."""

    name: str
    on: str
    numbers: tuple[tuple[int, float], ...]


@dataclass(frozen=True, slots=True)
class Move:
    """A request leaves a queue, or enters it: the place is where it stands then, 0 is the front.

    ``sequence`` is the request's first sequence, if that is known.
    """

    enters: bool
    queue: str
    place: int
    request: Name
    sequence: Name | None = None


@dataclass(frozen=True, slots=True)
class Scheduled:
    """A request that computes in a step: how many tokens, of its prompt or one a sequence."""

    request: Name
    sequence: Name | None
    num_tokens: int
    is_prompt: bool


@dataclass(frozen=True, slots=True)
class Event:
    """One public call, or one decision of a scheduler, and what it did, in order.

    ``kind`` is the call's name, or one of :data:`DECISIONS`, or "failed" for a call that raised
    and was undone (``error`` says why, ``called`` what). ``subject`` is the table or sequence it
    concerns. ``opened`` and ``closed`` are tables that begin or end in this event, ``tokens`` what
    became known of them. ``moves`` say how the queues change, one after the other; ``step`` counts
    the calls of ``schedule()``, and ``scheduled`` is what such a call decided to compute.
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
