"""The cache itself, for torch: K and V of every layer in one tensor.

    pool   [2, L, num_blocks, block_size, Hkv, D]       L layers
            K   layer 0   [num_blocks, block_size, Hkv, D]      what one kernel call is given
                layer 1   …
            V   layer 0   …

One allocation, because the pool takes all memory that the weights leave: many tensors would
fragment it. A view a layer, because a block id names the same place in every layer.

Zeros, because a gather of whole pages reads slots that were never written. Their scores are
masked to a weight of 0; but 0 · NaN is NaN, and unwritten memory may hold NaN.

Layers of several groups (V1) share the memory of a pool. A block belongs to one group at a time,
and the layers of that group read its bytes in their own shape:

    one layer of the pool     [   block 0   |   block 1   |   block 2   |   block 3   ]
    group 0, 16 tokens, 2 heads                16 · 2 · D
    group 1, 32 tokens, 1 head                               32 · 1 · D
"""

import math
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
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
    with _room_for(f"{blocks} blocks of {block_size} slots", size, where):
        keys, values = torch.zeros(2, *sizes.values(), dtype=dtype, device=where)
    return KVTensors(list(keys), list(values))


@contextmanager
def _room_for(what: str, size: int, where: torch.device | str) -> Iterator[None]:
    """MemoryError, with the way out, where a device has no room for so many bytes."""
    try:
        if size > sys.maxsize:
            raise MemoryError
        yield
    except (MemoryError, RuntimeError) as error:
        if "memory" not in str(error) and not isinstance(error, MemoryError):
            raise
        raise MemoryError(
            f"{what} take {size / 2**30:,.0f} GiB, more than {where} has free: allocate fewer"
        ) from error


class GroupShape(NamedTuple):
    """How the layers of one group see a block; `kv_pool` has the same names."""

    layers: int
    block_size: int
    num_kv_heads: int
    head_dim: int


def kv_pools(
    blocks: int,
    groups: Sequence[tuple[int, int, int, int]],
    *,
    dtype: torch.dtype = torch.float32,
    device: torch.device | str | None = None,
) -> list[KVTensors]:
    """Make one pool of zeros that several groups share, and return each group's views of it.

    Each group is a `GroupShape`. Layer i of every group reads layer i of the pool, which has as
    many layers as the largest group. ValueError if a block does not have equally many numbers in
    each group; otherwise the errors are those of `kv_pool`.
    """
    shapes = [GroupShape(*group) for group in groups]
    if not shapes:
        raise ValueError("groups is empty: a pool needs the shape of one group at least")
    pages = {shape: math.prod(shape[1:]) for shape in shapes}
    if len(set(pages.values())) > 1:
        raise ValueError(
            f"a block has {' or '.join(str(page) for page in pages.values())} numbers in a layer, "
            "depending on the group: block_size · num_kv_heads · head_dim must be equal"
        )
    most = max(shape.layers for shape in shapes)
    halves = kv_pool(most, blocks, *shapes[0][1:], dtype=dtype, device=device)
    return [
        KVTensors(*([each.view(-1, *s[1:]) for each in half[: s.layers]] for half in halves))
        for s in shapes
    ]
