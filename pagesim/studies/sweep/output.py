"""The output file of a sweep: one JSON line per cell, so that the sweep can be resumed.

The first line identifies the sweep. A line without a newline was left by a killed process: it is
ignored, and cut off before the next line is written.
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
    """The output of one sweep: read on creation, written between ``open`` and ``close``.

    ``done`` has the results found in it, except failed cells, which are retried. UsageError if the
    file belongs to another grid or function or is not a sweep's; it is then left unchanged.
    """

    def __init__(self, path: str | os.PathLike[str], function: Function, cells: Cells) -> None:
        self.path = Path(path)
        if self.path.suffix == ".gz":
            raise UsageError(f"{path}: lines are appended, so it cannot be compressed: omit .gz")
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
        """Prepare for adding: cut off an incomplete line, begin a new file with its header.

        UsageError if another sweep writes to it, or has written since this one read it.
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
        """Append one finished cell; it has been passed to the system when this returns."""
        self._write(asdict(result))

    def close(self) -> None:
        """Stop writing; the file may be opened again."""
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
        except BaseException:  # a full disk, Ctrl-C: never leave half a line
            self._file.truncate(self._whole)
            raise
        self._whole += len(data)

    def _check_size(self, file: FileIO, size: int) -> None:
        if os.fstat(file.fileno()).st_size != size:
            raise UsageError(
                f"{self.path} has changed since this sweep read it: if another sweep is writing to "
                "it, wait until it ends and start again"
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
            raise UsageError(f"{self.path} is not the output of a sweep: give out another name")
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
                f"{where} is not a cell of this sweep ({error}): remove the line, and the cell is "
                "run again"
            ) from error
        if result.ok:
            self.done[result.index] = CellResult(**line | {"cell": cell})


def _line(value: dict[str, Any]) -> bytes:
    return json.dumps(value).encode() + b"\n"


def _own_name(function: Function) -> str:
    """The name by which the file identifies a function; UsageError for a lambda or the like."""
    name = name_of(function)
    if name.endswith("<lambda>") or not hasattr(function, "__qualname__"):
        raise UsageError(
            f"the file identifies functions by name, and {function!r} has none: use def, and put "
            "fixed arguments into the grid as lists of one value"
        )
    return name
