"""What the kernels compute, in NumPy float64: slow, short, and meant to be read.

Attention is written twice, in ways that share nothing, so that one checks the other:

* `online_softmax_attention` walks the block table page by page with a running maximum, sum and
  output, as the kernel does (Milakov & Gimelshein 2018; Dao et al. 2022, algorithm 1);
* `gather_attention` first gathers K and V through the table, then applies the textbook softmax.

Prefill and fused decode are the same attention over other arguments: `one_row_per_query` and
`with_new_tokens` turn theirs into a decode call's.

Arrays: q [B, Hq, D]; caches [num_blocks, block_size, Hkv, D]; block_tables [B, max_blocks];
seq_lens [B]. Nothing outside a sequence's own visible slots is read, so other slots may hold NaN.
"""

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]
Given = NDArray[np.number]
"""Numbers of any type; the answers are float64."""
Ints = NDArray[np.integer]


def online_softmax_states(x: ArrayLike) -> Iterator[tuple[float, float]]:
    """Return the running maximum m and sum ell = Σ exp(xᵢ - m) after each element of a vector."""
    m, ell = -math.inf, 0.0
    for value in np.asarray(x, dtype=np.float64):
        if value == -math.inf:  # has weight 0, and may come before there is a maximum
            yield m, ell
            continue
        new_m = max(m, float(value))
        # The old sum was taken relative to the old maximum: move it to the new one.
        ell = ell * math.exp(m - new_m) + math.exp(float(value) - new_m)
        m = new_m
        yield m, ell


def online_softmax(x: ArrayLike) -> Array:
    """Return the softmax of a vector; maximum and sum are found in one pass.

    The textbook needs the maximum before it can start the sum: two passes, then a third to divide.
    At least one element must be finite.
    """
    values = np.asarray(x, dtype=np.float64)
    m, ell = -math.inf, 0.0
    for m, ell in online_softmax_states(values):  # noqa: B007 (only the last state is wanted)
        pass
    return np.asarray(np.exp(values - m) / ell) if values.size else values


