"""What happened in vLLM V1, and why: its one free queue, its hits, its steps in flight."""

from collections.abc import Callable

from pagesim.timeline.facts import (
    Facts,
    blocks,
    found_in,
    group_text,
    nulls,
    pick,
    same,
    still_used,
    tokens,
    tokens_and_blocks,
)

FRONT = 0


def _placed(facts: Facts, verb: str) -> list[str]:
    """A request begins to run; ``verb`` says how it came."""
    computed = sum(effect.count for effect in facts.of("write"))
    found = sum(effect.count for effect in facts.of("hit"))
    count = computed + found + len(facts.of("null")) * facts.state.block_size
    needed = sum(len(change.block_ids) for change in facts.event.tables)
    if groups := facts.state.groups:
        null = facts.state.null_block
        ids = [block for change in facts.event.tables for block in change.block_ids]
        count, needed = facts.positions("write", "hit").stop, len(ids) - ids.count(null or 0)
        found, computed = facts.positions("hit").stop, 0
        verb += f" in {len(groups)} groups"
    parts = [f"{facts.who} {verb} with {tokens_and_blocks(count, needed)}"]
    if found and (hits := facts.ids("hit")):
        only = f", and only {computed} {pick(range(computed), 'is', 'are')} computed"
        parts = [f"{facts.who} {verb}: {found_in(found, count, hits)}{only if computed else ''}"]
        parts.append(same(hits))
    if computed == facts.state.block_size and facts.of("hit"):
        parts.append(
            "the last block of a prompt is always computed, because the next token is sampled from "
            "its output"
        )
    return [
        *parts,
        *nulls(facts),
        *taken_parts(facts),
        *cached_parts(facts),
    ]


def taken_parts(facts: Facts, who: str = "") -> list[str]:
    """Blocks from the front of the queue; those that were cached come last."""
    fresh, parts = facts.fresh, []
    evicted = [block for block in facts.evicted if block in facts.source]
    front = "from the front of the free queue"
    if fresh:
        is_taken = f"{blocks(fresh)} {pick(fresh, 'is', 'are')} taken"
        parts.append(f"{f'{who} takes {blocks(fresh)}' if who else is_taken} {front}")
    if evicted:
        where = "" if fresh else " at the front of the free queue"
        does = pick(evicted, "forgets what it cached and is", "forget what they cached and are")
        by = f" by {who}" if who else ""
        parts.append(
            f"{blocks(evicted)}{where} {does} taken{by}: no other cached block has waited longer"
        )
    return parts


def cached_parts(facts: Facts) -> list[str]:
    """What can be found from now on."""
    if not (full := facts.ids("cache")):
        return []
    them = pick(full, "it is", "they are")
    return [f"{blocks(full)} can be found from now on, even before {them} computed"]


def _grow(facts: Facts) -> list[str]:
    if facts.event.opened:
        return _placed(facts, "begins")
    writes, taken = facts.of("write"), facts.ids("take")
    count = sum(effect.count for effect in writes)
    if facts.state.groups:
        count = len(facts.positions("write"))
    unknown = range(count - facts.num_known)
    parts = [*nulls(facts), *_dropped(facts), *taken_parts(facts, facts.who)]
    if unknown:
        is_not = pick(unknown, "is not known yet: the step that samples it is",
                      "are not known yet: the steps that sample them are")  # fmt: skip
        parts.append(f"{facts.who} has a slot for {tokens(len(unknown))} that {is_not} in flight")
    elif count and not taken:
        into = [effect.block for effect in writes if not facts.is_state(effect)]
        parts.append(f"{facts.who} writes {tokens(count)} into {blocks(into)}, which had room")
    elif count and taken[0] in [effect.block for effect in writes]:
        parts[-1] += ", because the last one in its table is full"
    parts += [
        f"the state in block {effect.block} covers the first {tokens(effect.first + effect.count)}"
        for effect in writes
        if facts.is_state(effect) and effect.first is not None
    ]
    return [*parts, *cached_parts(facts)] or [f"{facts.who} already has room: nothing changes"]


def _dropped(facts: Facts) -> list[str]:
    """Blocks behind the window."""
    if not (gone := facts.ids("free")):
        return []
    return [f"{blocks(gone)} {pick(gone, 'returns', 'return')} to the free queue"]


def returned_parts(facts: Facts) -> list[str]:
    """Where freed blocks go in the queue, and why."""
    freed = facts.of("free")
    front = [effect.block for effect in freed if effect.place == FRONT][::-1]
    back = [effect.block for effect in freed if effect.place != FRONT]
    parts = ["its blocks are freed last to first"] if len(freed) > 1 else []
    if front:
        parts.append(
            f"{blocks(front)} {pick(front, 'goes', 'go')} to the front of the free queue, because "
            f"nothing can be found in {pick(front, 'it', 'them')}"
        )
    if back:
        why = ", so that the earlier part, which others share most often, is forgotten last"
        parts.append(
            f"{blocks(back)} {pick(back, 'is', 'are')} cached and {pick(back, 'goes', 'go')} to "
            f"the back{why if len(back) > 1 else ''}"
        )
    return [*parts, *still_used(facts)]


def _preempt(facts: Facts) -> list[str]:
    head = (
        f"{facts.who} is preempted: it keeps its tokens, loses its blocks, and begins again later"
    )
    again = "what is still cached then costs nothing"
    cached = any(effect.place != FRONT for effect in facts.of("free"))
    return [head, *returned_parts(facts), again if cached else ""]


def _update(facts: Facts) -> list[str]:
    step = "a step" if facts.event.step is None else f"step {facts.event.step}"
    known = range(facts.num_known)
    parts = [f"The output of {step} has arrived"]
    if known:
        late = pick(
            known, "is known now, after its slot was", "are known now, after their slots were"
        )
        parts.append(f"{tokens(len(known))} {late} written")
    if full := facts.ids("cache"):
        its = pick(full, "its", "their")
        parts.append(f"{blocks(full)} can be found now that all of {its} tokens are known")
    if exist := facts.ids("computed"):
        parts.append(f"{blocks(exist)} {pick(exist, 'is', 'are')} computed")
    return parts if parts[1:] else [*parts, "a sampled token gets its slot in the next step"]


def _looked_up(facts: Facts) -> list[str]:
    """What each kind of groups has; one that agrees when it is asked again is left out."""
    answers: list[str] = []
    asked = set()
    for lookup in facts.event.lookups:
        is_again = lookup.groups in asked
        asked.add(lookup.groups)
        if not is_again or lookup.found < lookup.asked:
            found = str(lookup.found) if answers else tokens(lookup.found)
            group = group_text(lookup.groups, facts.state)
            answers.append(f"{group} {'then finds' if is_again else 'finds'} {found}")
        if not lookup.found:
            break
    hit = min((lookup.found for lookup in facts.event.lookups), default=0)
    can = f"its first {tokens(hit)} can" if hit else "nothing can"
    return [f"{facts.who} looks for its prefix: {', '.join(answers)}", f"{can} be reused"]


def _leaves(head: str) -> Callable[[Facts], list[str]]:
    return lambda facts: [f"{facts.who} {head}", *returned_parts(facts)]


PARTS: dict[str, Callable[[Facts], list[str]]] = {
    "admit": lambda facts: _placed(facts, "is admitted"),
    "resume": lambda facts: _placed(facts, "resumes"),
    "allocate_slots": _grow,
    "preempt": _preempt,
    "finish": _leaves("has finished and leaves"),
    "abort": _leaves("is aborted and leaves"),
    "free": _leaves("returns its blocks"),
    "update_from_output": _update,
    "get_computed_blocks": _looked_up,
}
