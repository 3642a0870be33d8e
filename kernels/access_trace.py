"""An x-ray of a kernel: which program read or wrote which slots, in which order.

    trace = kernels.xray(kernels.paged_attention_v1, q, k_cache, v_cache, block_tables, seq_lens)
    print(trace.summary())        # per tensor: bytes, sectors, lines, efficiency
    trace.by_program()            # per program: its sequences and heads, its accesses in order
    trace.readers()               # block -> the sequences whose programs read it
    trace.check()                 # AssertionError if a program left its own sequence's slots

The kernel runs in Triton's interpreter, one program after the other, and answers as ever
(`trace.result`). An access outside every tensor of the call is recorded and **not** carried out: on
a GPU it would read foreign memory, here it would end the process. Addresses are all that is seen: a
stray access that happens to hit another tensor of the call counts as an access to that one.

**Sectors and lines.** A GPU moves memory in 32-byte sectors and looks it up in 128-byte lines.
`efficiency` is the bytes wanted ÷ the bytes of the sectors they lie in. It is counted for a whole
`tl.load` of one program, and addresses count from the start of the tensor's storage, which on a GPU
begins at a line. What one instruction of one warp touches is `kernels.simt`'s business.
"""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from kernels import access_rules, memory_hook
from kernels.accesses import Access, Numbers, Program, Region
from kernels.ownership import Ownership, read_ownership


@dataclass(frozen=True, slots=True)
class AccessTrace:
    """What every program of a call did to memory; made by `xray`.

    name: the launcher's; result: what it returned; arguments: its arguments by name;
    ownership: the sequences, for calls with block tables; regions: the tensors by name.
    """

    name: str
    result: Any
    arguments: Mapping[str, Any]
    programs: list[Program]
    regions: dict[str, Region]
    ownership: Ownership | None

    def by_program(self) -> list[Program]:
        """Programs in the order in which they ran; a GPU runs them in any order."""
        return self.programs

    def sequences_of(self, program: Program) -> list[int]:
        """The sequences that a program works for, from the rows of q that it read."""
        if self.ownership is None:
            return []
        return sorted({self.ownership.queries[row].seq for row in program.rows})

    def readers(self) -> dict[int, list[int]]:
        """For each block that is read, the sequences whose programs read it."""
        found: dict[int, set[int]] = {}
        for program in self.programs:
            for access in program.of("read"):
                for block, _ in access.slots():
                    found.setdefault(block, set()).update(self.sequences_of(program))
        return {block: sorted(found[block]) for block in sorted(found)}

    def reads_per_slot(self, cache: str = "k_cache") -> dict[int, Counter[int]]:
        """For each sequence: how many of its (slot, KV head) pairs its programs read how often.

        {0: Counter({4: 74})}: each of 74 pairs was read 4 times, once for each of 4 query heads. A
        kernel that holds a group's query heads in one program reads each pair once. Raises
        ValueError for a call without block tables.
        """
        if self.ownership is None:
            raise ValueError(f"{self.name} takes no block tables, so there are no sequences")
        counts: dict[int, Counter[tuple[int, ...]]] = {}
        for program in self.programs:
            sequences = self.sequences_of(program)
            for access in program.of("read", cache):
                places = np.unique(np.stack(access.coordinates()[:3], axis=1), axis=0).tolist()
                for seq in sequences:
                    counts.setdefault(seq, Counter()).update(tuple(place) for place in places)
        return {seq: Counter(found.values()) for seq, found in sorted(counts.items())}

    def problems(self) -> list[str]:
        """One sentence for everything that a correct kernel does not do; [] = all is well."""
        return access_rules.problems(self)

    def check(self) -> AccessTrace:
        """Return the trace itself, or raise AssertionError with its `problems`."""
        found = self.problems()
        if found:
            more = f"\n… and {len(found) - 8} more" if len(found) > 8 else ""
            raise AssertionError(f"{self.name}:\n" + "\n".join(found[:8]) + more)
        return self

    def summary(self) -> str:
        """A table: one line a tensor and kind of access."""
        lines = [f"{self.name}: {len(self.programs)} programs"]
        width = 2 + max([6, *map(len, self.regions)])
        titles = f"{'tensor':<{width}}{'':<7}{'accesses':>9}{'bytes':>11}{'sectors':>9}{'lines':>8}"
        lines.append(f"{titles}  efficiency")
        groups: dict[tuple[str, str], list[Access]] = {}
        for program in self.programs:
            for access in program.accesses:
                groups.setdefault((access.tensor, access.kind), []).append(access)
        for (tensor, kind), group in groups.items():
            total, sectors = sum(a.num_bytes for a in group), sum(a.sectors for a in group)
            useful = sum(a.efficiency * a.sectors for a in group) / sectors
            lines.append(
                f"{tensor:<{width}}{kind:<7}{len(group):>9}{total:>11}{sectors:>9}"
                f"{sum(a.lines for a in group):>8}{useful:>11.0%}"
            )
        return "\n".join(lines)

    def as_dict(self) -> dict[str, Any]:
        """The trace as plain data (JSON), for figures: cache accesses by slot, in order."""
        cache = next((r for r in self.regions.values() if r.is_cache), None)
        ownership = self.ownership
        sequences = (
            [] if ownership is None else zip(ownership.tables, ownership.lengths, strict=True)
        )
        return {
            "version": 1,
            "name": self.name,
            "num_blocks": cache.shape[0] if cache else 0,
            "block_size": cache.shape[1] if cache else 0,
            "sequences": [{"table": table, "length": length} for table, length in sequences],
            "programs": [
                {
                    "kernel": program.kernel,
                    "index": list(program.index),
                    "sequences": self.sequences_of(program),
                    "heads": program.heads,
                    "accesses": [_plain(access) for access in program.accesses],
                }
                for program in self.programs
            ],
        }

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(self.summary())


