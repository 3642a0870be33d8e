"""From the module that an exercise is written in to the exercise: what it needs is found by name.

The right answer is the first function, or a kernel in cells/. A wrong answer stands under the lines
that it changes (see `source`), or is a function of its own name. docs/EXERCISES.md names the rest.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from pagesim.exercises import source
from pagesim.exercises.case import Case, Function, Wrong
from pagesim.exercises.exercise import Exercise
from pagesim.exercises.page import Listed, malformed, read


def exercise(module: ModuleType) -> Exercise:
    """The exercise of a module; UsageError, with file and line, for what is missing in it."""
    page, listed = read(module)
    for name in ("cases", "oracle", "why"):
        if not hasattr(module, name):
            raise malformed(module.__file__, 1, f"there is no function `{name}` below the page")
    own = [f for f in vars(module).values() if getattr(f, "__module__", "") == module.__name__]
    functions = {f.__name__: f for f in filter(inspect.isfunction, own)}
    answer = _answer(module, next(iter(functions.values())))
    kernel = isinstance(answer, source.Cell)
    return Exercise(
        reference=answer,
        mistakes=_mistakes(module, listed, answer, functions),
        seconds=getattr(module, "SECONDS", 30.0 if kernel else 2.0),
        needs_triton=getattr(module, "NEEDS_TRITON", kernel),
        **page,
        **_found(vars(module)),
    )


def _answer(module: ModuleType, first: FunctionType) -> Function:
    path = Path(str(module.__file__))
    if (cell := path.parent / "cells" / path.name).exists():
        return source.Cell(cell.read_text(encoding="utf-8"), path.stem, str(cell))
    if "### BEGIN SOLUTION" not in source.text(first):
        problem = "the first function must be the right answer, with ### BEGIN SOLUTION and END"
        raise malformed(module.__file__, first.__code__.co_firstlineno, problem)
    return first


def _mistakes(
    module: ModuleType, listed: list[Listed], answer: Function, functions: Mapping[str, Function]
) -> dict[str, Wrong]:
    changes = source.changes(answer)
    for line, name in changes:
        if name not in {wrong.name for wrong in listed}:
            problem = f"the page lists no wrong answer {name!r}: add it, or take this line out"
            raise malformed(getattr(answer, "file", module.__file__), line, problem)
    found = {}
    for line, name, shown_by, belief in listed:
        if name in {changed for _, changed in changes}:
            function = source.changed(answer, name)
        elif name in functions:
            function = functions[name]
        else:
            raise malformed(
                module.__file__,
                line,
                f"the wrong answer {name!r} is nowhere: put `### {name}: …` under a line that it "
                "changes, or write a function of that name",
            )
        found[name] = Wrong(function, belief, shown_by)
    return found


def _found(names: dict[str, Any]) -> dict[str, Any]:
    """What is done with a case, by functions of its arguments."""
    cases, oracle, why = names["cases"], names["oracle"], names["why"]
    words, play, replay, valid, call = map(names.get, ("words", "play", "replay", "valid", "call"))
    both = "record" in inspect.signature(oracle).parameters  # the answer, and what has its run

    def worded(case: Case) -> Case:
        return replace(case, words=words(*case.args)) if words and not case.words else case

    def recorded(case: Case) -> Any:
        _, played = oracle(*case.args, record=True)
        return getattr(played, "run", played)

    made = {
        "cases": lambda rng, hidden: map(worded, cases(rng, hidden)),
        "expected": (lambda *args: oracle(*args)[0]) if both else oracle,
        "why": lambda case, yours, right: _with({"tag": case.tag}, why, yours, right, *case.args),
        "play": (lambda case: play(*case.args)) if play else both and recorded,
        "replay": replay
        and (lambda f, case, yours: _with({"function": f}, replay, yours, *case.args)),
        "case_of": valid and (lambda *args: worded(Case(args)) if valid(*args) else None),
        "call": call and (lambda function, case: call(function, *case.args)),
        "same": names.get("same"),
    }
    return {name: function for name, function in made.items() if function}


def _with(offered: dict[str, Any], function: Function, *args: Any) -> Any:
    """A call that also gets, of what is offered, what the function asks for by keyword alone."""
    parameters = inspect.signature(function).parameters.values()
    asked = [parameter.name for parameter in parameters if parameter.kind is parameter.KEYWORD_ONLY]
    return function(*args, **{name: offered[name] for name in asked})
