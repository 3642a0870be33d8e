from pagesim import kernels  # first: it turns on Triton's interpreter where there is no GPU

import triton
import triton.language as tl


# %% right: both places
@triton.jit
def past_null_blocks(
    out, q, k_cache, v_cache, block_tables, seq_lens, scale, window,
    TABLE: tl.constexpr, BLOCK: tl.constexpr, DIM: tl.constexpr,
):
    seq = tl.program_id(0)
    dim, row = tl.arange(0, DIM), tl.arange(0, BLOCK)
    query = tl.load(q + seq * DIM + dim)
    length = tl.load(seq_lens + seq)
    m, ell, acc = -float("inf"), 0.0, tl.zeros([DIM], tl.float32)
    first = tl.maximum(length - window, 0) // BLOCK
    for page in range(first, tl.cdiv(length, BLOCK)):
        block = tl.load(block_tables + seq * TABLE + page).to(tl.int64)
        at = (block * BLOCK + row)[:, None] * DIM + dim[None, :]
        position = page * BLOCK + row
        seen = (position < length) & (position >= length - window)
        keys = tl.load(k_cache + at, mask=seen[:, None], other=0.0)
        values = tl.load(v_cache + at, mask=seen[:, None], other=0.0)
        scores = tl.where(seen, tl.sum(keys * query[None, :], axis=1) * scale, -float("inf"))
        new_m = tl.maximum(m, tl.max(scores, axis=0))
        weights, rescale = tl.exp(scores - new_m), tl.exp(m - new_m)
        ell = ell * rescale + tl.sum(weights, axis=0)
        acc = acc * rescale + tl.sum(weights[:, None] * values, axis=0)
        m = new_m
    tl.store(out + seq * DIM + dim, acc / ell)

# %% right: the block of the first position
# as "both places", but
#-     first = tl.maximum(length - window, 0) // BLOCK
#+     first = tl.where(length > window, (length - window) // BLOCK, 0)

# %% right: a condition
# as "both places", but
#-     first = tl.maximum(length - window, 0) // BLOCK
#+     first = 0
#+     if length > window:
#+         first = (length - window) // BLOCK

# %% right: one mask for both
# as "both places", but
#-         keys = tl.load(k_cache + at, mask=seen[:, None], other=0.0)
#-         values = tl.load(v_cache + at, mask=seen[:, None], other=0.0)
#+         mine = (seen & (row >= 0))[:, None]
#+         keys = tl.load(k_cache + at, mask=mine, other=0.0)
#+         values = tl.load(v_cache + at, mask=mine, other=0.0)

# %% right: something else than 0 where nothing is seen
# as "both places", but
#-         values = tl.load(v_cache + at, mask=seen[:, None], other=0.0)
#+         values = tl.load(v_cache + at, mask=seen[:, None], other=7.0)

# %% right: the entries before the window counted
# as "both places", but
#-     first = tl.maximum(length - window, 0) // BLOCK
#+     first = tl.sum(tl.where((tl.arange(0, 64) + 1) * BLOCK <= length - window, 1, 0), axis=0)

# %% wrong: nothing is changed
# as "both places", but
#-     first = tl.maximum(length - window, 0) // BLOCK
#+     first = 0
#
#-         keys = tl.load(k_cache + at, mask=seen[:, None], other=0.0)
#-         values = tl.load(v_cache + at, mask=seen[:, None], other=0.0)
#+         keys, values = tl.load(k_cache + at), tl.load(v_cache + at)

# %% wrong: the masks alone
# as "both places", but
#-     first = tl.maximum(length - window, 0) // BLOCK
#+     first = 0

# %% wrong: the beginning alone
# as "both places", but
#-         keys = tl.load(k_cache + at, mask=seen[:, None], other=0.0)
#-         values = tl.load(v_cache + at, mask=seen[:, None], other=0.0)
#+         keys, values = tl.load(k_cache + at), tl.load(v_cache + at)

# %% wrong: the keys alone are masked
# as "both places", but
#-         values = tl.load(v_cache + at, mask=seen[:, None], other=0.0)
#+         values = tl.load(v_cache + at)

# %% wrong: the values alone are masked
# as "both places", but
#-         keys = tl.load(k_cache + at, mask=seen[:, None], other=0.0)
#+         keys = tl.load(k_cache + at)

# %% wrong: NaN where nothing is seen
# as "both places", but
#-         values = tl.load(v_cache + at, mask=seen[:, None], other=0.0)
#+         values = tl.load(v_cache + at, mask=seen[:, None], other=float("nan"))

# %% wrong: rounded up
# as "both places", but
#-     first = tl.maximum(length - window, 0) // BLOCK
#+     first = tl.cdiv(tl.maximum(length - window, 0), BLOCK)

# %% wrong: a block too early
# as "both places", but
#-     first = tl.maximum(length - window, 0) // BLOCK
#+     first = tl.maximum((length - window) // BLOCK - 1, 0)

# %% wrong: a token too early
# as "both places", but
#-     first = tl.maximum(length - window, 0) // BLOCK
#+     first = tl.maximum(length - 1 - window, 0) // BLOCK

# %% wrong: the last block alone
# as "both places", but
#-     first = tl.maximum(length - window, 0) // BLOCK
#+     first = tl.cdiv(length, BLOCK) - 1

# %% wrong: every token may be loaded
# as "both places", but
#-         keys = tl.load(k_cache + at, mask=seen[:, None], other=0.0)
#-         values = tl.load(v_cache + at, mask=seen[:, None], other=0.0)
#+         tokens = (position < length)[:, None]
#+         keys = tl.load(k_cache + at, mask=tokens, other=0.0)
#+         values = tl.load(v_cache + at, mask=tokens, other=0.0)

# %% wrong: a position for a block
# as "both places", but
#-     first = tl.maximum(length - window, 0) // BLOCK
#+     first = tl.maximum(length - window, 0)

# %% wrong: all but the null block
# as "both places", but
#-         keys = tl.load(k_cache + at, mask=seen[:, None], other=0.0)
#-         values = tl.load(v_cache + at, mask=seen[:, None], other=0.0)
#+         keys = tl.load(k_cache + at, mask=block != 0, other=0.0)
#+         values = tl.load(v_cache + at, mask=block != 0, other=0.0)
