"""Is a kernel's answer right? Compare it with the float64 reference.

The error is the largest deviation divided by the largest visible |V|: attention is an average of
values, so that is the scale of its answer. The bound depends on the output's dtype, whose last bit
accounts for most of the error in 16-bit types.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from pagesim.kernels import reference
from pagesim.kernels.reference import Given
from pagesim.kernels.runtime import checks, fallback
from pagesim.kernels.runtime.inputs import Call, Options, PagedInputs, Plan

# A few times what was seen in the interpreter: 2e-7, 5e-4 and 2e-3.
TOLERANCE = {torch.float32: 5e-6, torch.float16: 2e-3, torch.bfloat16: 1.6e-2}
# LSE is float32 whatever q is; its error counts relative to it where it is large.
LSE_TOLERANCE = 5e-6


def assert_matches_reference(
    out: torch.Tensor | tuple[torch.Tensor, torch.Tensor],
    q: torch.Tensor,
    k_cache: torch.Tensor,
    v_cache: torch.Tensor,
    block_tables: torch.Tensor,
    seq_lens: torch.Tensor,
    *,
    query_start_loc: torch.Tensor | None = None,
    k_new: torch.Tensor | None = None,
    v_new: torch.Tensor | None = None,
    scale: float | None = None,
    alibi_slopes: torch.Tensor | None = None,
    sliding_window: int = 0,
    softcap: float = 0.0,
    k_scale: float | torch.Tensor | None = None,
    v_scale: float | torch.Tensor | None = None,
    partition_size: int | None = None,
    num_partitions: int | None = None,
    return_lse: bool = False,
    plan: Plan | None = None,
) -> float:
    """Check `out` against `reference.online_softmax_attention` of the same arguments.

    Pass the arguments of the kernel by the same keywords: query_start_loc for `paged_prefill`;
    k_new and v_new for `fused_decode`, with its context_lens as seq_lens. Partitions and a plan are
    ignored, because they must make no difference. With return_lse, `out` is the pair (output, lse),
    and both are checked.

    Returns the output's largest error ÷ max|V| over all sequences and heads, where max|V| is the
    largest value that the query can see in that head. Raises AssertionError if an error is above
    `TOLERANCE[q.dtype]` (`LSE_TOLERANCE` for lse) or not a number, naming the sequence (in a
    prefill, the query token), the head, the error and the bound. Raises it also if `out` has
    another shape or dtype than q. Bad arguments raise as in the kernel itself.
    """
    call: Call = "decode" if query_start_loc is None else "prefill"
    call = call if k_new is None else "fused decode"
    options = Options(scale, alibi_slopes, sliding_window, softcap, k_scale, v_scale)
    inputs = PagedInputs(
        call, q, k_cache, v_cache, block_tables, seq_lens, options, query_start_loc, k_new, v_new
    )
    arrays, keywords = fallback.reference_arguments(checks.checked(inputs))
    expected_lse = np.empty(tuple(q.shape[:2]))
    expected = reference.online_softmax_attention(*arrays, **keywords, lse_out=expected_lse)
    row = "sequence" if query_start_loc is None else "query token"
    if return_lse:
        out, lse = out
        _same_shape("lse", lse, q.shape[:2], torch.float32)
        unit = np.maximum(1.0, np.abs(np.nan_to_num(expected_lse, neginf=0.0)))
        _worst(row, "lse", lse[..., None], expected_lse[..., None], unit[..., None], LSE_TOLERANCE)
    assert isinstance(out, torch.Tensor), "with a pair (output, lse), say return_lse=True"
    _same_shape("out", out, q.shape, q.dtype)
    unit = _largest_value(arrays, keywords)
    return _worst(row, "out", out, expected, unit, TOLERANCE[q.dtype])


def _same_shape(name: str, tensor: torch.Tensor, shape: Sequence[int], dtype: torch.dtype) -> None:
    if tensor.shape != torch.Size(shape) or tensor.dtype != dtype:
        raise AssertionError(
            f"{name} is {tensor.dtype} {list(tensor.shape)}, expected {dtype} {list(shape)}"
        )


def _worst(
    row: str, name: str, got: torch.Tensor, expected: Given, unit: Given, bound: float
) -> float:
    """The largest error ÷ unit; AssertionError if it is above the bound."""
    numbers = fallback.to_numpy(got).astype(np.float64)
    same = numbers == expected  # -inf is -inf, though their difference is no number
    with np.errstate(invalid="ignore"):
        deviation = np.where(same, 0.0, np.abs(numbers - expected))
    # NaN counts as an infinite error, so that it is the worst one.
    error = np.nan_to_num(deviation, nan=np.inf, posinf=np.inf) / unit
    if error.size == 0:
        return 0.0
    worst = float(error.max())
    if worst > bound:
        seq, head, dim = np.unravel_index(int(error.argmax()), error.shape)
        measure, place = "÷ max|V|", f"dimension {dim}: "
        if name == "lse":
            measure, place = "of lse ÷ max(1, |lse|)", ""
        raise AssertionError(
            f"{row} {seq}, head {head}: error {measure} is {worst:.3g}, the bound for "
            f"{str(got.dtype).removeprefix('torch.')} is {bound:.3g} ({place}got "
            f"{numbers[seq, head, dim]:.6g}, expected {expected[seq, head, dim]:.6g})"
        )
    return worst


def _largest_value(
    arrays: tuple[NDArray[Any], ...], keywords: dict[str, Any]
) -> NDArray[np.float64]:
    """The largest visible |V · v_scale| of each sequence and query head, [B, Hq, 1]."""
    q, _, v_cache, tables, lengths = arrays
    num_seqs, num_heads, _ = q.shape
    v_scale = keywords.get("v_scale")
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
