"""The cells of a grid, and the result of running a function on one of them."""

from __future__ import annotations

import copy
import hashlib
import itertools
import json
import math
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from time import perf_counter
from typing import Any, TypeAlias, overload

from pagesim.errors import UsageError

Cell: TypeAlias = dict[str, Any]
Grid: TypeAlias = Mapping[str, Iterable[Any]] | Iterable[Mapping[str, Any]]
Function: TypeAlias = Callable[..., dict[str, Any]]


@dataclass(frozen=True, slots=True)
class CellResult:
    """The result of one cell: a value or an error.

    ``value`` is the function's dict after a round trip through JSON (a tuple becomes a list), None
    for a failed cell; ``error`` is then the exception as text, and ``traceback`` its traceback.
    ``seconds`` is wall time where the cell ran; ``index`` its place in the grid, from 0.
    """

    cell: Cell
    value: dict[str, Any] | None
    error: str | None
    seconds: float
    index: int
    traceback: str | None = None

    @property
    def ok(self) -> bool:
        """Whether there is a value."""
        return self.error is None

    def __str__(self) -> str:
        what = self.traceback or self.error if self.error is not None else self.value
        return f"cell {self.index} {self.cell}: {what}"


class Cells(Sequence[Cell]):
    """The cells of a grid in order, each made on demand: a million cost no memory.

    The last name of a mapping changes fastest, as in nested loops. UsageError for an empty grid;
    UsageError or TypeError names a key and a value that JSON cannot hold. ``num_cells`` may be more
    than ``len`` can say.
    """

    def __init__(self, grid: Grid) -> None:
        self._lists: dict[str, list[Any]] = {}
        self._cells: list[Cell] = []
        if isinstance(grid, Mapping):
            self._lists = {name: _values(name, values) for name, values in grid.items()}
            self.num_cells = math.prod(map(len, self._lists.values())) if self._lists else 0
        else:
            self._cells = [_checked(number, cell) for number, cell in enumerate(_listed(grid))]
            self.num_cells = len(self._cells)
        if not self.num_cells:
            raise UsageError("the grid has no cells: give at least one name with one value")

    def __len__(self) -> int:
        return self.num_cells

    @overload
    def __getitem__(self, index: int) -> Cell: ...
    @overload
    def __getitem__(self, index: slice) -> list[Cell]: ...
    def __getitem__(self, index: int | slice) -> Cell | list[Cell]:
        if isinstance(index, slice):
            return [self[at] for at in range(*index.indices(self.num_cells))]
        rest = range(self.num_cells)[index]
        if self._cells:
            return dict(self._cells[rest])
        cell: Cell = {}
        for name, values in reversed(self._lists.items()):
            rest, at = divmod(rest, len(values))
            cell[name] = values[at]
        return dict(reversed(cell.items()))

    def __iter__(self) -> Iterator[Cell]:
        if self._cells:
            yield from map(dict, self._cells)
            return
        for values in itertools.product(*self._lists.values()):
            yield dict(zip(self._lists, values, strict=True))

    def digest(self) -> str:
        """SHA-256 of all cells in order, equal for a mapping and the same cells written out."""
        digest = hashlib.sha256()
        for cell in self:
            digest.update(json.dumps(cell, sort_keys=True).encode() + b"\n")
        return digest.hexdigest()


def run_cell(function: Function, index: int, cell: Cell, attempt: str) -> CellResult:
    """Run one cell where the executor puts it, and return its value or its exception.

    ``attempt`` is different each time: Dask treats calls with equal arguments as one call and would
    answer a second attempt with the failure of the first.
    """
    started = perf_counter()
    try:
        # The threads of a pool share the grid's values: a cell must not see another's changes.
        value = function(**copy.deepcopy(cell))
        if not isinstance(value, dict):
            raise TypeError(f"the function must return a dict, not {value!r}")
        check_json("value", value)
        plain = json.loads(json.dumps(value))  # nothing else can travel
    except (Exception, SystemExit) as error:
        return failure(index, cell, error, perf_counter() - started)
    return CellResult(cell, plain, None, perf_counter() - started, index)


def name_of(function: Function) -> str:
    """Module and name of a function, or of the class of a callable object."""
    owner = function if hasattr(function, "__qualname__") else type(function)
    return f"{getattr(owner, '__module__', None) or 'builtins'}.{owner.__qualname__}"


def failure(index: int, cell: Cell, error: BaseException, seconds: float = 0.0) -> CellResult:
    """An exception as text: not every exception can be pickled."""
    message = "".join(traceback.format_exception_only(error)).strip()
    trace = "".join(traceback.format_exception(error))
    return CellResult(cell, None, message, seconds, index, trace)


def check_json(name: str, value: Any) -> None:
    """TypeError or UsageError with the path to the first thing that JSON cannot hold."""
    if isinstance(value, dict):
        for key, part in value.items():
            if not isinstance(key, str):
                raise TypeError(f"{name} has the key {key!r}: the keys must be strings")
            check_json(f"{name}[{key!r}]", part)
    elif isinstance(value, list | tuple):
        for at, part in enumerate(value):
            check_json(f"{name}[{at}]", part)
    elif isinstance(value, float):
        if not math.isfinite(value):
            raise UsageError(f"{name} is {value}, which JSON cannot represent: use None instead")
    elif value is not None and not isinstance(value, str | int):
        raise TypeError(
            f"{name} is {value!r} ({type(value).__name__}), which JSON cannot represent: use None, "
            "bool, int, float, str, list or dict"
        )


def _values(name: Any, values: Any) -> list[Any]:
    """The values of one name of a grid, each checked."""
    if not isinstance(name, str):
        raise TypeError(f"the grid has the key {name!r}: the names must be strings")
    values = values.tolist() if hasattr(values, "tolist") else values
    # The order of a set differs between processes, so the sweep could not be resumed.
    if not isinstance(values, Iterable) or isinstance(values, str | bytes | Mapping | Set):
        raise TypeError(f"grid[{name!r}] must be a list of values, not {values!r}: write [value]")
    listed = list(values)
    check_json(f"grid[{name!r}]", listed)
    return listed


def _listed(grid: object) -> Iterable[Any]:
    if not isinstance(grid, Iterable) or isinstance(grid, str | bytes):
        raise TypeError(f"grid must be a dict of lists or a list of dicts, not {grid!r}")
    return grid


def _checked(number: int, cell: Any) -> Cell:
    if not isinstance(cell, Mapping):
        raise TypeError(f"grid[{number}] must be a dict with a cell's values, not {cell!r}")
    check_json(f"grid[{number}]", dict(cell))
    return dict(cell)
