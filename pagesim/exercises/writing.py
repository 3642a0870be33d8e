"""From the module that an exercise is written in to the exercise: what it needs is found by name.

The right answer is the first function, or a kernel in cells/. A wrong answer stands under the lines
that it changes (see `source`), or is a function of its own name. docs/EXERCISES.md names the rest.
"""

import inspect
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from random import Random
from types import FunctionType, ModuleType
from typing import Any

from pagesim.exercises import source
from pagesim.exercises.case import Case, Function, Goal, Value, Wrong
from pagesim.exercises.exercise import Exercise
from pagesim.exercises.guard import call_plainly
from pagesim.exercises.page import Listed, malformed, read
from pagesim.exercises.values import equal_values, plain

_ASKING = {"why", "words", "play", "replay", "valid", "call"}


def exercise(module: ModuleType) -> Exercise:
    """The exercise of a module; UsageError, with file and line, for what is missing in it."""
    page, listed = read(module)
    has = vars(module)
    for name in ("cases", "oracle", "why"):
        if name not in has:
            raise malformed(module.__file__, 1, f"there is no function `{name}` below the page")
    named = (each for name, each in has.items() if name != "__annotate__")  # Python 3.14's
    own = [f for f in named if getattr(f, "__module__", "") == module.__name__]
    functions = {f.__name__: f for f in filter(inspect.isfunction, own)}
    answer = _answer(module, next(iter(functions.values())))
    kernel = isinstance(answer, source.Cell)
    written = _Written(module, answer)
    return Exercise(
        reference=answer,
        mistakes=_mistakes(module, listed, answer, functions),
        cases=written.cases,
        expected=written.expected,
        why=written.why,
        play=written.play if "play" in has or written.records else None,
        replay=written.replay if "replay" in has else None,
        case_of=written.case_of if "valid" in has else None,
        same=has.get("same", equal_values),
        call=written.call if "call" in has else call_plainly,
        seconds=has.get("SECONDS", 30.0 if kernel else 2.0),
        needs_triton=has.get("NEEDS_TRITON", kernel),
        **page,
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


class _Written:
    """The functions of a page, each called with those arguments of a case that it names."""

    def __init__(self, module: ModuleType, answer: Function) -> None:
        self.functions = vars(module)
        asks = _parameters(self.functions["oracle"])
        self.records = "record" in asks  # the oracle returns its answer, and what has its run
        if any(each.kind is each.VAR_POSITIONAL for each in asks.values()):
            asks = _parameters(answer)
        self.arguments = [name for name in asks if name != "record"]
        _check(module, [*self.arguments, "yours", "right", "tag", "function"])

    def asked(self, name: str, args: Any, /, **more: Any) -> Any:
        """What a function says to a case; behind a star it gets the rest of the arguments."""
        function = self.functions[name]
        case, asks = dict(zip(self.arguments, args, strict=False)), _parameters(function)
        rest = [value for name, value in case.items() if name not in asks]
        stars = [name for name, each in asks.items() if each.kind is each.VAR_POSITIONAL]
        offered = case | more | dict.fromkeys(stars, rest)
        given = OrderedDict((name, offered[name]) for name in asks if name in offered)
        call = inspect.BoundArguments(inspect.signature(function), given)
        return function(*call.args, **call.kwargs)

    def cases(self, rng: Random, hidden: bool) -> Iterator[Case]:
        return map(self.worded, self.functions["cases"](rng, hidden))

    def worded(self, case: Case) -> Case:
        if case.words or "words" not in self.functions:
            return case
        return replace(case, words=self.asked("words", case.args))

    def expected(self, *args: object) -> Any:
        answer = self.functions["oracle"](*args)
        right = answer[0] if self.records else answer
        if isinstance(right, Goal) and right.accepts is None:
            return replace(right, accepts=lambda yours: not self.why(Case(args), yours, right))
        return right

    def why(self, case: Case, yours: Value, right: Value) -> str:
        return str(self.asked("why", case.args, yours=plain(yours), right=right, tag=case.tag))

    def play(self, case: Case) -> Any:
        if "play" in self.functions:
            return self.asked("play", case.args)
        _, played = self.functions["oracle"](*case.args, record=True)
        return getattr(played, "run", played)

    def replay(self, function: Function, case: Case, yours: Value) -> Any:
        return self.asked("replay", case.args, yours=yours, function=function)

    def case_of(self, *args: object) -> Case | None:
        return self.worded(Case(args)) if self.asked("valid", args) else None

    def call(self, function: Function, case: Case) -> Any:
        first = next(iter(_parameters(self.functions["call"])))
        return self.asked("call", case.args, **{first: function})


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
