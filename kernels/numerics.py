"""Two things that Triton's language lacks, or that its interpreter gets wrong.

Both are device functions: kernels call them, hosts do not.
"""

from __future__ import annotations

from kernels import decision

triton, tl = decision.load_triton()


@triton.jit
def round_to(x, dtype: tl.constexpr):
    """Cast float32 to `dtype`, to nearest and ties to even, on a GPU and in the interpreter.

    The interpreter truncates when it casts to bfloat16, so that cast is done here, by hand: a
    bfloat16 is the upper half of a float32.
    """
    if dtype == tl.bfloat16:
        bits = x.to(tl.uint32, bitcast=True)
        # Just under half a unit, plus one more if the last kept bit is odd: a tie goes to even.
        upper = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
        # A NaN's bits must not be counted up: they could wrap around to a number.
        upper = tl.where(x == x, upper, 0x7FC0)
        rounded = upper.to(tl.uint16).to(tl.bfloat16, bitcast=True)
    else:
        rounded = x.to(dtype)
    return rounded


@triton.jit
def tanh(x):
    """tanh in float32, to a relative 1e-6; Triton has none that it can interpret."""
    # Past ±15 tanh is ±1 in float32, and e²ˣ would overflow on the way there. A NaN stays one.
    x = tl.where(x > 15.0, 15.0, tl.where(x < -15.0, -15.0, x))
    # 1 - 2/(e²ˣ + 1) subtracts nearly equal numbers where x is small: there the series' first five
    # terms are as good as float32 can be.
    square = x * x
    series = 62.0 / 2835.0
    series = series * square - 17.0 / 315.0
    series = series * square + 2.0 / 15.0
    series = series * square - 1.0 / 3.0
    series = series * square * x + x
    return tl.where(tl.abs(x) < 0.3, series, 1.0 - 2.0 / (tl.exp(2.0 * x) + 1.0))
