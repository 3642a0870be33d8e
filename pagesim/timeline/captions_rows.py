"""Words for contiguous memory: it has no blocks, so slots are reserved, written and given back."""

from collections.abc import Sequence

from pagesim.timeline.events import Effect
from pagesim.timeline.facts import Facts, pick, tokens


def slots(effects: Sequence[Effect], size: int) -> str:
    """'slot 7', 'slots 4 to 7', or 'slots 4 to 7, 12'; ``size`` is that of a unit."""
    held: list[int] = []
    for effect in effects:
        is_written = effect.kind == "write"
        first = effect.block * size + ((effect.first or 0) % size if is_written else 0)
        held += range(first, first + (effect.count if is_written else size))
    spans: list[list[int]] = []
    for slot in sorted(set(held)):
        if spans and spans[-1][-1] == slot - 1:
            spans[-1][1:] = [slot]
        else:
            spans.append([slot])
    words = [" to ".join(map(str, span)) for span in spans]
    if len(words) > 8:
        return f"{len(held)} slots ({', '.join(words[:3])} … {words[-1]})"
    return f"{pick(held, 'slot', 'slots')} {', '.join(words)}"


def appended(facts: Facts) -> list[str]:
    """Room is reserved, or a token is written where it was."""
    who, taken, writes = facts.who, facts.of("take"), facts.of("write")
    size, parts = facts.state.block_size, []
    if taken:
        parts.append(f"{who} reserves {slots(taken, size)} for the tokens to come")
    if writes:
        before = "" if taken else ", which it had reserved"
        count = sum(effect.count for effect in writes)
        parts.append(f"{who} writes {tokens(count)} into {slots(writes, size)}{before}")
    return parts or [f"{who} already has room: nothing changes"]


def given_back(facts: Facts) -> list[str]:
    """What no request holds any longer."""
    freed = facts.of("free")
    if not freed:
        return []
    words = slots(freed, facts.state.block_size)
    return [f"{words} {'is' if words.startswith('slot ') else 'are'} free again"]
