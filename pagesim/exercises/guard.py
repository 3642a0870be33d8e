"""One call of a student's function: whatever happens in it is an answer.

An exception, an exit, a changed argument and a loop without end are named; only Ctrl-C goes
through, because it is the student's own.
"""

import contextlib
import copy
import io
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pagesim.exercises.case import Case, Function
from pagesim.exercises.deadline import TooSlow, within
from pagesim.exercises.problem import named
from pagesim.exercises.values import is_data, plain, shown

Call = Callable[[Function, Case], Any]

MAX_PRINTED = 2000
SLOW = "No answer after"
"""How the sentence begins that says so."""


@dataclass(frozen=True)
class Answer:
    """What came of a call: a value in Python's own types, or the sentence that says why not."""

    value: Any = None
    problem: str = ""
    printed: str = ""


def call_plainly(function: Function, case: Case) -> Any:
    """How most answers are tried: a call with the arguments of the case."""
    return function(*case.args)


def attempt(
    function: Function, case: Case, call: Call = call_plainly, seconds: float = 2.0
) -> Answer:
    """Call a student's function on copies of the arguments, for at most ``seconds``."""
    given, printed = copy.deepcopy(case), _Printed()
    value, problem = None, ""
    try:
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
            value = within(seconds, lambda: plain(call(function, given)))
        problem = _changed(case, given)
    except KeyboardInterrupt:
        raise
    except TooSlow:
        problem = f"{SLOW} {seconds:g} s: is there a loop that never ends?"
    except BaseException as error:  # also SystemExit
        problem = named(error, function)
    return Answer(value, problem, printed.text)


def _changed(case: Case, given: Case) -> str:
    """One sentence if the call changed what it was given."""
    pairs = zip(map(plain, case.args), map(plain, given.args), strict=True)
    for place, (before, after) in enumerate(pairs, start=1):
        if is_data(before) and repr(before) != repr(after):  # repr: a NaN is like itself
            change = f"from {shown(before, 80)} to {shown(after, 80)}"
            return f"The function changed its argument {place} {change}: work on a copy."
    return ""


class _Printed(io.TextIOBase):
    """What a call prints, its beginning alone."""

    def __init__(self) -> None:
        self.text = ""

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        if len(self.text) < MAX_PRINTED:
            self.text = (self.text + text)[:MAX_PRINTED]
        return len(text)
