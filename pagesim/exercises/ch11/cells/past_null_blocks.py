from pagesim import kernels  # first: it turns on Triton's interpreter where there is no GPU

import triton
import triton.language as tl


@triton.jit
def past_null_blocks(
    out, q, k_cache, v_cache, block_tables, seq_lens, scale, window,
    TABLE: tl.constexpr, BLOCK: tl.constexpr, DIM: tl.constexpr,
):  # fmt: skip
    """One program: the query of one sequence, over its last `window` keys."""
    seq = tl.program_id(0)
    dim, row = tl.arange(0, DIM), tl.arange(0, BLOCK)
    query = tl.load(q + seq * DIM + dim)
    length = tl.load(seq_lens + seq)
    m, ell, acc = -float("inf"), 0.0, tl.zeros([DIM], tl.float32)
    # 1. It was: first = 0
    ### BEGIN SOLUTION
    first = tl.maximum(length - window, 0) // BLOCK
    ### begins_at_0: first = 0
    ### rounded_up: first = tl.cdiv(tl.maximum(length - window, 0), BLOCK)
    ### its_own_token_too: first = tl.maximum(length - 1 - window, 0) // BLOCK
    ### END SOLUTION
    for page in range(first, tl.cdiv(length, BLOCK)):
        block = tl.load(block_tables + seq * TABLE + page).to(tl.int64)
        at = (block * BLOCK + row)[:, None] * DIM + dim[None, :]
        position = page * BLOCK + row
        seen = (position < length) & (position >= length - window)
        # 2. It was: keys, values = tl.load(k_cache + at), tl.load(v_cache + at)
        ### BEGIN SOLUTION
        keys = tl.load(k_cache + at, mask=seen[:, None], other=0.0)
        ### tokens_are_loaded: keys = tl.load(
        ### tokens_are_loaded:     k_cache + at, mask=(position < length)[:, None], other=0.0)
        values = tl.load(v_cache + at, mask=seen[:, None], other=0.0)
        ### values_not_masked: values = tl.load(v_cache + at)
        ### tokens_are_loaded: values = tl.load(
        ### tokens_are_loaded:     v_cache + at, mask=(position < length)[:, None], other=0.0)
        ### END SOLUTION
        scores = tl.where(seen, tl.sum(keys * query[None, :], axis=1) * scale, -float("inf"))
        new_m = tl.maximum(m, tl.max(scores, axis=0))
        weights, rescale = tl.exp(scores - new_m), tl.exp(m - new_m)
        ell = ell * rescale + tl.sum(weights, axis=0)
        acc = acc * rescale + tl.sum(weights[:, None] * values, axis=0)
        m = new_m
    tl.store(out + seq * DIM + dim, acc / ell)
