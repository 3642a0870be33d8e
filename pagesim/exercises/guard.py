"""One call of a student's function: whatever happens in it is an answer.

An exception, an exit, a changed argument and a loop without end are named; only Ctrl-C goes
through, for it is the student's own.
"""

from __future__ import annotations

import contextlib
import copy
import ctypes
import io
import linecache
import signal
import sysconfig
import threading
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pagesim.exercises.case import Case
from pagesim.exercises.values import equal_values, shown

Call = Callable[[Callable[..., Any], Case], Any]

MAX_PRINTED = 2000
_OURS = [str(Path(__file__).parents[1])]
_OTHERS = [sysconfig.get_paths()[name] for name in ("stdlib", "purelib", "platlib")]


@dataclass(frozen=True)
class Answer:
    """What came of a call, as data: a value, or the sentence that says why there is none."""

    value: Any = None
    problem: str = ""
    printed: str = ""


class TooSlow(BaseException):
    """Raised inside a call whose time is up; no Exception, which the student may catch."""


def call_plainly(function: Callable[..., Any], case: Case) -> Any:
    """How most answers are tried: a call with the arguments of the case."""
    return function(*case.args)


def attempt(
    function: Callable[..., Any], case: Case, call: Call = call_plainly, seconds: float = 2.0
) -> Answer:
    """Call a student's function on copies of the arguments, for at most ``seconds``."""
    given = Case(copy.deepcopy(case.args), case.told, case.tag)
    printed = _Printed()
    try:
        with contextlib.redirect_stdout(printed), _limit(seconds):
            value = call(function, given)
    except KeyboardInterrupt:
        raise
    except TooSlow:
        return Answer(
            problem=f"No answer after {seconds:g} s: is there a loop that never ends?",
            printed=printed.text,
        )
    except NotImplementedError as error:
        problem = _named(error, function) if error.args else "The function is not written yet."
        return Answer(problem=problem, printed=printed.text)
    except BaseException as error:
        return Answer(problem=_named(error, function), printed=printed.text)
    return Answer(value, _changed(case, given), printed.text)


def _changed(case: Case, given: Case) -> str:
    """One sentence if the call changed what it was given."""
    for place, (before, after) in enumerate(zip(case.args, given.args, strict=True)):
        if not _untouched(before, after):
            return (
                f"The function changed its argument {place + 1} from {shown(before, 80)} to "
                f"{shown(after, 80)}: work on a copy."
            )
    return ""


def _untouched(before: Any, after: Any) -> bool:
    try:
        return equal_values(after, before) or repr(after) == repr(before)
    except Exception:
        return True


def _named(error: BaseException, function: Callable[..., Any]) -> str:
    """The exception, and the student's own line that it came from."""
    said = f"{type(error).__name__}: {error}".strip().rstrip(":")
    said = " ".join(said.split())[:300]
    line = _line(error, function)
    return f"{said} ({line})" if line else said


def _line(error: BaseException, function: Callable[..., Any]) -> str:
    """The deepest line that the student wrote: of her function's file, or of no library."""
    frames = traceback.extract_tb(error.__traceback__, limit=500)
    own = getattr(getattr(function, "__code__", None), "co_filename", None)
    hers = [f for f in frames if f.filename == own] or [f for f in frames if _hers(f.filename)]
    if not hers:
        return ""
    text = linecache.getline(hers[-1].filename, hers[-1].lineno or 0).strip()
    return f"line {hers[-1].lineno}: {text}" if text else f"line {hers[-1].lineno}"


def _hers(filename: str) -> bool:
    return not any(filename.startswith(folder) for folder in (*_OURS, *_OTHERS))


@contextlib.contextmanager
def _limit(seconds: float) -> Iterator[None]:
    """Raise TooSlow in this thread when the time is up, and again until it is heard."""
    main = threading.current_thread() is threading.main_thread()
    with _by_signal(seconds) if main and hasattr(signal, "setitimer") else _by_thread(seconds):
        yield


@contextlib.contextmanager
def _by_signal(seconds: float) -> Iterator[None]:
    def stop(number: int, frame: Any) -> None:
        raise TooSlow

    before = signal.signal(signal.SIGALRM, stop)
    left, every = signal.setitimer(signal.ITIMER_REAL, seconds, 0.05)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        if left:
            signal.setitimer(signal.ITIMER_REAL, left, every)


@contextlib.contextmanager
def _by_thread(seconds: float) -> Iterator[None]:
    """Where no signal can be had (Windows, other threads): another thread raises it here."""
    over, ident = threading.Event(), threading.get_ident()

    def watch() -> None:
        wait = seconds
        while not over.wait(wait):
            ctypes.pythonapi.PyThreadState_SetAsyncExc(
                ctypes.c_ulong(ident), ctypes.py_object(TooSlow)
            )
            wait = 0.05

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


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
