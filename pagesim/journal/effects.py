"""The vocabulary for what happens to pages: journals write it, timelines store and show it.

The kinds are small integers, so that a million of them are cheap; ``EFFECTS[kind]`` is the word.
``timeline/FORMAT.md`` says what each does. Nothing here depends on a policy: the class that moves
blocks says in which list they wait, and in which order.
"""

from __future__ import annotations

import reprlib
from dataclasses import dataclass

Name = int | str
"""The name of a table or a request: the id of a sequence, or a label."""

MAX_NAME = 10_000
"""The most characters of a name, or of an error message."""

MAX_BLOCKS = 2_000_000
"""The most blocks of all pools of a run: each of its states lists them all."""


def is_name(value: object) -> bool:
    """Whether ``value`` can name a table, in memory and in a file: an int, or a string of UTF-8."""
    return type(value) is int or is_text(value)


def is_text(value: object) -> bool:
    """Whether ``value`` is a string that a file can hold: of bounded length, no lone surrogates."""
    if not isinstance(value, str) or len(value) > MAX_NAME:
        return False
    return value.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in value)


_repr = reprlib.Repr()
_repr.maxstring = _repr.maxother = 80
show = _repr.repr
"""A value as an error message shows it: short, however long or deep it is."""


def request_name(request_id: object) -> Name:
    """The name of a request in a timeline: its id, or the id as text."""
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
# Rows of a log that are not effects on blocks: changes of tables and queues, tokens, marks.
PATCH, OPEN, CLOSE, TOKENS, LEAVE, ENTER, SCHEDULED, MARK = range(12, 20)
# Rows of journals only: a table begins to write tokens; the order of a queue; what a table's tokens
# are by now.
APPEND, QUEUE, KNOWN = 20, 21, 22

FRONT, BACK = 0, -1
"""The place in its list where a freed block goes."""

FAILED = "failed"
"""The kind of the event for a call that raised and was undone."""

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
    "allocate_slots",
    "update_from_output",
    "cache_blocks",
    "remove_skipped_blocks",
    "evict_blocks",
    "reset_prefix_cache",
    "get_new_blocks",
    "touch",
    "free_blocks",
    "cache_full_blocks",
)
"""Kinds of events that are public calls of a scheduler, a manager, a table or an allocator."""

DECISIONS = ("arrive", "admit", "preempt", "resume", "finish", "ignore", "abort")
"""Kinds of events that are a scheduler's decisions about one request, not calls."""


@dataclass(frozen=True, slots=True)
class Effect:
    """One elementary change to ``block``, which is the source of a copy or a move.

    ``to``: where a copy or a move goes. ``list``: the list that a block leaves (take, hit) or goes
    to (free), and ``place`` the position in it: 0 is the front, -1 the back. ``table``, ``first``,
    ``count``: the table and the positions of a write or a hit. ``owners``: how many shared the
    source of a copy. ``index``: the entry of the table that became null.
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
    """A table begins, with the tokens it already has and ``num_slots`` of its slots filled."""

    table: Name
    token_ids: tuple[int, ...] = ()
    num_slots: int = 0


@dataclass(frozen=True, slots=True)
class Tokens:
    """The tokens of a table from position ``first`` on, known when they are written, or later."""

    table: Name
    first: int
    token_ids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Mark:
    """Numbers on blocks or, if ``on`` is "slots", on slots: pairs (id, number)."""

    name: str
    on: str
    numbers: tuple[tuple[int, float], ...]


@dataclass(frozen=True, slots=True)
class Move:
    """A request leaves a queue, or enters it; ``place`` is its position there, 0 is the front.

    ``sequence`` is the request's first sequence, if that is known.
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
class Event:
    """One public call, or one decision of a scheduler, and what it did, in order.

    ``kind`` is the call's name, or one of :data:`DECISIONS`, or "failed" for a call that raised
    and was undone (``error`` says why, ``called`` what). ``subject`` is the table or sequence it
    concerns. ``opened`` and ``closed`` are tables that begin or end in this event, ``tokens`` the
    tokens that became known. ``moves`` are the changes of queues, in order; ``step`` counts the
    calls of ``schedule()``, and ``scheduled`` is what such a call decided to compute.
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
