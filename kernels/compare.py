"""Is a kernel's answer right? Compare it with the float64 reference.

The error that counts is the largest deviation divided by the largest visible |V|: attention is an
average of values, so that is the scale of its answer. The bound depends on the output's dtype,
whose last bit is most of the error for 16-bit types.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from kernels import checks, fallback, reference

# A few times what was seen in the interpreter: 2e-7, 5e-4 and 2e-3.
TOLERANCE = {torch.float32: 5e-6, torch.float16: 2e-3, torch.bfloat16: 1.6e-2}


def assert_matches_reference(
    out: torch.Tensor,
    q: torch.Tensor,
    k_cache: torch.Tensor,
    v_cache: torch.Tensor,
    block_tables: torch.Tensor,
    seq_lens: torch.Tensor,
    *,
    scale: float | None = None,
    alibi_slopes: torch.Tensor | None = None,
    sliding_window: int = 0,
    softcap: float = 0.0,
    k_scale: float | torch.Tensor | None = None,
    v_scale: float | torch.Tensor | None = None,
) -> float:
    """Check `out` against `reference.online_softmax_attention` of the same arguments.

    Returns the largest error ÷ max|V| over all sequences and heads, where max|V| is the largest
    value that the sequence can see in that head. Raises AssertionError naming the sequence, the
    head, the error and the bound if one is above `TOLERANCE[q.dtype]` or not a number, or if `out`
    has another shape or dtype than q. Bad arguments raise as in the kernel itself.
    """
    checks.check_decode(q, k_cache, v_cache, block_tables, seq_lens)
    options = checks.check_options(
        q, k_cache, scale, alibi_slopes, sliding_window, softcap, k_scale, v_scale
    )
    checks.check_tables(block_tables, seq_lens, k_cache, sliding_window)
    if out.shape != q.shape or out.dtype != q.dtype:
        raise AssertionError(
            f"out is {out.dtype} {list(out.shape)}, expected {q.dtype} {list(q.shape)}"
        )
    arrays, keywords = fallback.reference_arguments(
        q, k_cache, v_cache, block_tables, seq_lens, options
    )
    expected = reference.online_softmax_attention(*arrays, **keywords)
    deviation = np.abs(fallback.to_numpy(out).astype(np.float64) - expected)
    # A NaN compares with nothing: as an infinite error it is the worst one, and is seen.
    error = np.nan_to_num(deviation, nan=np.inf, posinf=np.inf) / _largest_value(arrays, keywords)
    if error.size == 0:
        return 0.0
    worst, bound = float(error.max()), TOLERANCE[q.dtype]
    if worst > bound:
        seq, head, dim = np.unravel_index(int(error.argmax()), error.shape)
        raise AssertionError(
            f"sequence {seq}, head {head}: error ÷ max|V| is {worst:.3g}, the bound for "
            f"{str(q.dtype).removeprefix('torch.')} is {bound:.3g} (dimension {dim}: got "
            f"{float(out[seq, head, dim]):.6g}, expected {expected[seq, head, dim]:.6g})"
        )
    return worst


def _largest_value(
    arrays: tuple[NDArray[Any], ...], keywords: dict[str, Any]
) -> NDArray[np.float64]:
    """The largest visible |V · v_scale| of each sequence and query head, [B, Hq, 1]."""
    q, _, v_cache, tables, lengths = arrays
    num_seqs, num_heads, _ = q.shape
    v_scale = keywords["v_scale"]
    largest = np.ones((num_seqs, v_cache.shape[2]))
    for seq, length in enumerate(int(n) for n in lengths):
        window = keywords["sliding_window"] or length
        values = reference.gather(v_cache, tables[seq], np.arange(max(0, length - window), length))
        if length and values.any():
            largest[seq] = np.abs(values).max(axis=(0, 2))
    if v_scale is not None:
        largest *= np.abs(v_scale)
    # Where all values are 0 the answer must be 0 too: any error is then measured against 1.
    largest[largest == 0] = 1.0
    return largest.repeat(num_heads // largest.shape[1], axis=1)[:, :, None]
