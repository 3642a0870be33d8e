"""Reads a timeline file, which ``FORMAT.md`` in this folder describes.

The reader trusts nothing: a damaged, truncated or fabricated file raises a TimelineError that names
the file and the line, before much memory is used.
"""

from collections.abc import Mapping
from os import PathLike, fspath
from sys import intern
from typing import TypeGuard

from pagesim.files.jsonl import Json, JsonObject, numbered_objects
from pagesim.journal import effects as fx
from pagesim.journal.effects import EFFECTS, Name, Row, show
from pagesim.timeline.asked import asked_from
from pagesim.timeline.checked import Checked, TimelineError
from pagesim.timeline.events import MAX_MARK, ON
from pagesim.timeline.header import FORMAT, check_group, read_job, read_state
from pagesim.timeline.log import Log
from pagesim.timeline.notes import notes_from
from pagesim.timeline.pages import Pages
from pagesim.timeline.run import Timeline

MAX_EVENTS = 10_000_000
EVENT, ROW, TABLE, MARKED = 20, 15, 50, 15
"""What an event, a row, a table and a pair of a mark cost in memory, counted in numbers."""


def load(path: str | PathLike[str]) -> Timeline:
    """Read a run from a file. TimelineError if it is invalid, OSError if it cannot be opened."""
    name = fspath(path)
    numbered = numbered_objects(name, TimelineError)
    number, first = next(numbered, (1, {}))
    if first.get("format") != FORMAT:
        raise TimelineError(
            f"{name}:{number}: format must be {FORMAT!r}, not {show(first.get('format'))}"
        )
    reader = Reader(first, f"{name}:{number}")
    for number, words in numbered:
        reader.event(words, f"{name}:{number}")
    found, promised = len(reader.log), reader.num_events
    if found != promised:
        raise TimelineError(f"{name}:{number}: the file ends after {found} of {promised} events")
    return Timeline(reader.log, stop=len(reader.log), first=reader.first, notes=reader.notes)


