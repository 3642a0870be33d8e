"""8-bit floats: the 256 values of e4m3, the format of vLLM's fp8 cache on NVIDIA GPUs.

One sign bit, four bits of exponent with bias 7, three bits of mantissa; no infinities, and the code
with all other bits set is NaN (Micikevicius et al. 2022, "FP8 formats for deep learning").
"""

import numpy as np
from numpy.typing import NDArray


def _values() -> NDArray[np.float32]:
    codes = np.arange(256)
    exponent, mantissa = codes >> 3 & 15, codes & 7
    normal = np.ldexp(1 + mantissa / 8, exponent - 7)
    size = np.where(exponent == 0, np.ldexp(mantissa / 8, -6), normal)
    size[codes & 127 == 127] = np.nan
    return np.asarray(np.where(codes < 128, size, -size), dtype=np.float32)


VALUES = _values()
"""VALUES[code] is the number that the byte `code` stands for, float32 [256]."""
