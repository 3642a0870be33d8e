"""One source for what a student gets and for what is right: the text between two marks is blanked.

The marks are nbgrader's: ``### BEGIN SOLUTION`` and ``### END SOLUTION``. Under a line may stand
what a wrong answer has in its place, ``### NAME: LINE``, or nothing behind the colon; a second one
of the same name is one line more. Neither a stub nor a solution has these lines.
"""

from __future__ import annotations

import inspect
import itertools
import linecache
import re
import textwrap
from importlib import import_module
from typing import Any

from pagesim.exercises.case import Function

Namespace = dict[str, Any]
"""The names of a text that has run, as those of a notebook."""
_SOLUTION = re.compile(r"^([ \t]*)### BEGIN SOLUTION\n.*?### END SOLUTION", re.S | re.M)
_MARK = re.compile(r"^[ \t]*### (BEGIN|END) SOLUTION\n", re.M)
_NOTE = re.compile(r"  # (type: ignore\[[a-z-]+\]|fmt: skip)$", re.M)
_CHANGE = re.compile(r"^[ \t]*### (\w+):(?: (.*))?\n", re.M)
_CHANGED = re.compile(r"^([ \t]*)(.*\n)((?:[ \t]*### \w+:.*\n)+)", re.M)
_numbers = itertools.count(1)


class Cell:
    """A function in the text of a notebook cell, which runs when the function is first wanted.

    For what needs torch and triton: importing an exercise imports neither. A call goes to the
    function.
    """

    def __init__(self, text: str, name: str, file: str = "") -> None:
        self.text, self.__name__, self.file = text, name, file
        self._function: Function | None = None

    def load(self) -> Function:
        """The function itself."""
        if self._function is None:
            import_module("pagesim.kernels")  # first: it decides how Triton runs
            namespace: Namespace = {"__name__": f"cell_{self.__name__}"}
            self._function = _run(self.text, self.__name__, namespace)
        return self._function

    def __call__(self, *args: object) -> Any:
        return self.load()(*args)


def text(function: Function) -> str:
    """The source of a function or of a whole cell with its marks; no notes, no wrong answers."""
    return _CHANGE.sub("", _written(function))


def changes(function: Function) -> list[tuple[int, str]]:
    """The lines with a piece of a wrong answer, and its name; lines count in the file."""
    first = 1 if isinstance(function, Cell) else function.__code__.co_firstlineno
    lines = enumerate(_written(function).splitlines(keepends=True), first)
    return [(line, change[1]) for line, text in lines if (change := _CHANGE.match(text))]


def changed(function: Function, name: str) -> Function:
    """The wrong answer of this name, whose pieces stand under the lines of the right one."""

    def line(found: re.Match[str]) -> str:
        indent, rest, changes = found.groups()
        pieces = [piece for whose, piece in _CHANGE.findall(changes) if whose == name]
        if not pieces:
            return f"{indent}{rest}"
        return "".join(f"{indent}{piece}\n" for piece in pieces if piece)

    return rewritten(function, _CHANGED.sub(line, _written(function)))


def _written(function: Function) -> str:
    if isinstance(function, Cell):
        return _NOTE.sub("", function.text)
    return _NOTE.sub("", textwrap.dedent(inspect.getsource(function)))


def stub(source: str) -> str:
    """What the student gets: the solution blanked as nbgrader blanks it."""
    return _SOLUTION.sub(r"\1# YOUR CODE HERE\n\1raise NotImplementedError()", source)


def solved(source: str) -> str:
    """The solution without the marks."""
    return _MARK.sub("", source)


def rewritten(function: Function, source: str) -> Function:
    """The function of the same name with another text, in the same module."""
    if isinstance(function, Cell):
        return Cell(source, function.__name__)
    namespace = dict(inspect.unwrap(function).__globals__)
    return _run(source, function.__name__, namespace, flags=annotations.compiler_flag)


def _run(source: str, name: str, namespace: Namespace, flags: int = 0) -> Function:
    run(source, f"<exercise {name} {next(_numbers)}>", namespace, flags)
    function: Function = namespace[name]
    return function


def run(source: str, file: str, namespace: Namespace, flags: int = 0) -> None:
    """Run a text as a file; inspect, tracebacks and triton.jit find its lines."""
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    exec(compile(source, file, "exec", flags, dont_inherit=True), namespace)
