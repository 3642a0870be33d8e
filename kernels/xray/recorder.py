"""Turns what the interpreter does to memory into accesses of named tensors."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from pagesim.kernels.xray.accesses import Access, Program, Region
from pagesim.kernels.xray.interpreter import Addresses, Kind, Lanes
from pagesim.kernels.xray.ownership import Arguments


class Recorder:
    """The observer that fills a trace."""

    def __init__(self, arguments: Arguments) -> None:
        self.programs: list[Program] = []
        self.regions: dict[str, Region] = {}
        self._callers = dict(_tensors(arguments.items()))
        # Kept alive, or the next tensor that the launcher makes could get the same address.
        self._kept: list[torch.Tensor] = []
        self._launch, self._kernel = -1, ""
        for name, tensor in self._callers.items():
            if tensor.device.type == "cpu":
                self._add(name, tensor, True)

    def launch(self, kernel: str, arguments: Arguments, callers: Arguments) -> None:
        self._launch, self._kernel = self._launch + 1, kernel
        given = dict(_tensors(callers.items()))
        storages = {_storage(tensor) for tensor in self._callers.values()}
        for name, tensor in _tensors(arguments.items()):
            if _storage(given[name]) not in storages:
                self._add(name.removesuffix("_ptr"), tensor, False)
            elif given[name].device.type != "cpu":
                # The interpreter works on copies of tensors that live on a GPU.
                same = (n for n, t in self._callers.items() if _view(t) == _view(given[name]))
                self._add(next(same, name.removesuffix("_ptr")), tensor, True)

    def program(self, index: tuple[int, int, int]) -> None:
        self.programs.append(Program(self._launch, self._kernel, index))

    def access(self, kind: Kind, addresses: Addresses, lanes: Lanes, itemsize: int) -> Lanes:
        wanted, note = addresses[lanes], self.programs[-1].accesses.append
        missing = np.ones(wanted.shape, dtype=bool)
        for region in self.regions.values():
            if not missing.any():
                return lanes
            elements = region.locate(wanted, itemsize)
            inside = missing & (elements >= 0).all(axis=1)
            if inside.any():
                offsets = wanted[inside].astype(np.int64) - region.base
                note(Access(kind, region, elements[inside].ravel(), offsets, itemsize))
                missing &= ~inside
        if not missing.any():
            return lanes
        raw = wanted[missing].astype(np.int64)
        note(Access(kind, None, raw, raw, itemsize))
        carried_out = lanes.copy()
        carried_out[lanes] = ~missing
        return carried_out

    def _add(self, name: str, tensor: torch.Tensor, from_caller: bool) -> None:
        self._kept.append(tensor)
        where = (tensor.data_ptr(), tuple(tensor.shape), _bytes(tensor))
        for key, known in self.regions.items():
            if (known.start, known.shape, known.strides) == where:
                if from_caller and self._launch < 0:
                    self.regions[key] = replace(known, uses=known.uses + 1)
                return
        if not from_caller:
            # Another launch's tensor, or one with the name of an argument.
            taken = sum(known.split("#")[0] == name for known in self.regions)
            name = f"{name}#{taken + 1}" if taken else name
        start, shape, strides = where
        size, base = tensor.element_size(), _storage(tensor)
        self.regions[name] = Region(name, shape, strides, size, start, base, from_caller)


def _storage(tensor: torch.Tensor) -> int:
    return tensor.untyped_storage().data_ptr()


def _bytes(tensor: torch.Tensor) -> tuple[int, ...]:
    return tuple(step * tensor.element_size() for step in tensor.stride())


def _view(tensor: torch.Tensor) -> tuple[int, torch.Size, tuple[int, ...], torch.dtype]:
    return tensor.data_ptr(), tensor.shape, tensor.stride(), tensor.dtype


def _tensors(named: Iterable[tuple[str, Any]]) -> Iterator[tuple[str, torch.Tensor]]:
    """Tensors among named values, including those in lists and tuples."""
    for name, value in named:
        if isinstance(value, torch.Tensor):
            yield name, value
        elif isinstance(value, (list, tuple)):
            yield from _tensors((f"{name}[{place}]", item) for place, item in enumerate(value))
