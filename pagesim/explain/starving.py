"""Requests that nothing will ever serve: too large for the pool, or in a queue that is stuck."""

from pagesim.explain.finding import Finding
from pagesim.explain.history import History, Reason, Step
from pagesim.explain.waiting import text
from pagesim.explain.words import names, number, who
from pagesim.journal.effects import Name


def never_fits(history: History) -> list[Finding]:
    """V1 ignores nobody: a request larger than the pool waits at the head of its queue forever."""
    blocked: dict[Name, list[int]] = {}
    for index, reason in enumerate(history.reasons):
        if reason is not None and reason.kind == "never":
            blocked.setdefault(reason.request, []).append(index)
    return [_too_large(history, name, steps) for name, steps in blocked.items()]


def _too_large(history: History, name: Name, blocked: list[int]) -> Finding:
    life, first = history.requests[name], history.steps[blocked[0]]
    last = history.steps[blocked[-1]]
    behind, num_behind = _behind(last, name)
    reason = history.reasons[blocked[-1]]
    need, usable = (reason.need, reason.free) if reason else (0, 0)
    has_run = bool(life.stays)
    needs = f"{who(name)}, which needs {number(need, 'block')}; the pool has {usable:,}"
    title = f"Nothing can serve {needs}"
    if behind:
        title = f"{names(behind, num_behind)} waited behind {needs}"
    how = f"It has {number(life.known, 'token')}"
    if has_run:
        how += f", of which {life.prompt:,} were its prompt" if life.prompt else ""
        how += "; it outgrew the pool, preempted itself, and cannot come back"
    detail = (
        f"{how}. For {number(len(blocked), 'step')} it was first in the queue, and vLLM V1 neither "
        "drops it nor looks past it."
    )
    if need == usable + 1:
        detail += " One block fewer would do: V1 keeps block 0 of the pool for itself."
    change = "give the pool more memory, or lower max_model_len so that such requests are refused"
    is_there = life.end is None
    cost = {"requests starving": 1 + num_behind} if is_there else {}
    return Finding(
        "w09" if has_run else "w08",
        title,
        detail,
        cost | {"steps lost": len(blocked)},
        (first.event + 1, last.event + 1),
        change,
        (name, *behind),
    )


def _behind(step: Step, name: Name) -> tuple[tuple[Name, ...], int]:
    """Who waits behind a request: the first of them, and how many."""
    if name not in step.waiting:
        return (), 0
    place = step.waiting.index(name)
    return step.waiting[place + 1 :], step.num_waiting - place - 1


def is_stuck(history: History, index: int) -> bool:
    """Whether a step computes nothing, and nothing that is under way can change that."""
    step = history.steps[index]
    waits = step.waiting or step.aside
    if step.scheduled or step.num_running or step.decisions or step.is_copying or step.failed:
        return False
    before = history.steps[index - 1] if index else None
    is_async = history.settings.get("async_scheduling") is not False and history.is_v1
    return bool(waits) and not (is_async and before is not None and before.scheduled)


def stuck(history: History) -> list[Finding]:
    """Nothing runs and nothing is copied, and yet nobody is admitted."""
    found = []
    indices = [i for i in range(len(history.steps)) if is_stuck(history, i)]
    seen: dict[Name, list[int]] = {}
    for index in indices:
        step, reason = history.steps[index], history.reasons[index]
        head = reason.request if reason else (*step.aside, *step.waiting)[0]
        if reason is None or reason.kind != "never":
            seen.setdefault(head, []).append(index)
    for head, steps in seen.items():
        step, reason = history.steps[steps[-1]], history.reasons[steps[-1]]
        free, is_swapped = step.free, head in step.aside
        waiting = [name for name in (*step.aside, *step.waiting) if name != head]
        count = len(step.aside) + step.num_waiting
        title = f"{who(head)} waits forever, and nothing runs"
        if waiting:
            title = f"{names([head, *waiting], count)} wait forever, and nothing runs"
        cause = _why(history, step, reason)
        detail = f"{free:,} of {number(history.usable, 'block')} are free, and {cause}. "
        detail += f"{number(len(steps), 'step')} computed nothing."
        found.append(
            Finding(
                _quirk(history, reason, is_swapped),
                title,
                detail,
                {"requests starving": count, "steps lost": len(steps)},
                (history.steps[steps[0]].event + 1,),
                _change(reason, is_swapped),
                (head, *waiting),
            )
        )
    return found


def _quirk(history: History, reason: Reason | None, is_swapped: bool) -> str | None:
    if is_swapped and not history.is_v1:
        return "q18" if reason is not None and reason.kind == "chunk" else "q16"
    return "w28" if history.is_v1 and history.blocks(1) is None else None


def _why(history: History, step: Step, reason: Reason | None) -> str:
    if not history.is_v1 and step.aside:
        held = f"{who(step.aside[0])} has {number(step.aside_blocks, 'block')} on the CPU"
        if reason is not None and reason.kind == "chunk":
            return f"{held}, but {text(reason, history)}"
        return f"{held}, but the watermark of {history.watermark:,} must stay free beside them"
    return f"{who(step.head) if step.head is not None else 'the head of the queue'} does not fit"


def _change(reason: Reason | None, is_swapped: bool) -> str:
    if reason is not None and reason.kind == "chunk":
        return f"raise max_num_batched_tokens to {reason.need:,}, or recompute instead of swap"
    if is_swapped:
        return "lower the watermark, or recompute instead of swap"
    return "give the pool more memory, or lower max_model_len"


def ignored(history: History) -> list[Finding]:
    """V0 drops a request that can never fit."""
    lives = [life for life in history.requests.values() if life.how == "ignore"]
    if not lives:
        return []
    grown = [life for life in lives if life.stays]
    longest = max(life.known for life in lives)
    title = f"{names([life.name for life in lives])} {'was' if len(lives) == 1 else 'were'} dropped"
    limits = [history.number("max_model_len"), history.number("max_num_batched_tokens")]
    allowed = ", ".join(
        f"{name} is {limit:,}"
        for name, limit in zip(("max_model_len", "max_num_batched_tokens"), limits, strict=True)
        if limit is not None
    )
    detail = (
        f"The longest has {number(longest, 'token')}; the pool has "
        f"{history.usable * history.start.block_size:,} slots, less a watermark of "
        f"{history.watermark:,} blocks{', and ' if allowed else ''}{allowed}."
    )
    if grown:
        what = f"{names([life.name for life in grown])} had run, and outgrew the pool"
        detail += f" {what}."
    return [
        Finding(
            "q19" if grown else None,
            f"{title}: vLLM V0 ignores what can never fit",
            detail,
            {"requests starving": len(lives)},
            tuple((life.end or 0) + 1 for life in lives),
            "give the pool more memory, or refuse such prompts before they reach the scheduler",
            tuple(life.name for life in lives),
        )
    ]
