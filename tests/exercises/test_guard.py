"""Whatever a student's function does is an answer: named, within its time, and nothing is left."""

import ast
import contextlib
import itertools
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from pagesim import exercises
from pagesim.exercises import guard
from pagesim.exercises.case import Case
from pagesim.exercises.guard import Answer, attempt
from pagesim.exercises.problem import NOT_WRITTEN
from tests.exercises.answers import blank

CASE = Case(([3, 1, 2],))
ALARMS = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no such alarms on Windows")


def tried(function: Callable[..., Any], seconds: float = 5.0) -> Answer:
    return attempt(function, CASE, seconds=seconds)


def forever(_: list[int]) -> None:
    while True:
        pass


def forever_catching(_: list[int]) -> None:
    while True:
        with contextlib.suppress(Exception):
            time.sleep(0.001)


def forever_catching_all(values: list[int]) -> None:
    for _ in range(3):  # what is raised in a loop of `try` alone is caught for seconds
        try:
            forever(values)
        except:  # noqa: E722
            values.sort()
    forever(values)


def forever_asleep(_: list[int]) -> None:
    time.sleep(3600)


def forever_called(values: list[int]) -> int:
    return 1 + forever_called(values) if sys.getrecursionlimit() else 0


LOOPS = [forever, forever_catching, forever_catching_all, forever_asleep]


@ALARMS
@pytest.mark.parametrize("function", LOOPS, ids=lambda f: f.__name__)
def test_a_loop_without_end_is_named_and_ends(function: Callable[..., Any]) -> None:
    answer = tried(function, seconds=0.1)
    assert answer.problem == "No answer after 0.1 s: is there a loop that never ends?"
    assert signal.getsignal(signal.SIGALRM) is signal.SIG_DFL
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


