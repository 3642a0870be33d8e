"""Reads a timeline file back; ``FORMAT.md`` in this folder describes it.

Reading trusts nothing: a damaged, truncated or made-up file raises a TimelineError that names the
file and the line, before anything absurd is believed or much memory is used.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from os import PathLike, fspath
from typing import Any

from pagesim.files.jsonl import numbered_objects
from pagesim.journal.effects import (
    BACK,
    CACHE,
    CLOSE,
    COPY,
    EFFECTS,
    ENTER,
    EVICT,
    FREE,
    FRONT,
    HIT,
    LEAVE,
    MOVE,
    NULL,
    OPEN,
    SCHEDULED,
    SHARE,
    TAKE,
    TOKENS,
    UNSHARE,
    WRITE,
    Name,
    show,
)
from pagesim.timeline.checked import Checked, TimelineError
from pagesim.timeline.edition1 import FORMAT_1, edition2
from pagesim.timeline.header import FORMAT, read_state
from pagesim.timeline.log import EVENT, ON, ROW, Log, TableLog
from pagesim.timeline.notes import notes_from
from pagesim.timeline.run import Timeline
from pagesim.timeline.seek import MutableState

MAX_EVENTS = 10_000_000
LIFE = 50
"""What a table costs, counted in numbers."""
PARTS = {TAKE: 3, FREE: 4, WRITE: 5, HIT: 5, COPY: 4, MOVE: 3, NULL: 4}
"""How many parts an effect has, if not two."""
MAX_MARK = 1e300


def load(path: str | PathLike[str]) -> Timeline:
    """Read a run from a file. TimelineError if it is none, OSError if it cannot be opened."""
    name = fspath(path)
    numbered = numbered_objects(name, TimelineError)
    number, first = next(numbered, (1, {}))
    if first.get("format") not in (FORMAT, FORMAT_1):
        raise TimelineError(
            f"{name}:{number}: format must be {FORMAT!r}, not {show(first.get('format'))}"
        )
    if first["format"] == FORMAT_1:
        numbered = edition2(chain([(number, first)], numbered), name)
        number, first = next(numbered)
    reader = Reader(first, f"{name}:{number}")
    for number, words in numbered:
        reader.event(words, f"{name}:{number}")
    found, promised = len(reader.log), reader.num_events
    if found != promised:
        raise TimelineError(f"{name}:{number}: the file ends after {found} of {promised} events")
    return Timeline(reader.log, stop=len(reader.log), first=reader.first, notes=reader.notes)


class Reader:
    """Builds a log from a header and the events that follow, each given as a dict.

    Every event is tried on a state of its own, so that a run that has been read can be replayed.
    """

    def __init__(self, header: Mapping[str, Any], where: str) -> None:
        check = self._check = Checked(where)
        self._lives: dict[Name, TableLog] = {}
        self.first = check.integer(header.get("first", 0), "first")
        self.num_events = check.integer(header.get("events"), "events")
        try:
            self.notes = notes_from(header)
        except (TypeError, ValueError, KeyError, AttributeError, RecursionError) as error:
            raise check.error(f"title, tokens or questions are unfit: {show(error)}") from None
        start = read_state(header, check)
        self.log = Log(start)
        for name, table in start.tables.items():
            self._begin(name).write(list(table.token_ids))
        self._now = MutableState.from_start(self.log, range(len(start.tables)))
        self._items = {
            "opened": self._open,
            "tokens": self._tokens,
            "effects": self._effect,
            "tables": self._change,
            "closed": self._close,
            "queues": self._move,
            "scheduled": self._scheduled,
            "marks": self._mark,
        }

    def event(self, words: Mapping[str, Any], where: str) -> None:
        """Add one event. TimelineError, naming ``where``, if it cannot be."""
        check, log = self._check, self.log
        check.where = where
        if len(log) >= MAX_EVENTS:
            raise check.error(f"more than {MAX_EVENTS} events")
        kind, subject = check.text(words.get("event"), "event"), words.get("of")
        check.count(EVENT)
        for key, read in self._items.items():
            for item in check.items(words.get(key, []), key):
                check.count(ROW)
                read(item)
        if "error" in words:
            called = check.text(words.get("called"), "called")
            log.errors[len(log)] = called, check.text(words["error"], "error")
        log.begin_step(check.integer(words["step"], "step") if "step" in words else None)
        name = None if subject is None else check.name(subject)
        log.event(log.kind_codes[kind], log.subject_codes[name])

    def _apply(self, kind: int, a: int = -1, b: int = -1, c: int = 0, d: int = 0) -> None:
        self.log.row(kind, a, b, c, d)
        self._now.step(self.log, (kind, a, b, c, d))

    # -- effects ---------------------------------------------------------------------------------

    def _effect(self, given: Any) -> None:
        check, effect = self._check, self._check.items(given, "effect")
        if not effect or effect[0] not in EFFECTS:
            raise check.error(f"unknown effect {show(effect)}")
        kind = EFFECTS.index(effect[0])
        word, block, *more = check.parts(effect, effect[0], PARTS.get(kind, 2))
        if problem := self._problem(kind, check.block(block), more):
            raise check.error(f"{word} {block}: {problem}")
        if kind in (TAKE, FREE):
            self._apply(kind, block, self.log.lists.index(more[0]), *more[1:])
        elif kind in (WRITE, HIT):
            table = -1 if more[0] is None else self._life(more[0]).number
            first, count = (check.integer(number, "position") for number in more[1:])
            self._apply(kind, block, table, first, count)
        elif kind in (COPY, MOVE):
            owners = check.integer(more[1], "owners") if kind == COPY else 0
            self._apply(kind, block, check.block(more[0]), owners)
        elif kind == NULL and more[0] is not None:
            self._apply(kind, block, self._life(more[0]).number, check.integer(more[1], "entry"))
        else:
            self._apply(kind, block)

    def _problem(self, kind: int, block: int, more: Sequence[Any]) -> str | None:
        """Why this cannot happen to the block as it is now, None if it can."""
        now, owners = self._now, self._now.refs[block]
        if kind in (TAKE, FREE) and more[0] not in self.log.lists:
            return f"there is no list {show(more[0])}"
        if kind == TAKE and block not in now.lists[self.log.lists.index(more[0])]:
            return f"it is not in the {more[0]}"
        if kind == FREE and (type(more[1]) is not int or more[1] not in (FRONT, BACK)):
            return f"it goes to place 0 or -1 of a list, not to {show(more[1])}"
        if kind == FREE and owners != 1:
            return f"it has {owners} owners, not 1"
        if kind in (SHARE, CACHE, WRITE) and owners < 1:
            return "it has no owner"
        if kind == UNSHARE and owners < 2:
            return f"it has {owners} owners, not 2 or more"
        if kind in (HIT, EVICT) and block not in now.cached:
            return "it is not cached"
        if kind == HIT and not owners and not any(block in waiting for waiting in now.lists):
            return "it has no owner and waits in no list"
        return None

    def _mark(self, given: Any) -> None:
        check = self._check
        name, on, given_pairs = check.parts(given, "a mark", 3)
        pairs = check.pairs(given_pairs, "a mark's numbers")
        check.count(2 * len(pairs))
        if on not in ON:
            raise check.error(f"a mark is on blocks or slots, not on {show(on)}")
        total = check.num_blocks * (1 if on == "blocks" else self.log.start.block_size)
        for place, number in pairs:
            if type(place) is not int or not 0 <= place < total:
                raise check.error(f"{show(place)} is none of the {total} {on}")
            if type(number) not in (int, float) or not abs(number) < MAX_MARK:
                raise check.error(f"a mark must be a number, not {show(number)}")
        self.log.mark_numbers(check.text(name, "a mark's name"), on == "slots", dict(pairs))

    # -- tables ----------------------------------------------------------------------------------

    def _open(self, given: Any) -> None:
        check = self._check
        name, tokens, *more = check.parts(given, "opened", 2, 3)
        life = self._begin(check.name(name))
        life.write(check.integers(tokens, "tokens"))
        num_slots = check.integer(more[0], "written slots") if more else len(tokens)
        self._apply(OPEN, num_slots, life.number, 0, len(tokens))

    def _tokens(self, given: Any) -> None:
        check = self._check
        name, first, tokens = check.parts(given, "tokens", 3)
        life = self._life(name)
        known = self._now.num_tokens[life.number]
        if check.integer(first, "position") != known:
            raise check.error(f"{known} tokens of table {show(name)} are known, not {first}")
        life.write(check.integers(tokens, "tokens"))
        self._apply(TOKENS, -1, life.number, known, len(tokens))

    def _change(self, given: Any) -> None:
        check, log = self._check, self.log
        name, start, given_ids = check.parts(given, "a table's change", 3)
        life, ids = self._life(name), check.blocks(given_ids, "ids")
        check.count(len(ids))
        if check.integer(start, "entry") > len(self._now.tables[life.number]):
            raise check.error(f"table {show(name)} has no entry {start} to begin at")
        log.patch(life, start, list(ids))
        self._now.tables[life.number][start:] = ids

    def _close(self, name: Any) -> None:
        life = self._life(name)
        del self._lives[life.name]
        self._apply(CLOSE, b=life.number)

    def _begin(self, name: Name) -> TableLog:
        self._check.count(LIFE)
        if name in self._lives:
            raise self._check.error(f"table {show(name)} is there already")
        self._lives[name] = life = self.log.new_table(name)
        return life

    def _life(self, name: Any) -> TableLog:
        life = self._lives.get(self._check.name(name))
        if life is None:
            raise self._check.error(f"there is no table {show(name)}")
        return life

    # -- queues ----------------------------------------------------------------------------------

    def _move(self, given: Any) -> None:
        check, log = self._check, self.log
        what, queue, place, request, *more = check.parts(given, "a queue's change", 4, 5)
        if what not in ("enter", "leave") or queue not in log.queues:
            raise check.error(f"a request can enter or leave one of {show(log.queues)}")
        number = log.queues.index(queue)
        waiters = self._now.queues[number]
        waiter = log.waiter(check.name(request), check.name(more[0]) if more else None)
        check.integer(place, "place")
        if what == "enter" and place > len(waiters):
            raise check.error(f"the {queue} queue has no place {place} to enter at")
        if what == "leave":
            if place >= len(waiters) or waiters[place][0] != waiter[0]:
                raise check.error(f"request {show(request)} is not at place {place} of {queue}")
            waiter = waiters[place]
        self._apply(ENTER if what == "enter" else LEAVE, number, waiter[0], place, waiter[1])

    def _scheduled(self, given: Any) -> None:
        check = self._check
        request, name, tokens, is_prompt = check.parts(given, "scheduled", 4)
        if type(is_prompt) is not bool:
            raise check.error(f"scheduled ends with true for a prompt, not {show(is_prompt)}")
        waiter = self.log.waiter(check.name(request), None if name is None else check.name(name))
        self._apply(SCHEDULED, check.integer(tokens, "tokens"), waiter[0], is_prompt, waiter[1])
