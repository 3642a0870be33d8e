"""Watching what a kernel does to memory, from inside Triton's interpreter.

The interpreter runs one program of the grid after the other, and every load, store and atomic ends
in one of four functions of its C++ module, with the raw addresses as a NumPy array. `watched` wraps
these four, and the two places where a launch and a program begin.

All six are private to Triton. So before the first real launch a witness kernel, whose accesses are
known beforehand, must be seen exactly as expected.
"""

import contextlib
import functools
import inspect
from collections.abc import Callable, Iterator
from importlib import import_module
from types import ModuleType
from typing import Any, Literal, Protocol, no_type_check
from unittest.mock import patch

import numpy as np
import torch
from numpy.typing import ArrayLike, DTypeLike, NDArray

from pagesim.kernels.runtime import mode
from pagesim.kernels.xray.ownership import Arguments

triton, tl = mode.load_triton()

Kind = Literal["read", "write", "atomic"]
Addresses = NDArray[np.uint64]
Lanes = NDArray[np.bool_]
Values = NDArray[np.generic]


class Observer(Protocol):
    """Is told of accesses. A lane is one element of the tile that a program loads or stores."""

    def launch(self, kernel: str, arguments: Arguments, callers: Arguments) -> None:
        """A kernel starts: its arguments as the interpreter reads them, and as the caller's."""

    def program(self, index: tuple[int, int, int]) -> None:
        """The next program of the grid starts."""

    def access(self, kind: Kind, addresses: Addresses, lanes: Lanes, itemsize: int) -> Lanes:
        """Bytes [address, address + itemsize) of each set lane; returns the lanes to carry out."""


class _Watching:
    """Wraps the interpreter's C++ module: reports accesses, passes everything else through."""

    def __init__(self, module: ModuleType, observer: Observer) -> None:
        self._module, self._observer = module, observer

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)

    def _ask(self, kind: Kind, pointers: Addresses, mask: ArrayLike, itemsize: int) -> Lanes:
        lanes = np.broadcast_to(np.asarray(mask, dtype=bool), pointers.shape)
        return np.ascontiguousarray(self._observer.access(kind, pointers, lanes, itemsize))

    def load(self, pointers: Addresses, mask: ArrayLike, other: Values, dtype: DTypeLike) -> Any:
        lanes = self._ask("read", pointers, mask, np.dtype(dtype).itemsize)
        return self._module.load(pointers, lanes, other, dtype)

    def store(self, pointers: Addresses, value: Values, mask: ArrayLike) -> None:
        lanes = self._ask("write", pointers, mask, value.dtype.itemsize)
        self._module.store(pointers, value, lanes)

    def atomic_rmw(
        self, operation: Any, pointers: Addresses, value: Values, mask: ArrayLike, order: Any
    ) -> Any:
        lanes = self._ask("atomic", pointers, mask, value.dtype.itemsize)
        return self._module.atomic_rmw(operation, pointers, value, lanes, order)

    def atomic_cas(self, pointers: Addresses, compare: Values, value: Values, order: Any) -> Any:
        # It has no mask, so no lane can be omitted.
        self._ask("atomic", pointers, np.ones(pointers.shape, dtype=bool), value.dtype.itemsize)
        return self._module.atomic_cas(pointers, compare, value, order)


def require_interpreter(what: str) -> None:
    """Raise CannotRunError, with the way out, unless kernels are interpreted here and watchable."""
    backend = mode.decide()
    if backend.mode == "compiled":
        raise mode.CannotRunError(
            f"{what} watches Triton's interpreter, but kernels are compiled in this process "
            f"({backend.reason}): restart Python with TRITON_INTERPRET=1 in its environment"
        )
    if backend.mode == "reference":
        raise mode.CannotRunError(
            f"{what} watches Triton's interpreter, and there is none here ({backend.reason}): "
            f"use Linux and {mode.INSTALL}"
        )
    problem = _misunderstanding()
    if problem:
        raise mode.CannotRunError(
            f"{what} does not understand the interpreter of triton {triton.__version__} "
            f"({problem}), so its result could be wrong: use triton 3.7.1"
        )