def _is_mark(value: Json) -> TypeGuard[float]:
    """Whether a mark, or what a program holds, may have this number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return abs(value) < MAX_MARK


class Reader(Checked):
    """Builds a log from a header and the events that follow, each given as a dict.

    Every event is applied to a state while it is read, so a run that loads can also be replayed.
    """

    def __init__(self, header: JsonObject, where: str) -> None:
        super().__init__(where)
        self._rows: list[Row] = []
        self.first = self.integer(header.get("first", 0), "first")
        self.num_events = self.integer(header.get("events"), "events")
        try:
            self.notes = notes_from(header)
            asked = asked_from(header)
        except (TypeError, ValueError, KeyError, AttributeError, RecursionError) as error:
            raise self.error(
                f"invalid title, tokens, questions, prompts or model: {show(error)}"
            ) from None
        start = read_state(header, self)
        self.log = Log(start)
        self.log.asked = asked
        self.count(TABLE * len(asked.prompts))
        self.count(TABLE * len(start.tables))
        self._now = Pages.from_start(self.log)
        self._now.is_strict = True
        self._items = {
            "opened": self._open,
            "tokens": self._know,
            "effects": self._effect,
            "tables": self._change,
            "closed": self._close,
            "queues": self._move,
            "scheduled": self._scheduled,
            "marks": self._mark,
            "reads": self._holds,
        }

    def event(self, given: Mapping[str, Json], where: str) -> None:
        """Add one event. TimelineError, naming ``where``, if it is impossible."""
        self.where, log = where, self.log
        if len(log) >= MAX_EVENTS:
            raise self.error(f"more than {MAX_EVENTS} events")
        kind, subject = self.text(given.get("event"), "event"), given.get("of")
        self.count(EVENT)
        self._rows = []
        for key, read in self._items.items():
            for item in self.items(given.get(key, []), key):
                self.count(ROW)
                read(item)
        if "error" in given:
            called = self.text(given.get("called"), "called")
            self._rows.append((fx.FAILED, called, self.text(given["error"], "error")))
        if "difference" in given:
            self._rows.append((fx.DIFFERENCE, self._number(given["difference"], 0.0)))
        step = self.integer(given["step"], "step") if "step" in given else None
        name = None if subject is None else self.name(subject)
        log.entries.append((intern(kind), name, step, *self._rows))

    def _apply(self, *row: Json) -> None:
        self._rows.append(row)
        self._now.apply(row)

    # -- effects ---------------------------------------------------------------------------------

    def _effect(self, given: Json) -> None:
        effect = self.items(given, "effect")
        if effect and effect[0] == fx.LOOKUP and self.log.start.groups:
            self._lookup(effect)
            return
        if effect and effect[0] in (fx.BEGIN, fx.END) and self.log.start.tier is not None:
            self._copy(effect)
            return
        if not effect or not isinstance(effect[0], str) or effect[0] not in EFFECTS:
            raise self.error(f"unknown effect {show(effect)}")
        fields = EFFECTS[effect[0]].fields
        kind = intern(effect[0])
        _, given_block, *more = self.parts(effect, kind, 2 + len(fields))
        block = self.block(given_block)
        try:
            values = [self._field(name, value) for name, value in zip(fields, more, strict=True)]
            self._apply(kind, block, *values)
        except fx.ImpossibleError as error:
            raise self.error(f"{kind} {block}: {error}") from None

    def _lookup(self, effect: list[Json]) -> None:
        _, given, asked, found = self.parts(effect, fx.LOOKUP, 4)
        groups = self.integers(given, "groups")
        count = len(self.log.start.groups)
        if not groups or any(not 0 <= group < count for group in groups):
            raise self.error(f"a lookup must be in groups 0 to {count - 1}, not {show(groups)}")
        tokens = self.integer(asked, "asked"), self.integer(found, "found")
        self._apply(fx.LOOKUP, tuple(groups), *tokens)

    def _copy(self, effect: list[Json]) -> None:
        """A copy between the tiers begins or ends."""
        begins = effect[0] == fx.BEGIN
        _, job, *more = self.parts(effect, fx.BEGIN if begins else fx.END, 5 if begins else 2)
        number = self.integer(job, "a job's number")
        try:
            if begins:
                first_pool = next(iter(self.log.start.pools.values()))
                self._apply(fx.BEGIN, *read_job([job, *more], first_pool, self))
            else:
                self._apply(fx.END, number)
        except fx.ImpossibleError as error:
            raise self.error(f"job {number}: {error}") from None

    def _field(self, name: str, value: Json) -> Json:
        """What a row has for the value of an effect's field."""
        if name == "list":
            if not isinstance(value, str) or value not in self._now.lists:
                raise fx.ImpossibleError(f"there is no list {show(value)}")
            return intern(value)
        if name == "place" and (type(value) is not int or value not in (fx.FRONT, fx.BACK)):
            raise fx.ImpossibleError(f"its place in the list must be 0 or -1, not {show(value)}")
        if name == "table":
            return None if value is None else self._known(value)
        if name == "to":
            return self.block(value)
        if name == "place" or (name == "index" and value is None):
            return value
        called = {"first": "position", "count": "position", "index": "entry"}
        return self.integer(value, called.get(name, name))

    def _mark(self, given: Json) -> None:
        name, on, given_pairs = self.parts(given, "a mark", 3)
        pairs = self.pairs(given_pairs, "a mark's numbers")
        self.count(MARKED * len(pairs))
        if on not in ON:
            raise self.error(f"a mark must be on blocks or slots, not on {show(on)}")
        total = self.num_blocks * (1 if on == "blocks" else self.log.start.block_size)
        numbers: dict[int, float] = {}
        for place, number in pairs:
            if type(place) is not int or not 0 <= place < total:
                raise self.error(f"{show(place)} is not one of the {total} {on}")
            if not _is_mark(number):
                raise self.error(f"a mark must be a number, not {show(number)}")
            numbers[place] = float(number)
        self._rows.append((fx.MARK, self.text(name, "a mark's name"), on, *numbers.items()))

    def _holds(self, given: Json) -> None:
        """What a program of a kernel holds; without slots it merges partitions."""
        program, name, query, head, *more = self.parts(given, "reads", 9)
        slots, weights = (self.items(part, "slots and weights") for part in more[:2])
        self.count(MARKED * (len(slots) + len(weights)))
        index = [self.integer(one, "program") for one in self.items(program, "program")]
        if not 1 <= len(index) <= 3 or (slots and len(slots) != len(weights)) or not weights:
            raise self.error("reads need a program of 1 to 3 numbers, and a weight for each slot")
        self._rows.append(
            (
                *(fx.HOLDS, tuple(index), self._known(name)),
                *(self.integer(query, "query"), self.integer(head, "head")),
                tuple(None if slot is None else self._slot(slot) for slot in slots),
                tuple(self._number(weight, 0.0) for weight in weights),
                *(self._number(number) for number in more[2:]),
            )
        )

    def _slot(self, value: Json) -> int:
        """A slot of any pool."""
        slot, total = self.integer(value, "slot"), self.num_blocks * self.log.start.block_size
        if slot >= total:
            raise self.error(f"{slot} is not one of the {total} slots")
        return slot

    def _number(self, value: Json, least: float = -MAX_MARK) -> float:
        """A finite number."""
        if not _is_mark(value) or value < least:
            raise self.error(f"a program cannot hold {show(value)}")
        return float(value)

    # -- tables ----------------------------------------------------------------------------------

    def _open(self, given: Json) -> None:
        given_name, given_tokens, *more = self.parts(given, "opened", 2, 3)
        self.count(TABLE)
        if (name := self.name(given_name)) in self._now.tables:
            raise self.error(f"table {show(name)} exists already")
        if self.log.start.groups:
            check_group(name, self.log.start.groups, self)
        tokens = self.integers(given_tokens, "tokens")
        num_slots = self.integer(more[0], "written slots") if more else len(tokens)
        self._apply(fx.OPEN, name, num_slots, *tokens)

    def _know(self, given: Json) -> None:
        name, first, tokens = self.parts(given, "tokens", 3)
        known = self._now.num_tokens[self._known(name)]
        if self.integer(first, "position") != known:
            raise self.error(f"table {show(name)} has {known} known tokens, not {first}")
        self._apply(fx.TOKENS, name, known, *self.integers(tokens, "tokens"))

    def _change(self, given: Json) -> None:
        name, start, given_ids = self.parts(given, "a table's change", 3)
        entries, ids = self._now.tables[self._known(name)], self.blocks(given_ids, "ids")
        self.count(len(ids))
        if self.integer(start, "entry") > len(entries):
            raise self.error(f"table {show(name)} has no entry {start} to start from")
        self._apply(fx.PATCH, name, start, *ids)

    def _close(self, name: Json) -> None:
        self._apply(fx.CLOSE, self._known(name))

    def _known(self, given: Json) -> Name:
        if (name := self.name(given)) not in self._now.tables:
            raise self.error(f"there is no table {show(name)}")
        return name

    # -- queues ----------------------------------------------------------------------------------

    def _move(self, given: Json) -> None:
        queues = self._now.queues
        what, queue, at, request, *more = self.parts(given, "a queue's change", 4, 5)
        if not isinstance(what, str) or not isinstance(queue, str):
            what = queue = ""
        if what not in (fx.ENTER, fx.LEAVE) or queue not in queues:
            raise self.error(f"a request must enter or leave one of {show(tuple(queues))}")
        waiting = queues[queue]
        waiter = self.name(request), self.name(more[0]) if more else None
        place = self.integer(at, "place")
        if what == fx.ENTER and place > len(waiting):
            raise self.error(f"the {queue} queue has no place {place} to enter")
        if what == fx.LEAVE:
            if place >= len(waiting) or waiting[place][0] != waiter[0]:
                raise self.error(f"request {show(request)} is not at place {place} of {queue}")
            waiter = waiting[place]
        self._apply(intern(what), intern(queue), place, *waiter)

    def _scheduled(self, given: Json) -> None:
        request, name, tokens, is_prompt = self.parts(given, "scheduled", 4)
        if type(is_prompt) is not bool:
            raise self.error(f"the last part of scheduled must be a bool, not {show(is_prompt)}")
        waiter = self.name(request), None if name is None else self.name(name)
        self._apply(fx.SCHEDULED, *waiter, self.integer(tokens, "tokens"), is_prompt)
