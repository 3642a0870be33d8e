"""The file of a sweep: a line of JSON for each finished cell, which a later sweep takes up."""

import json
import os
from contextlib import ExitStack
from typing import BinaryIO

from filelock import FileLock, Timeout

from pagesim.errors import UsageError
from pagesim.files import check_output
from pagesim.files.jsonl import JsonObject
from pagesim.studies.cells import Cell, CellResult, Function


class SweepFile:
    """A file at ``path`` for these cells; its first line names the function.

    UsageError for a file that cannot be continued, or that belongs to another sweep.
    """

    def __init__(self, path: str | os.PathLike[str], function: Function, cells: list[Cell]) -> None:
        check_output(path)
        if os.fspath(path).endswith(".gz") or (os.path.exists(path) and not os.path.isfile(path)):
            raise UsageError(f"{path} cannot be continued line by line: name a file without .gz")
        name = getattr(function, "__qualname__", "<lambda>")
        if name.endswith("<lambda>"):
            raise UsageError(
                f"the file identifies functions by name, and {function!r} has none: use def, and "
                "put fixed arguments into the grid as lists of one value"
            )
        name = f"{function.__module__}.{name}"
        self._header = {"format": "pagesim sweep", "version": 1, "function": name}
        self._cells, self._places = cells, {_line(cell): at for at, cell in enumerate(cells)}
        self.path = path
        self._file: BinaryIO

    def take(self, known: dict[int, CellResult]) -> int:
        """Take the values that the file has, by cell; returns the bytes of its whole lines."""
        whole = 0
        with open(self.path, "rb") as file:
            for number, raw in enumerate(file, 1):
                if not raw.endswith(b"\n") and (whole or _line(self._header).startswith(raw)):
                    break  # what a killed process left of a line
                whole += len(raw)
                try:
                    line = json.loads(raw)
                    if number == 1 and line | self._header != line:
                        raise ValueError(f"it has {line}, not {self._header}")
                    if number > 1:
                        if (key := _line(line["cell"])) not in self._places:
                            raise ValueError("the grid has no such cell")
                        at = self._places[key]
                        result = CellResult(**line | {"index": at, "cell": self._cells[at]})
                        if result.ok:
                            known[at] = result
                except (LookupError, RecursionError, TypeError, ValueError) as error:
                    raise UsageError(
                        f"{self.path}:{number} does not belong to this sweep ({error}): pass "
                        "another file as out, or remove the line to run its cell again"
                    ) from error
        return whole

    def open(self, known: dict[int, CellResult], stack: ExitStack) -> None:
        """Be the file's one writer, from its last whole line on, until the stack is closed."""
        lock = FileLock(f"{os.path.realpath(self.path)}.lock", blocking=False)
        try:
            stack.enter_context(lock)
        except Timeout:
            raise UsageError(
                f"{self.path} is being written by another sweep, which holds {lock.lock_file}: "
                "wait until that sweep ends, or pass another file as out"
            ) from None
        if os.name == "posix":  # Windows removes it by itself
            stack.callback(os.unlink, lock.lock_file)
        self._file = stack.enter_context(open(self.path, "ab"))  # noqa: SIM115
        whole = self.take(known)
        self._file.truncate(whole)
        if not whole:
            self.write(self._header)

    def write(self, line: JsonObject) -> None:
        """Write one more line, of a finished cell."""
        self._file.write(_line(line))
        self._file.flush()


def _line(value: JsonObject) -> bytes:
    return json.dumps(value, sort_keys=True).encode() + b"\n"
