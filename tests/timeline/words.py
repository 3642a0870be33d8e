"""The line of an event, made from the event as an object: a second way to what `Lines` writes."""

from __future__ import annotations

from typing import Any

from pagesim.timeline import Event, Move
from pagesim.timeline.effects import Effect


def event_as_dict(event: Event) -> dict[str, Any]:
    """An event's line as a dict; what is empty is left out."""
    optional = {
        "effects": [_effect(effect) for effect in event.effects],
        "opened": [[name, list(tokens)] for name, tokens in event.opened],
        "tables": [[change.table, change.start, list(change.block_ids)] for change in event.tables],
        "closed": list(event.closed),
        "queues": [_move(move) for move in event.moves],
        "scheduled": [
            [it.request, it.sequence, it.num_tokens, it.is_prompt] for it in event.scheduled
        ],
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


def _effect(effect: Effect) -> list[Any]:
    words: list[Any] = [effect.kind, effect.block]
    if effect.kind in ("write", "hit"):
        words += [effect.table, list(effect.tokens)]
    elif effect.kind == "copy":
        words += [effect.to, effect.owners]
    elif effect.kind in ("swap_out", "swap_in"):
        words.append(effect.to)
    elif effect.kind == "null":
        words += [effect.table, effect.index]
    return words
