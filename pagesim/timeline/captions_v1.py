"""What happened in vLLM V1, and why: its one free queue, its hits, its steps in flight."""

from __future__ import annotations

from collections.abc import Callable

from pagesim.timeline.told import Told, blocks, nulls, pick, tokens

FRONT = 0


def _placed(told: Told, verb: str) -> list[str]:
    """A request begins to run; ``verb`` says how it came."""
    computed = sum(effect.count for effect in told.of("write"))
    found = sum(effect.count for effect in told.of("hit"))
    count = computed + found + len(told.of("null")) * told.state.block_size
    needed = sum(len(change.block_ids) for change in told.event.tables)
    need = f"need{'s' * (count == 1)} {needed} block{'s' * (needed != 1)}"
    return [
        f"{told.who} {verb} with {tokens(count)}, which {need}",
        *_hits(told, found, computed),
        *nulls(told),
        *_taken(told),
        *_cached(told),
    ]


def _hits(told: Told, found: int, computed: int) -> list[str]:
    if not (hits := told.ids("hit")):
        return []
    parts = [
        f"{blocks(hits)} {pick(hits, 'holds', 'hold')} the same tokens after the same prefix: a "
        f"hit costs nothing, because these {tokens(found)} are not computed again"
    ]
    if computed == told.state.block_size:
        parts.append(
            "the last block of a prompt is computed again, cached or not, because the next token "
            "is sampled from its output"
        )
    return parts


def _taken(told: Told, who: str = "") -> list[str]:
    """Blocks from the front of the queue; those that were cached come last."""
    fresh, parts = told.fresh, []
    evicted = [block for block in told.evicted if block in told.source]
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


def _cached(told: Told) -> list[str]:
    if not (full := told.ids("cache")):
        return []
    them = pick(full, "it is", "they are")
    return [f"{blocks(full)} can be found from now on, even before {them} computed"]


def _grow(told: Told) -> list[str]:
    if told.event.opened:
        return _placed(told, "begins")
    writes, taken = told.of("write"), told.ids("take")
    count = sum(effect.count for effect in writes)
    unknown = range(count - sum(len(given.token_ids) for given in told.event.tokens))
    parts = [*nulls(told), *_dropped(told), *_taken(told, told.who)]
    if unknown:
        is_not = pick(unknown, "is not known yet: the step that samples it is",
                      "are not known yet: the steps that sample them are")  # fmt: skip
        parts.append(f"{told.who} has a slot for {tokens(len(unknown))} that {is_not} in flight")
    elif count and not taken:
        into = blocks(told.ids("write"))
        parts.append(f"{told.who} writes {tokens(count)} into {into}, which had room")
    elif count and taken[0] in [effect.block for effect in writes]:
        parts[-1] += ", because its last block is full"
    return [*parts, *_cached(told)] or [f"{told.who} already has room: nothing changes"]


def _dropped(told: Told) -> list[str]:
    """Blocks behind the window."""
    if not (gone := told.ids("free")):
        return []
    return [f"{blocks(gone)} {pick(gone, 'returns', 'return')} to the free queue"]


def _given_back(told: Told) -> list[str]:
    freed = told.of("free")
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
    if kept := told.kept:
        parts.append(
            f"{blocks(kept)} {pick(kept, 'stays: others use it', 'stay: others use them')}"
        )
    return parts


def _preempt(told: Told) -> list[str]:
    head = f"{told.who} is preempted: it keeps its tokens, loses its blocks, and begins again later"
    again = "what is still cached then costs nothing"
    cached = any(effect.place != FRONT for effect in told.of("free"))
    return [head, *_given_back(told), again if cached else ""]


def _update(told: Told) -> list[str]:
    step = "a step" if told.event.step is None else f"step {told.event.step}"
    known = [token for given in told.event.tokens for token in given.token_ids]
    parts = [f"The output of {step} has arrived"]
    if known:
        late = pick(
            known, "is known now, after its slot was", "are known now, after their slots were"
        )
        parts.append(f"{tokens(len(known))} {late} written")
    if full := told.ids("cache"):
        its = pick(full, "its", "their")
        parts.append(f"{blocks(full)} can be found now that all of {its} tokens are known")
    if exist := told.ids("computed"):
        parts.append(f"{blocks(exist)} {pick(exist, 'is', 'are')} computed")
    return parts if parts[1:] else [*parts, "a sampled token gets its slot in the next step"]


def _leaves(head: str) -> Callable[[Told], list[str]]:
    return lambda told: [f"{told.who} {head}", *_given_back(told)]


PARTS: dict[str, Callable[[Told], list[str]]] = {
    "admit": lambda told: _placed(told, "is admitted"),
    "resume": lambda told: _placed(told, "resumes"),
    "allocate_slots": _grow,
    "preempt": _preempt,
    "finish": _leaves("has finished and leaves"),
    "abort": _leaves("is aborted and leaves"),
    "free": _leaves("returns its blocks"),
    "update_from_output": _update,
}
