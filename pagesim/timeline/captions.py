"""What happened in an event, and why, in one sentence; here the parts of V0 and of tables.

The parts of V1, of a second tier and of contiguous memory stand in ``captions_*``.
"""

from collections.abc import Callable
from itertools import pairwise

from pagesim.journal.state import State
from pagesim.player.describe import counted, name_text
from pagesim.timeline.captions_rows import appended, given_back
from pagesim.timeline.captions_tier import PARTS as TIER
from pagesim.timeline.captions_tier import scheduled
from pagesim.timeline.captions_v1 import PARTS as V1
from pagesim.timeline.events import Event, Scheduled
from pagesim.timeline.facts import (
    NAMED,
    Facts,
    blocks,
    found_in,
    nulls,
    pick,
    same,
    still_used,
    tokens,
    tokens_and_blocks,
)


def caption(event: Event, state: State) -> str:
    """One sentence about an event, from its kind and its effects alone.

    ``state`` is any state of the run: pools and lists are called by its names.
    """
    facts = Facts(event, state)
    if event.kind == "failed":
        whose = f" for {facts.who}" if facts.who else ""
        why = str(event.error).rstrip(".")
        return f"{event.called}{whose} failed, and nothing has changed: {why}."
    of_v1 = V1 if state.tier is None else TIER
    if state.tier and event.kind == "schedule":
        parts = scheduled(_schedule(facts), facts)
    elif facts.is_v1 and event.kind in of_v1:
        parts = of_v1[event.kind](facts)
    elif facts.who or event.kind in _WITHOUT_SUBJECT:
        parts = _PARTS.get(event.kind, _any_call)(facts)
    else:
        parts = [_REQUESTED.get(event.kind, f"{event.kind} is called"), *_what_happened(facts)]
    if not event.reads:
        parts += _heaviest(facts)
    text = "; ".join(part for part in parts if part)
    return f"{text if facts.who else text[:1].upper() + text[1:]}."


def _any_call(facts: Facts) -> list[str]:
    return [f"{facts.who}: {facts.event.kind}", *_what_happened(facts)]


def _placed(facts: Facts, verb: str) -> list[str]:
    """What a prompt needs and gets; ``verb`` says how its sequence came."""
    found = sum(effect.count for effect in facts.of("hit"))
    count = sum(effect.count for effect in facts.of("write")) + found
    changed = [change for change in facts.event.tables if change.block_ids]
    needed = len(changed[0].block_ids) if changed else 0
    prompt = f"with {tokens_and_blocks(count, needed)}" if count else "empty"
    others = [name_text(change.table) for change in changed[1:]]
    shared = f"{' and '.join(others)} {pick(others, 'shares', 'share')} them" if others else ""
    if not (hits := facts.ids("hit")) or not found:
        return [f"{facts.who} {verb} {prompt}", *_hits(facts), *_taken(facts), shared]
    return [
        f"{facts.who} {verb}: {found_in(found, count, hits)}",
        same(hits),
        *_taken(facts),
        shared,
    ]


def _append(facts: Facts) -> list[str]:
    if facts.state.is_contiguous:
        return appended(facts)
    who, writes = facts.who, facts.of("write")
    count = sum(effect.count for effect in writes)
    parts = [*nulls(facts), *_copies(facts), *_evicted(facts, f" by {who}")]
    if facts.fresh and count:
        full = facts.fresh[0] in [effect.block for effect in writes]
        why = (
            "the last one in its table is full" if full else "it reserves slots for the next tokens"
        )
        parts.append(f"{who} takes {blocks(facts.fresh)} from {facts.origin}, because {why}")
    elif facts.fresh:
        parts.append(f"{who} reserves {blocks(facts.fresh)} for the tokens to come")
    if count and not facts.of("copy") and not facts.of("take"):
        into = blocks(facts.ids("write"))
        parts.append(f"{who} writes {tokens(count)} into {into}, which had room")
    if promoted := facts.ids("cache"):
        parts.append(
            f"{blocks(promoted)} {pick(promoted, 'is', 'are')} now full and can be found by content"
        )
    for before, effect in pairwise(facts.effects):
        if before.kind == "free" and effect.kind == "hit" and not effect.count:
            parts.append(
                f"block {effect.block} already holds what {who} wrote into block {before.block}, "
                f"and {who} uses it instead"
            )
    return parts or [f"{who} already has room: nothing changes"]


def _fork(facts: Facts) -> list[str]:
    if not (shared := facts.ids("share")):
        return [f"{facts.who} has nothing to share: its parent holds no block"]
    return [f"{facts.who} shares {blocks(shared)} with its parent: nothing is copied"]


