"""The words of a timeline: what can happen to a block, and the event that it happens in."""

from __future__ import annotations

import reprlib
from dataclasses import dataclass

Name = int | str
"""What a table is called: the id of its sequence, or a label."""

MAX_NAME = 10_000
"""Letters of a name, or of an error's message."""


def is_name(value: object) -> bool:
    """Whether ``value`` can name a table, in memory and in a file: an int, or a string of UTF-8."""
    return type(value) is int or is_text(value)


def is_text(value: object) -> bool:
    """Whether ``value`` is a string that a file can hold: not endless, no half of a character."""
    if not isinstance(value, str) or len(value) > MAX_NAME:
        return False
    return value.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in value)


EFFECTS = (
    "take",
    "return",
    "share",
    "unshare",
    "write",
    "copy",
    "swap_out",
    "swap_in",
    "promote",
    "hit",
    "evict",
    "null",
)
"""The elementary effects; ``FORMAT.md`` beside this file says what each does to a block."""

_repr = reprlib.Repr()
_repr.maxstring = _repr.maxother = 80
show = _repr.repr
"""A value as an error message shows it: short, however long or deep it is."""

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

QUEUES = ("waiting", "running", "swapped")
"""A scheduler's queues."""

TAKE, RETURN, SHARE, UNSHARE, WRITE, COPY, SWAP_OUT, SWAP_IN, PROMOTE, HIT, EVICT, NULL = range(12)
# Rows of a log that say how tables and queues change; they are no effects of their own.
PATCH, OPEN, CLOSE, LEAVE, ENTER, SCHEDULED = range(12, 18)

BLOCK_PAIRS = [COPY, SWAP_OUT, SWAP_IN]


@dataclass(frozen=True, slots=True)
class Effect:
    """One elementary change. ``block`` is concerned; of a copy or a swap it is the source.

    ``to``: where a copy or a swap goes. ``table`` and ``tokens``: of a write or a hit. ``owners``:
    how many shared the source of a copy. ``index``: the entry of the table that became null.
    """

    kind: str
    block: int
    to: int | None = None
    table: Name | None = None
    tokens: tuple[int, ...] = ()
    owners: int | None = None
    index: int | None = None


@dataclass(frozen=True, slots=True)
class TableChange:
    """From entry ``start`` on the table now holds ``block_ids``."""

    table: Name
    start: int
    block_ids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Queues:
    """The requests in a scheduler's queues, front first; empty without a scheduler."""

    waiting: tuple[Name, ...] = ()
    running: tuple[Name, ...] = ()
    swapped: tuple[Name, ...] = ()


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
    """One public call, or one decision of the scheduler, and what it did, in order.

    ``kind`` is the call's name, or one of :data:`DECISIONS`, or "failed" for a call that raised
    and was undone (``error`` says why, ``called`` what). ``subject`` is the table or sequence it
    concerns. ``opened`` are tables that begin in this event, with the tokens they have already.
    ``moves`` say how the queues change, one after the other; ``step`` counts the calls of
    ``schedule()``, and ``scheduled`` is what such a call decided to compute.
    """

    kind: str
    subject: Name | None
    effects: tuple[Effect, ...] = ()
    tables: tuple[TableChange, ...] = ()
    opened: tuple[tuple[Name, tuple[int, ...]], ...] = ()
    closed: tuple[Name, ...] = ()
    moves: tuple[Move, ...] = ()
    scheduled: tuple[Scheduled, ...] = ()
    step: int | None = None
    called: str | None = None
    error: str | None = None
    caption: str = ""
