"""Caches full of NaN but for the tokens, and a quiet place to launch a student's kernel in."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch


@contextmanager
def quiet() -> Iterator[None]:
    """No warnings about the NaNs that a wrong kernel meets: the verdict is what tells of them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        yield


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

    import kernels
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


def arrays(batch: dict[str, torch.Tensor]) -> list[Any]:
    """The same as NumPy arrays, for `kernels.reference`."""
    return [tensor.cpu().numpy() for tensor in batch.values()]


def launched(launcher: Callable[..., Any], **arguments: Any) -> Any:
    """Run a launcher of a student's kernel under the x-ray; the trace, or None on a GPU.

    Under the x-ray an access outside of the arguments is written down and not carried out, so that
    a wrong address does not end the process.
    """
    import kernels

    with quiet():
        if kernels.backend.decide().mode == "interpreted":
            return kernels.xray(launcher, **arguments)
        launcher(**arguments)
        return None


def stray_read(trace: Any) -> str:
    """The first read of a slot that its program had no business with, in words; or nothing."""
    known = trace.ownership
    for program in trace.by_program():
        seen = {slot for row in program.rows for slot in known.visible(row)}
        mine = trace.sequences_of(program)
        who = " and ".join(f"sequence {seq}" for seq in mine) or "no sequence"
        for access in program.of("read"):
            if access.region is None:
                return f"the program of {who} read outside of all tensors"
            for slot in access.slots():
                if slot not in seen:
                    what = _held(known.owners.get(slot, []), mine)
                    return f"the program of {who} read block {slot[0]}, row {slot[1]}, {what}"
    return ""


def _held(owners: Sequence[int], mine: Sequence[int]) -> str:
    if not owners:
        return "where no token is"
    if set(owners) & set(mine):
        return "a token that its query does not see any more"
    return f"where sequence {owners[0]} has a token"
