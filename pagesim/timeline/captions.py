"""What happened, and why, in one sentence."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sized
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


def pick(items: Sized, one: str, several: str) -> str:
    """The wording that fits the number of items."""
    return one if len(items) == 1 else several


class _Told:
    """An event, who it is about, and its effects by kind."""

    def __init__(self, event: Event, state: State) -> None:
        self.event, self.effects, self.state = event, event.effects, state
        self.who = "" if event.subject is None else say(event.subject)
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
        """Whether the evicted blocks came from another list than the free blocks do."""
        if len(self.state.lists) < 2:
            return False
        first = next(iter(self.state.lists))
        return not self.evicted or self.source.get(self.evicted[0], "") != first


def caption(event: Event, state: State) -> str:
    """One sentence about an event, from its kind and its effects alone.

    ``state`` is any state of the run: pools and lists are called by its names.
    """
    told = _Told(event, state)
    if event.kind == "failed":
        whose = f" for {told.who}" if told.who else ""
        why = str(event.error).rstrip(".")
        return f"{event.called}{whose} failed, and nothing has changed: {why}."
    if told.who or event.kind in _WITHOUT_SUBJECT:
        parts = _PARTS.get(event.kind, _any_call)(told)
    else:
        parts = [_REQUESTED.get(event.kind, f"{event.kind} is called"), *_what_happened(told)]
    if event.kind != "read":
        parts += _heaviest(told)
    text = "; ".join(part for part in parts if part)
    return f"{text if told.who else text[:1].upper() + text[1:]}."


def _any_call(told: _Told) -> list[str]:
    return [f"{told.who}: {told.event.kind}", *_what_happened(told)]


def _placed(told: _Told, verb: str) -> list[str]:
    """What a prompt needs and gets; ``verb`` says how its sequence came."""
    count = sum(effect.count for effect in (*told.of("write"), *told.of("hit")))
    changed = [change for change in told.event.tables if change.block_ids]
    needed = len(changed[0].block_ids) if changed else 0
    need = f"need{'s' * (count == 1)} {needed} block{'s' * (needed != 1)}"
    head = f"{told.who} {verb}"
    head = f"{head} with {tokens(count)}, which {need}" if count else f"{head} empty"
    others = [say(change.table) for change in changed[1:]]
    shared = f"{' and '.join(others)} {pick(others, 'shares', 'share')} them" if others else ""
    return [head, *_hits(told), *_taken(told), shared]


def _append(told: _Told) -> list[str]:
    who, writes = told.who, told.of("write")
    count = sum(effect.count for effect in writes)
    parts = [*_nulls(told), *_copies(told), *_evicted(told, f" by {who}")]
    if told.fresh and count:
        full = told.fresh[0] in [effect.block for effect in writes]
        why = "its last block is full" if full else "slots are reserved for the next tokens"
        parts.append(f"{who} takes {blocks(told.fresh)} from {told.origin}: {why}")
    elif told.fresh:
        parts.append(f"{who} reserves {blocks(told.fresh)} for the tokens to come")
    if count and not told.of("copy") and not told.of("take"):
        into = blocks(told.ids("write"))
        parts.append(f"{who} writes {tokens(count)} into {into}, which had room")
    if promoted := told.ids("cache"):
        parts.append(f"{blocks(promoted)} became full and can now be found by content")
    for before, effect in pairwise(told.effects):
        if before.kind == "free" and effect.kind == "hit" and not effect.count:
            parts.append(
                f"block {effect.block} already holds what {who} wrote into block {before.block}, "
                f"and {who} uses it instead"
            )
    return parts or [f"{who} already has room: nothing changes"]


def _fork(told: _Told) -> list[str]:
    if not (shared := told.ids("share")):
        return [f"{told.who} has nothing to share: its parent holds no block"]
    return [f"{told.who} shares {blocks(shared)} with its parent: nothing is copied"]


def _free(told: _Told) -> list[str]:
    what = "returns its blocks" if told.effects else "has no blocks to return"
    return [f"{told.who} {what}", *_given_back(told)]


def _swap(told: _Told) -> list[str]:
    if not (moved := told.of("move")):
        return [f"{told.who or 'this call'} has nothing to move"]
    pairs = ", ".join(f"{effect.block} → {effect.to}" for effect in moved[:6])
    more = f" and {len(moved) - 6} more" if len(moved) > 6 else ""
    subject = f"{told.who} moves" if told.who else "the blocks move"
    parts = [f"{subject} to the {told.pool}: {pairs}{more}"]
    if kept := told.kept:
        stay = pick(kept, "stays in place for the sequences that share it",
                    "stay in place for the sequences that share them")  # fmt: skip
        parts.append(f"{blocks(kept)} {stay}")
    return [*parts, *_hits(told), *_evicted(told)]


# -- a scheduler's decisions ----------------------------------------------------------------------


def _arrive(told: _Told) -> list[str]:
    entered = [move for move in told.event.moves if move.enters]
    names = {say(move.request) for move in entered[:1]} - {told.who}
    named = "".join(f" as request {name}" for name in names if f"s{name}" != told.who)
    place = f" at position {entered[0].place + 1} in the queue" if entered else ""
    return [f"{told.who} arrives{named}", f"it waits{place}"]


def _preempt(told: _Told) -> list[str]:
    head = f"{told.who} is preempted to make room"
    if not told.of("move"):
        return [f"{head}: its blocks are freed, and it is recomputed later", *_given_back(told)]
    where = f"it waits on the {told.pool}"
    if any(move.enters and move.queue == "waiting" for move in told.event.moves):
        where = "its keys and values are lost, because vLLM 0.6.4 does not order the move"
    return [f"{head}: {where}", *_swap(told)]


def _abort(told: _Told) -> list[str]:
    queues = [move.queue for move in told.event.moves if not move.enters]
    was = f", which was {queues[0]}," if queues else ""
    return [f"{told.who}{was} is aborted and leaves", *_given_back(told)]


def _schedule(told: _Told) -> list[str]:
    scheduled = told.event.scheduled
    if not scheduled:
        return ["nothing can be computed in this step"]
    parts = []
    for is_prompt, verb in ((True, "prefill"), (False, "decode")):
        if computing := [it for it in scheduled if it.is_prompt is is_prompt]:
            parts.append(f"{_some(computing)} {pick(computing, f'{verb}s', verb)}")
    total = sum(it.num_tokens for it in scheduled)
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


# -- what happened to blocks ----------------------------------------------------------------------


def _what_happened(told: _Told) -> list[str]:
    known = sum(len(given.token_ids) for given in told.event.tokens)  # later than their slots
    parts = [f"{tokens(known)} became known" if known and not told.of("write") else ""]
    parts += _copies(told)
    if shared := told.ids("share"):
        parts.append(f"{blocks(shared)} {pick(shared, 'gains', 'gain')} an owner")
    parts += [*_hits(told), *_taken(told), *_nulls(told), *_given_back(told)]
    if full := told.ids("cache"):
        parts.append(f"{blocks(full)} can now be found by content")
    if exist := [block for block in told.ids("computed") if block not in told.ids("free")]:
        parts.append(f"{blocks(exist)} {pick(exist, 'is', 'are')} computed")
    return parts


def _copies(told: _Told) -> list[str]:
    shared = "is shared by {} tables" if told.who else "has {} owners"
    return [
        f"block {effect.block} {shared.format(effect.owners)}: "
        f"{told.who or 'its writer'} copies it to {effect.to} before writing"
        for effect in told.of("copy")
    ]


def _nulls(told: _Told) -> list[str]:
    parts = []
    for effect in told.of("null"):
        if effect.index is None:
            why = f": {told.who} has a sliding window" if told.who else ""
            parts.append(f"block {effect.block} becomes the null block{why}")
    if gone := [str(effect.index) for effect in told.of("null") if effect.index is not None]:
        more = f"entries {', '.join(gone[:-1])} and {gone[-1]}"
        which = f"{pick(gone, f'entry {gone[0]}', more)} of {told.who or 'the table'}"
        null = f"the null {blocks(told.ids('null')[-1:])} takes {pick(gone, 'its', 'their')} place"
        parts.append(f"{which} fell out of the sliding window: {null}")
    return parts


def _taken(told: _Told) -> list[str]:
    parts = []
    if fresh := told.fresh:
        parts.append(f"{blocks(fresh)} {pick(fresh, 'is', 'are')} taken from {told.origin}")
    return parts + _evicted(told)


def _evicted(told: _Told, by: str = "") -> list[str]:
    if not (evicted := told.evicted):
        return []
    why = "no block was free, so " if told.was_last_resort else ""
    gave = pick(evicted, "gives up its", "give up their")
    head = f"{why}{blocks(evicted)} {gave} cached content"
    taken = set(evicted) <= set(told.ids("take"))
    return [f"{head} and {pick(evicted, 'is', 'are')} taken{by}" if taken else head]


def _hits(told: _Told) -> list[str]:
    if not (hits := told.ids("hit")):
        return []
    verb, reused = pick(hits, "holds", "hold"), pick(hits, "is", "are")
    return [f"{blocks(hits)} {verb} the same tokens after the same prefix and {reused} reused"]


def _given_back(told: _Told) -> list[str]:
    parts, returned = [], told.ids("free")
    if len(returned) == 1:
        parts.append(f"{blocks(returned)} has no owner left and can be taken again")
    elif returned:
        parts.append(f"{blocks(returned)} have no owner left: they return one by one in this order")
    if kept := told.kept:
        parts.append(
            f"{blocks(kept)} {pick(kept, 'stays: others use it', 'stay: others use them')}"
        )
    return parts


def _heaviest(told: _Told) -> list[str]:
    """Where the first mark's numbers are largest, block by block."""
    sums: dict[int, float] = {}
    for mark in told.event.marks[:1]:
        size = told.state.block_size if mark.on == "slots" else 1
        for place, number in mark.numbers:
            sums[place // size] = sums.get(place // size, 0.0) + number
    if not sums:
        return []
    block = max(sums, key=lambda each: sums[each])
    return [f"{told.event.marks[0].name}: most of it, {sums[block]:.3g}, on block {block}"]


def _keys(count: int) -> str:
    return f"{count} key{'' if count == 1 else 's'}"


def _read(told: _Told) -> list[str]:
    """A kernel's program has loaded keys; what it then holds stands in the other marks."""
    mark, *held = told.event.marks
    size = told.state.block_size
    where = blocks(dict.fromkeys(int(slot) // size for slot, _ in mark.numbers))
    now = ", ".join(f"{it.name} {it.numbers[0][1]:.3g}" for it in held if it.numbers)
    return [f"{told.who}: {mark.name} reads {_keys(len(mark.numbers))} from {where}", f"now {now}"]


_PARTS: dict[str, Callable[[_Told], list[str]]] = {
    "allocate": lambda told: _placed(told, "arrives"),
    **dict.fromkeys(
        ("append_slots", "allocate_slots", "append_token_ids", "ensure_num_empty_slots"), _append
    ),
    "fork": _fork,
    "free": _free,
    **dict.fromkeys(("swap", "swap_out", "swap_in"), _swap),
    "update": lambda told: [f"{told.who} rereads the ids of its blocks"],
    "mark_blocks_as_computed": lambda told: [
        "the step has run: the blocks cached in it now hold their keys and values"
    ],
    "arrive": _arrive,
    "admit": lambda told: _placed(told, "is admitted"),
    "preempt": _preempt,
    "resume": lambda told: [f"{told.who} resumes: there is room again", *_swap(told)],
    "finish": lambda told: [f"{told.who} has finished and leaves", *_given_back(told)],
    "ignore": lambda told: [f"{told.who} is too long ever to be scheduled, and is dropped"],
    "abort": _abort,
    "schedule": _schedule,
    "read": lambda told: _read(told),
    "record": lambda told: [
        "the recording of the scheduler starts here, with these requests in its queues"
    ],
}

_WITHOUT_SUBJECT = ("swap", "mark_blocks_as_computed", "schedule", "record")

_REQUESTED = {
    "allocate_mutable_block": "an empty block is requested",
    "allocate_immutable_block": "a full block is requested",
    "full_block": "a full block is requested",
    "allocate_immutable_blocks": "a chain of full blocks is requested",
    "allocate_or_get_null_block": "the null block is requested",
    "fork": "a chain of blocks is shared",
    "fork_blocks": "a chain of blocks is shared",
    "free": "a block is released",
    "swap_out": "blocks are released to be moved",
    "swap_in": "blocks are moved in",
    "cow_block_if_not_appendable": "a block is about to be written",
    "promote_to_immutable_block": "a block became full",
}