@contextlib.contextmanager
def watched(observer: Observer) -> Iterator[None]:
    """Tell `observer` of everything that kernels do to memory in this block."""
    interpreter: Any = import_module("triton.runtime.interpreter")
    builder, executor = interpreter.interpreter_builder, interpreter.GridExecutor
    to_host, set_index = executor._init_args_hst, builder.set_grid_idx

    def launch(self: Any, positional: Any, keywords: dict[str, Any]) -> Any:
        host, host_keywords = to_host(self, positional, keywords)
        bind: Callable[..., Arguments] = functools.partial(inspect.getcallargs, self.fn)
        observer.launch(
            self.fn.__name__, bind(*host, **host_keywords), bind(*positional, **keywords)
        )
        return host, host_keywords

    def program(x: int, y: int, z: int) -> None:
        set_index(x, y, z)
        observer.program((x, y, z))

    with (
        patch.object(interpreter, "_interpreter", _Watching(interpreter._interpreter, observer)),
        patch.object(executor, "_init_args_hst", launch),
        patch.object(builder, "set_grid_idx", program),
    ):
        yield


@no_type_check
@triton.jit
def _witness_kernel(count_ptr, x_ptr, out_ptr, WIDTH: tl.constexpr):
    """Each program: one scalar, `count` masked rows, one store of the last lane, one atomic."""
    program = tl.program_id(0)
    lane = tl.arange(0, WIDTH)
    total = tl.zeros([WIDTH], dtype=tl.float32)
    for row in range(0, tl.load(count_ptr)):
        total += tl.load(x_ptr + row * WIDTH + lane, mask=lane < 3, other=0.0).to(tl.float32)
    tl.store(out_ptr + program * WIDTH + lane, total, mask=lane == WIDTH - 1)
    tl.atomic_add(out_ptr + 2 * WIDTH, 1.0)


Noted = tuple[str | int | tuple[int, ...] | list[int] | None, ...]
"""A launch, or an access: what it is and where."""


class _Witness:
    """Records the witness kernel's accesses: kind, program, offset of each byte range, size."""

    def __init__(self, **tensors: torch.Tensor) -> None:
        self.starts = {tensor.data_ptr(): name for name, tensor in tensors.items()}
        self.index: tuple[int, int, int] | None = None
        self.seen: list[Noted] = []

    def launch(self, kernel: str, arguments: Arguments, callers: Arguments) -> None:
        names = [self.starts[a.data_ptr()] for a in arguments.values() if hasattr(a, "data_ptr")]
        self.seen.append((kernel, *names))

    def program(self, index: tuple[int, int, int]) -> None:
        self.index = index

    def access(self, kind: Kind, addresses: Addresses, lanes: Lanes, itemsize: int) -> Lanes:
        wanted = [int(address) for address in addresses[lanes]]
        start = max((s for s in self.starts if s <= min(wanted)), default=0)
        offsets = [address - start for address in wanted]
        self.seen.append((kind, self.index, self.starts.get(start), offsets, itemsize))
        return lanes


@functools.cache
def _misunderstanding() -> str | None:
    """How this interpreter differs from what `watched` expects, or None."""
    count = torch.tensor([2], dtype=torch.int32)
    x, out = torch.ones(8, dtype=torch.float16), torch.zeros(9)
    witness = _Witness(count=count, x=x, out=out)
    try:
        with watched(witness):
            _witness_kernel[(2,)](count, x, out, WIDTH=4)
    except Exception as error:  # private names may be gone, or be called differently
        return f"{type(error).__name__}: {error}"
    expected: list[Noted] = [("_witness_kernel", "count", "x", "out")]
    for number in (0, 1):
        index = (number, 0, 0)
        expected += [
            ("read", index, "count", [0], 4),
            ("read", index, "x", [0, 2, 4], 2),
            ("read", index, "x", [8, 10, 12], 2),
            ("write", index, "out", [16 * number + 12], 4),
            ("atomic", index, "out", [32], 4),
        ]
    for seen, wanted in zip(witness.seen, expected, strict=False):
        if seen != wanted:
            return f"a witness kernel did {wanted}, but {seen} was seen"
    if len(witness.seen) != len(expected) or float(out[8]) != 2.0:
        return f"{len(witness.seen)} of a witness kernel's {len(expected)} accesses were seen"
    return None
