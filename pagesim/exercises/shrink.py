"""The case that a student sees: of those that the answer fails, the smallest that is found."""

import math
import random
import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import Any

from pagesim.exercises.case import Case, Function
from pagesim.exercises.exercise import Exercise
from pagesim.exercises.guard import SLOW, attempt
from pagesim.exercises.verdict import Verdict

SECONDS = 1.0
"""So long a smaller case is looked for."""
GLANCE = 30
"""A case of this `size` is read at a glance: it is as its author meant it, and is left so."""


def smallest(exercise: Exercise, f: Function, found: Verdict) -> Verdict:
    """The verdict of a check, on the smallest case that is found.

    That is a later one of its kind, or a part of one. Parts are tried where the exercise makes
    cases of them, and its reference and its oracle agree.
    """
    if found.case is None or found.yours.startswith(SLOW):
        return found
    until, best = time.monotonic() + SECONDS, found

    def tried(case: Case) -> Verdict | None:
        answer = attempt(f, case, exercise.call, SECONDS)
        slow = answer.problem.startswith(SLOW)
        return None if slow else exercise.judge(case, answer, found.tried)

    def candidates(case: Case) -> Iterator[Case]:
        """The same case made smaller once, in all ways that the exercise allows."""
        ways = smaller(case.args) if size(case.args) > GLANCE else ()
        made = (_case_of(exercise, args) for args in ways)
        return (replace(each, tag=case.tag) for each in made if each is not None)

    kind, left = found.case.tag, size(found.case.args)
    for case in islice(exercise.cases(random.Random(0), False), found.tried, None):
        if time.monotonic() > until:
            break
        if case.tag == kind and size(case.args) < left and (verdict := tried(case)) is not None:
            best, left = verdict, size(case.args)
    parts = candidates(best.case or found.case)
    while (part := next(parts, None)) is not None and time.monotonic() < until:
        if (verdict := tried(part)) is not None:
            best, parts = verdict, candidates(part)
    return replace(best, function=f)


def _case_of(exercise: Exercise, args: tuple[Any, ...]) -> Case | None:
    """These arguments as a case, if the exercise takes them and two right answers agree."""
    try:
        case = exercise.case_of(*args) if exercise.case_of else None
        if case is None:
            return None
        right = attempt(exercise.reference, case, exercise.call, SECONDS)
        return case if exercise.judge(case, right) is None else None
    except Exception:  # an oracle may refuse what cannot be in any way
        return None


def size(value: Any) -> float:
    """How much there is to read: items, and digits of their numbers."""
    if isinstance(value, dict):
        value = [*value, *value.values()]
    if isinstance(value, list | tuple):
        return 1 + sum(map(size, value))
    if isinstance(value, str):
        return 1 + len(value)
    finite = isinstance(value, int | float) and math.isfinite(value)
    return 1 + math.log2(1 + abs(value)) if finite else 1


def smaller(value: Any) -> Iterator[Any]:
    """The same with items left out of a list, or with one number nearer to 0."""
    if isinstance(value, list):
        if len(value) > 2:
            half = len(value) // 2
            yield from (value[:half], value[half:])
        yield from (value[:i] + value[i + 1 :] for i in range(len(value)))
    if isinstance(value, list | tuple):
        for i, item in enumerate(value):
            for less in smaller(item):
                yield type(value)([*value[:i], less, *value[i + 1 :]])
    elif type(value) is int and value > 0:
        yield from sorted({value // 2, value - 1})
    elif type(value) is float and value != round(value):
        yield float(round(value))
