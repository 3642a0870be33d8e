from pagesim import kernels  # first: it turns on Triton's interpreter where there is no GPU

import triton
import triton.language as tl


# %% right: distance from the query
@triton.jit
def windowed_decode(
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
        distance = length - 1 - position
        seen = (distance >= 0) & (distance < window)
        keys = tl.load(k_cache + at, mask=seen[:, None], other=0.0)
        values = tl.load(v_cache + at, mask=seen[:, None], other=0.0)
        scores = tl.where(seen, tl.sum(keys * query[None, :], axis=1) * scale, -float("inf"))
        new_m = tl.maximum(m, tl.max(scores, axis=0))
        weights, rescale = tl.exp(scores - new_m), tl.exp(m - new_m)
        ell = ell * rescale + tl.sum(weights, axis=0)
        acc = acc * rescale + tl.sum(weights[:, None] * values, axis=0)
        m = new_m
    tl.store(out + seq * DIM + dim, acc / ell)

# %% right: the first position by itself
# as "distance from the query", but
#-         distance = length - 1 - position
#-         seen = (distance >= 0) & (distance < window)
#+         begin = tl.maximum(length - window, 0)
#+         seen = (begin <= position) & (position < length)

# %% right: strict comparisons
# as "distance from the query", but
#-         distance = length - 1 - position
#-         seen = (distance >= 0) & (distance < window)
#+         seen = (position > length - window - 1) & (position <= length - 1)

# %% right: what is seen without a window, minus what is too old
# as "distance from the query", but
#-         distance = length - 1 - position
#-         seen = (distance >= 0) & (distance < window)
#+         seen = position < length
#+         too_old = position + window < length
#+         seen = seen & (too_old == 0)

# %% right: a product of two comparisons, as a mask
# as "distance from the query", but
#-         distance = length - 1 - position
#-         seen = (distance >= 0) & (distance < window)
#+         seen = tl.where(position < length, position + window >= length, False)

# %% wrong: no lower end
# as "distance from the query", but
#-         distance = length - 1 - position
#-         seen = (distance >= 0) & (distance < window)
#+         seen = position < length

# %% wrong: no upper end
# as "distance from the query", but
#-         distance = length - 1 - position
#-         seen = (distance >= 0) & (distance < window)
#+         seen = position >= length - window

# %% wrong: window and the query's own key
# as "distance from the query", but
#-         distance = length - 1 - position
#-         seen = (distance >= 0) & (distance < window)
#+         seen = (position < length) & (position >= length - window - 1)

# %% wrong: one key too few
# as "distance from the query", but
#-         distance = length - 1 - position
#-         seen = (distance >= 0) & (distance < window)
#+         seen = (position < length) & (position > length - window)

# %% wrong: the first keys of the sequence
# as "distance from the query", but
#-         distance = length - 1 - position
#-         seen = (distance >= 0) & (distance < window)
#+         seen = (position < length) & (position < window)

# %% wrong: rows in place of positions
# as "distance from the query", but
#-         distance = length - 1 - position
#-         seen = (distance >= 0) & (distance < window)
#+         seen = (row < length) & (row >= length - window)

# %% wrong: up to length included
# as "distance from the query", but
#-         distance = length - 1 - position
#-         seen = (distance >= 0) & (distance < window)
#+         seen = (position <= length) & (position >= length - window)

# %% wrong: or in place of and
# as "distance from the query", but
#-         distance = length - 1 - position
#-         seen = (distance >= 0) & (distance < window)
#+         seen = (position < length) | (position >= length - window)

# %% wrong: the window counted from the page's end
# as "distance from the query", but
#-         distance = length - 1 - position
#-         seen = (distance >= 0) & (distance < window)
#+         seen = (position < length) & (row >= BLOCK - window)

# %% wrong: whole pages from the first on
# as "distance from the query", but
#-         distance = length - 1 - position
#-         seen = (distance >= 0) & (distance < window)
#+         seen = (position < length) & (position >= first * BLOCK)

# %% wrong: the window ends before the query
# as "distance from the query", but
#-         distance = length - 1 - position
#-         seen = (distance >= 0) & (distance < window)
#+         seen = (position < length - 1) & (position >= length - 1 - window)

# %% wrong: the distance is taken without its sign
# as "distance from the query", but
#-         distance = length - 1 - position
#-         seen = (distance >= 0) & (distance < window)
#+         seen = tl.abs(position - (length - 1)) < window