def online_softmax_attention(
    q: Given,
    k_cache: Given,
    v_cache: Given,
    block_tables: Ints,
    seq_lens: Ints,
    *,
    scale: float | None = None,
    alibi_slopes: ArrayLike | None = None,
    sliding_window: int = 0,
    softcap: float = 0.0,
    k_scale: ArrayLike | None = None,
    v_scale: ArrayLike | None = None,
    lse_out: Array | None = None,
) -> Array:
    """Compute decode attention one page after the other, with the scores of one page at a time.

    score = scale·(q·k)·k_scale, then softcap·tanh(score/softcap) if softcap > 0, then
    + slope·(key position - query position). The query has position seq_len - 1 and attends to
    `sliding_window` keys, including its own (0 = all). scale defaults to 1/√D; k_scale and v_scale
    are one number, or one per KV head. Returns [B, Hq, D]; a sequence of length 0 gives zeros.
    lse_out, if given, is an array [B, Hq] to fill with log₂ Σ exp(score), or -inf for length 0.
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
            if ell != 0:  # NaN is not 0 either, and must not vanish
                out[b, head] = acc / ell * float(v_factor[kv_head])
            if lse_out is not None:
                lse_out[b, head] = m * math.log2(math.e) + math.log2(ell) if ell != 0 else -math.inf
    return out


def gather_attention(
    q: Given,
    k_cache: Given,
    v_cache: Given,
    block_tables: Ints,
    seq_lens: Ints,
    *,
    scale: float | None = None,
    alibi_slopes: ArrayLike | None = None,
    sliding_window: int = 0,
    softcap: float = 0.0,
    k_scale: ArrayLike | None = None,
    v_scale: ArrayLike | None = None,
    lse_out: Array | None = None,
) -> Array:
    """Compute the same as the textbook does: gather K and V, then take softmax(q·Kᵀ)·V.

    Arguments, semantics and result are those of `online_softmax_attention`.
    """
    out = np.zeros(q.shape, dtype=np.float64)
    group = q.shape[1] // k_cache.shape[2]
    if lse_out is not None:
        lse_out[:] = -math.inf
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
        if lse_out is not None:
            lse_out[b] = np.logaddexp2.reduce(scores / math.log(2), axis=1)
        weights = np.exp(scores - scores.max(axis=1, keepdims=True))
        weights /= weights.sum(axis=1, keepdims=True)
        out[b] = np.einsum("ht,thd->hd", weights, values.repeat(group, axis=1))
    return out


def one_row_per_query(
    query_start_loc: Ints, block_tables: Ints, seq_lens: Ints
) -> tuple[Ints, Ints]:
    """Return block tables and lengths that turn a prefill call into a decode call of its queries.

    Each query gets a row of its own. Causal attention means just this: a query at position p
    attends as if the sequence had p + 1 tokens.
    """
    counts = np.diff(query_start_loc)
    row = np.repeat(np.arange(len(seq_lens)), counts)
    index = np.arange(len(row)) - np.repeat(query_start_loc[:-1], counts)
    return block_tables[row], (seq_lens - counts)[row] + index + 1


def with_new_tokens(
    k_new: Given,
    v_new: Given,
    k_cache: Given,
    v_cache: Given,
    block_tables: Ints,
    context_lens: Ints,
    k_scale: ArrayLike | None = None,
    v_scale: ArrayLike | None = None,
) -> tuple[Array, Array, Ints, Ints]:
    """Return caches, tables and lengths that turn a fused call into a decode call.

    They are in float64 and unscaled. Each sequence's last page is copied to a new block after the
    others, and the new token [Hkv, D] is written into the copy; the given caches do not change.
    """
    num_blocks, block_size = k_cache.shape[:2]
    num_seqs = len(context_lens)
    tables = np.hstack([block_tables, np.zeros((num_seqs, 1), dtype=block_tables.dtype)])
    seqs, (page, row) = np.arange(num_seqs), np.divmod(context_lens, block_size)
    caches = []
    for cache, new, scale in ((k_cache, k_new, k_scale), (v_cache, v_new, v_scale)):
        wide = np.asarray(cache, dtype=np.float64) * _per_head(scale)
        last = np.zeros((num_seqs, *cache.shape[1:]))
        partly = row > 0  # the other tokens begin a page
        last[partly] = wide[tables[seqs, page][partly]]
        last[seqs, row] = new
        caches.append(np.concatenate([wide, last]))
    tables[seqs, page] = num_blocks + seqs
    return caches[0], caches[1], tables, context_lens + 1


def gather(cache: Given, block_table: Ints, positions: Ints) -> Array:
    """Gather the vectors of a paged cache in token order: [len(positions), Hkv, D] in float64.

    Token p lies in slot block_table[p // block_size] · block_size + p % block_size.
    """
    page, row = np.divmod(positions, cache.shape[1])
    return np.asarray(cache[block_table[page], row], dtype=np.float64)


def reshape_and_cache(
    key: Given, value: Given, k_cache: Given, v_cache: Given, slot_mapping: Ints
) -> None:
    """Write each token's key and value [T, Hkv, D] into its slot of the caches; -1 = skip.

    Elements for an fp8 cache must already be divided by their scale and rounded: see `to_fp8`.
    """
    block_size = k_cache.shape[1]
    for token, slot in enumerate(int(s) for s in slot_mapping):
        if slot >= 0:
            k_cache[slot // block_size, slot % block_size] = key[token]
            v_cache[slot // block_size, slot % block_size] = value[token]


def to_fp8(x: Given, scale: ArrayLike | None = None) -> NDArray[np.uint8]:
    """Convert x [T, Hkv, D] ÷ scale to float8_e4m3fn, clamped to ±448, rounded to nearest even.

    The result has the codes of the numbers. A code's lower seven bits count the non-negative
    numbers upwards from 0, so rounding is a search; NaN has the code 127.
    """
    scaled = np.asarray(x, dtype=np.float32) / _per_head(scale).astype(np.float32)
    size = np.minimum(np.abs(scaled), np.float32(448)).astype(np.float64)
    code = np.clip(np.searchsorted(FP8_NUMBERS, size), 1, 126)
    below, above = size - FP8_NUMBERS[code - 1], FP8_NUMBERS[code] - size
    code -= (below < above) | ((below == above) & (code % 2 == 1))
    code = np.where(np.isnan(scaled), 127, code)
    return np.asarray(code + 128 * np.signbit(scaled), dtype=np.uint8)


def from_fp8(codes: NDArray[np.uint8]) -> Array:
    """Return the numbers that codes of float8_e4m3fn stand for."""
    size = np.append(FP8_NUMBERS, np.nan)[codes % 128]
    return np.where(codes < 128, size, -size)


# 0, seven numbers below the smallest exponent, then eight for each of 2⁻⁶ … 2⁸ but the last NaN.
FP8_NUMBERS: Array = np.array(
    [i * 2.0**-9 for i in range(8)]
    + [(1 + i / 8) * 2.0**e for e in range(-6, 9) for i in range(8)][:-1]
)


def _per_head(scale: ArrayLike | None) -> Array:
    """A scale as something that multiplies [tokens, Hkv, D]."""
    return np.asarray(1.0 if scale is None else scale, dtype=np.float64).reshape(-1, 1)
