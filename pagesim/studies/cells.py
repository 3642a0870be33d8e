"""The cells of a grid, and what a function gives on one of them."""

import copy
import math
import time
import traceback
from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import dataclass
from itertools import product

from pagesim.checks import as_json
from pagesim.errors import UsageError
from pagesim.files.jsonl import Json, JsonObject

Cell = JsonObject
Grid = Mapping[str, Iterable[Json]] | Iterable[Mapping[str, Json]]
Function = Callable[..., JsonObject]

MOST = 1_000_000
"""The most cells of a sweep: all of them and all results are kept in memory."""


@dataclass(frozen=True, slots=True)
class CellResult:
    """The result of one cell: either a value or an error.

    ``value`` is the dict that the function returned, as read back from JSON. ``error`` is the
    exception as text, and ``traceback`` its traceback. ``seconds`` is the wall time on the machine
    that ran the cell, and ``index`` the cell's place in the grid, from 0.
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
        lists = {name: _values(f"grid[{name!r}]", values) for name, values in grid.items()}
        if (many := math.prod(map(len, lists.values()))) > MOST:
            raise UsageError(
                f"the grid has {many:,} cells, but a sweep has at most {MOST:,}: divide the grid"
            )
        cells = [dict(zip(lists, row, strict=True)) for row in product(*lists.values()) if row]
    else:
        cells = []
        for at, cell in enumerate(grid):
            if not isinstance(cell, Mapping):
                raise TypeError(f"grid[{at}] must be a dict with a cell's values, not {cell!r}")
            _check(f"grid[{at}]", cell.items())
            cells.append(dict(cell))
    if not cells:
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
        value = {name: as_json(f"value[{name!r}]", part) for name, part in value.items()}
    except (Exception, SystemExit) as error:
        return failure(index, cell, error, time.perf_counter() - started)
    return CellResult(cell, value, None, time.perf_counter() - started, index)


def failure(index: int, cell: Cell, error: BaseException, seconds: float = 0.0) -> CellResult:
    """An exception as text: not every exception can be pickled."""
    message = "".join(traceback.format_exception_only(error)).strip()
    trace = "".join(traceback.format_exception(error))
    return CellResult(cell, None, message, seconds, index, trace)


def _values(name: str, values: Iterable[Json]) -> list[Json]:
    values = values.tolist() if hasattr(values, "tolist") else values
    # The order of a set differs between processes, so the sweep could not be resumed.
    if not isinstance(values, Iterable) or isinstance(values, str | bytes | Mapping | Set):
        raise TypeError(f"{name} must be a list of values, not {values!r}: write [value]")
    listed = list(values)
    _check(name, enumerate(listed))
    return listed


def _check(name: str, members: Iterable[tuple[int | str, Json]]) -> None:
    for key, value in members:
        as_json(f"{name}[{key!r}]", value)
