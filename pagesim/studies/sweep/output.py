"""The file that a sweep grows: one JSON line a cell, so that it can be taken up where it ended.

The first line says which sweep it is. A line without its newline is one that a killed process was
writing: it counts as not there, and is cut off before the next one is written.
"""

from __future__ import annotations

import json
import os
from contextlib import ExitStack
from dataclasses import asdict
from io import FileIO
from pathlib import Path
from typing import Any

from pagesim.errors import UsageError
from pagesim.files import check_output
from pagesim.studies.sweep.cells import CellResult, Cells, Function, name_of
from pagesim.studies.sweep.writer import only_writer

FORMAT = "pagesim sweep"
VERSION = 1


class SweepFile:
    """The output of one sweep; read when it is made, written between ``open`` and ``close``.

    ``done`` has the results found in it but for failed cells, which are to be tried again.
    UsageError when the file is of another grid or function or no sweep's at all; it is then left
    as it was.
    """

    def __init__(self, path: str | os.PathLike[str], function: Function, cells: Cells) -> None:
        self.path = Path(path)
        if self.path.suffix == ".gz":
            raise UsageError(f"{path}: lines are appended, so it cannot be compressed: drop .gz")
        check_output(path)
        if self.path.exists() and not self.path.is_file():
            raise UsageError(f"{path} cannot be read back, as a sweep must: name a file")
        self._cells = cells
        self._header = {
            "format": FORMAT,
            "version": VERSION,
            "function": _own_name(function),
            "cells": len(cells),
            "names": sorted(cells[0]),
            "sha256": cells.digest(),
        }
        self.done: dict[int, CellResult] = {}
        self._whole = self._size = 0
        self._file: FileIO | None = None
        self._closing = ExitStack()
        if self.path.exists():
            self._read()

    def open(self) -> None:
        """Make ready to add: cut off a torn line, begin a new file with its header.

        UsageError when another sweep writes to it, or has written since this one read it.
        """
        with ExitStack() as stack:
            # Unbuffered: an interrupt finds a line in the file or not, never waiting in a buffer.
            file = stack.enter_context(open(self.path, "ab", buffering=0))
            stack.enter_context(only_writer(file, self.path))
            self._check_size(file, self._size)
            file.truncate(self._whole)
            self._file, self._closing = file, stack.pop_all()
        if not self._whole:
            self._write(self._header)

    def add(self, result: CellResult) -> None:
        """Append one finished cell; it is in the system's hands when this returns."""
        self._write(asdict(result))

    def close(self) -> None:
        """End the writing; the file may be opened again."""
        if self._file is not None:
            self._size = self._whole
            self._file = None
            self._closing.close()

    def _write(self, line: dict[str, Any]) -> None:
        if self._file is None:
            raise UsageError(f"{self.path} is not open")
        self._check_size(self._file, self._whole)
        data, written = _line(line), 0
        try:
            while written < len(data):
                written += self._file.write(data[written:])
        except BaseException:  # a full disk, Ctrl-C: no half a line for the next to follow
            self._file.truncate(self._whole)
            raise
        self._whole += len(data)

    def _check_size(self, file: FileIO, size: int) -> None:
        if os.fstat(file.fileno()).st_size != size:
            raise UsageError(
                f"{self.path} has changed since this sweep read it: if another sweep writes to "
                "it, wait for its end and begin again"
            )

    def _read(self) -> None:
        self._size = self.path.stat().st_size
        with open(self.path, "rb") as file:
            for number, raw in enumerate(file, 1):
                if number == 1:
                    self._check_header(raw)
                if not raw.endswith(b"\n"):
                    break
                self._whole += len(raw)
                if number > 1:
                    self._take(raw, f"{self.path}:{number}")

    def _check_header(self, raw: bytes) -> None:
        if _line(self._header).startswith(raw):
            return
        try:
            header = json.loads(raw)
        except (RecursionError, ValueError):
            header = None
        if not isinstance(header, dict) or header.get("format") != FORMAT:
            raise UsageError(f"{self.path} is no sweep's output: give out another name")
        for key, mine in self._header.items():
            if header.get(key) != mine:
                what = "other values" if key == "sha256" else f"{key} {header.get(key)!r}"
                ours = "the grid given" if key == "sha256" else f"{mine!r}"
                raise UsageError(
                    f"{self.path} is the output of another sweep: it has {what}, not {ours}; give "
                    "out another name, or remove the file"
                )

    def _take(self, raw: bytes, where: str) -> None:
        try:
            line = json.loads(raw)
            result = CellResult(**line)
            cell = self._cells[result.index]
            if result.index < 0 or json.loads(_line(cell)) != result.cell:
                raise ValueError("the grid has another cell there")
            if result.ok and not isinstance(result.value, dict):
                raise ValueError("it has neither a value nor an error")
        except (IndexError, RecursionError, TypeError, ValueError) as error:
            raise UsageError(
                f"{where} is no cell of this sweep ({error}): remove the line, and the cell is "
                "run again"
            ) from error
        if result.ok:
            self.done[result.index] = CellResult(**line | {"cell": cell})


def _line(value: dict[str, Any]) -> bytes:
    return json.dumps(value).encode() + b"\n"


def _own_name(function: Function) -> str:
    """The name by which the file knows a function; UsageError if it has none of its own."""
    name = name_of(function)
    if name.endswith("<lambda>") or not hasattr(function, "__qualname__"):
        raise UsageError(
            f"the file tells functions apart by their names, and {function!r} has none: write "
            "def, and put fixed arguments into the grid as lists of one value"
        )
    return name
