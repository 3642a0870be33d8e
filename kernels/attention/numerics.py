"""What Triton's language lacks, or what its interpreter gets wrong.

All are device functions: kernels call them, hosts do not.
"""

from typing import no_type_check

from pagesim.kernels.runtime import mode

triton, tl = mode.load_triton()

# Known at compile time, so that a GPU's code omits what only the interpreter needs.
INTERPRETED = tl.constexpr(mode.decide().mode == "interpreted")


@no_type_check
@triton.jit
def round_to(x, dtype: tl.constexpr):
    """Cast float32 to `dtype`, to nearest and ties to even, on a GPU and in the interpreter.

    The interpreter truncates when it casts to bfloat16, so that cast is done here, by hand: a
    bfloat16 is the upper half of a float32. It rounds wrongly to float8_e4m3fn too, and loses NaN
    and -0. Numbers for float8 must lie within ±448, its largest, or be NaN.
    """
    if dtype == tl.bfloat16:
        bits = x.to(tl.uint32, bitcast=True)
        # Just under half a unit, plus one more if the last kept bit is odd: a tie goes to even.
        upper = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
        # A NaN's bits must not be rounded up: they could wrap around to a number.
        upper = tl.where(x == x, upper, 0x7FC0)
        rounded = upper.to(tl.uint16).to(tl.bfloat16, bitcast=True)
    elif dtype == tl.float8e4nv:
        bits = x.to(tl.uint32, bitcast=True)
        size = tl.abs(x)
        # Three of float32's 23 fraction bits stay; exponents count from -7 instead of -127.
        upper = (size.to(tl.uint32, bitcast=True) + 0x7FFFF + ((bits >> 20) & 1)) >> 20
        # Below 2⁻⁶ e4m3's step is 2⁻⁹ throughout, which is float32's step at 1.5 · 2¹⁴.
        steps = (size + 24576.0).to(tl.uint32, bitcast=True) & 0xF
        code = tl.where(size < 0.015625, steps, upper - 120 * 8)
        code = tl.where(x == x, code, 0x7F) | ((bits >> 24) & 0x80)
        rounded = code.to(tl.uint8).to(tl.float8e4nv, bitcast=True)
    else:
        rounded = x.to(dtype)
    return rounded


@no_type_check
@triton.jit
def widen(x):
    """Any of the dtypes as float32, every value unchanged, including float8_e4m3fn's NaNs."""
    wide = x.to(tl.float32)
    if INTERPRETED and x.dtype == tl.float8e4nv:
        # The interpreter takes the code of NaN for 480, one step above the largest number.
        wide = tl.where(tl.abs(wide) == 480.0, float("nan"), wide)
    return wide


@no_type_check
@triton.jit
def operand(x, dtype: tl.constexpr):
    """x as `tl.dot` wants it: in `dtype`, or in float32 where the interpreter would be wrong.

    Its products of bfloat16 are wrong altogether. Numbers that fit `dtype` pass unchanged.
    """
    return widen(x) if INTERPRETED else x.to(dtype)


@no_type_check
@triton.jit
def tanh(x):
    """tanh in float32, to a relative 1e-6; Triton's own cannot be interpreted."""
    # Past ±15 tanh is ±1 in float32, and e²ˣ would overflow on the way there. A NaN stays one.
    x = tl.where(x > 15.0, 15.0, tl.where(x < -15.0, -15.0, x))
    # 1 - 2/(e²ˣ + 1) subtracts nearly equal numbers where x is small: there the first five terms of
    # the series are exact to float32.
    square = x * x
    series = 62.0 / 2835.0
    series = series * square - 17.0 / 315.0
    series = series * square + 2.0 / 15.0
    series = series * square - 1.0 / 3.0
    series = series * square * x + x
    return tl.where(tl.abs(x) < 0.3, series, 1.0 - 2.0 / (tl.exp(2.0 * x) + 1.0))
