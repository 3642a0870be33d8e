"""Which of several KV cache groups made a hit shorter than another group's."""

from collections import defaultdict
from collections.abc import Sequence

from pagesim.explain.finding import Finding
from pagesim.explain.history import History
from pagesim.explain.words import names, number, who
from pagesim.journal.effects import Name
from pagesim.journal.state import MAMBA, WINDOW
from pagesim.timeline import Lookup
from pagesim.timeline.facts import group_text

Missed = tuple[Name, int, tuple[Lookup, ...]]
"""Who looked for a prefix, in which event, and what the groups answered."""


def shortened(history: History) -> list[Finding]:
    """A hit is as long as all groups have it: these had less than another."""
    if not history.groups:
        return []
    asked = [
        (life.name, stay.event, stay.lookups)
        for life in history.requests.values()
        for stay in life.stays
    ]
    asked += [(name, event, lookups) for event, name, lookups in history.lookups]
    found: dict[tuple[int, ...], list[Missed]] = defaultdict(list)
    for name, event, lookups in asked:
        if (no := who_said_no(lookups)) is not None:
            found[no].append((name, event, lookups))
    return [_finding(history, groups, each) for groups, each in found.items()]


def lost(lookups: Sequence[Lookup]) -> int:
    """How many tokens one kind of groups had that all together had not."""
    found = [lookup.found for lookup in lookups]
    return max(found, default=0) - min(found, default=0)


def who_said_no(lookups: Sequence[Lookup]) -> tuple[int, ...] | None:
    """The groups that ended a hit; None if all of them had as much."""
    if not lost(lookups):
        return None
    least = min(lookup.found for lookup in lookups)
    return next(lookup.groups for lookup in lookups if lookup.found == least)


def _finding(history: History, groups: tuple[int, ...], found: list[Missed]) -> Finding:
    found.sort(key=lambda each: -lost(each[2]))
    lives = list(dict.fromkeys(name for name, _, _ in found))
    tokens = sum(lost(lookups) for _, _, lookups in found)
    worst, _, lookups = found[0]
    have = [lookup.found for lookup in lookups]
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
        f"A prefix is found only as far as all groups have it. For {who(worst)} one group had "
        f"{number(max(have), 'token')}, and {said} only {min(have):,}.",
        {"tokens recomputed": tokens},
        tuple(event + 1 for _, event, _ in found),
        change,
        tuple(lives),
    )
