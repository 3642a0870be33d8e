"""What happened, and why, in one sentence."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

from pagesim.journal.state import State
from pagesim.timeline.captions_v1 import PARTS as V1
from pagesim.timeline.events import Event, Scheduled
from pagesim.timeline.told import Told, blocks, nulls, pick, say, tokens


def caption(event: Event, state: State) -> str:
    """One sentence about an event, from its kind and its effects alone.

    ``state`` is any state of the run: pools and lists are called by its names.
    """
    told = Told(event, state)
    if event.kind == "failed":
        whose = f" for {told.who}" if told.who else ""
        why = str(event.error).rstrip(".")
        return f"{event.called}{whose} failed, and nothing has changed: {why}."
    if told.is_v1 and event.kind in V1:
        parts = V1[event.kind](told)
    elif told.who or event.kind in _WITHOUT_SUBJECT:
        parts = _PARTS.get(event.kind, _any_call)(told)
    else:
        parts = [_REQUESTED.get(event.kind, f"{event.kind} is called"), *_what_happened(told)]
    if event.kind != "read":
        parts += _heaviest(told)
    text = "; ".join(part for part in parts if part)
    return f"{text if told.who else text[:1].upper() + text[1:]}."


def _any_call(told: Told) -> list[str]:
    return [f"{told.who}: {told.event.kind}", *_what_happened(told)]


def _placed(told: Told, verb: str) -> list[str]:
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


def _append(told: Told) -> list[str]:
    who, writes = told.who, told.of("write")
    count = sum(effect.count for effect in writes)
    parts = [*nulls(told), *_copies(told), *_evicted(told, f" by {who}")]
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


def _fork(told: Told) -> list[str]:
    if not (shared := told.ids("share")):
        return [f"{told.who} has nothing to share: its parent holds no block"]
    return [f"{told.who} shares {blocks(shared)} with its parent: nothing is copied"]


def _free(told: Told) -> list[str]:
    what = "returns its blocks" if told.effects else "has no blocks to return"
    return [f"{told.who} {what}", *_given_back(told)]


def _swap(told: Told) -> list[str]:
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


def _arrive(told: Told) -> list[str]:
    entered = [move for move in told.event.moves if move.enters]
    names = {say(move.request) for move in entered[:1]} - {told.who}
    named = "".join(f" as request {name}" for name in names if f"s{name}" != told.who)
    place = f" at position {entered[0].place + 1} in the queue" if entered else ""
    return [f"{told.who} arrives{named}", f"it waits{place}"]


def _preempt(told: Told) -> list[str]:
    head = f"{told.who} is preempted to make room"
    if not told.of("move"):
        return [f"{head}: its blocks are freed, and it is recomputed later", *_given_back(told)]
    where = f"it waits on the {told.pool}"
    if any(move.enters and move.queue == "waiting" for move in told.event.moves):
        where = "its keys and values are lost, because vLLM 0.6.4 does not order the move"
    return [f"{head}: {where}", *_swap(told)]


def _abort(told: Told) -> list[str]:
    queues = [move.queue for move in told.event.moves if not move.enters]
    was = f", which was {queues[0]}," if queues else ""
    return [f"{told.who}{was} is aborted and leaves", *_given_back(told)]


def _schedule(told: Told) -> list[str]:
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


def _what_happened(told: Told) -> list[str]:
    known = sum(len(given.token_ids) for given in told.event.tokens)  # later than their slots
    parts = [f"{tokens(known)} became known" if known and not told.of("write") else ""]
    parts += _copies(told)
    if shared := told.ids("share"):
        parts.append(f"{blocks(shared)} {pick(shared, 'gains', 'gain')} an owner")
    parts += [*_hits(told), *_taken(told), *nulls(told), *_given_back(told)]
    if full := told.ids("cache"):
        parts.append(f"{blocks(full)} can now be found by content")
    if exist := [block for block in told.ids("computed") if block not in told.ids("free")]:
        parts.append(f"{blocks(exist)} {pick(exist, 'is', 'are')} computed")
    return parts


def _copies(told: Told) -> list[str]:
    shared = "is shared by {} tables" if told.who else "has {} owners"
    return [
        f"block {effect.block} {shared.format(effect.owners)}: "
        f"{told.who or 'its writer'} copies it to {effect.to} before writing"
        for effect in told.of("copy")
    ]


def _taken(told: Told) -> list[str]:
    parts = []
    if fresh := told.fresh:
        parts.append(f"{blocks(fresh)} {pick(fresh, 'is', 'are')} taken from {told.origin}")
    return parts + _evicted(told)


def _evicted(told: Told, by: str = "") -> list[str]:
    if not (evicted := told.evicted):
        return []
    why = "no block was free, so " if told.was_last_resort else ""
    gave = pick(evicted, "gives up its", "give up their")
    head = f"{why}{blocks(evicted)} {gave} cached content"
    taken = set(evicted) <= set(told.ids("take"))
    return [f"{head} and {pick(evicted, 'is', 'are')} taken{by}" if taken else head]


def _hits(told: Told) -> list[str]:
    if not (hits := told.ids("hit")):
        return []
    verb, reused = pick(hits, "holds", "hold"), pick(hits, "is", "are")
    return [f"{blocks(hits)} {verb} the same tokens after the same prefix and {reused} reused"]


def _given_back(told: Told) -> list[str]:
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


def _heaviest(told: Told) -> list[str]:
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


def _read(told: Told) -> list[str]:
    """A kernel's program has loaded keys; what it then holds stands in the other marks."""
    mark, *held = told.event.marks
    size = told.state.block_size
    where = blocks(dict.fromkeys(int(slot) // size for slot, _ in mark.numbers))
    now = ", ".join(f"{it.name} {it.numbers[0][1]:.3g}" for it in held if it.numbers)
    return [f"{told.who}: {mark.name} reads {_keys(len(mark.numbers))} from {where}", f"now {now}"]


_PARTS: dict[str, Callable[[Told], list[str]]] = {
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
