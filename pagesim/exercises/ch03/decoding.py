"""How a student's decode kernel is tried: watched, its answer beside the reference's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pagesim.exercises.kit import parted
from pagesim.exercises.launching import (
    ALL,
    FarRow,
    arrays,
    decode_batch,
    far_rows,
    jitted,
    launched,
    stray_read,
)
from pagesim.exercises.values import close

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from torch import Tensor

    from pagesim.kernels.xray.trace import AccessTrace

Tables = list[list[int]]
Answer = dict[str, Any]
"""``answers``, a row for each sequence, and ``reads``, what was read too much or too little."""

HEAD_DIM = 4
NUM_BLOCKS = 8
FINE = "its own tokens, nothing else"
FAR = 2**31 // HEAD_DIM
"""Slots: the block behind them begins at element 2**31, one more than the largest int32."""

_near = close(1e-4, 1e-4)


def call(
    kernel: Any, tables: Tables, lengths: list[int], block_size: int, window: int, *more: int
) -> Answer:
    """What the kernel gives for these tables; ``window`` may be 0, ``more`` follows its scale."""
    import torch

    from pagesim import kernels

    far = FAR // block_size in tables[0]
    if far and kernels.backend.decide().mode != "interpreted":
        # Only the interpreter can be asked without such a cache.
        return oracle(tables, lengths, block_size, window)
    batch = _batch(tables, lengths, block_size, window)
    result = torch.full_like(batch["q"], float("nan"))

    def launcher(
        q: Tensor, k_cache: Tensor, v_cache: Tensor, block_tables: Tensor, seq_lens: Tensor,
        sliding_window: int,
    ) -> None:  # fmt: skip
        jitted(kernel)[(len(lengths),)](
            result, q, k_cache, v_cache, block_tables, seq_lens, HEAD_DIM**-0.5, *more,
            TABLE=block_tables.shape[1], BLOCK=block_size, DIM=HEAD_DIM,
        )  # fmt: skip

    trace = launched(launcher, **batch, sliding_window=window)
    if far:
        return {"answers": [], "reads": _far_reads(trace, batch, lengths[0])}
    reads = (stray_read(trace) or _unread(trace)) if trace else ""
    return {"answers": _rounded(result[:, 0].cpu().numpy()), "reads": reads or FINE}


def _unread(trace: Any) -> str:
    """The first program that did not read both caches of every token that its query sees."""
    for program in trace.by_program():
        mine = {slot for row in program.rows for slot in trace.ownership.visible(row)}
        for cache in ("k_cache", "v_cache"):
            seen = {slot for access in program.of("read", cache) for slot in access.slots()}
            if len(seen) < len(mine):
                seq, few = trace.sequences_of(program)[0], f"{len(seen)} of its {len(mine)} tokens"
                return f"the program of sequence {seq} read {few} in {cache}"
    return ""


def _far_reads(trace: AccessTrace, batch: dict[str, Tensor], length: int) -> str:
    names, size = ("k_cache", "v_cache"), length * HEAD_DIM
    rows = [FarRow(name, batch[name], FAR * HEAD_DIM, size) for name in names]
    seen = far_rows(trace, "read", rows).items()
    few = (f"the program {what} in {name}" for name, what in seen if what != ALL)
    return ", and ".join(few) or FINE


def oracle(tables: Tables, lengths: list[int], block_size: int, window: int) -> Answer:
    """The same by `kernels.reference`, page by page in float64."""
    from pagesim.kernels.reference import online_softmax_attention

    if FAR // block_size in tables[0]:
        return {"answers": [], "reads": FINE}
    batch = arrays(_batch(tables, lengths, block_size, window))
    out = online_softmax_attention(*batch, sliding_window=window)
    return {"answers": _rounded(out[:, 0]), "reads": FINE}


def _batch(tables: Tables, lengths: list[int], block_size: int, window: int) -> dict[str, Tensor]:
    windows = [window] * len(lengths) if window else None
    near = [[block % (FAR // block_size) for block in table] for table in tables]
    batch = decode_batch(near, lengths, NUM_BLOCKS, block_size, head_dim=HEAD_DIM, windows=windows)
    for row, table in enumerate(tables):
        for page, block in enumerate(table):
            batch["block_tables"][row, page] = block
    return batch


def _rounded(rows: NDArray[np.floating]) -> list[list[float]]:
    return [[round(float(x), 4) for x in row] for row in rows]


def same(yours: Answer, expected: Answer) -> bool:
    """The answers, and that exactly the sequence's slots were read, as often as one likes."""
    return yours["reads"] == FINE and _near(yours["answers"], expected["answers"])


def first_wrong(yours: Answer, expected: Answer) -> int:
    """The first sequence whose answer is another."""
    return parted(yours["answers"], expected["answers"], _near)
