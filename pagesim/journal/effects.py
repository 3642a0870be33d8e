"""The vocabulary for what happens to pages: journals write it, timelines store and show it.

A row is a tuple: its kind, a word, then what it concerns. The table :data:`EFFECTS` says what each
effect on a block has and does; ``timeline/FORMAT.md`` repeats it for readers of files. Nothing here
depends on a policy: the class that moves blocks says in which list they wait, and in which order.

A new effect needs three entries: in this table, in ``player/js/effects.js`` and in ``FORMAT.md``.
"""

from __future__ import annotations

import inspect
import reprlib
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, MutableSequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeGuard

from pagesim.errors import UsageError

Row = tuple[Any, ...]
"""What happened: a kind, and what it concerns."""

Name = int | str
"""The name of a table or a request: the id of a sequence, or a label."""

MAX_NAME = 10_000
"""The most characters of a name, or of an error message."""

MAX_BLOCKS = 2_000_000
"""The most blocks of all pools of a run: each of its states lists them all."""


def is_name(value: object) -> TypeGuard[Name]:
    """Whether ``value`` can name a table, in memory and in a file: an int, or a string of UTF-8."""
    return type(value) is int or is_text(value)


def is_text(value: object) -> TypeGuard[str]:
    """Whether ``value`` is a string that a file can hold: of bounded length, no lone surrogates."""
    if not isinstance(value, str) or len(value) > MAX_NAME:
        return False
    return value.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in value)


_repr = reprlib.Repr()
_repr.maxstring = _repr.maxother = 80
show = _repr.repr
"""A value as an error message shows it: short, however long or deep it is."""


def check_recordable(tokens: Iterable[int]) -> None:
    """Raise UsageError for a token beyond 64 bits: a timeline cannot store it."""
    for token in tokens:
        if not -(2**63) <= token < 2**63:
            raise UsageError(
                f"token {token} cannot be recorded: tokens in a timeline have at most 64 bits"
            )


def check_pool_size(num_blocks: int) -> None:
    """Raise UsageError for more blocks than a timeline may have: each of its states lists them."""
    if num_blocks > MAX_BLOCKS:
        raise UsageError(
            f"{num_blocks} blocks are more than the {MAX_BLOCKS} that a recorded run may have: "
            f"record a smaller pool, or larger blocks"
        )


def request_name(request_id: Hashable) -> Name:
    """The name of a request in a timeline: its id, or the id as text."""
    return request_id if is_name(request_id) else show(request_id)


FAILED = "failed"
"""The kind of the event for a call that raised and was undone."""

GET_COMPUTED_BLOCKS = "get_computed_blocks"
"""The kind of the event for a lookup in several KV cache groups, which has nothing else."""

CALLS = (
    # schedulers, managers and tables
    *("allocate", "append_slots", "append_token_ids", "ensure_num_empty_slots", "fork", "free"),
    *("swap", "swap_out", "swap_in", "update", "mark_blocks_as_computed", "schedule", "record"),
    # V0's allocators
    *("allocate_mutable_block", "allocate_immutable_block", "allocate_immutable_blocks"),
    *("allocate_or_get_null_block", "fork_blocks", "cow_block_if_not_appendable"),
    "promote_to_immutable_block",
    # V1
    *("allocate_slots", "update_from_output", "cache_blocks", "remove_skipped_blocks"),
    *("evict_blocks", "reset_prefix_cache", "get_new_blocks", "touch", "free_blocks"),
    *("cache_full_blocks", GET_COMPUTED_BLOCKS),
    # V1 with a second tier
    *("update_connector_output", "reset_cache", "pop_blocks_for_free"),
)
"""Kinds of events that are public calls of a scheduler, a manager, a table or an allocator."""

DECISIONS = ("arrive", "admit", "preempt", "resume", "finish", "ignore", "abort")
"""Kinds of events that are a scheduler's decisions about one request, not calls."""

TIER_DECISIONS = ("load", "receive", "promote", "defer")
"""Those that there are with a second tier."""


# Rows that are not effects on blocks: changes of tables and queues, tokens, steps, marks.
PATCH, OPEN, CLOSE, TOKENS = "patch", "open", "close", "tokens"
LEAVE, ENTER, SCHEDULED, MARK = "leave", "enter", "scheduled", "mark"
# What a program of a kernel holds after a load of keys; how far the kernel's output is from that.
HOLDS, DIFFERENCE = "holds", "difference"
# Rows of journals only: a table begins to write tokens; the order of a queue; what a table's tokens
# are by now.
APPEND, QUEUE, KNOWN = "append", "queue", "known"
# ... and for the header of a run: a request arrives, with so many tokens.
PROMPT = "prompt"
# A lookup in KV cache groups: their ids, and how many tokens it asked for and found.
LOOKUP = "lookup"
# A copy between the GPU and the second tier, by its number.
BEGIN, END = "begin", "end"
COPIES = STORE, LOAD = "store", "load"
"""What a copy is: to the second tier, or back."""

FRONT, BACK = 0, -1
"""The place in its list where a freed block goes."""


def moves(
    who: tuple[Name, Name], source: str | None, target: str | None, place: int
) -> Iterator[Row]:
    """The rows of a request, with its first sequence, that leaves a queue or enters one."""
    if source is not None:
        yield LEAVE, source, *who
    if target is not None:
        yield ENTER, target, *who, place


# -- the effects on blocks -------------------------------------------------------------------------

