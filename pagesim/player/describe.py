"""The alternative text for a picture of a state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

MAX_NAMED = 8
MAX_LISTED = 8


def name_text(name: int | str) -> str:
    """The displayed name of a table: sequence 3 is s3, a label is itself."""
    return f"s{name}" if isinstance(name, int) else name


def describe(header: Mapping[str, Any], state: Mapping[str, Any]) -> str:
    """A few sentences about a state of the format: tables, sharing, free blocks.

    Small caches are described table by table, large ones by counts.
    """
    *others, (name, size) = [[name, size] for name, size in header["pools"] if size] or [["", 0]]
    pools = [f"{size} {name}" for name, size in others] + [_count(size, f"{name} block".strip())]
    slots = _count(header["block_size"], "slot")
    sentences = [f"A cache of {' and '.join(pools)} with {slots} each."]
    tables = state["tables"]
    if not tables:
        sentences.append("No sequence holds a block.")
    elif len(tables) <= MAX_NAMED:
        sentences += [_table(*table[:3]) for table in tables]
    else:
        held = len({block for table in tables for block in table[1]})
        sentences.append(f"{len(tables)} sequences hold {_count(held, 'block')} between them.")
    shared = [block for block, count in state["refs"] if count > 1]
    if shared:
        sentences.append(f"Shared: {_list(shared)}.")
    cached = set(state["cached"])
    if idle := [block for ids in state["lists"] for block in ids if block in cached]:
        sentences.append(f"Cached, but without an owner: {_list(idle)}.")
    for place, ((name, _), ids) in enumerate(zip(header["lists"], state["lists"], strict=True)):
        if ids:
            sentences.append(f"{name}: {_count(len(ids), 'block')}, {ids[0]} in front.")
        elif place == 0:
            sentences.append(f"{name}: empty.")
    for queue, names in zip(header["queues"], state["queues"], strict=True):
        if names:
            sentences.append(f"{queue.capitalize()}: {_names(names, state)}.")
    return " ".join(sentences)


def request_text(request: int | str, state: Mapping[str, Any]) -> str:
    """A request with its first sequence; only one name if they have the same."""
    first = next((first for name, first in state.get("requests", ()) if name == request), request)
    name = name_text(first)
    alike = str(request) == str(first) or str(request) == name
    return name if alike else f"{name} {name_text(request)}"


def _names(names: Sequence[int | str], state: Mapping[str, Any]) -> str:
    shown = ", ".join(request_text(name, state) for name in names[:MAX_LISTED])
    return shown + (f" and {len(names) - MAX_LISTED} more" if len(names) > MAX_LISTED else "")


def _table(name: int | str, ids: Sequence[int], tokens: Sequence[int]) -> str:
    where = f"in {_list(ids)}" if ids else "and no blocks"
    return f"{name_text(name)} has {_count(len(tokens), 'token')} {where}."


def _list(ids: Sequence[int]) -> str:
    shown = ", ".join(map(str, ids[:MAX_LISTED]))
    more = f" and {len(ids) - MAX_LISTED} more" if len(ids) > MAX_LISTED else ""
    return f"{'block' if len(ids) == 1 else 'blocks'} {shown}{more}"


def _count(count: int, word: str) -> str:
    return f"{count} {word}{'' if count == 1 else 's'}"
