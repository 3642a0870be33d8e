"""The events of a log as the lines of a file, which ``FORMAT.md`` in this folder describes.

Numbers become text straight from the columns. Only a caption asks for the event as an object, and
the captions of events that only write are kept: a block's next token is told in the same words.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any

from pagesim.journal.effects import (
    CLOSE,
    COPY,
    EFFECTS,
    ENTER,
    FREE,
    HIT,
    LEAVE,
    MARK,
    MOVE,
    NULL,
    OPEN,
    PATCH,
    SCHEDULED,
    TAKE,
    TOKENS,
    WRITE,
)
from pagesim.timeline.captions import caption
from pagesim.timeline.log import ON, Log, Row

KEY_OF = dict.fromkeys(range(len(EFFECTS)), "effects") | {
    OPEN: "opened",
    TOKENS: "tokens",
    PATCH: "tables",
    CLOSE: "closed",
    LEAVE: "queues",
    ENTER: "queues",
    SCHEDULED: "scheduled",
    MARK: "marks",
}
"""Where a row belongs, by its kind."""
KEYS = ("opened", "tokens", "effects", "tables", "closed", "queues", "scheduled", "marks")
"""What an event may have, in the order of its line."""
REMEMBERED = 10_000
"""How many of each kind of text are kept: more than a step's batch needs."""

Write = tuple[int, int, int, int, int]
"""Kind, subject, block, table and count of an event that only writes."""


def as_json(value: Any) -> str:
    """A value as the file has it."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def is_plain_write(rows: list[Row]) -> bool:
    """Whether an event only writes tokens, as they come, into one block."""
    return (
        len(rows) == 2
        and rows[0][0] == TOKENS
        and rows[1][0] == WRITE
        and rows[0][2:] == rows[1][2:]
    )


class Lines:
    """Turns the events of a log into lines of text."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._json = lru_cache(REMEMBERED)(as_json)
        self._scheduled = lru_cache(REMEMBERED)(self._computes)
        self._lists, self._queues = [*map(as_json, log.lists)], [*map(as_json, log.queues)]
        self._writes: dict[Write, tuple[str, str, str]] = {}

    def events(self, first: int, last: int) -> Iterator[str]:
        """The lines of the events ``first`` … ``last - 1``."""
        log = self._log
        for index, (kind, subject, step, rows) in enumerate(log.records(first, last), first):
            if is_plain_write(rows) and index not in log.errors:
                _, block, table, start, count = rows[1]
                same = kind, subject, block, table, count
                head, middle, tail = self._writes.get(same) or self._around(index, same)
                text = f"{head}{start},{_list(log.tokens(table, start, count))}{middle}{start}"
                text = f"{text},{count}]]"
            else:
                text, tail = self._head(index, kind, subject, rows), self._tail(index)
            yield f'{text},"step":{step}{tail}' if step >= 0 else f"{text}{tail}"

    def _around(self, index: int, same: Write) -> tuple[str, str, str]:
        """The line of an event that only writes, around its position, tokens and step."""
        kind, subject, block, number, _ = same
        table = self._table(number)
        head = f'{self._call(kind, subject)},"tokens":[[{table},'
        if len(self._writes) >= REMEMBERED:
            self._writes.clear()
        middle = f']],"effects":[["write",{block},{table},'
        self._writes[same] = head, middle, self._tail(index)
        return self._writes[same]

    def _head(self, index: int, kind: int, subject: int, rows: list[Row]) -> str:
        words: dict[str, list[str]] = {}
        for row in rows:
            words.setdefault(KEY_OF[row[0]], []).append(self._row(*row))
        text = self._call(kind, subject)
        for key in KEYS:
            if key in words:
                text += f',"{key}":[{",".join(words[key])}]'
        if index in self._log.errors:
            called, error = map(as_json, self._log.errors[index])
            text += f',"called":{called},"error":{error}'
        return text

    def _call(self, kind: int, subject: int) -> str:
        name = None if subject < 0 else self._log.subjects[subject]
        return f'{{"event":{self._json(self._log.kinds[kind])},"of":{self._json(name)}'

    def _tail(self, index: int) -> str:
        return f',"caption":{as_json(caption(self._log.read(index), self._log.start))}}}\n'

    def _row(self, kind: int, a: int, b: int, c: int, d: int) -> str:
        """A row in the words of the file: see :class:`Log` for what its numbers are."""
        log = self._log
        if kind < PATCH:
            text = f'["{EFFECTS[kind]}",{a}'
            if kind == TAKE:
                return f"{text},{self._lists[b]}]"
            if kind == FREE:
                return f"{text},{self._lists[b]},{c}]"
            if kind in (WRITE, HIT):
                return f"{text},{self._table(b)},{c},{d}]"
            if kind == COPY:
                return f"{text},{b},{c}]"
            if kind == MOVE:
                return f"{text},{b}]"
            if kind == NULL:
                return f"{text},{self._table(b)},{'null' if b < 0 else c}]"
            return f"{text}]"
        if kind == TOKENS:
            return f"[{self._table(b)},{c},{_list(log.tokens(b, c, d))}]"
        if kind == PATCH:
            return f"[{self._table(b)},{a},{_list(log.ids(c, d))}]"
        if kind == OPEN:
            text = f"[{self._table(b)},{_list(log.tokens(b, 0, d))}"
            return f"{text}]" if a == d else f"{text},{a}]"
        if kind == CLOSE:
            return self._table(b)
        if kind == SCHEDULED:
            return self._scheduled(a, b, c, d)
        if kind == MARK:
            return as_json([log.subjects[a], ON[b], log.numbers(c, d)])
        request, sequence = map(self._json, log.names((b, d)))
        text = f'["{"enter" if kind == ENTER else "leave"}",{self._queues[a]},{c},{request}'
        return f"{text}]" if d < 0 else f"{text},{sequence}]"

    def _computes(self, tokens: int, request: int, is_prompt: int, sequence: int) -> str:
        return as_json([*self._log.names((request, sequence)), tokens, bool(is_prompt)])

    def _table(self, number: int) -> str:
        return "null" if number < 0 else self._json(self._log.tables[number].name)


def _list(numbers: Iterable[int]) -> str:
    return f"[{','.join(map(str, numbers))}]"
