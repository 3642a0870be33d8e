"""Softmax in one pass over the numbers: the idea under every attention kernel here, alone.

**The problem.** softmax(x)ᵢ = exp(xᵢ - max) / Σ exp(xⱼ - max). The maximum must be known before the
first exp, or large numbers overflow: one pass for the maximum, one for the sum, one to divide.

**The idea.** Keep the sum relative to the largest number *so far*. When a larger one comes, rescale
the sum by a known factor (Milakov & Gimelshein 2018):

    tile         [ 1  3 ]            [ 2  5 ]                   [ 4  0 ]
    m      -inf      3     -->           5          -->             5
    ell      0   e⁻²+e⁰    -->   ·e³⁻⁵ + e⁻³+e⁰     -->    ·e⁰ + e⁻¹+e⁻⁵     = Σ exp(x - 5)

Maximum and sum are known after one pass; a second one writes the answer. Attention does not need
the second one: it keeps Σ exp(score - m) · value in the same way, and divides once.

One program takes one row. A row may be far longer than a program can hold.

Tested in tests/kernels/test_softmax.py.
"""

from typing import no_type_check

import torch

from pagesim.kernels.attention import numerics
from pagesim.kernels.runtime import fallback, mode
from pagesim.kernels.runtime.argument_checks import FLOATS, check_devices, check_tensor

triton, tl = mode.load_triton()

_TILE = 1024


@no_type_check
@triton.jit
def online_softmax_kernel(x_ptr, out_ptr, x_row, out_row, size, TILE: tl.constexpr):
    """One program: one row of `size` numbers, TILE at a time."""
    x_ptr += tl.program_id(0).to(tl.int64) * x_row
    out_ptr += tl.program_id(0).to(tl.int64) * out_row
    m = float("-inf")
    ell = 0.0
    for start in range(0, size, TILE):
        column = start + tl.arange(0, TILE)
        x = tl.load(x_ptr + column, mask=column < size, other=float("-inf")).to(tl.float32)
        new_m = tl.maximum(m, tl.max(x, axis=0))
        # While all numbers are -inf there is nothing to shift by.
        shift = tl.where(new_m == float("-inf"), 0.0, new_m)
        ell = ell * tl.exp(m - shift) + tl.sum(tl.exp(x - shift), axis=0)
        m = new_m

    for start in range(0, size, TILE):
        column = start + tl.arange(0, TILE)
        x = tl.load(x_ptr + column, mask=column < size, other=float("-inf")).to(tl.float32)
        out = numerics.round_to(tl.exp(x - m) / ell, out_ptr.dtype.element_ty)
        tl.store(out_ptr + column, out, mask=column < size)


def online_softmax(x: torch.Tensor) -> torch.Tensor:
    """Return the softmax along the last axis, in x's dtype; -inf gets weight 0.

    x: [N] or [R, N] in float32, float16 or bfloat16, the last axis contiguous. A row consisting
    only of -inf gives NaN, as in torch. Raises ValueError or TypeError naming x.
    """
    rows = x[None] if isinstance(x, torch.Tensor) and x.dim() == 1 else x
    check_tensor("x", rows, "[N] or [R, N]", FLOATS)
    check_devices(x=x)
    if mode.decide().mode == "reference":
        return fallback.online_softmax(x)
    out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    results = torch.atleast_2d(out)
    if x.numel() > 0:
        tile = min(_TILE, triton.next_power_of_2(rows.shape[1]))
        with torch.cuda.device_of(x):
            online_softmax_kernel[(rows.shape[0],)](
                rows, results, rows.stride(0), results.stride(0), rows.shape[1], TILE=tile
            )
    return out
