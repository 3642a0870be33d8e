"""What `pagesim explain` claims about a run, as sets that can be compared with the truth."""

from collections.abc import Iterable
from typing import Any

from pagesim.explain.finding import Finding
from pagesim.explain.history import History
from pagesim.explain.prefix import missed
from pagesim.explain.report import PREDICATES
from pagesim.explain.starving import is_stuck

Claims = dict[str, set[Any]]


def steps(history: History, found: Iterable[Finding]) -> set[Any]:
    return {history.step_of(step - 1) for finding in found for step in finding.steps}


def names(found: Iterable[Finding]) -> set[Any]:
    return {name for finding in found for name in finding.requests}


def of(history: History, name: str) -> list[Finding]:
    return PREDICATES[name](history)


def twice(history: History) -> set[Any]:
    return {(life.name, life.twice) for life in history.requests.values() if life.twice}


def of_v1(history: History) -> Claims:
    by_step = ("watermark", "threshold", "seats", "budget", "admits nobody", "just before room")
    by_name = ("last block", "salt", "hole", "in vain")
    return {
        **{name: steps(history, of(history, name)) for name in by_step},
        **{name: names(of(history, name)) for name in by_name},
        "never fits": {finding.requests[0] for finding in of(history, "never fits")},
        "evicted": {life.name for life, _, _ in missed(history, "evicted")},
        "part of a block": {(life.name, what.alike) for life, _, what in missed(history, "part")},
        "computed twice": twice(history),
        "equal blocks": {history.most_copies[0]} - {0},
    }


def of_v0(history: History) -> Claims:
    reasons = zip(history.steps, history.reasons, strict=True)
    held = [(step.number, reason.kind) for step, reason in reasons if reason is not None]
    stuck = [step for at, step in enumerate(history.steps) if is_stuck(history, at)]
    return {
        "watermark": {number for number, kind in held if kind == "watermark"},
        "seats": {number for number, kind in held if kind == "seats"},
        "budget": {number for number, kind in held if kind == "budget"},
        "stuck": {step.number for step in stuck},
        "failed": steps(history, of(history, "failed")),
        "ignored": names(of(history, "ignored")),
        "computed twice": twice(history),
        "pinned": {len(history.pinned)} - {0},
    }


def of_groups(history: History) -> Claims:
    return {"groups": names(of(history, "groups"))}


def of_tier(history: History) -> Claims:
    lives = history.requests.values()
    waits = {(life.name, history.step_of(event)) for life in lives for event, _ in life.defers}
    return {
        "copied": waits,
        "guard": steps(history, of(history, "guard")),
        "never fits": {finding.requests[0] for finding in of(history, "never fits")},
        "loaded again": names(of(history, "loaded again")),
        "never stored": names(of(history, "never stored")),
        "computed twice": twice(history),
    }