@pytest.mark.parametrize("function", LOOPS[:3], ids=lambda f: f.__name__)
def test_without_signals_another_thread_ends_it(
    function: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Windows has no such timer."""
    monkeypatch.delattr(signal, "setitimer", raising=False)
    before = threading.active_count()
    assert tried(function, seconds=0.1).problem.startswith("No answer after 0.1 s")
    assert threading.active_count() == before
    assert tried(sorted).value == [1, 2, 3]


def test_in_a_thread_of_its_own_too() -> None:
    """The alarm's signal would go to the main thread."""
    answers: list[Answer] = []
    thread = threading.Thread(target=lambda: answers.append(tried(forever, seconds=0.1)))
    thread.start()
    thread.join(30)
    assert [answer.problem[:15] for answer in answers] == ["No answer after"]


@ALARMS
def test_an_alarm_that_was_set_before_is_set_again() -> None:
    rung: list[int] = []
    before = signal.signal(signal.SIGALRM, lambda number, _: rung.append(number))
    try:
        signal.setitimer(signal.ITIMER_REAL, 3600)
        assert tried(sorted).value == [1, 2, 3]
        assert 0 < signal.getitimer(signal.ITIMER_REAL)[0] <= 3600
        signal.raise_signal(signal.SIGALRM)
        assert rung == [signal.SIGALRM]
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@ALARMS
def test_ctrl_c_is_the_student_s() -> None:
    def interrupted(_: list[int]) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        forever(_)

    with pytest.raises(KeyboardInterrupt):
        tried(interrupted)
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def leaves(_: list[int]) -> None:
    sys.exit("done")


def stops(values: list[int]) -> Iterator[int]:
    raise StopIteration


def refuses(values: list[int]) -> None:
    raise ValueError("not\nsorted")


def indexes(values: list[int]) -> int:
    def inner(place: int) -> int:
        return values[place]

    return inner(3)


def by_a_library(values: list[int]) -> int:
    return max(itertools.chain(values), key=lambda value: 1 // (value - 2))


class OddError(Exception):
    def __str__(self) -> str:
        raise RuntimeError


def cannot_be_printed(_: list[int]) -> None:
    raise OddError


@pytest.mark.parametrize(
    ("function", "problem"),
    [
        (forever_called, "RecursionError: maximum recursion depth"),
        (lambda: None, "TypeError: <lambda>() takes 0 positional arguments but 1 was"),
        (3, "TypeError: 'int' object is not callable"),
        (blank, NOT_WRITTEN),
        (cannot_be_printed, "OddError (line "),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_whatever_it_raises_is_named(function: Any, problem: str) -> None:
    assert tried(function).problem.startswith(problem)


@pytest.mark.parametrize(
    ("function", "problem"),
    [
        (leaves, 'SystemExit: done (line 1: sys.exit("done"))'),
        (stops, "StopIteration (line 1: raise StopIteration)"),
        (refuses, 'ValueError: not sorted (line 1: raise ValueError("not\\nsorted"))'),
        (indexes, "IndexError: list index out of range (line 2: return values[place])"),
        (by_a_library, "ZeroDivisionError: integer division or modulo by zero (line 1: return max"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_an_exception_is_named_with_the_student_s_line(
    function: Callable[..., Any], problem: str
) -> None:
    first = function.__code__.co_firstlineno
    number = int(problem.split("line ")[1].partition(":")[0].rstrip(")"))
    expected = problem.replace(f"line {number}:", f"line {first + number}:")
    assert tried(function).problem.startswith(expected)


def test_an_answer_that_is_slow_on_every_case_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each case takes 1.5 s of 2 s by this clock, and all of them may take 20 s."""
    clock = SimpleNamespace(monotonic=(1.5 * tick for tick in itertools.count()).__next__)
    monkeypatch.setattr("pagesim.exercises.exercise.time", clock)
    exercise = exercises.get("2.1")
    verdict = exercise.check(exercise.reference)
    assert not verdict and verdict.tried == 14
    assert verdict.yours == "14 cases took 21 s, which is far too slow."


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("raise NotImplementedError()", NOT_WRITTEN),
        ("x = nope + 1", "CompilationError: NameError('nope is not defined') (line: x = nope + 1)"),
    ],
)
def test_what_tritons_compiler_says_on_a_gpu(line: str, problem: str) -> None:
    """An interpreter's kernel raises like any function; a compiled one cannot even be compiled."""
    from pagesim import kernels  # noqa: F401 (before triton)

    errors = pytest.importorskip("triton.compiler.errors")
    source = f"def kernel(out):\n    {line}\n"
    node = ast.parse(source).body[0].body[0]  # type: ignore[attr-defined]

    def fails(_: list[int]) -> None:
        raise errors.CompilationError(source, node, "NameError('nope is not defined')")

    assert tried(fails).problem == problem


def test_a_changed_argument_is_named_and_the_case_stays() -> None:
    def sorts(values: list[int]) -> list[int]:
        values.sort()
        return values

    answer = tried(sorts)
    said = "The function changed its argument 1 from [3, 1, 2] to [1, 2, 3]: work on a copy."
    assert answer.problem == said
    assert CASE.args == ([3, 1, 2],)
    nan = float("nan")
    assert attempt(lambda a, b: a, Case(([nan], {"a": [1]}))).problem == ""
    assert "argument 2" in attempt(lambda a, b: b["a"].pop(), Case(([nan], {"a": [1]}))).problem
    assert attempt(lambda a: 1, Case((object(),))).problem == "", "what has no value is left alone"


def test_printing_is_allowed_and_bounded(capsys: pytest.CaptureFixture[str]) -> None:
    def prints(values: list[int]) -> int:
        for _ in range(10_000):
            print("values", values)
            print("values", values, file=sys.stderr)
        return 1

    answer = tried(prints)
    assert (answer.value, answer.problem) == (1, "")
    assert answer.printed.startswith("values [3, 1, 2]\nvalues")
    assert len(answer.printed) == guard.MAX_PRINTED
    assert capsys.readouterr() == ("", "")