TAKE, FREE, WRITE, SHARE, UNSHARE, COPY = "take", "free", "write", "share", "unshare", "copy"
MOVE, HIT, EVICT, CACHE, COMPUTED, NULL = "move", "hit", "evict", "cache", "computed", "null"


class ImpossibleError(ValueError):
    """What cannot happen to a block in its present state."""


class Waiting(Protocol):
    """A list of blocks without owners."""

    def add(self, block: int, place: int) -> None: ...

    def discard(self, block: int) -> bool: ...


class Pages(Protocol):
    """What effects change: the owners of each block, and where blocks without owners wait."""

    refs: MutableSequence[int]
    cached: set[int]
    computed: set[int]
    null_block: int | None

    @property
    def lists(self) -> Mapping[str, Waiting]: ...

    def fill(self, table: Hashable, end: int) -> None:
        """Note that the positions up to ``end`` of a table are written."""

    def need(self, is_so: bool, problem: str) -> None:
        """Where effects come from a file: ImpossibleError unless it is so."""


Apply = Callable[..., None]


@dataclass(frozen=True, slots=True)
class Kind:
    """What an effect has apart from its block, and what it does.

    ``fields`` are attributes of `Effect`, in the order of the row. ``asked`` are the words by which
    a `Question` asks for its blocks: one that ends in "to" asks where a copy or a move goes.
    """

    apply: Apply
    fields: tuple[str, ...]
    asked: tuple[str, ...]

    @property
    def form(self) -> str:
        """The effect as ``FORMAT.md`` writes it: ``["take", b, list]``."""
        _, *names = inspect.signature(self.apply).parameters
        return f'["{self.apply.__name__}", {", ".join(names)}]'

    @property
    def meaning(self) -> str:
        """What it does, as ``FORMAT.md`` says it."""
        return " ".join((self.apply.__doc__ or "").split())


EFFECTS: dict[str, Kind] = {}
"""Each effect by its name."""


def effect(*fields: str, asked: tuple[str, ...] = ()) -> Callable[[Apply], Apply]:
    """Enter a function into the table: it carries out the effect of its name."""

    def enter(apply: Apply) -> Apply:
        EFFECTS[apply.__name__] = Kind(apply, fields, asked)
        return apply

    return enter


@effect("list", asked=("taken",))
def take(now: Pages, b: int, list: str) -> None:
    """`b` leaves this list, from any position, and has one owner; it is not computed"""
    now.need(now.lists[list].discard(b), f"it is not in the {list}")
    now.refs[b] = 1
    now.computed.discard(b)


@effect("list", "place", asked=("returned", "unused"))
def free(now: Pages, b: int, list: str, place: int) -> None:
    """the last owner frees `b`.

    It goes to the front (place 0) or back (-1) of this list, or to its place in a sorted list
    """
    now.need(now.refs[b] == 1, f"it has {now.refs[b]} owners, not 1")
    now.refs[b] = 0
    now.lists[list].add(b, place)


@effect("table", "first", "count", asked=("written",))
def write(now: Pages, b: int, name: Hashable, p: int, n: int) -> None:
    """the positions `p` … `p + n - 1` of the table are written into `b`.

    With name null, they are in no table
    """
    now.need(now.refs[b] > 0, "it has no owner")
    now.fill(name, p + n)


@effect(asked=("shared",))
def share(now: Pages, b: int) -> None:
    """`b` gains an owner"""
    now.need(now.refs[b] > 0, "it has no owner")
    now.refs[b] += 1


@effect()
def unshare(now: Pages, b: int) -> None:
    """`b` loses an owner; others remain"""
    now.need(now.refs[b] > 1, f"it has {now.refs[b]} owners, not 2 or more")
    now.refs[b] -= 1


@effect("to", "owners", asked=("copied", "copied to"))
def copy(now: Pages, a: int, b: int, n: int) -> None:
    """the content of `a`, which had `n` owners, must be copied to `b` (copy-on-write)"""


@effect("to", asked=("swapped", "swapped to"))
def move(now: Pages, a: int, b: int) -> None:
    """the content of `a` moves to `b` in another pool: it is swapped"""


@effect("table", "first", "count", asked=("found",))
def hit(now: Pages, b: int, name: Hashable, p: int, n: int) -> None:
    """the contents of these positions are cached in `b` (`n` 0: the table already has them).

    `b` gains an owner; if it had none, it leaves its list
    """
    now.need(b in now.cached, "it is not cached")
    is_there = now.refs[b] > 0 or any(waiting.discard(b) for waiting in now.lists.values())
    now.need(is_there, "it has no owner and is in no list")
    now.refs[b] += 1
    now.fill(name, p + n)


@effect(asked=("evicted",))
def evict(now: Pages, b: int) -> None:
    """the content of `b` is forgotten: it is no longer cached. `b` stays where it is"""
    now.need(b in now.cached, "it is not cached")
    now.cached.discard(b)


@effect(asked=("cached",))
def cache(now: Pages, b: int) -> None:
    """`b` is full and can be found by its content from now on"""
    now.need(now.refs[b] > 0, "it has no owner")
    now.cached.add(b)


@effect()
def computed(now: Pages, b: int) -> None:
    """the keys and values of `b` exist from now on"""
    now.computed.add(b)


@effect("table", "index")
def null(now: Pages, b: int, name: Hashable, k: int | None) -> None:
    """entry `k` of the table now is the null block `b`.

    With name and `k` null, `b` was taken to be the null block
    """
    now.null_block = b
