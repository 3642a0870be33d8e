from pagesim import kernels  # first: it turns on Triton's interpreter where there is no GPU

import triton
import triton.language as tl


# %% right: the three lines
@triton.jit
def begin_with_new(
    out, q, k_new, v_new, k_cache, v_cache, block_tables, context_lens, scale,
    TABLE: tl.constexpr, BLOCK: tl.constexpr, DIM: tl.constexpr,
):
    seq = tl.program_id(0)
    dim, row = tl.arange(0, DIM), tl.arange(0, BLOCK)
    query = tl.load(q + seq * DIM + dim)
    new_key = tl.load(k_new + seq * DIM + dim)
    new_value = tl.load(v_new + seq * DIM + dim)
    length = tl.load(context_lens + seq)
    m = tl.sum(query * new_key, axis=0) * scale
    ell = 1.0
    acc = new_value
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

# %% right: the weight computed
# as "the three lines", but
#-     ell = 1.0
#+     ell = tl.exp(m - m)

# %% right: the query scaled first
# as "the three lines", but
#-     m = tl.sum(query * new_key, axis=0) * scale
#+     m = tl.sum((query * scale) * new_key, axis=0)

# %% right: an empty softmax that takes one token
# as "the three lines", but
#-     m = tl.sum(query * new_key, axis=0) * scale
#-     ell = 1.0
#-     acc = new_value
#+     m, ell, acc = -float("inf"), 0.0, tl.zeros([DIM], tl.float32)
#+     s = tl.sum(query * new_key, axis=0) * scale
#+     top = tl.maximum(m, s)
#+     ell = ell * tl.exp(m - top) + tl.exp(s - top)
#+     acc = acc * tl.exp(m - top) + tl.exp(s - top) * new_value
#+     m = top

# %% right: relative to zero
# as "the three lines", but
#-     m = tl.sum(query * new_key, axis=0) * scale
#-     ell = 1.0
#-     acc = new_value
#+     m = 0.0
#+     ell = tl.exp(tl.sum(query * new_key, axis=0) * scale)
#+     acc = ell * new_value

# %% wrong: no scale
# as "the three lines", but
#-     m = tl.sum(query * new_key, axis=0) * scale
#+     m = tl.sum(query * new_key, axis=0)

# %% wrong: the sum begins at 0
# as "the three lines", but
#-     ell = 1.0
#+     ell = 0.0

# %% wrong: values only in the loop
# as "the three lines", but
#-     acc = new_value
#+     acc = tl.zeros([DIM], tl.float32)

# %% wrong: an empty softmax
# as "the three lines", but
#-     m = tl.sum(query * new_key, axis=0) * scale
#-     ell = 1.0
#-     acc = new_value
#+     m, ell, acc = -float("inf"), 0.0, tl.zeros([DIM], tl.float32)

# %% wrong: the key for the value
# as "the three lines", but
#-     acc = new_value
#+     acc = new_key

# %% wrong: the score for the sum
# as "the three lines", but
#-     ell = 1.0
#+     ell = m

# %% wrong: exp of the score for the sum
# as "the three lines", but
#-     ell = 1.0
#+     ell = tl.exp(m)

# %% wrong: the value weighed by its score
# as "the three lines", but
#-     acc = new_value
#+     acc = m * new_value

# %% wrong: the maximum is 0
# as "the three lines", but
#-     m = tl.sum(query * new_key, axis=0) * scale
#+     m = 0.0

# %% wrong: scaled twice
# as "the three lines", but
#-     m = tl.sum(query * new_key, axis=0) * scale
#+     m = tl.sum(query * new_key, axis=0) * scale * scale

# %% wrong: the query with itself
# as "the three lines", but
#-     m = tl.sum(query * new_key, axis=0) * scale
#+     m = tl.sum(query * query, axis=0) * scale
