"""What Python does inside the page: it runs the reader's text, and says in JSON what came of it.

The worker (assets/worker.js) imports this file beside pagesim. Whatever the text does is an answer:
an error has the reader's own lines, and a run is a whole page of the player.
"""

import ast
import contextlib
import io
import json
import linecache
import math
import signal
import traceback
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from pagesim.story import Engine, Story
from pagesim.timeline.pair import Compared
from pagesim.timeline.run import Timeline

FILE = "<your text>"
"""What a traceback calls the reader's text."""
MOST_PRINTED = 20_000
"""Characters of what a text prints; the rest is left out."""
Answer = dict[str, Any]


class _Printed(io.StringIO):
    """The beginning of what is printed: a loop may print without end."""

    def write(self, text: str) -> int:
        return super().write(text[: max(MOST_PRINTED - self.tell(), 0)])


def run(text: str, title: str) -> str:
    """Run a story; the answer has what it printed, its last line's value, and its run as a page."""
    names: Answer = {"__name__": "__main__"}
    answer, value = executed(text, names)
    shown = run_of(value)
    if value is not None and shown is None:
        answer["printed"] += f"{value!r}\n"[:MOST_PRINTED]
    others = (run for run in map(run_of, reversed(names.values())) if run is not None)
    shown = next(others, None) if shown is None else shown
    if isinstance(shown, Timeline) and not shown.notes.title:
        shown = shown.annotate(title=title)
    return json.dumps(answer | page_of(shown))


def check(number: str, text: str) -> str:
    """Check an answer to an exercise; the case on which it fails comes as a page, if it has one."""
    from pagesim.exercises.shrink import smallest

    exercise = exercise_of(number)
    answer, function = answered(exercise, text)
    if "problem" in answer:
        return json.dumps(answer)
    if not callable(function):
        missing = f"Your text has no function {exercise.name}, which is to be checked."
        return json.dumps(answer | {"problem": missing})
    verdict = exercise.check(function)
    if not verdict:
        verdict = smallest(exercise, function, verdict)
    answer["verdict"] = {
        name: getattr(verdict, name)
        for name in ("right", "tried", "headline", "words", "yours", "expected", "why", "printed")
    }
    return json.dumps(answer | page_of(verdict.pair or verdict.run))


def answered(exercise: Any, text: str) -> tuple[Answer, Any]:
    """Run the text of an answer; what came of that, and the function that is to be checked."""
    names: Answer = {"__name__": "__main__", "math": math, "Any": Any}
    answer, _ = executed(text, names)
    return answer, names.get(exercise.name)


def lend_alarm(set_alarm: Callable[[float, float], None]) -> None:
    """Give `signal` the timer that it lacks here: exercises stop an answer that takes too long."""

    def setitimer(which: int, seconds: float, interval: float = 0.0) -> tuple[float, float]:
        set_alarm(seconds, interval)
        return 0.0, 0.0

    vars(signal).update(ITIMER_REAL=0, setitimer=setitimer)


def executed(text: str, names: Answer) -> tuple[Answer, Any]:
    """Run a text as a cell of a notebook; its answer so far, and the value of its last line."""
    printed, value = _Printed(), None
    answer: Answer = {}
    linecache.cache[FILE] = (len(text), None, text.splitlines(keepends=True), FILE)
    try:
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
            tree = ast.parse(text, FILE)
            last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
            exec(compile(tree, FILE, "exec", dont_inherit=True), names)
            if isinstance(last, ast.Expr):
                value = eval(compile(ast.Expression(last.value), FILE, "eval"), names)
    except BaseException as error:  # also SystemExit
        answer = _told(error, text)
    return {"printed": printed.getvalue(), **answer}, value


def _told(error: BaseException, text: str) -> Answer:
    """An error, and the lines of the reader that led to it, the outermost first."""
    if isinstance(error, SyntaxError) and error.filename == FILE:
        frames = [(error.lineno, "")]
        what = f"{type(error).__name__}: {error.msg}"
    else:
        stack = traceback.extract_tb(error.__traceback__)
        frames = [(f.lineno, f.name) for f in stack if f.filename == FILE]
        what = "".join(traceback.format_exception_only(error)).strip()
        what = what.removeprefix(f"{type(error).__module__}.")
    lines = text.splitlines()
    told = [
        {"line": line, "in": "" if name == "<module>" else name, "text": lines[line - 1].strip()}
        for line, name in frames
        if line and line <= len(lines)
    ]
    return {"problem": what, "frames": told}


def run_of(value: object) -> Timeline | Compared | None:
    """The run that a value is, or has."""
    if isinstance(value, Story | Engine):
        with contextlib.suppress(ValueError):  # it is not recorded
            return value.run
    return value if isinstance(value, Timeline | Compared) else None


def page_of(shown: Timeline | Compared | None) -> Answer:
    """The player as a document of its own."""
    if shown is None:
        return {}
    with TemporaryDirectory() as folder:
        path = Path(folder) / "run.html"
        shown.to_html(path)
        return {"page": path.read_text("utf-8")}


def exercise_of(number: str) -> Any:
    """An exercise without the others of its chapter: some of them need NumPy, which is not here."""
    from pagesim import exercises
    from pagesim.exercises.writing import exercise

    chapter = f"ch{number.partition('.')[0]:0>2}"
    for file in sorted((Path(exercises.__file__).parent / chapter).glob("[!_]*.py")):
        if f'"""# {number} ' in file.read_text("utf-8")[:40]:
            return exercise(import_module(f"pagesim.exercises.{chapter}.{file.stem}"))
    raise LookupError(f"there is no exercise {number}")
