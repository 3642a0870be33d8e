"""Turns the lines of a timeline file back into a log, believing none of them unchecked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pagesim.timeline.effects import (
    CLOSE,
    COPY,
    EFFECTS,
    ENTER,
    EVICT,
    HIT,
    LEAVE,
    NULL,
    OPEN,
    PROMOTE,
    QUEUES,
    RETURN,
    SCHEDULED,
    SHARE,
    SWAP_IN,
    SWAP_OUT,
    TAKE,
    UNSHARE,
    WRITE,
    Name,
    Queues,
    is_name,
    is_text,
    show,
)
from pagesim.timeline.log import EVENT, ROW, Log, TableLog
from pagesim.timeline.notes import notes_from
from pagesim.timeline.replayer import Machine
from pagesim.timeline.state import State, TableState, fill_of

MAX_BLOCKS, MAX_EVENTS, MAX_NUMBERS = 2_000_000, 10_000_000, 200_000_000
LIFE = 50
"""What a table costs, counted in numbers."""
LENGTHS = {WRITE: 4, HIT: 4, COPY: 4, NULL: 4, SWAP_OUT: 3, SWAP_IN: 3}


class TimelineError(ValueError):
    """The file is no timeline, or a damaged one; says which line of which file, and why."""


class Reader:
    """Builds a log from a header and the events that follow, each given as a dict.

    Every event is tried on a state of its own, so that a run that has been read can be replayed.
    """

    def __init__(self, header: Mapping[str, Any], where: str) -> None:
        self._where = where
        self._numbers = 0
        self._lives: dict[Name, TableLog] = {}
        self.first = self._int(header.get("first", 0), "first")
        self.num_events = self._int(header.get("events"), "events")
        try:
            self.notes = notes_from(header)
        except (TypeError, ValueError, KeyError, AttributeError, RecursionError) as error:
            raise self._error(f"title, tokens or questions are unfit: {show(error)}") from None
        start = self._state(header)
        self.log = Log(start)
        for name, table in start.tables.items():
            self._begin(name).write(0, list(table.token_ids))
        self._machine = Machine.from_start(self.log, range(len(start.tables)))
        self._evicted: set[int] = set()

    def event(self, words: Mapping[str, Any], where: str) -> None:
        """Add one event. TimelineError, naming ``where``, if it cannot be."""
        self._where = where
        if len(self.log) >= MAX_EVENTS:
            raise self._error(f"more than {MAX_EVENTS} events")
        kind, subject = self._text(words.get("event"), "event"), words.get("of")
        self._evicted.clear()
        self._count(EVENT)
        for name, tokens in self._pairs(words, "opened"):
            life = self._begin(self._name(name))
            life.write(0, self._ints(tokens, "tokens"))
            self.log.row(OPEN, b=life.number, d=len(life.tokens))
            self._machine.num_tokens[life.number] = len(life.tokens)
            self._machine.tables[life.number] = []
        for effect in self._list(words.get("effects", []), "effects"):
            self._count(ROW)
            self._effect(self._list(effect, "effect"))
        for change in self._list(words.get("tables", []), "tables"):
            self._count(ROW)
            self._change(self._list(change, "table change"))
        for name in self._list(words.get("closed", []), "closed"):
            life = self._life(name)
            del self._lives[life.name]
            self._apply(CLOSE, b=life.number)
        for move in self._moves(words.get("queues", [])):
            self._count(ROW)
            self._move(self._list(move, "queue's change"))
        for computing in self._list(words.get("scheduled", []), "scheduled"):
            self._count(ROW)
            self._scheduled(self._list(computing, "scheduled"))
        if "error" in words:
            called = self._text(words.get("called"), "called")
            self.log.errors[len(self.log)] = called, self._text(words["error"], "error")
        self.log.begin_step(self._int(words["step"], "step") if "step" in words else None)
        name = None if subject is None else self._name(subject)
        self.log.event(self.log.kind_code(kind), self.log.subject_code(name))
        self._machine.after(kind)

    # -- effects ---------------------------------------------------------------------------------

    def _effect(self, effect: Sequence[Any]) -> None:
        if not effect or effect[0] not in EFFECTS:
            raise self._error(f"unknown effect {show(effect)}")
        kind = EFFECTS.index(effect[0])
        if len(effect) != LENGTHS.get(kind, 2):
            raise self._error(f"{effect[0]} must have {LENGTHS.get(kind, 2)} parts: {show(effect)}")
        block = self._block(effect[1])
        if problem := self._problem(kind, block):
            raise self._error(f"{effect[0]} {block}: {problem}")
        if kind in (WRITE, HIT):
            tokens = self._ints(effect[3], "tokens")
            if effect[2] is None:
                self._apply(kind, block, -1, 0, len(tokens))
                return
            life = self._lives.get(self._name(effect[2])) or self._begin(effect[2])
            start = self._machine.num_tokens.get(life.number, 0)
            life.write(start, tokens)
            self._apply(kind, block, life.number, start, len(tokens))
        elif kind == COPY:
            self._apply(kind, block, self._block(effect[2]), self._int(effect[3], "owners"))
        elif kind in (SWAP_OUT, SWAP_IN):
            self._apply(kind, block, self._block(effect[2]))
        elif kind == NULL and effect[2] is not None:
            life, index = self._life(effect[2]), self._int(effect[3], "entry")
            self._apply(kind, block, life.number, index)
        else:
            self._apply(kind, block)
        if kind == EVICT:
            self._evicted.add(block)
        elif kind == TAKE:
            self._evicted.discard(block)

    def _problem(self, kind: int, block: int) -> str | None:
        """Why this cannot happen to the block as it is now, None if it can."""
        machine = self._machine
        device, owners = block >= machine.num_gpu_blocks, machine.refs[block]
        waits = block in machine.evictor[device]
        stack = machine.free[device]
        if kind == TAKE and block not in self._evicted and (not stack or stack[-1] != block):
            return "it is not at the front of its free list"
        if kind == RETURN and owners != 1:
            return f"it has {owners} owners, not 1"
        if kind in (SHARE, PROMOTE, WRITE) and owners < 1:
            return "nobody owns it"
        if kind == UNSHARE and owners < 2:
            return f"it has {owners} owners, not 2 or more"
        if kind == HIT and not (owners or waits):
            return "it is not cached"
        if kind == EVICT and not waits:
            return "it does not wait in the evictor"
        return None

    def _change(self, change: Sequence[Any]) -> None:
        if len(change) != 3:
            raise self._error(f"a table change must be [name, entry, ids], not {show(change)}")
        name, start = self._name(change[0]), self._int(change[1], "entry")
        life = self._lives.get(name) or self._begin(name)
        ids = self._ints(change[2], "ids")
        for block in ids:
            self._block(block)
        if start > len(self._machine.tables.get(life.number, ())):
            raise self._error(f"table {show(name)} has no entry {start} to begin at")
        self.log.patch(life, start, ids)
        self._machine.tables.setdefault(life.number, [])[start:] = ids
        self._machine.add_tokens(life.number, 0)

    def _moves(self, given: Any) -> list[Any]:
        """The changes of the queues; given whole, all of them leave and come anew."""
        if not isinstance(given, dict):
            return self._list(given, "queues")
        whole = self._queues(given)
        moves: list[Any] = []
        for queue, waiters in zip(QUEUES, self._machine.queues, strict=True):
            moves += [["leave", queue, 0, self.log.names(waiter)[0]] for waiter in waiters]
            names = enumerate(getattr(whole, queue))
            moves += [["enter", queue, place, request] for place, request in names]
        return moves

    def _move(self, move: Sequence[Any]) -> None:
        if not 4 <= len(move) <= 5 or move[0] not in ("enter", "leave") or move[1] not in QUEUES:
            raise self._error(
                f"a queue's change must be [enter or leave, queue, place, request, sequence], "
                f"not {show(move)}"
            )
        number, place = QUEUES.index(move[1]), self._int(move[2], "place")
        request, sequence = self._name(move[3]), self._name(move[4]) if move[4:] else None
        waiter, queue = self.log.waiter(request, sequence), self._machine.queues[number]
        if move[0] == "enter":
            if place > len(queue):
                raise self._error(f"the {move[1]} queue has no place {place} to enter at")
            self._enter(ENTER, number, waiter, place)
            return
        if place >= len(queue) or queue[place][0] != waiter[0]:
            raise self._error(f"request {show(request)} is not at place {place} of {move[1]}")
        self._enter(LEAVE, number, queue[place], place)

    def _enter(self, kind: int, queue: int, waiter: tuple[int, int], place: int) -> None:
        self.log.move(kind, queue, waiter, place)
        self._machine.step(self.log, (kind, queue, waiter[0], place, waiter[1]))

    def _scheduled(self, words: Sequence[Any]) -> None:
        if len(words) != 4 or type(words[3]) is not bool:
            raise self._error(
                f"scheduled must be [request, sequence, tokens, is it a prompt], not {show(words)}"
            )
        sequence = None if words[1] is None else self._name(words[1])
        request, first = self.log.waiter(self._name(words[0]), sequence)
        self.log.row(SCHEDULED, self._int(words[2], "tokens"), request, words[3], first)

    def _apply(self, kind: int, a: int = -1, b: int = -1, c: int = 0, d: int = 0) -> None:
        self.log.row(kind, a, b, c, d)
        self._machine.step(self.log, (kind, a, b, c, d))

    # -- values ----------------------------------------------------------------------------------

    def _state(self, header: Mapping[str, Any]) -> State:
        sizes = {}
        for key, least in (("block_size", 1), ("num_gpu_blocks", 0), ("num_cpu_blocks", 0)):
            sizes[key] = self._int(header.get(key), key, least)
        self._total = sizes["num_gpu_blocks"] + sizes["num_cpu_blocks"]
        if self._total > MAX_BLOCKS or sizes["block_size"] > MAX_BLOCKS:
            raise self._error(f"more than {MAX_BLOCKS} blocks, or slots in a block")
        words = header.get("state")
        if not isinstance(words, dict):
            raise self._error(f"state must be an object, not {show(words)}")
        null = None if words.get("null") is None else self._block(words["null"])
        tables: dict[Name, TableState] = {}
        for entry in self._list(words.get("tables", []), "tables"):
            if len(self._list(entry, "table")) != 3 or self._name(entry[0]) in tables:
                raise self._error(f"a table must be [name of its own, ids, tokens]: {show(entry)}")
            ids = tuple(self._block(block) for block in self._list(entry[1], "ids"))
            tokens = tuple(self._ints(entry[2], "tokens"))
            if len(tokens) > len(ids) * sizes["block_size"]:
                raise self._error(f"table {show(entry[0])} has more tokens than slots")
            fill = fill_of(ids, len(tokens), sizes["block_size"], null)
            tables[entry[0]] = TableState(ids, tokens, fill)
        refs = dict.fromkeys(range(self._total), 0)
        for block, count in self._pairs(words, "refs"):
            refs[self._block(block)] = self._int(count, "count", 1)
        free = self._two(words, "free", sizes["num_gpu_blocks"])
        evictor = self._two(words, "evictor", sizes["num_gpu_blocks"])
        idle = [*free[0], *free[1], *evictor[0], *evictor[1]]
        if len(set(idle)) != len(idle) or any(refs[block] for block in idle):
            raise self._error("a block is in two places at once")
        return State(
            **sizes,
            caching=header.get("caching") is True,
            tables=tables,
            ref_counts=refs,
            free_gpu=free[0],
            free_cpu=free[1],
            evictor_gpu=evictor[0],
            evictor_cpu=evictor[1],
            cached=frozenset(map(self._block, self._list(words.get("cached", []), "cached"))),
            touched=frozenset(map(self._block, self._list(words.get("touched", []), "touched"))),
            computed=frozenset(map(self._block, self._list(words.get("computed", []), "computed"))),
            null_block=null,
            queues=self._queues(words.get("queues", {})),
            requests={
                self._name(request): self._name(sequence)
                for request, sequence in self._pairs(words, "requests")
            },
        )

    def _two(
        self, words: Mapping[str, Any], key: str, num_gpu_blocks: int
    ) -> tuple[tuple[int, ...], tuple[int, ...]]:
        both = self._list(words.get(key, [[], []]), key)
        if len(both) != 2:
            raise self._error(f"{key} must be [GPU ids, CPU ids], not {show(both)}")
        gpu, cpu = (tuple(map(self._block, self._list(ids, key))) for ids in both)
        if any(block >= num_gpu_blocks for block in gpu) or any(b < num_gpu_blocks for b in cpu):
            raise self._error(f"{key} has a block in the wrong pool")
        return gpu, cpu

    def _queues(self, words: Any) -> Queues:
        if not isinstance(words, dict):
            raise self._error(f"queues must be an object, not {show(words)}")
        names = (tuple(map(self._name, self._list(words.get(key, []), key))) for key in QUEUES)
        return Queues(*names)

    def _begin(self, name: Name) -> TableLog:
        self._count(LIFE)
        if name in self._lives:
            raise self._error(f"table {show(name)} is there already")
        self._lives[name] = life = self.log.new_table(name)
        return life

    def _life(self, name: Any) -> TableLog:
        life = self._lives.get(self._name(name))
        if life is None or life.number not in self._machine.tables:
            raise self._error(f"there is no table {show(name)}")
        return life

    def _name(self, value: Any) -> Name:
        if is_name(value):
            self._count(len(value) if isinstance(value, str) else 1)
            return value  # type: ignore[no-any-return]
        raise self._error(f"a name must be a number or a short string, not {show(value)}")

    def _text(self, value: Any, name: str) -> str:
        if not value or not is_text(value):
            raise self._error(f"{name} must be a text, not {show(value)}")
        self._count(len(value))
        return value  # type: ignore[no-any-return]

    def _int(self, value: Any, name: str, least: int = 0) -> int:
        if type(value) is not int or not least <= value < 2**31:
            raise self._error(f"{name} must be an integer of at least {least}, not {show(value)}")
        return value

    def _block(self, value: Any) -> int:
        if type(value) is not int or not 0 <= value < self._total:
            raise self._error(f"block {show(value)} is not one of the {self._total}")
        return value

    def _list(self, value: Any, name: str) -> list[Any]:
        if not isinstance(value, list):
            raise self._error(f"{name} must be a list, not {show(value)}")
        return value

    def _count(self, numbers: int) -> None:
        """Note that so many numbers, or letters, are going to be kept in memory."""
        self._numbers += numbers
        if self._numbers > MAX_NUMBERS:
            raise self._error(f"the run is too large: more than {MAX_NUMBERS} numbers and letters")

    def _ints(self, value: Any, name: str) -> list[int]:
        numbers = self._list(value, name)
        self._count(len(numbers))
        if not all(type(number) is int and -(2**63) <= number < 2**63 for number in numbers):
            raise self._error(f"{name} must be integers: {show(numbers)}")
        return numbers

    def _pairs(self, words: Mapping[str, Any], key: str) -> list[Any]:
        pairs = self._list(words.get(key, []), key)
        if not all(isinstance(pair, list) and len(pair) == 2 for pair in pairs):
            raise self._error(f"{key} must be pairs: {show(pairs)}")
        return pairs

    def _error(self, problem: str) -> TimelineError:
        return TimelineError(f"{self._where}: {problem}")
