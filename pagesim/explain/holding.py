"""What holds requests back although blocks are free: the watermark, the seats, the budget."""

from collections import Counter

from pagesim.explain.finding import Finding
from pagesim.explain.history import History, Step
from pagesim.explain.waiting import fits
from pagesim.explain.words import names, number, who
from pagesim.journal.effects import Name


def _steps(history: History, kind: str) -> list[Step]:
    """The steps in which the first that waited was held back for this reason."""
    pairs = zip(history.steps, history.reasons, strict=True)
    return [step for step, reason in pairs if reason is not None and reason.kind == kind]


def _heads(steps: list[Step]) -> list[Name]:
    """Who was held back, most often first."""
    return [name for name, _ in Counter(s.head for s in steps if s.head is not None).most_common()]


def watermark(history: History) -> list[Finding]:
    """Blocks were free for the first that waited, but not above the watermark."""
    if not (found := _steps(history, "watermark")):
        return []
    heads, most = _heads(found), max(step.free for step in found)
    share = history.share("watermark")
    return [
        Finding(
            "w13" if history.is_v1 else "q16",
            f"The watermark held back {names(heads)} for {number(len(found), 'step')}",
            f"There were blocks for them, up to {most:,} free ones, but admission keeps "
            f"{number(history.watermark, 'block')} free for those that run (watermark {share:g}).",
            {"steps lost": len(found)},
            tuple(step.event + 1 for step in found),
            _whether_to_lower(history),
            tuple(heads),
        )
    ]


def _whether_to_lower(history: History) -> str:
    """A lower watermark is paid for by preemptions."""
    count = sum(len(life.preemptions) for life in history.requests.values())
    if count:
        return (
            f"keep it: {number(count, 'preemption')} say that those who run are short of room too"
        )
    return "lower the watermark: nobody was preempted, so those who run had room enough"


def seats(history: History) -> list[Finding]:
    """max_num_seqs was reached while the next request would have fit."""
    found = [step for step in _steps(history, "seats") if fits(history, step)]
    if not found:
        return []
    heads, limit = _heads(found), history.number("max_num_seqs") or 0
    least = min(step.free for step in found)
    return [
        Finding(
            None,
            f"{names(heads)} waited {number(len(found), 'step')} for a seat, not for memory",
            f"max_num_seqs is {limit:,}, and that many requests ran; at least "
            f"{least:,} of {number(history.usable, 'block')} were free all the while.",
            {"steps lost": len(found)},
            tuple(step.event + 1 for step in found),
            "raise max_num_seqs",
            tuple(heads),
        )
    ]


def budget(history: History) -> list[Finding]:
    """A prompt took at least half of the step's tokens, and others waited for some."""
    limit = history.number("max_num_batched_tokens") or 0
    found, eaters = [], Counter[Name]()
    for step in _steps(history, "budget"):
        prompts = {name: tokens for name, tokens, is_prompt in step.scheduled if is_prompt}
        longest = max(prompts, key=prompts.__getitem__, default=None)
        if longest is not None and 2 * prompts[longest] >= limit:
            eaters[longest] += 1
            found.append(step)
    if not found:
        return []
    heads, (eater, count) = _heads(found), eaters.most_common(1)[0]
    length = history.requests[eater].prompt
    prompt = f", a prompt of {number(length, 'token')}," if length else ""
    return [
        Finding(
            None,
            f"{names(heads)} waited {number(len(found), 'step')} behind long prompts",
            f"In each of these steps one prompt took at least half of the {limit:,} tokens that a "
            f"step may compute; {who(eater)}{prompt} did so in {number(count, 'step')}.",
            {"steps lost": len(found)},
            tuple(step.event + 1 for step in found),
            "set long_prefill_token_threshold, so that a long prompt leaves room for others; or "
            "raise max_num_batched_tokens",
            tuple(heads),
        )
    ]


def threshold(history: History) -> list[Finding]:
    """The threshold cut a prompt though the step had tokens left."""
    most = history.number("long_prefill_token_threshold") or 0
    limit = history.number("max_num_batched_tokens") or 0
    is_fixed = history.settings.get("long_prefill_token_threshold_adaptive") is not True
    if not (most and limit and is_fixed):
        return []
    found, cut = [], Counter[Name]()
    for step in history.steps:
        is_long = [name for name, tokens, prompt in step.scheduled if prompt and tokens == most]
        left = [name for name in is_long if name in step.unfinished]
        if left and step.budget < limit:
            found.append(step)
            cut.update(left)
    if not found:
        return []
    unused = sum(limit - step.budget for step in found)
    return [
        Finding(
            "w15",
            f"The threshold cut the prompts of {names([n for n, _ in cut.most_common()])} short",
            f"long_prefill_token_threshold is {most:,}. In {number(len(found), 'step')} a prompt "
            f"stopped there though the step had tokens left: {unused:,} of them in all.",
            {"steps lost": len(found)},
            tuple(step.event + 1 for step in found),
            "raise long_prefill_token_threshold, or set long_prefill_token_threshold_adaptive",
            tuple(name for name, _ in cut.most_common()),
        )
    ]
