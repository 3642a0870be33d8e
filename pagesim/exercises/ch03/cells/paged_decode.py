from pagesim import kernels  # first: it turns on Triton's interpreter where there is no GPU

import triton
import triton.language as tl


@triton.jit
def paged_decode(
    out, q, k_cache, v_cache, block_tables, seq_lens, scale,
    TABLE: tl.constexpr, BLOCK: tl.constexpr, DIM: tl.constexpr,
):  # fmt: skip
    """One program: the query of one sequence, over all its blocks."""
    seq = tl.program_id(0)
    dim, row = tl.arange(0, DIM), tl.arange(0, BLOCK)
    query = tl.load(q + seq * DIM + dim)
    length = tl.load(seq_lens + seq)
    m, ell, acc = -float("inf"), 0.0, tl.zeros([DIM], tl.float32)
    for page in range(0, tl.cdiv(length, BLOCK)):
        # 1. The physical block of this entry, from this sequence's row of the tables.
        ### BEGIN SOLUTION
        block = tl.load(block_tables + seq * TABLE + page).to(tl.int64)
        ### page_for_block: block = page
        ### first_row_of_the_table: block = tl.load(block_tables + page).to(tl.int64)
        ### END SOLUTION
        at = (block * BLOCK + row)[:, None] * DIM + dim[None, :]
        # 2. Which rows of the block hold a token? Load only their keys and values [BLOCK, DIM].
        ### BEGIN SOLUTION
        seen = page * BLOCK + row < length
        ### one_row_too_many: seen = page * BLOCK + row <= length
        keys = tl.load(k_cache + at, mask=seen[:, None], other=0.0)
        values = tl.load(v_cache + at, mask=seen[:, None], other=0.0)
        ### values_not_masked: values = tl.load(v_cache + at)
        ### END SOLUTION
        scores = tl.where(seen, tl.sum(keys * query[None, :], axis=1) * scale, -float("inf"))
        new_m = tl.maximum(m, tl.max(scores, axis=0))
        weights = tl.exp(scores - new_m)
        # 3. The sum ell and the weighted sum acc [DIM], both relative to new_m.
        ### BEGIN SOLUTION
        rescale = tl.exp(m - new_m)
        ell = ell * rescale + tl.sum(weights, axis=0)
        acc = acc * rescale + tl.sum(weights[:, None] * values, axis=0)
        ### acc_not_rescaled: acc = acc + tl.sum(weights[:, None] * values, axis=0)
        ### END SOLUTION
        m = new_m
    # 4. The output of this sequence, a row of out.
    ### BEGIN SOLUTION
    tl.store(out + seq * DIM + dim, acc / ell)
    ### not_divided: tl.store(out + seq * DIM + dim, acc)
    ### END SOLUTION
