"""From the module that an exercise is written in to the exercise: what it needs is found by name.

The right answer is the first function, or a kernel in cells/. A wrong answer stands under the lines
that it changes (see `source`), or is a function of its own name. docs/EXERCISES.md names the rest.
"""

import inspect
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from pagesim.exercises import source
from pagesim.exercises.case import Case, Function, Goal, Wrong
from pagesim.exercises.exercise import Exercise
from pagesim.exercises.page import Listed, malformed, read
from pagesim.exercises.values import plain

_ASKING = {"why", "words", "play", "replay", "valid", "call"}


def exercise(module: ModuleType) -> Exercise:
    """The exercise of a module; UsageError, with file and line, for what is missing in it."""
    page, listed = read(module)
    for name in ("cases", "oracle", "why"):
        if not hasattr(module, name):
            raise malformed(module.__file__, 1, f"there is no function `{name}` below the page")
    named = (each for name, each in vars(module).items() if name != "__annotate__")  # Python 3.14's
    own = [f for f in named if getattr(f, "__module__", "") == module.__name__]
    functions = {f.__name__: f for f in filter(inspect.isfunction, own)}
    answer = _answer(module, next(iter(functions.values())))
    kernel = isinstance(answer, source.Cell)
    return Exercise(
        reference=answer,
        mistakes=_mistakes(module, listed, answer, functions),
        seconds=getattr(module, "SECONDS", 30.0 if kernel else 2.0),
        needs_triton=getattr(module, "NEEDS_TRITON", kernel),
        **page,
        **_found(module, answer),
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
    module: ModuleType,
    listed: dict[str, Listed],
    answer: Function,
    functions: Mapping[str, Function],
) -> dict[str, Wrong]:
    changes = source.changes(answer)
    for line, name in changes:
        if name not in listed:
            problem = f"the page lists no wrong answer {name!r}: add it, or delete this line"
            raise malformed(getattr(answer, "file", module.__file__), line, problem)
    found = {}
    for name, (line, shown_by, belief) in listed.items():
        if name in {changed for _, changed in changes}:
            function = source.changed(answer, name)
        elif name in functions:
            function = functions[name]
        else:
            way = f"put `### {name}: …` under a line that it changes, or write a function {name}"
            problem = f"no line and no function is the wrong answer {name!r}: {way}"
            raise malformed(module.__file__, line, problem)
        found[name] = Wrong(function, belief, shown_by)
    return found


def _found(module: ModuleType, answer: Function) -> dict[str, Any]:
    """What is done with a case, by functions that ask for its arguments by name."""
    names = vars(module)
    oracle, why, valid = names["oracle"], names["why"], names.get("valid")
    words, play, replay, call = map(names.get, ("words", "play", "replay", "call"))
    both = "record" in _parameters(oracle)  # the answer, and what has its run
    starred = any(each.kind is each.VAR_POSITIONAL for each in _parameters(oracle).values())
    arguments = [name for name in _parameters(answer if starred else oracle) if name != "record"]
    _check(module, [*arguments, "yours", "right", "tag", "function"])
    asked = partial(_asked, arguments)

    def worded(case: Case) -> Case:
        return replace(case, words=asked(words, case.args)) if words and not case.words else case

    def reason(case: Case, yours: object, right: object) -> str:
        return str(asked(why, case.args, yours=plain(yours), right=right, tag=case.tag))

    def expected(*args: object) -> Any:
        right = oracle(*args)[0] if both else oracle(*args)
        if isinstance(right, Goal) and right.accepts is None:
            return replace(right, accepts=lambda yours: not reason(Case(args), yours, right))
        return right

    def recorded(case: Case) -> Any:
        _, played = oracle(*case.args, record=True)
        return getattr(played, "run", played)

    made = {
        "cases": lambda rng, hidden: map(worded, names["cases"](rng, hidden)),
        "expected": expected,
        "why": reason,
        "play": (lambda case: asked(play, case.args)) if play else both and recorded,
        "replay": replay
        and (lambda f, case, yours: asked(replay, case.args, yours=yours, function=f)),
        "case_of": valid and (lambda *args: worded(Case(args)) if asked(valid, args) else None),
        "call": call
        and (lambda f, case: asked(call, case.args, **{next(iter(_parameters(call))): f})),
        "same": names.get("same"),
    }
    return {name: function for name, function in made.items() if function}


def _asked(arguments: list[str], function: Function, args: Any, /, **more: Any) -> Any:
    """A call with what the function names; behind a star it gets the rest of the case."""
    case, asks = dict(zip(arguments, args, strict=False)), _parameters(function)
    rest = [value for name, value in case.items() if name not in asks]
    stars = [name for name, each in asks.items() if each.kind is each.VAR_POSITIONAL]
    offered = case | more | dict.fromkeys(stars, rest)
    given = OrderedDict((name, offered[name]) for name in asks if name in offered)
    call = inspect.BoundArguments(inspect.signature(function), given)
    return function(*call.args, **call.kwargs)


def _check(module: ModuleType, offered: list[str]) -> None:
    """UsageError for a function that asks for what is not there."""
    for name in _ASKING & {*vars(module)}:
        function = getattr(module, name)
        for asks, each in [*_parameters(function).items()][name == "call" :]:
            if each.kind is not each.VAR_POSITIONAL and asks not in offered:
                problem = f"`{name}` asks for {asks!r}, but there are only {', '.join(offered)}"
                raise malformed(module.__file__, function.__code__.co_firstlineno, problem)


@cache
def _parameters(function: Function) -> Mapping[str, inspect.Parameter]:
    return inspect.signature(function).parameters
