from pagesim import kernels  # first: it turns on Triton's interpreter where there is no GPU

import triton
import triton.language as tl


@triton.jit
def prefill_kernel(
    out, q, k_cache, v_cache, block_tables, query_start, seq_lens, scale,
    TABLE: tl.constexpr, BLOCK: tl.constexpr, DIM: tl.constexpr, ROWS: tl.constexpr,
):  # fmt: skip
    """One program: the new tokens of one sequence, over all its blocks."""
    seq = tl.program_id(0)
    row, slot, dim = tl.arange(0, ROWS), tl.arange(0, BLOCK), tl.arange(0, DIM)
    begin = tl.load(query_start + seq)  # the sequence's first row in q
    count = tl.load(query_start + seq + 1) - begin  # how many new tokens it has
    length = tl.load(seq_lens + seq)  # of the whole sequence, cached tokens included
    # 1. The position of each new token in its sequence [ROWS], and where its query is in q.
    ### BEGIN SOLUTION
    position = length - count + row
    ### position_from_0: position = row
    offset = (begin + row)[:, None] * DIM + dim[None, :]
    ### queries_from_0: offset = row[:, None] * DIM + dim[None, :]
    ### END SOLUTION
    there = (row < count)[:, None]
    query = tl.load(q + offset, mask=there, other=0.0)
    m = tl.full([ROWS], -float("inf"), tl.float32)
    ell = tl.zeros([ROWS], tl.float32)
    acc = tl.zeros([ROWS, DIM], tl.float32)
    for page in range(0, tl.cdiv(length, BLOCK)):
        block = tl.load(block_tables + seq * TABLE + page).to(tl.int64)
        key = page * BLOCK + slot  # the positions of this block's keys
        at = (block * BLOCK + slot)[:, None] * DIM + dim[None, :]
        keys = tl.load(k_cache + at, mask=(key < length)[:, None], other=0.0)
        values = tl.load(v_cache + at, mask=(key < length)[:, None], other=0.0)
        # 2. Which keys does each new token see? [ROWS, BLOCK]
        ### BEGIN SOLUTION
        seen = key[None, :] <= position[:, None]
        ### not_itself: seen = key[None, :] < position[:, None]
        ### no_causal_mask: seen = (key < length)[None, :] & (row < ROWS)[:, None]
        ### END SOLUTION
        scores = tl.sum(query[:, None, :] * keys[None, :, :], axis=2) * scale
        scores = tl.where(seen, scores, -float("inf"))
        new_m = tl.maximum(m, tl.max(scores, axis=1))
        weights, rescale = tl.exp(scores - new_m[:, None]), tl.exp(m - new_m)
        # 3. The sums ell [ROWS], and the weighted values acc [ROWS, DIM], relative to new_m.
        ### BEGIN SOLUTION
        ell = ell * rescale + tl.sum(weights, axis=1)
        acc = acc * rescale[:, None] + tl.sum(weights[:, :, None] * values[None, :, :], axis=1)
        ### acc_not_rescaled: acc = acc + tl.sum(weights[:, :, None] * values[None, :, :], axis=1)
        ### END SOLUTION
        m = new_m
    tl.store(out + offset, acc / ell[:, None], mask=there)


def prefix_prefill(out, q, k_cache, v_cache, block_tables, query_start, seq_lens):
    """Attention of new tokens over cached and new keys, one head, into `out`, which is like `q`.

    q: [new tokens, 1, dim]; caches: [blocks, block_size, 1, dim]; block_tables: [sequences, pages];
    query_start: [sequences + 1]; seq_lens: [sequences].
    """
    sequences, pages = block_tables.shape
    block, dim = k_cache.shape[1], k_cache.shape[3]
    prefill_kernel[(sequences,)](
        out, q, k_cache, v_cache, block_tables, query_start, seq_lens, dim**-0.5,
        TABLE=pages, BLOCK=block, DIM=dim, ROWS=8,
    )  # fmt: skip
