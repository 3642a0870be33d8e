"""A second tier on the CPU: waiting for copies, loads that nobody uses, prompts never stored."""

from pagesim.explain.finding import Finding
from pagesim.explain.history import History
from pagesim.explain.words import names, number, times, who


def copied(history: History) -> list[Finding]:
    """Requests waited because somebody else was storing or loading their prefix."""
    lives = [life for life in history.requests.values() if life.defers]
    if history.start.tier is None or not lives:
        return []
    lives.sort(key=lambda life: -len(life.defers))
    steps = len({history.step_of(event) for life in lives for event, _ in life.defers})
    kinds = {kind for life in lives for _, kind in life.defers}
    words = {"load": "loaded to the GPU", "store": "stored"}
    doing = words.get(min(kinds), "copied") if len(kinds) == 1 else "copied"
    return [
        Finding(
            "o10" if kinds == {"load"} else "o01",
            f"{names([life.name for life in lives])} waited for copies, in {number(steps, 'step')}",
            f"Their prefix was being {doing} for somebody else, and a request waits for such a "
            f"copy rather than compute. {who(lives[0].name)} waited {times(len(lives[0].defers))}.",
            {"steps lost": steps},
            tuple(event + 1 for event, _ in lives[0].defers),
            "send equal prompts a little apart, or use a faster link",
            tuple(life.name for life in lives),
        )
    ]


def guard(history: History) -> list[Finding]:
    """A load that would fit was refused, because unfinished prefills need the blocks still."""
    pairs = zip(history.steps, history.reasons, strict=True)
    found = [step for step, reason in pairs if reason is not None and reason.kind == "guard"]
    if not found:
        return []
    heads = list(dict.fromkeys(step.head for step in found if step.head is not None))
    return [
        Finding(
            "o21",
            f"{names(heads)} waited {number(len(found), 'step')} though there was room",
            "A load is admitted only if the blocks that unfinished prefills and other loads still "
            "need stay free; otherwise requests that hold blocks could block each other forever.",
            {"steps lost": len(found)},
            tuple(step.event + 1 for step in found),
            "give the GPU's pool more memory",
            tuple(heads),
        )
    ]


def loaded_again(history: History) -> list[Finding]:
    """Requests that were loaded more than once without having run in between."""
    found = []
    for life in history.requests.values():
        runs = [stays for _, stays in life.loads]
        again = [event for at, (event, stays) in enumerate(life.loads) if stays in runs[:at]]
        if again:
            found.append((life, again))
    if not found:
        return []
    lives = [life.name for life, _ in found]
    count = sum(len(again) for _, again in found)
    is_one = history.start.block_size == 1 and any(life.prompt == 1 for life, _ in found)
    return [
        Finding(
            "o16" if is_one else "o12",
            f"{names(lives)} loaded the same chunks again, {times(count)}",
            "A load ended, and nothing of it could be used: it failed, or the prompt has a single "
            "token. The second tier is not told, so the next lookup finds the same chunks.",
            {"steps lost": count},
            tuple(event + 1 for _, again in found for event in again),
            'kv_load_failure_policy "fail" ends such a request instead',
            tuple(lives),
        )
    ]


def never_stored(history: History) -> list[Finding]:
    """Prompts larger than the second tier: a store is all or nothing."""
    if (tier := history.start.tier) is None or history.number("store_threshold") not in (0, 1):
        return []
    chunks = history.start.num_cpu_blocks // tier.blocks_per_chunk
    size = tier.blocks_per_chunk * history.start.block_size
    lives = [
        life
        for life in history.requests.values()
        if (life.prompt or 0) // size > chunks
        and any(stay.sampled for stay in life.stays)
        and not life.stores
        and not life.loads
    ]
    if not lives:
        return []
    longest = max((life.prompt or 0) // size for life in lives)
    return [
        Finding(
            "o06",
            f"Nothing of {names([life.name for life in lives])} was stored: the tier is too small",
            f"The prompt has up to {number(longest, 'chunk')} of {size} tokens, and the tier "
            f"{chunks:,}. Chunks that are computed in one step are stored together or not at all.",
            {},
            tuple(life.stays[0].event + 1 for life in lives),
            "give the second tier more memory, or lower max_num_batched_tokens",
            tuple(life.name for life in lives),
        )
    ]
