"""Checks of a launch: arrays that do not fit together, tables that point outside the cache."""

import math
from typing import Any

import numpy as np

from pagesim.kernels.reference import Given
from pagesim.kernels.runtime.inputs import PagedInputs
from pagesim.kernels.runtime.table_checks import check_groups, check_sequences, check_tables
from pagesim.kernels.simt.config import Config
from pagesim.kernels.simt.memory import Launch, Rounding
from pagesim.kernels.simt.warp_load import Tensor

_SHAPES = {
    "q": "[num_seqs, num_heads, head_size]",
    "k_cache": "[num_blocks, num_kv_heads, head_size / x, block_size, x]",
    "v_cache": "[num_blocks, num_kv_heads, head_size, block_size]",
    "block_tables": "[num_seqs, max_blocks]",
    "seq_lens": "[num_seqs]",
}


def make_launch(
    inputs: PagedInputs, num_threads: int, rounding: Rounding, partition_size: int = 0
) -> Launch:
    """Check all arguments and flatten the arrays; ValueError or TypeError names what is wrong."""
    arrays = (inputs.q, inputs.k_cache, inputs.v_cache, inputs.block_tables, inputs.lens)
    for (name, shape), array in zip(_SHAPES.items(), arrays, strict=True):
        if not isinstance(array, np.ndarray):
            raise TypeError(f"{name} must be a NumPy array {shape}, got {type(array).__name__}")
        if array.ndim != shape.count(",") + 1:
            raise ValueError(f"{name} must have shape {shape}, got {list(array.shape)}")
    if rounding not in ("exact", "as_kernel"):
        raise ValueError(f'rounding = {rounding!r}: it must be "exact" or "as_kernel"')
    q, k_cache, v_cache, tables, lens = arrays
    (num_seqs, num_heads, head_size), (num_kv_heads, _, block_size) = q.shape, v_cache.shape[1:]
    _check_dtypes(inputs)
    config = Config(head_size, block_size, num_threads, q.itemsize, k_cache.dtype == np.uint8)
    _check_layout(config, inputs)
    check_groups(num_heads, num_kv_heads)
    if partition_size % block_size:
        raise ValueError(
            f"partition_size = {partition_size}: it must be a multiple of the block size, "
            f"{block_size}"
        )
    check_sequences(num_seqs, block_tables=tables, seq_lens=lens)
    tables, lens = tables.astype(np.int64), lens.astype(np.int64)
    check_tables(tables, lens, len(k_cache), block_size)
    options = inputs.options
    slopes = np.zeros(num_heads) if options.alibi_slopes is None else options.alibi_slopes
    if np.shape(slopes) != (num_heads,):
        raise ValueError(
            f"alibi_slopes has shape {list(np.shape(slopes))}, but q has {num_heads} heads"
        )
    tensors: dict[Tensor, Given] = {"q": q.ravel(), "k": k_cache.ravel(), "v": v_cache.ravel()}
    scale = 1 / math.sqrt(head_size) if options.scale is None else options.scale
    scales: dict[Tensor, Any] = {"q": 1.0, "k": options.k_scale, "v": options.v_scale}
    return Launch(
        config, tensors, num_heads, num_kv_heads, tables, lens, np.float32(scale),
        np.asarray(slopes, dtype=np.float32),
        {name: np.float32(number) for name, number in scales.items()}, rounding, partition_size,
    )  # fmt: skip


def _check_dtypes(inputs: PagedInputs) -> None:
    dtypes = inputs.q.dtype, inputs.k_cache.dtype, inputs.v_cache.dtype
    if dtypes[0] not in (np.float16, np.float32):
        raise ValueError(f"q has dtype {dtypes[0]}, expected float16 or float32")
    for name, dtype in zip(("k_cache", "v_cache"), dtypes[1:], strict=True):
        if dtype not in (dtypes[0], np.uint8) or dtype != dtypes[1]:
            raise ValueError(
                f"{name} has dtype {dtype}: expected q's {dtypes[0]}, or uint8 (e4m3 codes) for "
                "both caches"
            )
    for name, array in (("block_tables", inputs.block_tables), ("seq_lens", inputs.lens)):
        if array.dtype.kind not in "iu":
            raise ValueError(f"{name} has dtype {array.dtype}, expected integers")


def _check_layout(config: Config, inputs: PagedInputs) -> None:
    num_blocks, num_kv_heads = inputs.v_cache.shape[:2]
    pieces, x, size = config.head_size // config.x, config.x, config.block_size
    wanted: dict[str, tuple[Given, list[int]]] = {
        "k_cache": (inputs.k_cache, [num_blocks, num_kv_heads, pieces, size, x]),
        "v_cache": (inputs.v_cache, [num_blocks, num_kv_heads, config.head_size, size]),
    }
    for name, (cache, shape) in wanted.items():
        if list(cache.shape) != shape:
            raise ValueError(
                f"{name} has shape {list(cache.shape)}, expected {_SHAPES[name]} = {shape}: "
                "kernels.to_cuda_layout makes both caches from [num_blocks, block_size, heads, "
                "head_size]"
            )
