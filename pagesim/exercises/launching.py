"""Caches full of NaN but for the tokens, and a quiet place to launch a student's kernel in."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from pagesim.exercises.case import Function

if TYPE_CHECKING:
    import numpy as np
    import torch
    from numpy.typing import NDArray
    from torch import Tensor as Tensor
else:
    Tensor = "Tensor"  # what a page may write in an annotation without loading torch

quiet = partial(warnings.catch_warnings, action="ignore", category=RuntimeWarning)
"""No warnings about the NaNs that a wrong kernel meets: the verdict is what tells of them."""


def decode_batch(
    tables: Sequence[Sequence[int]],
    lengths: Sequence[int],
    num_blocks: int,
    block_size: int,
    *,
    head_dim: int = 16,
    windows: Sequence[int] | None = None,
) -> dict[str, torch.Tensor]:
    """The arguments of a decode step over these tables, one head, always the same numbers.

    Slots without a token are NaN, and with ``windows`` so are tokens older than each sequence's
    last ``window``. A sequence's last key is like its query: the largest score tends to come last.
    Names: q, k_cache, v_cache, block_tables, seq_lens.
    """
    import torch

    from pagesim import kernels
    from pagesim.cache import pad_block_tables, slots_of

    device = kernels.backend.device()
    generator = torch.Generator().manual_seed(0)
    caches = torch.full((2, num_blocks * block_size, 1, head_dim), float("nan"))
    q = torch.randn(len(tables), 1, head_dim, generator=generator)
    for row, (table, length) in enumerate(zip(tables, lengths, strict=True)):
        oldest = max(0, length - windows[row]) if windows else 0
        slots = torch.tensor(slots_of(table, range(oldest, length), block_size))
        caches[:, slots] = torch.randn(2, len(slots), 1, head_dim, generator=generator)
        caches[0, slots[-1]] = 1.5 * q[row]
    k_cache, v_cache = caches.view(2, num_blocks, block_size, 1, head_dim).to(device)
    return {
        "q": q.to(device),
        "k_cache": k_cache,
        "v_cache": v_cache,
        "block_tables": torch.tensor(pad_block_tables(tables), device=device),
        "seq_lens": torch.tensor(lengths, dtype=torch.int32, device=device),
    }


def interpreted() -> bool:
    """Whether no GPU is there: then a kernel can be asked about a cache that nobody has."""
    from pagesim import kernels

    return bool(kernels.backend.decide().mode == "interpreted")


def tensors(*arrays: NDArray[np.generic]) -> list[torch.Tensor]:
    """The same arrays where kernels run."""
    import torch

    from pagesim import kernels

    return [torch.tensor(array, device=kernels.backend.device()) for array in arrays]


def arrays(batch: dict[str, torch.Tensor]) -> list[NDArray[Any]]:
    """The same as NumPy arrays, for `kernels.reference`."""
    return [tensor.cpu().numpy() for tensor in batch.values()]


def launched(launcher: Function, **arguments: Any) -> Any:
    """Run a launcher of a student's kernel under the x-ray; the trace, or None on a GPU.

    Under the x-ray an access outside of the arguments is written down and not carried out, so that
    a wrong address does not end the process.
    """
    from pagesim import kernels

    with quiet():
        if interpreted():
            return kernels.xray(launcher, **arguments)
        launcher(**arguments)
        return None


def jitted(kernel: Function) -> Any:
    """The kernel; TypeError if a student has lost the line above it."""
    if not hasattr(kernel, "__getitem__"):
        raise TypeError("there is no @triton.jit above it, so it cannot be launched")
    return kernel


@dataclass(frozen=True)
class FarRow:
    """A row of a cache that is too large to be had: so many elements behind a tensor's beginning.

    A right kernel touches each of its ``size`` elements, where nothing is; the x-ray sees it.
    """

    name: str
    tensor: torch.Tensor
    first: int
    size: int

    def place(self, address: int) -> int:
        """The element of the row that an address belongs to; outside of it, of no row."""
        return (address - self.tensor.data_ptr()) // self.tensor.element_size() - self.first


ALL = "every element of its row"
"""What is said of a far row that a right kernel has touched."""
WRAPPED = "2**32 elements too early"
"""How the place of an access ends whose address was calculated in 32 bits."""


def far_rows(trace: Any, kind: str, rows: Sequence[FarRow]) -> dict[str, str]:
    """What was read, or written, in each of these rows, and what else outside of all tensors."""
    seen: dict[str, set[int]] = {row.name: set() for row in rows}
    for access in (a for program in trace.by_program() for a in program.accesses):
        for address in access.elements.ravel().tolist() if access.region is None else ():
            places = [(row, row.place(address)) for row in rows]
            mine = [(row, at) for row, at in places if access.kind == kind and 0 <= at < row.size]
            if not mine:
                wrapped = any(0 <= at + 2**32 < row.size for row, at in places)
                where = WRAPPED if wrapped else "outside all tensors"
                return {"outside": f"a {access.kind} {where}"}
            seen[mine[0][0].name].add(mine[0][1])
    much = {row.name: f"{kind}s {len(seen[row.name])} of its {row.size} elements" for row in rows}
    return much | {row.name: ALL for row in rows if len(seen[row.name]) == row.size}


def too_early(element: str) -> str:
    """The cause of an access 2**32 elements too early; ``element`` says what was calculated."""
    becomes = "in 32 bits it becomes negative, and the address is far in front of the cache"
    return f"{element} is 2**31 here, one more than an int32 can hold: {becomes}. Keep 64 bits."


def stray_read(trace: Any) -> str:
    """The first read of a slot that its program had no business with, in words; or nothing."""
    known = trace.ownership
    for program in trace.by_program():
        seen = {slot for row in program.rows for slot in known.visible(row)}
        mine = trace.sequences_of(program)
        who = " and ".join(f"sequence {seq}" for seq in mine) or "no sequence"
        for access in program.of("read"):
            if access.region is None:
                return f"the program of {who} read outside all tensors"
            for slot in access.slots():
                if slot not in seen:
                    owners = known.owners.get(slot, [])
                    held = f"a token of sequence {owners[0]}" if owners else "no token"
                    what = f"which holds {held}"
                    if set(owners) & set(mine):
                        what = "whose token its query no longer sees"
                    return f"the program of {who} read block {slot[0]}, row {slot[1]}, {what}"
    return ""