def xray(kernel: Callable[..., Any], *args: Any, **kwargs: Any) -> AccessTrace:
    """Run a launcher of this package (or one of yours) and watch every program's memory accesses.

    The arguments are the launcher's own. Keeps about 16 bytes for every element touched: use small
    caches. Raises RuntimeError, naming the way out, where kernels are not interpreted, or where
    triton's interpreter is one that the x-ray does not understand; else what the launcher raises.
    """
    memory_hook.require_interpreter("kernels.xray")
    bound = inspect.signature(kernel).bind(*args, **kwargs)
    bound.apply_defaults()
    recorder = _Recorder(bound.arguments)
    with memory_hook.watched(recorder):
        result = kernel(*args, **kwargs)
    return AccessTrace(
        name=getattr(kernel, "__name__", "kernel"),
        result=result,
        arguments=bound.arguments,
        programs=recorder.programs,
        regions=recorder.regions,
        ownership=read_ownership(bound.arguments),
    )


class _Recorder:
    """The observer that fills a trace."""

    def __init__(self, arguments: Mapping[str, Any]) -> None:
        self.programs: list[Program] = []
        self.regions: dict[str, Region] = {}
        self._callers = dict(_tensors(arguments.items()))
        # Kept alive, or the next tensor that the launcher makes could get the same address.
        self._kept: list[torch.Tensor] = []
        self._launch, self._kernel = -1, ""
        for name, tensor in self._callers.items():
            if tensor.device.type == "cpu":
                self._add(name, tensor, True)

    def launch(self, kernel: str, arguments: dict[str, Any], callers: dict[str, Any]) -> None:
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

    def access(
        self,
        kind: memory_hook.Kind,
        addresses: memory_hook.Addresses,
        lanes: memory_hook.Lanes,
        itemsize: int,
    ) -> memory_hook.Lanes:
        wanted = addresses[lanes]
        missing = np.ones(wanted.shape, dtype=bool)
        for region in self.regions.values():
            if not missing.any():
                return lanes
            elements = region.locate(wanted, itemsize)
            inside = missing & (elements >= 0).all(axis=1)
            if inside.any():
                offsets = wanted[inside].astype(np.int64) - region.base
                self._note(kind, region, elements[inside].ravel(), offsets, itemsize)
                missing &= ~inside
        if not missing.any():
            return lanes
        raw = wanted[missing].astype(np.int64)
        self._note(kind, None, raw, raw, itemsize)
        carried_out = lanes.copy()
        carried_out[lanes] = ~missing
        return carried_out

    def _note(
        self,
        kind: memory_hook.Kind,
        region: Region | None,
        elements: Numbers,
        offsets: Numbers,
        itemsize: int,
    ) -> None:
        self.programs[-1].accesses.append(Access(kind, region, elements, offsets, itemsize))

    def _add(self, name: str, tensor: torch.Tensor, from_caller: bool) -> None:
        self._kept.append(tensor)
        where = (tensor.data_ptr(), tuple(tensor.shape), _bytes(tensor))
        for key, known in self.regions.items():
            if (known.start, known.shape, known.strides) == where:
                if from_caller and self._launch < 0:
                    self.regions[key] = replace(known, uses=known.uses + 1)
                return
        if not from_caller:
            # Another launch's tensor, or one that happens to be called like an argument.
            taken = sum(known.split("#")[0] == name for known in self.regions)
            name = f"{name}#{taken + 1}" if taken else name
        start, shape, strides = where
        size, base = tensor.element_size(), _storage(tensor)
        self.regions[name] = Region(name, shape, strides, size, start, base, from_caller)


def _storage(tensor: torch.Tensor) -> int:
    return tensor.untyped_storage().data_ptr()


def _bytes(tensor: torch.Tensor) -> tuple[int, ...]:
    return tuple(step * tensor.element_size() for step in tensor.stride())


def _view(tensor: torch.Tensor) -> tuple[object, ...]:
    return tensor.data_ptr(), tensor.shape, tensor.stride(), tensor.dtype


def _tensors(named: Iterable[tuple[str, Any]]) -> Iterator[tuple[str, torch.Tensor]]:
    """Tensors among named values, those in lists and tuples too."""
    for name, value in named:
        if isinstance(value, torch.Tensor):
            yield name, value
        elif isinstance(value, (list, tuple)):
            yield from _tensors((f"{name}[{place}]", item) for place, item in enumerate(value))


def _plain(access: Access) -> dict[str, Any]:
    return {
        "kind": access.kind,
        "tensor": access.tensor,
        "bytes": access.num_bytes,
        "sectors": access.sectors,
        "lines": access.lines,
        "slots": [list(slot) for slot in access.slots()],
    }
