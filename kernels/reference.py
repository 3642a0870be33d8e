"""What the kernels compute, in NumPy float64: slow, short, and meant to be read.

Attention is written twice, in ways that share nothing, so that one checks the other:

* `online_softmax_attention` walks the block table page by page with a running maximum, sum and
  output, as the kernel does (Milakov & Gimelshein 2018; Dao et al. 2022, algorithm 1);
* `gather_attention` first gathers K and V through the table, then applies the textbook softmax.

Arrays: q [B, Hq, D]; caches [num_blocks, block_size, Hkv, D]; block_tables [B, max_blocks];
seq_lens [B]. Nothing outside a sequence's own visible slots is read, so other slots may hold NaN.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]


def online_softmax_states(x: ArrayLike) -> Iterator[tuple[float, float]]:
    """The running maximum m and running sum ell = Σ exp(xᵢ - m) after each element of a vector."""
    m, ell = -math.inf, 0.0
    for value in np.asarray(x, dtype=np.float64):
        new_m = max(m, float(value))
        # The old sum was taken relative to the old maximum: move it to the new one.
        ell = ell * math.exp(m - new_m) + math.exp(float(value) - new_m)
        m = new_m
        yield m, ell


def online_softmax(x: ArrayLike) -> Array:
    """Softmax of a vector of finite numbers, its maximum and its sum found in one pass.

    The textbook needs the maximum before it can start the sum: two passes, then a third to divide.
    """
    values = np.asarray(x, dtype=np.float64)
    m, ell = -math.inf, 0.0
    for m, ell in online_softmax_states(values):  # noqa: B007 (only the last state is wanted)
        pass
    return np.asarray(np.exp(values - m) / ell) if values.size else values


def online_softmax_attention(
    q: NDArray[Any],
    k_cache: NDArray[Any],
    v_cache: NDArray[Any],
    block_tables: NDArray[Any],
    seq_lens: NDArray[Any],
    *,
    scale: float | None = None,
    alibi_slopes: ArrayLike | None = None,
    sliding_window: int = 0,
    softcap: float = 0.0,
    k_scale: ArrayLike | None = None,
    v_scale: ArrayLike | None = None,
) -> Array:
    """Decode attention, one page after the other, never holding more than one page of scores.

    score = scale·(q·k)·k_scale, then softcap·tanh(score/softcap) if softcap > 0, then
    + slope·(key position - query position). The query sits at position seq_len - 1 and sees
    `sliding_window` keys, itself included (0 = all). scale defaults to 1/√D; k_scale and v_scale
    are one number or one per KV head. Returns [B, Hq, D]; a sequence of length 0 gives zeros.
    """
    num_heads, head_dim = q.shape[1:]
    block_size, num_kv_heads = k_cache.shape[1:3]
    factor = 1.0 / math.sqrt(head_dim) if scale is None else scale
    slopes = np.zeros(num_heads) if alibi_slopes is None else np.asarray(alibi_slopes, np.float64)
    k_factor = np.broadcast_to(1.0 if k_scale is None else np.asarray(k_scale), (num_kv_heads,))
    v_factor = np.broadcast_to(1.0 if v_scale is None else np.asarray(v_scale), (num_kv_heads,))
    out = np.zeros(q.shape, dtype=np.float64)
    for b, length in enumerate(int(n) for n in seq_lens):
        oldest = max(0, length - sliding_window) if sliding_window else 0
        pages = range(oldest // block_size, math.ceil(length / block_size))
        for head in range(num_heads):
            kv_head = head // (num_heads // num_kv_heads)
            query = q[b, head].astype(np.float64)
            m, ell, acc = -math.inf, 0.0, np.zeros(head_dim)
            for page in pages:
                positions = np.arange(
                    max(oldest, page * block_size), min(length, (page + 1) * block_size)
                )
                rows = slice(positions[0] % block_size, positions[-1] % block_size + 1)
                block = int(block_tables[b, page])
                k = k_cache[block, rows, kv_head].astype(np.float64)
                v = v_cache[block, rows, kv_head].astype(np.float64)
                scores = factor * (k @ query) * float(k_factor[kv_head])
                if softcap > 0:
                    scores = softcap * np.tanh(scores / softcap)
                scores = scores + slopes[head] * (positions - (length - 1))
                new_m = max(m, float(scores.max()))
                weights, rescale = np.exp(scores - new_m), math.exp(m - new_m)
                ell = ell * rescale + float(weights.sum())
                acc = acc * rescale + weights @ v
                m = new_m
            if ell > 0:
                out[b, head] = acc / ell * float(v_factor[kv_head])
    return out


def gather_attention(
    q: NDArray[Any],
    k_cache: NDArray[Any],
    v_cache: NDArray[Any],
    block_tables: NDArray[Any],
    seq_lens: NDArray[Any],
    *,
    scale: float | None = None,
    alibi_slopes: ArrayLike | None = None,
    sliding_window: int = 0,
    softcap: float = 0.0,
    k_scale: ArrayLike | None = None,
    v_scale: ArrayLike | None = None,
) -> Array:
    """The same answer the textbook way: make K and V contiguous again, then softmax(q·Kᵀ)·V.

    Arguments, semantics and result as in `online_softmax_attention`.
    """
    out = np.zeros(q.shape, dtype=np.float64)
    group = q.shape[1] // k_cache.shape[2]
    for b in range(q.shape[0]):
        n = int(seq_lens[b])
        if n == 0:
            continue
        seen = np.arange(n)[-sliding_window:] if sliding_window else np.arange(n)
        keys, values = (
            gather(cache, block_tables[b], seen) * _per_head(head_scale)
            for cache, head_scale in ((k_cache, k_scale), (v_cache, v_scale))
        )
        query = q[b].astype(np.float64) * (q.shape[2] ** -0.5 if scale is None else scale)
        scores = np.einsum("hd,thd->ht", query, keys.repeat(group, axis=1))
        if softcap:
            scores = np.tanh(scores / softcap) * softcap
        if alibi_slopes is not None:
            scores += np.outer(np.asarray(alibi_slopes), seen - seen[-1])
        weights = np.exp(scores - scores.max(axis=1, keepdims=True))
        weights /= weights.sum(axis=1, keepdims=True)
        out[b] = np.einsum("ht,thd->hd", weights, values.repeat(group, axis=1))
    return out


def gather(cache: NDArray[Any], block_table: NDArray[Any], positions: NDArray[Any]) -> Array:
    """Rows of a paged cache in token order, [len(positions), Hkv, D] in float64.

    Token p lies in slot block_table[p // block_size] · block_size + p % block_size.
    """
    page, row = np.divmod(positions, cache.shape[1])
    return np.asarray(cache[block_table[page], row], dtype=np.float64)


def reshape_and_cache(
    key: NDArray[Any],
    value: NDArray[Any],
    k_cache: NDArray[Any],
    v_cache: NDArray[Any],
    slot_mapping: NDArray[Any],
) -> None:
    """Write each token's key and value [T, Hkv, D] into its slot of the caches; -1 = skip."""
    block_size = k_cache.shape[1]
    for token, slot in enumerate(int(s) for s in slot_mapping):
        if slot >= 0:
            k_cache[slot // block_size, slot % block_size] = key[token]
            v_cache[slot // block_size, slot % block_size] = value[token]


def _per_head(scale: ArrayLike | None) -> Array:
    """A scale as something that multiplies [tokens, Hkv, D]."""
    return np.asarray(1.0 if scale is None else scale, dtype=np.float64).reshape(-1, 1)
