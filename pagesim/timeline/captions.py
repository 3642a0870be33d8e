"""What happened, and why, in one sentence."""

from __future__ import annotations

from collections.abc import Iterable

from pagesim.timeline.effects import Effect, Event, Name


def say(name: Name | None) -> str:
    """A name as it is shown: the sequence 3 is s3."""
    return f"s{name}" if isinstance(name, int) else str(name)


def blocks(ids: Iterable[int]) -> str:
    """'block 7', or 'blocks 7, 2 and 5'."""
    words = [str(block_id) for block_id in ids]
    if len(words) == 1:
        return f"block {words[0]}"
    if len(words) > 8:
        return f"{len(words)} blocks ({', '.join(words[:3])} … {words[-1]})"
    return f"blocks {', '.join(words[:-1])} and {words[-1]}"


def tokens(count: int) -> str:
    """'1 token', or '7 tokens'."""
    return f"{count} token{'' if count == 1 else 's'}"


class _Told:
    """The effects of an event, sorted by what they are."""

    def __init__(self, event: Event) -> None:
        self._effects = event.effects

    def of(self, kind: str) -> list[Effect]:
        return [effect for effect in self._effects if effect.kind == kind]

    def ids(self, kind: str) -> list[int]:
        return [effect.block for effect in self.of(kind)]


def caption(event: Event) -> str:
    """One sentence about an event, from its kind and its effects alone."""
    told = _Told(event)
    if event.kind == "failed":
        why = str(event.error).rstrip(".")
        return f"{event.called} failed, and everything is as it was before: {why}."
    parts = _PARTS.get(event.kind, _any_call)(say(event.subject), told, event)
    text = "; ".join(part for part in parts if part)
    return f"{text[:1].upper() if event.subject is None else text[:1]}{text[1:]}."


def _any_call(who: str, told: _Told, event: Event) -> list[str]:
    whose = "" if event.subject is None else f"{who}: "
    return [f"{whose}{event.kind}", *_taken(told), *_given_back(told)]


def _allocate(who: str, told: _Told, event: Event) -> list[str]:
    count = sum(len(effect.tokens) for effect in (*told.of("write"), *told.of("hit")))
    changed = [change for change in event.tables if change.block_ids]
    needed = len(changed[0].block_ids) if changed else 0
    head = f"{who} arrives with {tokens(count)}, which need {needed} block{'s' * (needed != 1)}"
    others = [say(change.table) for change in changed[1:]]
    shared = f"{' and '.join(others)} share{'s' * (len(others) == 1)} them" if others else ""
    return [head, *_hits(told), *_taken(told), shared]


def _append(who: str, told: _Told, event: Event) -> list[str]:
    parts: list[str] = []
    writes = told.of("write")
    count = sum(len(effect.tokens) for effect in writes)
    copies = told.of("copy")
    copied = {effect.to for effect in copies}
    fresh = [block for block in told.ids("take") if block not in copied]
    for effect in copies:
        parts.append(
            f"block {effect.block} is shared by {effect.owners} tables: "
            f"{who} copies it to {effect.to} before writing"
        )
    nulls = [effect for effect in told.of("null") if effect.index is not None]
    if nulls:
        parts.append(f"{len(nulls)} of its blocks fell out of the sliding window of {who}")
    if told.ids("evict"):
        parts.append(f"no block was free: {blocks(told.ids('evict'))} gave up its cached content")
    if fresh and count:
        full = fresh[0] in [effect.block for effect in writes]
        why = "its last block is full" if full else "room is reserved for what comes next"
        parts.append(f"{who} takes {blocks(fresh)} from the front of the free list: {why}")
    elif fresh:
        parts.append(f"{who} reserves {blocks(fresh)} for the tokens to come")
    if count and not copies and not fresh:
        into = blocks(dict.fromkeys(effect.block for effect in writes))
        parts.append(f"{who} writes {tokens(count)} into {into}, which had room")
    parts += _full(who, told)
    return parts or [f"{who} has room for what is asked: nothing changes"]


def _fork(who: str, told: _Told, event: Event) -> list[str]:
    shared = told.ids("share")
    return [f"{who} shares {blocks(shared)} with its parent: nothing is copied"]


def _free(who: str, told: _Told, event: Event) -> list[str]:
    kept = told.ids("unshare")
    parts = [f"{who} gives its blocks back" if event.effects else f"{who} has no blocks to give"]
    parts += _given_back(told)
    if kept:
        parts.append(f"{blocks(kept)} stay{'s' * (len(kept) == 1)}, for others use them")
    return parts


def _swap(who: str, told: _Told, event: Event) -> list[str]:
    out, back = told.of("swap_out"), told.of("swap_in")
    moved = out or back
    if not moved:
        return [f"{who} has nothing to move"]
    pairs = ", ".join(f"{effect.block} → {effect.to}" for effect in moved[:6])
    more = f" and {len(moved) - 6} more" if len(moved) > 6 else ""
    where = "the CPU" if out else "the GPU"
    parts = [f"{'it' if event.subject is None else who} moves to {where}: {pairs}{more}"]
    if told.ids("unshare"):
        parts.append(f"{blocks(told.ids('unshare'))} stay where they are for those that share them")
    return [*parts, *_hits(told)]


def _mark(who: str, told: _Told, event: Event) -> list[str]:
    return ["the step has run: the blocks that were cached in it now hold their keys and values"]


def _taken(told: _Told) -> list[str]:
    parts, evicted = [], told.ids("evict")
    fresh = [block for block in told.ids("take") if block not in evicted]
    if fresh:
        verb = "is" if len(fresh) == 1 else "are"
        parts.append(f"{blocks(fresh)} {verb} taken from the front of the free list")
    if evicted:
        gave = "gives up its" if len(evicted) == 1 else "give up their"
        parts.append(f"no block was free, so {blocks(evicted)} {gave} cached content")
    return parts


def _hits(told: _Told) -> list[str]:
    hits = told.ids("hit")
    if not hits:
        return []
    verb, their = ("holds", "is") if len(hits) == 1 else ("hold", "are")
    return [f"{blocks(hits)} {verb} the same tokens behind the same prefix and {their} used again"]


def _full(who: str, told: _Told) -> list[str]:
    parts = []
    if told.ids("promote"):
        parts.append(f"{blocks(told.ids('promote'))} became full and can be found by content now")
    if told.ids("hit"):
        parts.append(
            f"what {who} wrote into {blocks(told.ids('return'))} is cached in "
            f"{blocks(told.ids('hit'))} already, which it uses instead"
        )
    return parts


def _given_back(told: _Told) -> list[str]:
    returned = told.ids("return")
    if not returned:
        return []
    if len(returned) == 1:
        return [f"{blocks(returned)} has no owner left and waits to be taken again"]
    return [f"{blocks(returned)} return one by one, so that {returned[-1]} was the last to come"]


_PARTS = {
    "allocate": _allocate,
    "append_slots": _append,
    "append_token_ids": _append,
    "ensure_num_empty_slots": _append,
    "fork": _fork,
    "free": _free,
    "swap": _swap,
    "swap_out": _swap,
    "swap_in": _swap,
    "mark_blocks_as_computed": _mark,
}
