"""Reads a timeline file, which ``FORMAT.md`` in this folder describes.

The reader trusts nothing: a damaged, truncated or fabricated file raises a TimelineError that names
the file and the line, before much memory is used.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from os import PathLike, fspath
from typing import Any

from pagesim.files.jsonl import numbered_objects
from pagesim.journal import effects as fx
from pagesim.journal.effects import Name, show
from pagesim.timeline.checked import Checked, TimelineError
from pagesim.timeline.edition1 import FORMAT_1, edition2
from pagesim.timeline.header import FORMAT, read_state
from pagesim.timeline.log import EVENT, FIELDS, MAX_MARK, ON, ROW, Log, TableLog
from pagesim.timeline.notes import notes_from
from pagesim.timeline.run import Timeline
from pagesim.timeline.seek import MutableState

MAX_EVENTS = 10_000_000
LIFE = 50
"""The cost of a table, counted in numbers."""


def load(path: str | PathLike[str]) -> Timeline:
    """Read a run from a file. TimelineError if it is invalid, OSError if it cannot be opened."""
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

    Every event is applied to a state while it is read, so a run that loads can also be replayed.
    """

    def __init__(self, header: Mapping[str, Any], where: str) -> None:
        check = self._check = Checked(where)
        self._lives: dict[Name, TableLog] = {}
        self.first = check.integer(header.get("first", 0), "first")
        self.num_events = check.integer(header.get("events"), "events")
        try:
            self.notes = notes_from(header)
        except (TypeError, ValueError, KeyError, AttributeError, RecursionError) as error:
            raise check.error(f"invalid title, tokens or questions: {show(error)}") from None
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
        """Add one event. TimelineError, naming ``where``, if it is impossible."""
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
        if not effect or effect[0] not in fx.EFFECTS:
            raise check.error(f"unknown effect {show(effect)}")
        kind = fx.EFFECTS.index(effect[0])
        word, block, *more = check.parts(effect, effect[0], 2 + len(FIELDS.get(effect[0], ())))
        if problem := self._problem(kind, check.block(block), more):
            raise check.error(f"{word} {block}: {problem}")
        if kind in (fx.TAKE, fx.FREE):
            self._apply(kind, block, self.log.lists.index(more[0]), *more[1:])
        elif kind in (fx.WRITE, fx.HIT):
            table = -1 if more[0] is None else self._life(more[0]).number
            first, count = (check.integer(number, "position") for number in more[1:])
            self._apply(kind, block, table, first, count)
        elif kind in (fx.COPY, fx.MOVE):
            owners = check.integer(more[1], "owners") if kind == fx.COPY else 0
            self._apply(kind, block, check.block(more[0]), owners)
        elif kind == fx.NULL and more[0] is not None:
            self._apply(kind, block, self._life(more[0]).number, check.integer(more[1], "entry"))
        else:
            self._apply(kind, block)

    def _problem(self, kind: int, block: int, more: Sequence[Any]) -> str | None:
        """Why this cannot happen to the block in its present state; None if it can."""
        now, owners = self._now, self._now.refs[block]
        if kind in (fx.TAKE, fx.FREE) and more[0] not in self.log.lists:
            return f"there is no list {show(more[0])}"
        if kind == fx.TAKE and block not in now.lists[self.log.lists.index(more[0])]:
            return f"it is not in the {more[0]}"
        if kind == fx.FREE and (type(more[1]) is not int or more[1] not in (fx.FRONT, fx.BACK)):
            return f"its place in the list must be 0 or -1, not {show(more[1])}"
        if kind == fx.FREE and owners != 1:
            return f"it has {owners} owners, not 1"
        if kind in (fx.SHARE, fx.CACHE, fx.WRITE) and owners < 1:
            return "it has no owner"
        if kind == fx.UNSHARE and owners < 2:
            return f"it has {owners} owners, not 2 or more"
        if kind in (fx.HIT, fx.EVICT) and block not in now.cached:
            return "it is not cached"
        if kind == fx.HIT and not owners and not any(block in waiting for waiting in now.lists):
            return "it has no owner and is in no list"
        return None

    def _mark(self, given: Any) -> None:
        check = self._check
        name, on, given_pairs = check.parts(given, "a mark", 3)
        pairs = check.pairs(given_pairs, "a mark's numbers")
        check.count(2 * len(pairs))
        if on not in ON:
            raise check.error(f"a mark must be on blocks or slots, not on {show(on)}")
        total = check.num_blocks * (1 if on == "blocks" else self.log.start.block_size)
        for place, number in pairs:
            if type(place) is not int or not 0 <= place < total:
                raise check.error(f"{show(place)} is not one of the {total} {on}")
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
        self._apply(fx.OPEN, num_slots, life.number, 0, len(tokens))

    def _tokens(self, given: Any) -> None:
        check = self._check
        name, first, tokens = check.parts(given, "tokens", 3)
        life = self._life(name)
        known = self._now.num_tokens[life.number]
        if check.integer(first, "position") != known:
            raise check.error(f"table {show(name)} has {known} known tokens, not {first}")
        life.write(check.integers(tokens, "tokens"))
        self._apply(fx.TOKENS, -1, life.number, known, len(tokens))

    def _change(self, given: Any) -> None:
        check, log = self._check, self.log
        name, start, given_ids = check.parts(given, "a table's change", 3)
        life, ids = self._life(name), check.blocks(given_ids, "ids")
        check.count(len(ids))
        if check.integer(start, "entry") > len(self._now.tables[life.number]):
            raise check.error(f"table {show(name)} has no entry {start} to start from")
        log.patch(life, start, list(ids))
        self._now.tables[life.number][start:] = ids

    def _close(self, name: Any) -> None:
        life = self._life(name)
        del self._lives[life.name]
        self._apply(fx.CLOSE, b=life.number)

    def _begin(self, name: Name) -> TableLog:
        self._check.count(LIFE)
        if name in self._lives:
            raise self._check.error(f"table {show(name)} exists already")
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
            raise check.error(f"a request must enter or leave one of {show(log.queues)}")
        number = log.queues.index(queue)
        waiters = self._now.queues[number]
        waiter = log.waiter(check.name(request), check.name(more[0]) if more else None)
        check.integer(place, "place")
        if what == "enter" and place > len(waiters):
            raise check.error(f"the {queue} queue has no place {place} to enter")
        if what == "leave":
            if place >= len(waiters) or waiters[place][0] != waiter[0]:
                raise check.error(f"request {show(request)} is not at place {place} of {queue}")
            waiter = waiters[place]
        self._apply(fx.ENTER if what == "enter" else fx.LEAVE, number, waiter[0], place, waiter[1])

    def _scheduled(self, given: Any) -> None:
        check = self._check
        request, name, tokens, is_prompt = check.parts(given, "scheduled", 4)
        if type(is_prompt) is not bool:
            raise check.error(f"the last part of scheduled must be a bool, not {show(is_prompt)}")
        waiter = self.log.waiter(check.name(request), None if name is None else check.name(name))
        self._apply(fx.SCHEDULED, check.integer(tokens, "tokens"), waiter[0], is_prompt, waiter[1])
