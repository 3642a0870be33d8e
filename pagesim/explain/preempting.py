"""What preemptions cost: tokens computed twice, work in vain, and steps that admit nobody."""

from pagesim.explain.finding import Finding
from pagesim.explain.history import History, Life, Stay
from pagesim.explain.waiting import fits
from pagesim.explain.words import by_cost, names, number, times
from pagesim.journal.effects import Name

MORE_ROOM = "lower max_num_seqs, raise the watermark, or give the pool more memory"


def computed_twice(history: History) -> list[Finding]:
    """Requests that were preempted, and what they computed again."""
    lives = [life for life in history.requests.values() if life.preemptions]
    if not lives:
        return []
    worst = max(lives, key=lambda life: (life.twice, len(life.preemptions)))
    count = sum(len(life.preemptions) for life in lives)
    tokens = sum(life.twice for life in lives)
    computed = sum(step.budget for step in history.steps)
    swaps = history.settings.get("preemption_mode") == "swap"
    how = "swapped out" if swaps else "preempted"
    title = f"{names(by_cost(lives))} {'was' if len(lives) == 1 else 'were'} {how} {times(count)}"
    title += f", and computed {number(tokens, 'token')} twice" if tokens else ""
    detail = f"The pool was too small for all that ran at once: {history.usable:,} blocks."
    if tokens:
        share = f"{100 * tokens / max(computed, 1):.0f} % of the {number(computed, 'token')}"
        detail = f"That is {share} that all steps computed. "
        detail += f"{names([worst.name])} alone was {how} {times(len(worst.preemptions))} and "
        detail += f"computed {number(worst.twice, 'token')} again."
    is_alone = len(lives) == 1 and len(history.requests) == 1
    return [
        Finding(
            "w10" if is_alone and history.is_v1 and count > 1 else None,
            title,
            detail,
            {"tokens recomputed": tokens} if tokens else {},
            tuple(event + 1 for event in worst.preemptions),
            MORE_ROOM,
            tuple(by_cost(lives)),
        )
    ]


def in_vain(history: History) -> list[Finding]:
    """Requests that were preempted before they had generated anything since their admission."""
    found: list[tuple[Life, Stay]] = [
        (life, stay)
        for life in history.requests.values()
        for stay in life.stays
        if stay.how == "preempt" and not stay.sampled and stay.steps and not stay.is_kept
    ]
    if not found:
        return []
    lives = list(dict.fromkeys(life.name for life, _ in found))
    steps = sum(stay.steps for _, stay in found)
    first = found[0][1]
    was = "was" if len(lives) == 1 else "were"
    return [
        Finding(
            "q31" if not history.is_v1 else None,
            f"{names(lives)} {was} admitted and preempted before generating a token",
            f"This happened {times(len(found))}: the prompt was computed for "
            f"{number(steps, 'step')}, and its blocks were then needed by those who decode.",
            {"steps lost": steps},
            tuple((stay.end or 0) + 1 for _, stay in found),
            "raise the watermark, so that a prompt is admitted only if decoding goes on beside it"
            if first.num_tokens
            else MORE_ROOM,
            tuple(lives),
        )
    ]


def admits_nobody(history: History) -> list[Finding]:
    """Steps of V1 that preempted, and so left out a request that would have fit."""
    found = [
        step
        for step, reason in zip(history.steps, history.reasons, strict=True)
        if reason is not None and reason.kind == "preempted" and fits(history, step)
    ]
    if not found or not history.is_v1:
        return []
    heads = list(dict.fromkeys(step.head for step in found if step.head is not None))
    return [
        Finding(
            "w12",
            f"{number(len(found), 'step')} admitted nobody because they preempted",
            f"{names(heads)} would have fit into the blocks that were free then. A step that "
            "preempts looks at no waiting request.",
            {"steps lost": len(found)},
            tuple(step.event + 1 for step in found),
            MORE_ROOM,
            tuple(heads),
        )
    ]


def just_before_room(history: History) -> list[Finding]:
    """Preemptions in a step after which another request finished, and freed blocks.

    Asynchronously, the steps in between make it unclear what would have happened otherwise.
    """
    if not history.is_v1 or history.settings.get("async_scheduling") is True:
        return []
    ends: dict[int | None, list[Life]] = {}
    for life in history.requests.values():
        if life.how == "finish" and life.freed and life.end is not None:
            ends.setdefault(history.step_of(life.end), []).append(life)
    found = [step for step in history.steps if step.of("preempt") and step.number in ends]
    if not found:
        return []
    victims: list[Name] = list(dict.fromkeys(name for s in found for name in s.of("preempt")))
    last = ends[found[0].number][0]
    was = "was" if len(victims) == 1 else "were"
    return [
        Finding(
            None,
            f"{names(victims)} {was} preempted just before another request finished",
            f"This happened in {number(len(found), 'step')}. In the first of them "
            f"{names([last.name])} finished as soon as the step was over, and freed "
            f"{number(last.freed, 'block')}: one step later they could have been taken instead.",
            {"steps lost": len(found)},
            tuple(step.event + 1 for step in found),
            "nobody knows when an output ends; a higher watermark leaves room for such a step",
            tuple(victims),
        )
    ]
