"""Blocks that hold what others hold too, and blocks that nobody can use."""

from pagesim.explain.finding import Finding
from pagesim.explain.history import History
from pagesim.explain.words import names, number


def equal(history: History) -> list[Finding]:
    """V1 never merges blocks of equal content."""
    count, event = history.most_copies
    if not count or not history.is_v1:
        return []
    share = 100 * count / max(history.usable, 1)
    held = "held" if count == 1 else "each held"
    return [
        Finding(
            "w06",
            f"{number(count, 'block')} {held} what another block in use held too",
            f"That is {share:.0f} % of the pool of {history.usable:,}, at the worst moment. Blocks "
            "of equal content are never merged: requests that generate the same text, or compute "
            "the last block of the same prompt, keep a copy each.",
            {"blocks unusable": count},
            (event + 1,),
            "nothing, as a rule: fewer equal requests at the same time need fewer copies",
        )
    ]


def pinned(history: History) -> list[Finding]:
    """Blocks that have an owner, though no request has them: they are lost until a restart."""
    if not (blocks := history.pinned):
        return []
    cpu = [block for block in blocks if block >= history.start.num_gpu_blocks]
    where = "the CPU" if len(cpu) == len(blocks) else "the GPU" if not cpu else "both pools"
    shown = ", ".join(map(str, blocks[:6])) + (" …" if len(blocks) > 6 else "")
    gone = [life.name for life in history.requests.values() if life.how == "ignore" and life.stays]
    return [
        Finding(
            "q20" if cpu and gone else None,
            f"{number(len(blocks), 'block')} of {where} will never be free again: nobody has them",
            f"Their requests are gone, and yet the blocks {shown} have an owner at the end of the "
            "run. In vLLM V0 a swapped request leaves them that is dropped because it can never "
            "return.",
            {"blocks unusable": len(blocks)},
            (history.num_events,),
            "restart the engine; recompute instead of swap, or lower max_model_len",
            tuple(gone),
        )
    ]


def failed(history: History) -> list[Finding]:
    """Calls of schedule() that raised an error."""
    found = [step for step in history.steps if step.failed]
    if not found:
        return []
    words = found[0].failed
    is_swap, is_forked = "CPU" in words and "swap" in words, "share blocks" in words
    return [
        Finding(
            "q43" if is_swap else "q21" if is_forked else None,
            f"schedule() failed in {number(len(found), 'step')}",
            f"The first error: {words.rstrip('.')}.",
            {"steps lost": len(found)},
            tuple(step.event + 1 for step in found),
            "give the CPU's swap space more blocks, or preempt by recomputation"
            if is_swap
            else "the error names the setting: nothing else was changed by the call",
        )
    ]


def lost(history: History) -> list[Finding]:
    """V0 swaps out for a more urgent request, and never swaps in again what it took."""
    found = [
        (life, stay)
        for life in history.requests.values()
        for stay in life.stays
        if stay.is_lost and stay.end is not None
    ]
    if not found:
        return []
    lives = list(dict.fromkeys(life.name for life, _ in found))
    tokens = sum(stay.computed for _, stay in found)
    return [
        Finding(
            "q22",
            f"{names(lives)} lost what had been computed for {number(tokens, 'token')}",
            "A more urgent request took the blocks. Their contents were to move to the CPU, but "
            "vLLM V0 does not order that move, and the victim waits as if it had never run.",
            {"tokens recomputed": tokens} if tokens else {},
            tuple((stay.end or 0) + 1 for _, stay in found),
            'with the policy "priority", use preemption by recomputation',
            tuple(lives),
        )
    ]
