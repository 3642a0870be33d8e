"""The cells of a grid, and what a function gives on one of them."""

from __future__ import annotations

import copy
import itertools
import json
import math
import time
import traceback
from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import dataclass
from typing import Any

from pagesim.errors import UsageError
from pagesim.files.jsonl import JsonObject

Cell = JsonObject
Grid = Mapping[str, Iterable[Any]] | Iterable[Mapping[str, Any]]
Function = Callable[..., JsonObject]

MOST = 1_000_000
"""The most cells of a sweep: all of them and all results are kept in memory."""


@dataclass(frozen=True, slots=True)
class CellResult:
    """The result of one cell: a value, the function's dict as JSON gives it back, or an error.

    ``error`` is an exception as text, ``traceback`` its traceback; ``seconds`` is wall time where
    the cell ran, ``index`` its place in the grid, from 0.
    """

    cell: Cell
    value: JsonObject | None
    error: str | None
    seconds: float
    index: int
    traceback: str | None = None

    @property
    def ok(self) -> bool:
        """Whether there is a value."""
        return self.error is None

    def __str__(self) -> str:
        return f"cell {self.index} {self.cell}: {self.traceback or self.error or self.value}"


def cells_of(grid: Grid) -> list[Cell]:
    """The cells in order. TypeError or UsageError names what is wrong with the grid."""
    if isinstance(grid, str | bytes) or not isinstance(grid, Iterable):
        raise TypeError(f"grid must be a dict of lists or a list of dicts, not {grid!r}")
    if isinstance(grid, Mapping):
        lists = {name: _values(name, values) for name, values in grid.items()}
        if (many := math.prod(map(len, lists.values()))) > MOST:
            raise UsageError(
                f"the grid has {many:,} cells, more than the {MOST:,} of a sweep: divide it"
            )
        cells = [dict(zip(lists, row, strict=True)) for row in itertools.product(*lists.values())]
    else:
        cells = [_cell(f"grid[{at}]", cell) for at, cell in enumerate(grid)]
    if not cells or grid == {}:
        raise UsageError("the grid has no cells: give at least one name with one value")
    return cells


def run_cell(function: Function, index: int, cell: Cell, attempt: str) -> CellResult:
    """Run one cell where the executor puts it.

    ``attempt`` differs: Dask would answer a call that equals an earlier one as it answered that.
    """
    started = time.perf_counter()
    try:
        # The threads of a pool share the grid's values: a cell must not see another's changes.
        value = function(**copy.deepcopy(cell))
        if not isinstance(value, dict):
            raise TypeError(f"the function must return a dict, not {value!r}")
        value = {name: plain(f"value[{name!r}]", part) for name, part in value.items()}
    except (Exception, SystemExit) as error:
        return failure(index, cell, error, time.perf_counter() - started)
    return CellResult(cell, value, None, time.perf_counter() - started, index)


def failure(index: int, cell: Cell, error: BaseException, seconds: float = 0.0) -> CellResult:
    """An exception as text: not every exception can be pickled."""
    message = "".join(traceback.format_exception_only(error)).strip()
    trace = "".join(traceback.format_exception(error))
    return CellResult(cell, None, message, seconds, index, trace)


def plain(name: str, value: Any) -> Any:
    """``value`` after a round trip through JSON; TypeError or UsageError if it cannot make it."""
    try:
        return json.loads(json.dumps(value, allow_nan=False))
    except (TypeError, ValueError) as error:
        raise (UsageError if isinstance(error, ValueError) else TypeError)(
            f"{name} is {value!r}, which JSON cannot represent ({error}): use None, bool, int, "
            "float, str, list or dict"
        ) from error


def _values(name: str, values: Any) -> list[Any]:
    values = values.tolist() if hasattr(values, "tolist") else values
    # The order of a set differs between processes, so the sweep could not be resumed.
    if not isinstance(values, Iterable) or isinstance(values, str | bytes | Mapping | Set):
        raise TypeError(f"grid[{name!r}] must be a list of values, not {values!r}: write [value]")
    listed = list(values)
    for at, value in enumerate(listed):
        plain(f"grid[{name!r}][{at}]", value)
    return listed


def _cell(name: str, cell: Any) -> Cell:
    if not isinstance(cell, Mapping):
        raise TypeError(f"{name} must be a dict with a cell's values, not {cell!r}")
    for key, value in cell.items():
        plain(f"{name}[{key!r}]", value)
    return dict(cell)
