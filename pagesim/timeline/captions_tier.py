"""What happened in vLLM V1 with a second tier, and why: copies to the CPU, and back."""

from collections.abc import Callable, Sequence

from pagesim.journal.effects import LOAD, STORE
from pagesim.journal.state import Job
from pagesim.player.describe import counted, name_text
from pagesim.timeline.captions_v1 import PARTS as V1
from pagesim.timeline.captions_v1 import returned_parts, taken_parts
from pagesim.timeline.facts import Facts, blocks, pick, still_used, tokens


def _begun(facts: Facts, kind: str) -> Sequence[Job]:
    return [job for job in facts.event.begun if job.kind == kind]


def scheduled(schedule: list[str], facts: Facts) -> list[str]:
    """``schedule`` is what the step computes; what it computed before is copied."""
    parts = [*schedule]
    if gone := facts.evicted:
        forgets = pick(gone, "is forgotten", "are forgotten")
        parts.append(f"{blocks(gone)} on the CPU {forgets} to make room")
    stores = _begun(facts, STORE)
    for job in stores[:3]:
        whose, count = name_text(job.request), counted(len(job.blocks), "block")
        parts.append(f"the copy of {count} of {whose} to the CPU begins")
    if more := stores[3:]:
        begin = pick(more, "copy begins", "copies begin")
        parts.append(f"{len(more)} more {begin}")
    return parts


def _load(facts: Facts) -> list[str]:
    count = sum(len(job.blocks) for job in facts.event.begun)
    saved = tokens(count * facts.state.block_size)
    need = pick(range(count * facts.state.block_size), "needs", "need")
    return [
        f"{facts.who} loads {counted(count, 'block')} from the CPU: {saved} {need} not be computed",
        *_hits(facts),
        *taken_parts(facts),
    ]


def _hits(facts: Facts) -> list[str]:
    """What a request has found on the GPU, beside what it loads."""
    if not (hits := facts.ids("hit")):
        return []
    found = sum(effect.count for effect in facts.of("hit"))
    is_found = pick(range(found), "is", "are")
    return [f"{tokens(found)} more {is_found} found on the GPU, in {blocks(hits)}"]


def _receive(facts: Facts) -> list[str]:
    head = f"{facts.who}'s load has ended"
    if facts.event.closed:
        return [f"{head}, and nobody needs it any more", *returned_parts(facts)]
    if not (loaded := sum(effect.count for effect in facts.of("write"))):
        return [f"{head}, and nothing of it can be used"]
    where = blocks(facts.ids("write"))
    return [f"{head}: {tokens(loaded)} {pick(range(loaded), 'is', 'are')} in {where} now"]


def _promote(facts: Facts) -> list[str]:
    if facts.event.closed:
        return [f"{facts.who} looks for its prefix again", *returned_parts(facts)]
    parts = [f"{facts.who} may go on: its load has ended"]
    if full := facts.ids("cache"):
        parts.append(f"{blocks(full)} can be found on the GPU from now on")
    return parts


def _ended(facts: Facts) -> list[str]:
    """Copies, of which the effects tell what they were."""
    parts = []
    if stored := facts.ids("computed"):
        parts.append(f"a copy to the CPU has ended: {blocks(stored)} can be loaded from now on")
    if read := facts.ids("unshare"):
        parts.append(f"a load has ended: it has read {blocks(read)}")
    return parts or ["a copy has ended that was empty, or of which the CPU was told to forget all"]


def _forget(facts: Facts) -> list[str]:
    gone = facts.evicted
    what = f"forgets {counted(len(gone), 'block')}" if gone else "has nothing to forget"
    return [f"the CPU {what}"]


def _sync(begin: list[str], facts: Facts) -> list[str]:
    """A request begins: with what it has loaded, or with a load that the step waits for."""
    if not any(change.block_ids for change in facts.event.tables):
        count = sum(effect.count for effect in facts.of("write"))
        how = begin[0].partition(" with ")[0]
        begin = [f"{how} with {tokens(count)}, for which its blocks have room", *begin[1:]]
    waits = [
        f"the step waits until {counted(len(job.blocks), 'block')} "
        f"{pick(job.blocks, 'is', 'are')} loaded from the CPU"
        for job in _begun(facts, LOAD)
    ]
    return [*begin[:1], *waits, *begin[1:]]


def _freed(facts: Facts) -> list[str]:
    """Blocks of requests that had left before a step was over that wrote them."""
    if not (freed := facts.ids("free")):
        return still_used(facts)
    why = f"because the step that still wrote {pick(freed, 'it', 'them')} is over"
    return [f"{blocks(freed)} can be taken again, {why}", *still_used(facts)]


def _leaves(leave: list[str], facts: Facts) -> list[str]:
    """Its blocks may not be free yet."""
    if facts.of("free") or facts.of("unshare"):
        return leave
    if facts.event.closed:
        return [*leave, "its blocks are free when no step in flight writes them any more"]
    is_loading = any(move.queue == "kv_holding_waiting" for move in facts.event.moves)
    return [*leave, "its blocks are free when its load has ended"] if is_loading else leave


def _with(kind: str, more: Callable[[list[str], Facts], list[str]]) -> Callable[..., list[str]]:
    """What V1 says of an event, and ``more``."""
    return lambda facts: more(V1[kind](facts), facts)


PARTS: dict[str, Callable[[Facts], list[str]]] = {
    **V1,
    "admit": _with("admit", _sync),
    "resume": _with("resume", _sync),
    "preempt": _with("preempt", _leaves),
    "finish": _with("finish", _leaves),
    "abort": _with("abort", _leaves),
    "load": _load,
    "receive": _receive,
    "promote": _promote,
    "defer": lambda facts: [f"{facts.who} waits: its prefix is being copied"],
    "update_connector_output": _ended,
    "reset_cache": _forget,
    "free_blocks": _freed,
}
