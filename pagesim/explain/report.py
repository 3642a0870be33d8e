"""All findings of a run, the worst first, and how they are printed."""

import re
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import replace

from pagesim.explain import copies, groups, holding, preempting, prefix, starving, tier
from pagesim.explain.finding import Finding
from pagesim.explain.history import History
from pagesim.explain.words import number

PREDICATES: dict[str, Callable[[History], list[Finding]]] = {
    "never fits": starving.never_fits,
    "stuck": starving.stuck,
    "ignored": starving.ignored,
    "computed twice": preempting.computed_twice,
    "in vain": preempting.in_vain,
    "admits nobody": preempting.admits_nobody,
    "just before room": preempting.just_before_room,
    "watermark": holding.watermark,
    "seats": holding.seats,
    "budget": holding.budget,
    "threshold": holding.threshold,
    "last block": prefix.last_block,
    "evicted": prefix.evicted,
    "hole": prefix.hole,
    "salt": prefix.salt,
    "part of a block": prefix.part_of_a_block,
    "equal blocks": copies.equal,
    "pinned": copies.pinned,
    "failed": copies.failed,
    "lost": copies.lost,
    "groups": groups.shortened,
    "copied": tier.copied,
    "guard": tier.guard,
    "loaded again": tier.loaded_again,
    "never stored": tier.never_stored,
}
"""What is looked for, by a name: pure functions of a history."""


BY_DESIGN = ("w04", "w06")
"""Surprises that no setting changes: they come after those that one can act on."""


def findings(history: History) -> list[Finding]:
    """What went wrong in a run, the worst first."""
    found = [finding for predicate in PREDICATES.values() for finding in predicate(history)]
    found = [replace(each, title=_begun(each.title), detail=_begun(each.detail)) for each in found]
    return sorted(found, key=lambda finding: _weight(finding, history))


def _begun(text: str) -> str:
    """Sentences that begin with "request 7", or with "the", begin with a capital letter."""
    return re.sub(
        r"(^|\. )(request|the )",
        lambda found: found[1] + found[2].capitalize(),
        text,
    )


def _weight(finding: Finding, history: History) -> tuple[float, ...]:
    """Who starves comes first; then the largest share of the run's tokens, steps or blocks."""
    all_of = {
        "tokens recomputed": sum(step.budget for step in history.steps),
        "steps lost": len(history.steps),
        "blocks unusable": history.usable,
    }
    shares = [finding.cost.get(word, 0) / max(most, 1) for word, most in all_of.items()]
    starving = finding.cost.get("requests starving", 0)
    return -starving, finding.quirk in BY_DESIGN, -max(shares)


WIDTH = 100
MOST = 4
"""How many steps of a finding are printed."""


def costs(finding: Finding) -> str:
    """What a finding cost: '112 tokens recomputed, 7 steps lost'."""
    words = []
    for word, count in finding.cost.items():
        noun, _, what = word.partition(" ")
        words.append(f"{number(count, noun.removesuffix('s'))} {what}")
    return ", ".join(words)


def printed(findings: Sequence[Finding], place: Callable[[int], str]) -> str:
    """Findings for people; ``place`` says where a step of theirs is."""
    return "\n\n".join(_printed(at, each, place) for at, each in enumerate(findings, 1))


def _printed(at: int, finding: Finding, place: Callable[[int], str]) -> str:
    where = ", ".join(map(place, finding.steps[:MOST]))
    where += f" and {len(finding.steps) - MOST:,} more" if len(finding.steps) > MOST else ""
    costly, change = costs(finding), finding.change
    rows = {"": finding.detail, "cost": costly, "change": change, "where": where}
    rows["see"] = finding.see
    lines = [f"{at}. {finding.title}"]
    for word, text in rows.items():
        head = f"   {word:<8}" if word else "   "
        if text:
            lines += textwrap.wrap(
                text, WIDTH, initial_indent=head, subsequent_indent=" " * len(head)
            )
    return "\n".join(lines)


def summary(history: History, found: Sequence[Finding]) -> str:
    """What the run was, and what its report cannot know."""
    state, counts = history.start, len(history.requests)
    head = (
        f"{number(len(history.steps), 'step')} of the scheduler, {number(counts, 'request')}, "
        f"{number(history.usable, 'block')} of {state.block_size} slots. "
    )
    head += f"{number(len(found), 'finding')}, the worst first." if found else "Nothing went wrong."
    if not history.settings and history.steps:
        head += " The run does not have the scheduler's settings: some reasons cannot be told."
    if not history.steps:
        head += " No scheduler was recorded, so only its blocks can be judged."
    return head


def report(history: History, found: Sequence[Finding]) -> str:
    """The report of a run for people."""

    def place(step: int) -> str:
        number_of = history.step_of(step - 1)
        return f"event {step:,}" if number_of is None else f"step {number_of:,} (event {step:,})"

    return "\n\n".join(filter(None, [summary(history, found), printed(found, place)]))
