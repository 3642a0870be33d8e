from pagesim import kernels  # first: it turns on Triton's interpreter where there is no GPU

import triton
import triton.language as tl


@triton.jit
def begin_with_new(
    out, q, k_new, v_new, k_cache, v_cache, block_tables, context_lens, scale,
    TABLE: tl.constexpr, BLOCK: tl.constexpr, DIM: tl.constexpr,
):  # fmt: skip
    """One program: the query of one sequence, over its new token and its cached ones."""
    seq = tl.program_id(0)
    dim, row = tl.arange(0, DIM), tl.arange(0, BLOCK)
    query = tl.load(q + seq * DIM + dim)
    new_key = tl.load(k_new + seq * DIM + dim)
    new_value = tl.load(v_new + seq * DIM + dim)
    length = tl.load(context_lens + seq)
    # The state after the new token alone: m, ell and acc, [DIM].
    ### BEGIN SOLUTION
    m = tl.sum(query * new_key, axis=0) * scale
    ### not_scaled: m = tl.sum(query * new_key, axis=0)
    ### forgets_the_new_token: m = -float("inf")
    ell = 1.0
    ### weighs_nothing: ell = 0.0
    ### forgets_the_new_token: ell = 0.0
    acc = new_value
    ### value_left_out: acc = tl.zeros([DIM], tl.float32)
    ### forgets_the_new_token: acc = tl.zeros([DIM], tl.float32)
    ### END SOLUTION
    for page in range(tl.cdiv(length, BLOCK)):
        block = tl.load(block_tables + seq * TABLE + page).to(tl.int64)
        at = (block * BLOCK + row)[:, None] * DIM + dim[None, :]
        cached = page * BLOCK + row < length
        keys = tl.load(k_cache + at, mask=cached[:, None], other=0.0)
        values = tl.load(v_cache + at, mask=cached[:, None], other=0.0)
        scores = tl.where(cached, tl.sum(keys * query[None, :], axis=1) * scale, -float("inf"))
        new_m = tl.maximum(m, tl.max(scores, axis=0))
        weights, rescale = tl.exp(scores - new_m), tl.exp(m - new_m)
        ell = ell * rescale + tl.sum(weights, axis=0)
        acc = acc * rescale + tl.sum(weights[:, None] * values, axis=0)
        m = new_m
    tl.store(out + seq * DIM + dim, acc / ell)
