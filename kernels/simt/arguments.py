"""What a launch refuses: NumPy arrays that do not fit together, tables that lead outside."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kernels.simt.config import Config
from kernels.simt.memory import Launch, Rounding

_SHAPES = {
    "q": ("[num_seqs, num_heads, head_size]", 3),
    "k_cache": ("[num_blocks, num_kv_heads, head_size / x, block_size, x]", 5),
    "v_cache": ("[num_blocks, num_kv_heads, head_size, block_size]", 4),
    "block_tables": ("[num_seqs, max_blocks]", 2),
    "seq_lens": ("[num_seqs]", 1),
}


def make_launch(
    q: NDArray[Any],
    k_cache: NDArray[Any],
    v_cache: NDArray[Any],
    block_tables: NDArray[Any],
    seq_lens: NDArray[Any],
    *,
    num_threads: int,
    scale: float | None,
    alibi_slopes: ArrayLike | None,
    k_scale: float,
    v_scale: float,
    rounding: Rounding,
    partition_size: int = 0,
) -> Launch:
    """Check everything and lay it out flat; ValueError or TypeError names what is wrong."""
    given = dict(zip(_SHAPES, (q, k_cache, v_cache, block_tables, seq_lens), strict=True))
    for name, array in given.items():
        shape, dims = _SHAPES[name]
        if not isinstance(array, np.ndarray):
            raise TypeError(f"{name} must be a NumPy array {shape}, got {type(array).__name__}")
        if array.ndim != dims:
            raise ValueError(f"{name} must have shape {shape}, got {list(array.shape)}")
    if rounding not in ("exact", "as_kernel"):
        raise ValueError(f'rounding = {rounding!r}: give "exact" or "as_kernel"')
    _check_dtypes(q, k_cache, v_cache)
    (num_seqs, num_heads, head_size), (num_kv_heads, _, block_size) = q.shape, v_cache.shape[1:]
    quantized = k_cache.dtype == np.uint8
    config = Config(head_size, block_size, num_threads, q.itemsize, quantized)
    _check_caches(config, k_cache, v_cache)
    if num_kv_heads == 0 or num_heads % num_kv_heads:
        raise ValueError(f"q has {num_heads} heads, no multiple of the {num_kv_heads} KV heads")
    if partition_size < 0 or partition_size % block_size:
        raise ValueError(
            f"partition_size = {partition_size}: a slice of the KV sequence must be whole blocks "
            f"of {block_size} tokens"
        )
    _check_tables(block_tables, seq_lens, num_seqs, block_size, len(k_cache))
    slopes = np.zeros(num_heads) if alibi_slopes is None else np.asarray(alibi_slopes)
    if slopes.shape != (num_heads,):
        raise ValueError(f"alibi_slopes has shape {list(slopes.shape)}, q has {num_heads} heads")
    return Launch(
        config,
        {"q": q.ravel(), "k": k_cache.ravel(), "v": v_cache.ravel()},
        num_heads,
        num_kv_heads,
        block_tables.astype(np.int64),
        seq_lens.astype(np.int64),
        np.float32(1 / math.sqrt(head_size) if scale is None else scale),
        slopes.astype(np.float32),
        {"q": np.float32(1), "k": np.float32(k_scale), "v": np.float32(v_scale)},
        rounding,
        partition_size,
    )


def _check_dtypes(q: NDArray[Any], k_cache: NDArray[Any], v_cache: NDArray[Any]) -> None:
    if q.dtype not in (np.float16, np.float32):
        raise ValueError(f"q has dtype {q.dtype}, expected float16 or float32")
    for name, cache in (("k_cache", k_cache), ("v_cache", v_cache)):
        if cache.dtype not in (q.dtype, np.uint8):
            raise ValueError(
                f"{name} has dtype {cache.dtype}, expected q's {q.dtype} or uint8 (e4m3 codes)"
            )
    if k_cache.dtype != v_cache.dtype:
        raise ValueError(f"k_cache has dtype {k_cache.dtype}, v_cache has {v_cache.dtype}")


def _check_caches(config: Config, k_cache: NDArray[Any], v_cache: NDArray[Any]) -> None:
    num_blocks, num_kv_heads = v_cache.shape[:2]
    pieces, x, size = config.head_size // config.x, config.x, config.block_size
    wanted = {
        "k_cache": (k_cache, [num_blocks, num_kv_heads, pieces, size, x]),
        "v_cache": (v_cache, [num_blocks, num_kv_heads, config.head_size, size]),
    }
    for name, (cache, shape) in wanted.items():
        if list(cache.shape) != shape:
            raise ValueError(
                f"{name} has shape {list(cache.shape)}, expected {_SHAPES[name][0]} = {shape}: "
                "kernels.to_cuda_layout makes both from [num_blocks, block_size, heads, head_size]"
            )


def _check_tables(
    block_tables: NDArray[Any],
    seq_lens: NDArray[Any],
    num_seqs: int,
    block_size: int,
    num_blocks: int,
) -> None:
    for name, array in (("block_tables", block_tables), ("seq_lens", seq_lens)):
        if array.dtype.kind not in "iu":
            raise ValueError(f"{name} has dtype {array.dtype}, expected integers")
        if len(array) != num_seqs:
            raise ValueError(f"{name} is for {len(array)} sequences, q is for {num_seqs}")
    for seq, length in enumerate(seq_lens.tolist()):
        if length < 0:
            raise ValueError(f"seq_lens[{seq}] = {length}: a length cannot be negative")
        pages = -(-length // block_size)
        if pages > block_tables.shape[1]:
            raise ValueError(
                f"block_tables is too short for sequence {seq}: seq_lens[{seq}] = {length} needs "
                f"{pages} blocks of {block_size}, its table has room for {block_tables.shape[1]}"
            )
        for page, number in enumerate(block_tables[seq, :pages].tolist()):
            if not 0 <= number < num_blocks:
                raise ValueError(
                    f"block_tables[{seq}, {page}] = {number}: sequence {seq} names a block outside "
                    f"the cache, which has blocks 0 to {num_blocks - 1}"
                )
