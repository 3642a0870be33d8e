"""v2's second kernel: one output from the outputs of the partitions.

Every partition has divided by its own sum, relative to its own maximum. Weighting each output by
sum · exp(its maximum - largest maximum) undoes that; then one division by the total sum remains.

This stage alone is not emulated thread by thread: the kernel reduces maximum and sum with the
shuffles of `softmax`, and gives thread t the dimensions t, t + num_threads, … of the output.
"""

import numpy as np

from pagesim.kernels.simt.machine import Floats
from pagesim.kernels.simt.softmax import EPSILON
from pagesim.kernels.simt.thread_block import ThreadBlock


def combine_partitions(parts: list[ThreadBlock], head_size: int) -> Floats:
    """Output [head_size] of one sequence and head from its partitions, in order.

    A single partition is copied; a sequence of length 0 has none, and gives zeros.
    """
    outputs = [part.launch.rounded(part.output) for part in parts]
    if len(parts) == 1:
        return outputs[0]
    total = np.zeros(head_size, dtype=np.float32)
    if not parts:
        return total
    maxima = np.array([part.qk_max[0, 0] for part in parts])
    sums = np.array([part.exp_sum[0, 0] for part in parts])
    rescaled = sums * np.exp(maxima - maxima.max())
    inverse = np.float32(1) / (rescaled.sum() + EPSILON)
    for output, share in zip(outputs, rescaled, strict=True):
        total += output * share * inverse
    return total
