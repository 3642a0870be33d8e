"""The cache itself, for torch: K and V of every layer in one tensor.

    pool   [2, L, num_blocks, block_size, Hkv, D]       L layers
            K   layer 0   [num_blocks, block_size, Hkv, D]      what one kernel call is given
                layer 1   …
            V   layer 0   …

One allocation, because the pool takes all memory that the weights leave: many tensors would
fragment it. A view a layer, because a block id names the same place in every layer.

Zeros, because a gather of whole pages reads slots that were never written. Their scores are
masked to a weight of 0; but 0 · NaN is NaN, and unwritten memory may hold NaN.
"""

import math
import sys
from typing import NamedTuple

import torch

from pagesim.kernels import backend


class KVTensors(NamedTuple):
    """A view a layer of each half: what ``pagesim.cache.KVPool(*tensors)`` is made of."""

    keys: list[torch.Tensor]
    values: list[torch.Tensor]


def kv_pool(
    layers: int,
    blocks: int,
    block_size: int,
    num_kv_heads: int,
    head_dim: int,
    *,
    dtype: torch.dtype = torch.float32,
    device: torch.device | str | None = None,
) -> KVTensors:
    """Make a pool of zeros; each view is [blocks, block_size, num_kv_heads, head_dim].

    ``device`` defaults to the one where the kernels run. ValueError for a size below 1 (blocks may
    be 0), MemoryError if the device has no room for the pool.
    """
    sizes = {
        "layers": layers,
        "blocks": blocks,
        "block_size": block_size,
        "num_kv_heads": num_kv_heads,
        "head_dim": head_dim,
    }
    for name, size in sizes.items():
        if type(size) is not int:
            raise TypeError(f"{name} must be an int, got {size!r}")
        if size < (least := 0 if name == "blocks" else 1):
            raise ValueError(f"{name} = {size}: it must be at least {least}")
    if not isinstance(dtype, torch.dtype):
        raise TypeError(f"dtype must be a torch.dtype, got {dtype!r}")
    where = backend.device() if device is None else device
    size = 2 * math.prod(sizes.values()) * dtype.itemsize
    try:
        if size > sys.maxsize:
            raise MemoryError
        keys, values = torch.zeros(2, *sizes.values(), dtype=dtype, device=where)
    except (MemoryError, RuntimeError) as error:
        if "memory" not in str(error) and not isinstance(error, MemoryError):
            raise
        raise MemoryError(
            f"{blocks} blocks of {block_size} slots take {size / 2**30:,.0f} GiB, more than "
            f"{where} has free: allocate fewer"
        ) from error
    return KVTensors(list(keys), list(values))
