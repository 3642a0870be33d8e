"""Caches full of NaN but for the tokens, and a quiet place to launch a student's kernel in."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
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
    last ``window``. Keys: q, k_cache, v_cache, block_tables, seq_lens.
    """
    import torch

    import kernels
    from pagesim.cache import pad_block_tables, slots_of

    device = kernels.backend.device()
    generator = torch.Generator().manual_seed(0)
    caches = torch.full((2, num_blocks * block_size, 1, head_dim), float("nan"))
    for row, (table, length) in enumerate(zip(tables, lengths, strict=True)):
        oldest = max(0, length - windows[row]) if windows else 0
        slots = torch.tensor(slots_of(table, range(oldest, length), block_size))
        caches[:, slots] = torch.randn(2, len(slots), 1, head_dim, generator=generator)
    k_cache, v_cache = caches.view(2, num_blocks, block_size, 1, head_dim).to(device)
    return {
        "q": torch.randn(len(tables), 1, head_dim, generator=generator).to(device),
        "k_cache": k_cache,
        "v_cache": v_cache,
        "block_tables": torch.tensor(pad_block_tables(tables), device=device),
        "seq_lens": torch.tensor(lengths, dtype=torch.int32, device=device),
    }


def arrays(batch: dict[str, torch.Tensor]) -> list[Any]:
    """The same as NumPy arrays, for `kernels.reference`."""
    return [tensor.cpu().numpy() for tensor in batch.values()]
