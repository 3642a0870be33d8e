"""From the module that an exercise is written in to the exercise: what it needs is found by name.

The first function is the right answer. A wrong answer stands under each line that it changes, or is
a function of its own name:

    return free
    ### sorted: return sorted(free)        instead of the line above; nothing: without that line

``cases``, ``oracle`` and ``why`` must be there; ``words``, ``play``, ``replay``, ``valid``,
``same``, ``call``, ``SECONDS`` and ``NEEDS_TRITON`` may be. CONTRIBUTING.md says what each is.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

from pagesim.exercises import source
from pagesim.exercises.case import Case, Wrong
from pagesim.exercises.exercise import Exercise
from pagesim.exercises.page import Listed, Page, malformed, read

Found = dict[str, Any]
"""What stands in a module, by name."""


def exercise(module: ModuleType) -> Exercise:
    """The exercise of a module; UsageError, with file and line, for what is missing in it."""
    page, found = read(module), vars(module)
    for name in ("cases", "oracle", "why"):
        if name not in found:
            raise malformed(module.__file__, 1, f"there is no function `{name}` below the page")
    answer = _answer(module)
    kernel = isinstance(answer, source.Cell)
    return Exercise(
        number=page.number,
        title=page.title,
        stars=page.stars,
        statement=page.statement,
        reference=answer,
        mistakes=_mistakes(module, page, answer),
        hints=page.hints,
        vllm=page.vllm,
        release=page.release,
        seconds=found.get("SECONDS", 30.0 if kernel else 2.0),
        needs_triton=found.get("NEEDS_TRITON", kernel),
        **_functions(found),
    )


def _answer(module: ModuleType) -> Callable[..., Any]:
    """The right answer: a kernel in cells/, or the first function."""
    path = Path(str(module.__file__))
    if (cell := path.parent / "cells" / path.name).exists():
        return source.Cell(cell.read_text(encoding="utf-8"), path.stem, str(cell))
    answer: Callable[..., Any] | None = next(_own(module), None)
    if answer is None or "### BEGIN SOLUTION" not in source.text(answer):
        problem = "the first function must be the right answer, with ### BEGIN SOLUTION and END"
        raise malformed(module.__file__, answer.__code__.co_firstlineno if answer else 1, problem)
    return answer


def _own(module: ModuleType) -> Iterator[Any]:
    """The functions that are written in a module, in their order."""
    functions = filter(inspect.isfunction, vars(module).values())
    return (f for f in functions if f.__module__ == module.__name__)


def _mistakes(module: ModuleType, page: Page, answer: Callable[..., Any]) -> dict[str, Wrong]:
    names = {listed.name for listed in page.wrong}
    for line, name in source.changes(answer):
        if name not in names:
            problem = f"the page lists no wrong answer {name!r}: add it, or take this line out"
            raise malformed(getattr(answer, "file", module.__file__), line, problem)
    changed = {name for _, name in source.changes(answer)}
    whole = {f.__name__: f for f in _own(module)}

    def wrong(listed: Listed) -> Wrong:
        if listed.name in changed:
            function = source.changed(answer, listed.name)
        elif listed.name in whole:
            function = whole[listed.name]
        else:
            way = f"put `### {listed.name}: …` under a line that it changes, or write the function"
            problem = f"the wrong answer {listed.name!r} is nowhere in the module: {way}"
            raise malformed(module.__file__, listed.line, problem)
        return Wrong(function, listed.belief, listed.shown_by)

    return {listed.name: wrong(listed) for listed in page.wrong}


def _functions(found: Found) -> Found:
    """What is done with a case, by functions of its arguments."""
    cases, oracle, why = found["cases"], found["oracle"], found["why"]
    words, play, replay, valid, call = map(found.get, ("words", "play", "replay", "valid", "call"))
    both = "record" in inspect.signature(oracle).parameters  # the answer, and what has its run

    def worded(case: Case) -> Case:
        return replace(case, words=words(*case.args)) if words and not case.words else case

    made = {
        "cases": lambda rng, hidden: map(worded, cases(rng, hidden)),
        "expected": (lambda *args: oracle(*args)[0]) if both else oracle,
        "why": lambda case, yours, right: _with({"tag": case.tag}, why, yours, right, *case.args),
        "play": play and (lambda case: play(*case.args)),
        "replay": replay
        and (lambda f, case, yours: _with({"function": f}, replay, yours, *case.args)),
        "case_of": valid and (lambda *args: worded(Case(args)) if valid(*args) else None),
        "call": call and (lambda function, case: call(function, *case.args)),
        "same": found.get("same"),
    }
    if both and not play:
        made["play"] = lambda case: oracle(*case.args, record=True)[1].run
    return {name: function for name, function in made.items() if function}


def _with(offered: Found, function: Callable[..., Any], *args: Any) -> Any:
    """A call that also gets, of what is offered, what the function asks for by keyword alone."""
    parameters = inspect.signature(function).parameters.values()
    asked = [parameter.name for parameter in parameters if parameter.kind is parameter.KEYWORD_ONLY]
    return function(*args, **{name: offered[name] for name in asked})