def _free(facts: Facts) -> list[str]:
    what = "returns its blocks" if facts.effects else "has no blocks to return"
    return [f"{facts.who} {what}", *_given_back(facts)]


def _swap(facts: Facts) -> list[str]:
    if not (moved := facts.of("move")):
        return [f"{facts.who or 'this call'} has nothing to move"]
    pairs = ", ".join(f"{effect.block} → {effect.to}" for effect in moved[:6])
    more = f" and {len(moved) - 6} more" if len(moved) > 6 else ""
    subject = f"{facts.who} moves" if facts.who else "the blocks move"
    parts = [f"{subject} to the {facts.pool}: {pairs}{more}"]
    if kept := facts.kept:
        stay = pick(kept, "stays in place for the sequences that share it",
                    "stay in place for the sequences that share them")  # fmt: skip
        parts.append(f"{blocks(kept)} {stay}")
    return [*parts, *_hits(facts), *_evicted(facts)]


# -- a scheduler's decisions ----------------------------------------------------------------------


def _arrive(facts: Facts) -> list[str]:
    entered = [move for move in facts.event.moves if move.enters]
    names = {name_text(move.request) for move in entered[:1]} - {facts.who}
    named = "".join(f" as request {name}" for name in names if f"s{name}" != facts.who)
    place = f" at position {entered[0].place + 1} in the queue" if entered else ""
    return [f"{facts.who} arrives{named}", f"it waits{place}"]


def _preempt(facts: Facts) -> list[str]:
    head = f"{facts.who} is preempted to make room"
    if not facts.of("move"):
        return [f"{head}: its blocks are freed, and it is recomputed later", *_given_back(facts)]
    where = f"it waits on the {facts.pool}"
    if any(move.enters and move.queue == "waiting" for move in facts.event.moves):
        where = "its keys and values are lost, because vLLM 0.6.4 does not order the move"
    return [f"{head}: {where}", *_swap(facts)]


def _abort(facts: Facts) -> list[str]:
    queues = [move.queue for move in facts.event.moves if not move.enters]
    was = f", which was {queues[0]}," if queues else ""
    return [f"{facts.who}{was} is aborted and leaves", *_given_back(facts)]


def _schedule(facts: Facts) -> list[str]:
    scheduled = facts.event.scheduled
    if not scheduled:
        return ["nothing can be computed in this step"]
    parts = []
    for is_prompt, verb in ((True, "prefill"), (False, "decode")):
        if computing := [each for each in scheduled if each.is_prompt is is_prompt]:
            parts.append(f"{_some(computing)} {pick(computing, f'{verb}s', verb)}")
    total = sum(each.num_tokens for each in scheduled)
    return [f"the step computes {tokens(total)}: {', '.join(parts)}"]


def _computes(who: Scheduled) -> str:
    name = name_text(who.request if who.sequence is None else who.sequence)
    return f"{name} ({who.num_tokens})" if who.is_prompt or who.num_tokens != 1 else name


def _some(computing: list[Scheduled]) -> str:
    """'a', 'a, b and c', or 'a, b, c, d, e, f and 9 more'."""
    shown = computing[:6] if len(computing) > 8 else computing
    words = [_computes(each) for each in shown]
    if len(shown) < len(computing):
        words.append(f"{len(computing) - len(shown)} more")
    return " and ".join([part for part in (", ".join(words[:-1]), words[-1]) if part])


# -- what happened to blocks ----------------------------------------------------------------------


def _what_happened(facts: Facts) -> list[str]:
    known = facts.num_known  # later than their slots
    parts = [f"{tokens(known)} became known" if known and not facts.of("write") else ""]
    parts += _copies(facts)
    if shared := facts.ids("share"):
        parts.append(f"{blocks(shared)} {pick(shared, 'gains', 'gain')} an owner")
    parts += [*_hits(facts), *_taken(facts), *nulls(facts), *_given_back(facts)]
    if full := facts.ids("cache"):
        parts.append(f"{blocks(full)} can now be found by content")
    if exist := [block for block in facts.ids("computed") if block not in facts.ids("free")]:
        parts.append(f"{blocks(exist)} {pick(exist, 'is', 'are')} computed")
    return parts


def _copies(facts: Facts) -> list[str]:
    shared = "is shared by {} tables" if facts.who else "has {} owners"
    return [
        f"block {effect.block} {shared.format(effect.owners)}, so "
        f"{facts.who or 'its writer'} copies it to block {effect.to} before it writes"
        for effect in facts.of("copy")
    ]


def _taken(facts: Facts) -> list[str]:
    parts = []
    if fresh := facts.fresh:
        parts.append(f"{blocks(fresh)} {pick(fresh, 'is', 'are')} taken from {facts.origin}")
    return parts + _evicted(facts)


