"""The line of an event, made from the event as an object: a second way to what `Lines` writes."""

from __future__ import annotations

from typing import Any

from pagesim.timeline import Effect, Event, Move, Opened


def event_as_dict(event: Event) -> dict[str, Any]:
    """An event's line as a dict; what is empty is left out."""
    optional = {
        "opened": [_opened(opened) for opened in event.opened],
        "tokens": [[it.table, it.first, list(it.token_ids)] for it in event.tokens],
        "effects": [_effect(effect) for effect in event.effects],
        "tables": [[change.table, change.start, list(change.block_ids)] for change in event.tables],
        "closed": list(event.closed),
        "queues": [_move(move) for move in event.moves],
        "scheduled": [
            [it.request, it.sequence, it.num_tokens, it.is_prompt] for it in event.scheduled
        ],
        "marks": [[it.name, it.on, [list(pair) for pair in it.numbers]] for it in event.marks],
        "called": event.called,
        "error": event.error,
    }
    words: dict[str, Any] = {"event": event.kind, "of": event.subject}
    words |= {key: value for key, value in optional.items() if value}
    if event.step is not None:
        words["step"] = event.step
    return words | {"caption": event.caption}


def _move(move: Move) -> list[Any]:
    words = ["enter" if move.enters else "leave", move.queue, move.place, move.request]
    return words if move.sequence is None else [*words, move.sequence]


def _opened(opened: Opened) -> list[Any]:
    words: list[Any] = [opened.table, list(opened.token_ids)]
    return words if opened.num_slots == len(opened.token_ids) else [*words, opened.num_slots]


def _effect(effect: Effect) -> list[Any]:
    words: list[Any] = [effect.kind, effect.block]
    if effect.kind == "take":
        return [*words, effect.list]
    if effect.kind == "free":
        return [*words, effect.list, effect.place]
    if effect.kind in ("write", "hit"):
        return [*words, effect.table, effect.first, effect.count]
    if effect.kind == "copy":
        return [*words, effect.to, effect.owners]
    if effect.kind == "move":
        return [*words, effect.to]
    return [*words, effect.table, effect.index] if effect.kind == "null" else words
