"""An event as a line of a file, which ``FORMAT.md`` in this folder describes."""

import json

from pagesim.files.jsonl import Json
from pagesim.journal import effects as fx
from pagesim.journal.effects import Name
from pagesim.timeline.events import Entry

KEYS = {
    fx.OPEN: "opened",
    fx.TOKENS: "tokens",
    "an effect": "effects",
    fx.PATCH: "tables",
    fx.CLOSE: "closed",
    fx.LEAVE: "queues",
    fx.ENTER: "queues",
    fx.SCHEDULED: "scheduled",
    fx.MARK: "marks",
    fx.HOLDS: "reads",
}
"""Which part of an event a row belongs to, in the order of the file."""


as_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
"""A value as the file has it."""


def line(entry: Entry, caption: str) -> str:
    """An event as the file has it; empty parts are omitted."""
    kind, subject, step, *rows = entry
    parts: dict[str, list[Json]] = {key: [] for key in KEYS.values()}
    others: dict[str, Json] = {}
    for row in rows:
        if row[0] == fx.FAILED:
            others |= {"called": row[1], "error": row[2]}
        elif row[0] == fx.DIFFERENCE:
            others |= {"difference": row[1]}
        else:
            parts[KEYS.get(row[0], "effects")].append(_part(row))
    event: dict[str, Json] = {"event": kind, "of": subject}
    event |= {key: part for key, part in parts.items() if part}
    event |= others if step is None else others | {"step": step}
    return f"{as_json(event | {'caption': caption})}\n"


def _part(row: fx.Row) -> Json:
    """A row as its part of the file has it."""
    if row[0] in (fx.LEAVE, fx.ENTER):
        return row if row[-1] is not None else row[:-1]
    if row[0] == fx.OPEN:
        _, name, num_slots, *tokens = row
        return (name, tokens) if num_slots == len(tokens) else (name, tokens, num_slots)
    if row[0] in (fx.PATCH, fx.TOKENS, fx.MARK):
        _, name, at, *many = row
        return name, at, many
    if row[0] == fx.CLOSE:
        closed: Name = row[1]
        return closed
    return row[1:] if row[0] in (fx.SCHEDULED, fx.HOLDS) else row