def _evicted(facts: Facts, by: str = "") -> list[str]:
    if not (evicted := facts.evicted):
        return []
    why = "no block was free, so " if facts.was_last_resort else ""
    gave = pick(evicted, "gives up its", "give up their")
    head = f"{why}{blocks(evicted)} {gave} cached content"
    taken = set(evicted) <= set(facts.ids("take"))
    return [f"{head} and {pick(evicted, 'is', 'are')} taken{by}" if taken else head]


def _hits(facts: Facts) -> list[str]:
    if not (hits := facts.ids("hit")):
        return []
    verb, reused = pick(hits, "holds", "hold"), pick(hits, "is", "are")
    return [f"{blocks(hits)} {verb} the same tokens after the same prefix and {reused} reused"]


def _given_back(facts: Facts) -> list[str]:
    if facts.state.is_contiguous:
        return given_back(facts)
    parts, returned = [], facts.ids("free")
    if len(returned) == 1:
        parts.append(f"{blocks(returned)} has no owner left and can be taken again")
    elif returned:
        order = ", in this order" if len(returned) <= NAMED else ""
        parts.append(f"{blocks(returned)} have no owner left and go back one by one{order}")
    return [*parts, *still_used(facts)]


def _heaviest(facts: Facts) -> list[str]:
    """Where the first mark's numbers are largest, block by block."""
    sums: dict[int, float] = {}
    for mark in facts.event.marks[:1]:
        size = facts.state.block_size if mark.on == "slots" else 1
        for place, number in mark.numbers:
            sums[place // size] = sums.get(place // size, 0.0) + number
    if not sums:
        return []
    block = max(sums, key=lambda each: sums[each])
    return [f"{facts.event.marks[0].name}: most of it, {sums[block]:.3g}, on block {block}"]


def _read(facts: Facts) -> list[str]:
    """Programs of a kernel have loaded keys: how many of each table, and from where."""
    found, size = [], facts.state.block_size
    for table in dict.fromkeys(held.table for held in facts.event.reads):
        of = [held for held in facts.event.reads if held.table == table]
        programs, slots = (
            {held.program for held in of},
            {slot for held in of for slot in held.slots},
        )
        read = sorted(slot for slot in slots if slot is not None)
        where = blocks(dict.fromkeys(slot // size for slot in read))
        what = f"{counted(len(read), 'key')} from {where}" if read else "the new token's key"
        verb = pick(programs, "reads", "read")
        found.append(f"{counted(len(programs), 'program')} of {name_text(table)} {verb} {what}")
    return found or ["keys are read"]


def _reduce(facts: Facts) -> list[str]:
    """Partitions are merged."""
    parts = {held.table: counted(len(held.weights), "partition") for held in facts.event.reads}
    each = " and ".join(f"{of} of {name_text(table)}" for table, of in parts.items())
    return [f"the reduction scales {each or 'them'} to their largest m, and adds them head by head"]


def _output(facts: Facts) -> list[str]:
    """The kernel's output, beside what its programs held."""
    bound = facts.event.difference
    near = "" if bound is None else f": the largest difference is below {bound:.0e}"
    return [f"the kernel's output is acc \u00f7 \u2113{near.replace('e-0', 'e-')}"]


_PARTS: dict[str, Callable[[Facts], list[str]]] = {
    "allocate": lambda facts: _placed(facts, "arrives"),
    **dict.fromkeys(
        ("append_slots", "allocate_slots", "append_token_ids", "ensure_num_empty_slots"), _append
    ),
    "fork": _fork,
    "free": _free,
    **dict.fromkeys(("swap", "swap_out", "swap_in"), _swap),
    "update": lambda facts: [f"{facts.who} rereads the ids of its blocks"],
    "mark_blocks_as_computed": lambda facts: [
        "the step has run: the blocks cached in it now hold their keys and values"
    ],
    "arrive": _arrive,
    "admit": lambda facts: _placed(facts, "is admitted"),
    "preempt": _preempt,
    "resume": lambda facts: [f"{facts.who} resumes: there is room again", *_swap(facts)],
    "finish": lambda facts: [f"{facts.who} has finished and leaves", *_given_back(facts)],
    "ignore": lambda facts: [f"{facts.who} is too long ever to be scheduled, and is dropped"],
    "abort": _abort,
    "schedule": _schedule,
    "read": _read,
    "reduce": _reduce,
    "output": _output,
    "record": lambda facts: [
        "the recording of the scheduler starts here, with these requests in its queues"
    ],
}

_WITHOUT_SUBJECT = (
    *("swap", "mark_blocks_as_computed", "schedule", "record"),
    *("read", "reduce", "output"),
)

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
