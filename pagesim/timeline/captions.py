"""What happened, and why, in one sentence."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from pagesim.journal.effects import Effect, Event, Name, Scheduled
from pagesim.journal.state import State


def say(name: Name) -> str:
    """A name as it is shown: the sequence 3 is s3."""
    return f"s{name}" if isinstance(name, int) else str(name)


def blocks(ids: Iterable[int]) -> str:
    """'block 7', 'blocks 7, 2 and 5', or 'no block'."""
    words = [str(block_id) for block_id in ids]
    if len(words) < 2:
        return f"block {words[0]}" if words else "no block"
    if len(words) > 8:
        return f"{len(words)} blocks ({', '.join(words[:3])} … {words[-1]})"
    return f"blocks {', '.join(words[:-1])} and {words[-1]}"


def tokens(count: int) -> str:
    """'1 token', or '7 tokens'."""
    return f"{count} token{'' if count == 1 else 's'}"


class _Told:
    """The effects of an event, sorted by what they are."""

    def __init__(self, event: Event, state: State) -> None:
        self.effects, self.state = event.effects, state
        self._of: dict[str, list[Effect]] = {}
        for effect in event.effects:
            self._of.setdefault(effect.kind, []).append(effect)
        null = {effect.block for effect in self.of("null") if effect.index is None}
        made = {effect.to for effect in self.effects if effect.to is not None} | null
        self.source = {effect.block: effect.list for effect in self.of("take")}
        """The lists from which blocks were taken."""
        self.evicted = self.ids("evict")
        self.fresh = [block for block in self.ids("take") if block not in {*self.evicted, *made}]
        """Taken from the free list, and neither for a copy or a swap nor to be the null block."""
        self.merged = [
            (before.block, effect.block)
            for before, effect in pairwise(self.effects)
            if before.kind == "free" and effect.kind == "hit" and not effect.count
        ]
        """Blocks that became full, and the ones that hold the same already."""

    def of(self, kind: str) -> list[Effect]:
        return self._of.get(kind, [])

    def ids(self, kind: str) -> list[int]:
        return list(dict.fromkeys(effect.block for effect in self.of(kind)))

    @property
    def kept(self) -> list[int]:
        """Blocks that lost an owner and still have one."""
        owned = ("take", "share", "hit", "unshare", "free")
        last = {effect.block: effect.kind for effect in self.effects if effect.kind in owned}
        return [block for block in self.ids("unshare") if last[block] == "unshare"]

    @property
    def pool(self) -> str:
        """The pool that content moves to."""
        return self.state.pool_of(self.of("move")[0].to or 0)

    @property
    def origin(self) -> str:
        """Where the fresh blocks came from: 'the front of the free list'."""
        name = self.source[self.fresh[0]] or "free list"
        word = name.removeprefix(f"{self.state.pool_of(self.fresh[0])} ")
        return f"the {word}" if name in self.state.sorted_lists else f"the front of the {word}"

    @property
    def was_last_resort(self) -> bool:
        """Whether what was evicted came from another list than that of the free blocks."""
        first = next(iter(self.state.lists), None)
        return not self.evicted or self.source.get(self.evicted[0], "") != first


def caption(event: Event, state: State) -> str:
    """One sentence about an event, from its kind and its effects alone.

    ``state`` is any of the run's: pools and lists are called by its names.
    """
    told = _Told(event, state)
    who = "" if event.subject is None else say(event.subject)
    if event.kind == "failed":
        whose = f" for {who}" if who else ""
        why = str(event.error).rstrip(".")
        return f"{event.called}{whose} failed, and everything is as it was before: {why}."
    if who or event.kind in _OF_NOBODY:
        parts = _PARTS.get(event.kind, _any_call)(who, told, event)
    else:
        asked = _ASKED.get(event.kind, f"{event.kind} is called")
        parts = [asked, _known(told, event), *_what_happened(told)]
    text = "; ".join(part for part in parts if part)
    return f"{text if who else text[:1].upper() + text[1:]}."


def _any_call(who: str, told: _Told, event: Event) -> list[str]:
    return [f"{who}: {event.kind}", _known(told, event), *_what_happened(told)]


def _allocate(who: str, told: _Told, event: Event) -> list[str]:
    return _placed(f"{who} arrives", told, event)


def _placed(head: str, told: _Told, event: Event) -> list[str]:
    """What a prompt needs and gets; ``head`` says whose it is."""
    count = sum(effect.count for effect in (*told.of("write"), *told.of("hit")))
    changed = [change for change in event.tables if change.block_ids]
    needed = len(changed[0].block_ids) if changed else 0
    need = f"need{'s' * (count == 1)} {needed} block{'s' * (needed != 1)}"
    head = f"{head} with {tokens(count)}, which {need}" if count else f"{head} empty"
    others = [say(change.table) for change in changed[1:]]
    shared = f"{' and '.join(others)} share{'s' * (len(others) == 1)} them" if others else ""
    return [head, *_hits(told), *_taken(told), shared]


def _append(who: str, told: _Told, event: Event) -> list[str]:
    writes = told.of("write")
    count = sum(effect.count for effect in writes)
    parts = [*_nulls(who, told), *_copies(who, told), *_evicted(told, f" by {who}")]
    if told.fresh and count:
        full = told.fresh[0] in [effect.block for effect in writes]
        why = "the last one is full" if full else "room is reserved for what comes next"
        parts.append(f"{who} takes {blocks(told.fresh)} from {told.origin}: {why}")
    elif told.fresh:
        parts.append(f"{who} reserves {blocks(told.fresh)} for the tokens to come")
    if count and not told.of("copy") and not told.of("take"):
        into = blocks(told.ids("write"))
        parts.append(f"{who} writes {tokens(count)} into {into}, which had room")
    parts += _full(who, told)
    return parts or [f"{who} has room for what is asked: nothing changes"]


def _fork(who: str, told: _Told, event: Event) -> list[str]:
    shared = told.ids("share")
    if not shared:
        return [f"{who} has nothing to share: its parent holds no block"]
    return [f"{who} shares {blocks(shared)} with its parent: nothing is copied"]


def _free(who: str, told: _Told, event: Event) -> list[str]:
    head = f"{who} gives its blocks back" if event.effects else f"{who} has no blocks to give"
    return [head, *_given_back(told)]


def _swap(who: str, told: _Told, event: Event) -> list[str]:
    moved = told.of("move")
    if not moved:
        return [f"{who or 'this call'} has nothing to move"]
    pairs = ", ".join(f"{effect.block} → {effect.to}" for effect in moved[:6])
    more = f" and {len(moved) - 6} more" if len(moved) > 6 else ""
    parts = [f"{f'{who} moves' if who else 'the blocks move'} to the {told.pool}: {pairs}{more}"]
    if told.kept:
        stay = "stays where it is" if len(told.kept) == 1 else "stay where they are"
        parts.append(f"{blocks(told.kept)} {stay} for those that share {_it(told.kept)}")
    return [*parts, *_hits(told), *_evicted(told)]


def _mark(who: str, told: _Told, event: Event) -> list[str]:
    return ["the step has run: the blocks that were cached in it now hold their keys and values"]


# -- a scheduler's decisions ----------------------------------------------------------------------


def _arrive(who: str, told: _Told, event: Event) -> list[str]:
    requests = [move.request for move in event.moves if move.enters]
    named = [request for request in requests[:1] if say(request) != who and f"s{request}" != who]
    places = [move.place + 1 for move in event.moves if move.enters]
    waits = f"it waits, number {places[0]} in the queue" if places else "it waits"
    return [f"{who} arrives{f' as request {say(named[0])}' if named else ''}", waits]


def _admit(who: str, told: _Told, event: Event) -> list[str]:
    return _placed(f"{who} is admitted", told, event)


def _preempt(who: str, told: _Told, event: Event) -> list[str]:
    head = f"{who} is preempted to make room"
    if told.of("move"):
        where = f"it waits on the {told.pool}"
        if any(move.enters and move.queue == "waiting" for move in event.moves):
            where = "its keys and values are lost, vLLM 0.6.4 orders no move"
        return [f"{head}: {where}", *_swap(who, told, event)]
    return [f"{head}: its blocks are freed, it is recomputed later", *_given_back(told)]


def _resume(who: str, told: _Told, event: Event) -> list[str]:
    return [f"{who} resumes: there is room again", *_swap(who, told, event)]


def _finish(who: str, told: _Told, event: Event) -> list[str]:
    return [f"{who} is finished and leaves", *_given_back(told)]


def _ignore(who: str, told: _Told, event: Event) -> list[str]:
    return [f"{who} can never be scheduled: it is too long, and is given up"]


def _abort(who: str, told: _Told, event: Event) -> list[str]:
    queues = [move.queue for move in event.moves if not move.enters]
    was = f", which was {queues[0]}," if queues else ""
    return [f"{who}{was} is aborted and leaves", *_given_back(told)]


def _schedule(who: str, told: _Told, event: Event) -> list[str]:
    if not event.scheduled:
        return ["nothing can be computed in this step"]
    parts = []
    for is_prompt, verb in ((True, "prefill"), (False, "decode")):
        computing = [it for it in event.scheduled if it.is_prompt is is_prompt]
        if computing:
            parts.append(f"{_some(computing)} {verb}{'s' * (len(computing) == 1)}")
    total = sum(it.num_tokens for it in event.scheduled)
    return [f"the step computes {tokens(total)}: {', '.join(parts)}"]


def _computes(it: Scheduled) -> str:
    name = say(it.request if it.sequence is None else it.sequence)
    return f"{name} ({it.num_tokens})" if it.is_prompt or it.num_tokens != 1 else name


def _some(computing: list[Scheduled]) -> str:
    """'a', 'a, b and c', or 'a, b, c, d, e, f and 9 more'."""
    shown = computing[:6] if len(computing) > 8 else computing
    words = [_computes(it) for it in shown]
    if len(shown) < len(computing):
        words.append(f"{len(computing) - len(shown)} more")
    return " and ".join([part for part in (", ".join(words[:-1]), words[-1]) if part])


def _record(who: str, told: _Told, event: Event) -> list[str]:
    return ["from here on the scheduler is recorded, too: these are the requests in its queues"]


def _update(who: str, told: _Told, event: Event) -> list[str]:
    return [f"{who} reads the ids of its blocks again"]


def _what_happened(told: _Told) -> list[str]:
    shared = told.ids("share")
    gained = f"{blocks(shared)} gain{'s' * (len(shared) == 1)} an owner" if shared else ""
    full = told.ids("cache")
    found = f"{blocks(full)} can be found by content now" if full else ""
    parts = [*_copies("", told), gained, *_hits(told), *_taken(told)]
    exist = [block for block in told.ids("computed") if block not in told.ids("free")]
    verb = "is" if len(exist) == 1 else "are"
    parts += [*_nulls("", told), *_given_back(told), found]
    parts.append(f"{blocks(exist)} {verb} computed" if exist else "")
    return [part for part in parts if part]


def _known(told: _Told, event: Event) -> str:
    """Tokens that come later than their slots."""
    count = sum(len(given.token_ids) for given in event.tokens)
    return f"{tokens(count)} became known" if count and not told.of("write") else ""


def _copies(who: str, told: _Told) -> list[str]:
    shared = "is shared by {} tables" if who else "has {} owners"
    return [
        f"block {effect.block} {shared.format(effect.owners)}: "
        f"{who or 'its writer'} copies it to {effect.to} before writing"
        for effect in told.of("copy")
    ]


def _nulls(who: str, told: _Told) -> list[str]:
    parts = []
    for effect in told.of("null"):
        if effect.index is None:
            for_whom = f": {who} has a sliding window" if who else ""
            parts.append(f"block {effect.block} becomes the null block{for_whom}")
    gone = [str(effect.index) for effect in told.of("null") if effect.index is not None]
    if gone:
        more = f"entries {', '.join(gone[:-1])} and {gone[-1]}"
        which = f"{more if len(gone) > 1 else f'entry {gone[0]}'} of {who or 'the table'}"
        null = blocks(told.ids("null")[-1:])
        parts.append(f"{which} fell out of the sliding window: the null {null} is there now")
    return parts


def _taken(told: _Told) -> list[str]:
    parts = []
    if told.fresh:
        verb = "is" if len(told.fresh) == 1 else "are"
        parts.append(f"{blocks(told.fresh)} {verb} taken from {told.origin}")
    return parts + _evicted(told)


def _evicted(told: _Told, by: str = "") -> list[str]:
    if not told.evicted:
        return []
    gave = "gives up its" if len(told.evicted) == 1 else "give up their"
    verb = "is" if len(told.evicted) == 1 else "are"
    why = "no block was free, so " if told.was_last_resort else ""
    head = f"{why}{blocks(told.evicted)} {gave} cached content"
    return [f"{head} and {verb} taken{by}" if set(told.evicted) <= set(told.ids("take")) else head]


def _hits(told: _Told) -> list[str]:
    hits = told.ids("hit")
    if not hits:
        return []
    verb, again = ("holds", "is") if len(hits) == 1 else ("hold", "are")
    return [f"{blocks(hits)} {verb} the same tokens behind the same prefix and {again} used again"]


def _full(who: str, told: _Told) -> list[str]:
    parts = []
    if promoted := told.ids("cache"):
        parts.append(f"{blocks(promoted)} became full and can be found by content now")
    for own, cached in told.merged:
        parts.append(
            f"what {who} wrote into block {own} is cached in block {cached} already, "
            f"which it uses instead"
        )
    return parts


def _given_back(told: _Told) -> list[str]:
    parts, returned = [], told.ids("free")
    if len(returned) == 1:
        parts.append(f"{blocks(returned)} has no owner left and waits to be taken again")
    elif returned:
        parts.append(
            f"{blocks(returned)} have no owner left: they return one by one, in this order"
        )
    if told.kept:
        stay = "stays: others use it" if len(told.kept) == 1 else "stay: others use them"
        parts.append(f"{blocks(told.kept)} {stay}")
    return parts


def _it(ids: list[int]) -> str:
    return "it" if len(ids) == 1 else "them"


_PARTS = {
    "allocate": _allocate,
    "append_slots": _append,
    "allocate_slots": _append,
    "append_token_ids": _append,
    "ensure_num_empty_slots": _append,
    "fork": _fork,
    "free": _free,
    "swap": _swap,
    "swap_out": _swap,
    "swap_in": _swap,
    "update": _update,
    "mark_blocks_as_computed": _mark,
    "arrive": _arrive,
    "admit": _admit,
    "preempt": _preempt,
    "resume": _resume,
    "finish": _finish,
    "ignore": _ignore,
    "abort": _abort,
    "schedule": _schedule,
    "record": _record,
}

_OF_NOBODY = ("swap", "mark_blocks_as_computed", "schedule", "record")

_ASKED = {
    "allocate_mutable_block": "an empty block is asked for",
    "allocate_immutable_block": "a full block is asked for",
    "full_block": "a full block is asked for",
    "allocate_immutable_blocks": "a chain of full blocks is asked for",
    "allocate_or_get_null_block": "the null block is asked for",
    "fork": "a chain of blocks is shared",
    "fork_blocks": "a chain of blocks is shared",
    "free": "a block is given up",
    "swap_out": "blocks are released to be moved",
    "swap_in": "blocks are moved in",
    "cow_block_if_not_appendable": "a block is to be written",
    "promote_to_immutable_block": "a block became full",
}
