"""Global memory and the options of a launch: what every thread block of the grid sees."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from pagesim.kernels.reference import from_fp8
from pagesim.kernels.simt.config import Config
from pagesim.kernels.simt.indices import Ints
from pagesim.kernels.simt.machine import Floats
from pagesim.kernels.simt.warp_load import Tensor

Rounding = Literal["exact", "as_kernel"]
# The number that each byte of an fp8 cache stands for, float32 [256].
VALUES = from_fp8(np.arange(256, dtype=np.uint8)).astype(np.float32)


@dataclass(frozen=True, slots=True)
class Launch:
    """Checked arguments. q, K and V are flat: a kernel computes all offsets itself.

    block_tables [num_seqs, max_blocks], seq_lens [num_seqs], alibi_slopes float32 [num_heads].
    partition_size: tokens of a sequence for one thread block; 0 = all of them (v1).
    """

    config: Config
    tensors: dict[Tensor, NDArray[np.number]]
    num_heads: int
    num_kv_heads: int
    block_tables: Ints
    seq_lens: Ints
    scale: np.float32
    alibi_slopes: Floats
    scales: dict[Tensor, np.float32]
    rounding: Rounding
    partition_size: int = 0

    @property
    def dtype(self) -> np.dtype[np.number]:
        """The dtype of the query and of the output."""
        return self.tensors["q"].dtype

    def fetch(self, tensor: Tensor, offsets: Ints, count: int) -> Floats:
        """`count` elements from each offset on, [*offsets.shape, count], as float32 registers.

        An offset of -1 reads nothing and gives zeros.
        """
        memory = self.tensors[tensor]
        values = np.zeros((*offsets.shape, count), dtype=np.float32)
        takes_part = offsets >= 0
        raw = memory[offsets[takes_part][:, None] + np.arange(count)]
        numbers = VALUES[raw] if raw.dtype == np.uint8 else raw.astype(np.float32)
        values[takes_part] = numbers * self.scales[tensor]
        return self.rounded(values) if tensor != "q" else values

    def rounded(self, values: Floats) -> Floats:
        """float32 registers, rounded to the query's dtype if rounding is "as_kernel"."""
        if self.rounding == "exact":
            return values
        return values.astype(self.dtype).astype(np.float32)
