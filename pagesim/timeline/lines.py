"""The events of a log as the lines of a file, which ``FORMAT.md`` in this folder describes.

Most events only write. Their text comes straight from the columns of the log, and what does not
change from one token to the next, the caption included, is kept. Any other event is read as an
object first.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from pagesim.journal import effects as fx
from pagesim.journal.effects import Effect, Event, Move, Opened
from pagesim.timeline.captions import caption
from pagesim.timeline.log import FIELDS, Log, Row

REMEMBERED = 10_000
"""How many of the texts around a write are kept: more than a step's batch needs."""

Write = tuple[int, int, int, int, int]
"""Kind, subject, block, table and count of an event that only writes."""


def as_json(value: Any) -> str:
    """A value as the file has it."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def event_as_dict(event: Event) -> dict[str, Any]:
    """An event as the file has it; empty parts are omitted."""
    words: dict[str, Any] = {
        "opened": [_opened(table) for table in event.opened],
        "tokens": [(it.table, it.first, it.token_ids) for it in event.tokens],
        "effects": [_effect(effect) for effect in event.effects],
        "tables": [(it.table, it.start, it.block_ids) for it in event.tables],
        "closed": event.closed,
        "queues": [_move(move) for move in event.moves],
        "scheduled": [
            (it.request, it.sequence, it.num_tokens, it.is_prompt) for it in event.scheduled
        ],
        "marks": [(it.name, it.on, it.numbers) for it in event.marks],
        "called": event.called,
        "error": event.error,
    }
    step = {} if event.step is None else {"step": event.step}
    told = {key: value for key, value in words.items() if value}
    return {"event": event.kind, "of": event.subject, **told, **step, "caption": event.caption}


def _opened(it: Opened) -> tuple[Any, ...]:
    slots = () if it.num_slots == len(it.token_ids) else (it.num_slots,)
    return it.table, it.token_ids, *slots


def _move(it: Move) -> tuple[Any, ...]:
    sequence = () if it.sequence is None else (it.sequence,)
    return "enter" if it.enters else "leave", it.queue, it.place, it.request, *sequence


def _effect(it: Effect) -> tuple[Any, ...]:
    return it.kind, it.block, *(getattr(it, name) for name in FIELDS.get(it.kind, ()))


def is_plain_write(rows: list[Row]) -> bool:
    """Whether an event only writes tokens, as they come, into one block."""
    return (
        len(rows) == 2
        and rows[0][0] == fx.TOKENS
        and rows[1][0] == fx.WRITE
        and rows[0][2:] == rows[1][2:]
    )


class Lines:
    """Turns the events of a log into lines of text."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._writes: dict[Write, tuple[str, str, str]] = {}

    def events(self, first: int, last: int) -> Iterator[str]:
        """The lines of the events ``first`` … ``last - 1``."""
        log = self._log
        for index, (kind, subject, step, rows) in enumerate(log.records(first, last), first):
            if is_plain_write(rows) and index not in log.errors and index not in log.marks:
                _, block, table, start, count = rows[1]
                same = kind, subject, block, table, count
                head, middle, tail = self._writes.get(same) or self._around(index, same)
                tokens = as_json(log.tokens(table, start, count))
                number = f',"step":{step}' if step >= 0 else ""
                yield f"{head}{start},{tokens}{middle}{start},{count}]]{number}{tail}"
            else:
                event = log.read(index)
                event = replace(event, caption=caption(event, log.start))
                yield f"{as_json(event_as_dict(event))}\n"

    def _around(self, index: int, same: Write) -> tuple[str, str, str]:
        """The line of an event that only writes, around its position, tokens and step."""
        event = self._log.read(index)
        table = as_json(event.effects[0].table)
        if len(self._writes) >= REMEMBERED:
            self._writes.clear()
        self._writes[same] = (
            f'{{"event":{as_json(event.kind)},"of":{as_json(event.subject)},"tokens":[[{table},',
            f']],"effects":[["write",{event.effects[0].block},{table},',
            f',"caption":{as_json(caption(event, self._log.start))}}}\n',
        )
        return self._writes[same]
