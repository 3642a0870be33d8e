"""Why the first that waits was not admitted in a step: the first of the rules that says no.

The rules are asked in the scheduler's order. What a run cannot say, no reason claims: without the
settings, only that a request waits.
"""

from pagesim.explain.history import History, Reason, Step
from pagesim.explain.words import number
from pagesim.journal.effects import Name
from pagesim.journal.state import MAMBA

WORDS = {
    "preempted": "the step preempted somebody, and such a step admits nobody",
    "seats": "{need} requests run, and max_num_seqs is {free}",
    "budget": "it needs {need} tokens of the step's budget, and {free} are left",
    "never": "it needs {blocks}, and the pool has {free}",
    "room": "it needs {blocks}, and {free} {are} free",
    "watermark": "it needs {need} of {free} free blocks, and the watermark keeps {kept}",
    "swapped": "{need} swapped requests come first",
    "back": "{need} of its blocks are on the CPU, and {free} are free on the GPU",
    "chunk": "it must compute the {need} tokens left of its prompt at once, and a step has {free}",
    "copied": "its prefix is being copied between the GPU and the CPU",
    "loading": "its load from the CPU has not ended",
    "guard": "it needs {need} of {free} free blocks, and others need those still",
    "memory": "the free blocks, {free}, are too few for all its groups or its window",
    "delay": "others run, so delay_factor may hold it back, or there is no room for it",
    "victim": "this step preempts it",
    "unknown": "the run does not say why",
}
"""The kinds of reasons, in words."""


def text(reason: Reason, history: History) -> str:
    """The rule that says no, with its numbers."""
    need, free, kept = (f"{n:,}" for n in (reason.need, reason.free, history.watermark))
    blocks, are = number(reason.need, "block"), "is" if reason.free == 1 else "are"
    blocks = f"at most {blocks}" if reason.at_most else blocks
    return WORDS[reason.kind].format(need=need, free=free, kept=kept, blocks=blocks, are=are)


def why(history: History, step: Step) -> Reason | None:
    """Why the first that waits was not admitted in this step; None if nobody waits."""
    if step.head is None:
        return _passed_over(history, step)
    if step.failed:
        return Reason("unknown", step.head)
    return _of_v1(history, step, step.head) if history.is_v1 else _of_v0(history, step, step.head)


def _passed_over(history: History, step: Step) -> Reason | None:
    if not history.is_v1:
        return _swapped(history, step)
    if deferred := step.of("defer"):
        return Reason("copied", deferred[0])
    return Reason("loading", step.aside[0]) if step.aside else None


def _of_v1(history: History, step: Step, head: Name) -> Reason:
    seats, budget = history.number("max_num_seqs"), history.number("max_num_batched_tokens")
    if step.of("preempt"):
        return Reason("preempted", head)
    if seats is not None and step.num_running >= seats:
        return Reason("seats", head, step.num_running, seats)
    if budget is not None and step.budget >= budget:
        return Reason("budget", head, step.head_tokens, 0)
    if seats is None or budget is None or not step.head_tokens:
        return Reason("unknown", head)
    if (total := history.blocks(step.head_tokens)) is None:
        is_sure = not any(group.kind == MAMBA for group in history.groups)
        is_sure &= history.settings.get("enable_chunked_prefill") is not False
        is_sure &= not _is_in_flight(history, step, head)
        return Reason("memory" if is_sure else "unknown", head, 0, step.free)
    if total > history.usable and history.settings.get("scheduler_reserve_full_isl") is not False:
        return Reason("never", head, total, history.usable)
    if _is_in_flight(history, step, head):
        return Reason("unknown", head)
    hits = step.head_hits or 0
    rest = step.head_tokens - hits * history.start.block_size
    left = budget - step.budget
    if history.settings.get("enable_chunked_prefill") is False and rest > left:
        return Reason("budget", head, rest, left)
    need = _need(history, step, left) - step.head_shared
    if need > step.free:
        return Reason("room", head, need, step.free, at_most=step.head_hits is None)
    if step.num_running and need > step.free - history.watermark:
        return Reason("watermark", head, need, step.free)
    return Reason("guard" if history.start.tier else "unknown", head, need, step.free)


def fits(history: History, step: Step) -> bool:
    """Whether the first that waited would have been admitted by the blocks and the budget left."""
    budget, is_v1 = history.number("max_num_batched_tokens"), history.is_v1
    total = history.blocks(step.head_tokens) if step.head_tokens else None
    if total is None or budget is None or step.budget >= budget:
        return False
    kept = history.watermark if step.num_running or not is_v1 else 0
    shared = step.head_shared if is_v1 else 0
    need = _need(history, step, budget - step.budget) if is_v1 else total
    return total <= history.usable and need - shared <= step.free - kept


def _need(history: History, step: Step, left: int) -> int:
    """How many blocks the head must get, the found ones among them."""
    tokens = step.head_tokens
    is_partial = history.settings.get("scheduler_reserve_full_isl") is False
    if is_partial and step.head_hits is not None:
        found = step.head_hits * history.start.block_size
        threshold = history.number("long_prefill_token_threshold") or tokens
        tokens = min(tokens, found + min(left, threshold))
    return history.blocks(tokens) or 0


def _is_in_flight(history: History, step: Step, head: Name) -> bool:
    """Whether a preempted request may wait for the output of a step that is still computed."""
    if history.settings.get("async_scheduling") is not True:
        return False
    preemptions = history.requests[head].preemptions
    return any(event <= step.event <= event + IN_FLIGHT * 10 for event in preemptions)


IN_FLIGHT = 2
"""How many steps can be in flight."""


def _of_v0(history: History, step: Step, head: Name) -> Reason:
    is_chunked = history.settings.get("enable_chunked_prefill") is True
    seats, budget = history.number("max_num_seqs"), history.number("max_num_batched_tokens")
    victims, admitted = step.of("preempt"), step.of("admit")
    before = [name for name in step.aside if name not in victims]
    if before and not is_chunked:
        return Reason("swapped", head, len(before))
    if head in victims:
        return Reason("victim", head)
    need = history.blocks(step.head_tokens) if step.head_tokens else None
    if need is None or seats is None or budget is None:
        return Reason("unknown", head)
    others_ran = step.num_running > len(admitted)
    if history.settings.get("delay_factor") and (others_ran or victims) and not admitted:
        return Reason("delay", head)
    free = step.free if admitted or is_chunked else step.free_before
    if need > free:
        return Reason("room", head, need, free)
    if need > free - history.watermark:
        return Reason("watermark", head, need, free)
    running = len(step.scheduled) if is_chunked else step.num_running + len(victims)
    if running >= seats:
        return Reason("seats", head, running, seats)
    left = budget - (step.budget if admitted or is_chunked else 0)
    if left < (1 if is_chunked else step.head_tokens):
        return Reason("budget", head, step.head_tokens, left)
    return Reason("unknown", head)


def _swapped(history: History, step: Step) -> Reason | None:
    """Why the first that is swapped out did not come back."""
    victims = step.of("preempt")
    others = [name for name in step.aside if name not in victims]
    if not others:
        return Reason("victim", step.aside[0]) if step.aside else None
    if victims:
        return Reason("preempted", others[0])
    life, budget = history.requests[others[0]], history.number("max_num_batched_tokens")
    stay = life.stay_before(step.event)
    rest = (life.prompt or 0) - stay.computed if stay else 0
    if budget is not None and rest > budget:
        return Reason("chunk", others[0], rest, budget)
    return Reason("back", others[0], step.aside_blocks, step.free)
