"""Which of several KV cache groups made a hit shorter than another group's."""

from collections import defaultdict

from pagesim.explain.finding import Finding
from pagesim.explain.history import History, Life, Stay
from pagesim.explain.words import names, number, who
from pagesim.journal.state import MAMBA, WINDOW
from pagesim.timeline.facts import group_text


def shortened(history: History) -> list[Finding]:
    """A hit is as long as all groups have it: these had less than another."""
    if not history.groups:
        return []
    found: dict[tuple[int, ...], list[tuple[Life, Stay, int]]] = defaultdict(list)
    for life in history.requests.values():
        for stay in life.stays:
            if (no := who_said_no(stay)) is not None:
                found[no].append((life, stay, lost(stay)))
    return [_finding(history, groups, each) for groups, each in found.items()]


def lost(stay: Stay) -> int:
    """How many tokens one kind of groups had that all together had not."""
    found = [lookup.found for lookup in stay.lookups]
    return max(found, default=0) - min(found, default=0)


def who_said_no(stay: Stay) -> tuple[int, ...] | None:
    """The groups that ended the hit of an admission; None if all of them had as much."""
    if not lost(stay):
        return None
    least = min(lookup.found for lookup in stay.lookups)
    return next(lookup.groups for lookup in stay.lookups if lookup.found == least)


def _finding(
    history: History, groups: tuple[int, ...], found: list[tuple[Life, Stay, int]]
) -> Finding:
    found.sort(key=lambda each: -each[2])
    lives = list(dict.fromkeys(life.name for life, _, _ in found))
    tokens = sum(missed for _, _, missed in found)
    life, stay, _ = found[0]
    have = [lookup.found for lookup in stay.lookups]
    said = group_text(groups, history.start)
    group = history.groups[groups[0]]
    change, quirk = "retain more: lower or unset retention_interval", "g04"
    if group.kind == WINDOW and group.sliding_window == 1:
        quirk, change = "g06", "a window of one token is never cached: nothing can be found"
    elif group.kind == WINDOW and history.settings.get("retention_interval") == 0:
        quirk, change = "g09", "unset retention_interval, so that a window keeps all its blocks"
    elif group.kind == MAMBA:
        quirk = "g18"
        change = "a state exists only where a chunk ended: set a smaller retention_interval"
    elif group.kind != WINDOW:
        change = "give the pool more memory: these blocks had been evicted"
    return Finding(
        quirk,
        f"{said} shortened the hits of {names(lives)} by {number(tokens, 'token')}",
        f"A prefix is found only as far as all groups have it. For {who(life.name)} one group had "
        f"{number(max(have), 'token')}, and {said} only {min(have):,}.",
        {"tokens recomputed": tokens},
        tuple(stay.event + 1 for _, stay, _ in found),
        change,
        tuple(lives),
    )
