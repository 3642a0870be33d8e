from pagesim import kernels  # first: it turns on Triton's interpreter where there is no GPU

import triton
import triton.language as tl


# %% right: two loads behind another
@triton.jit
def paged_decode(
    out, q, k_cache, v_cache, block_tables, seq_lens, scale,
    TABLE: tl.constexpr, BLOCK: tl.constexpr, DIM: tl.constexpr,
):
    seq = tl.program_id(0)
    dim, row = tl.arange(0, DIM), tl.arange(0, BLOCK)
    query = tl.load(q + seq * DIM + dim)
    length = tl.load(seq_lens + seq)
    m, ell, acc = -float("inf"), 0.0, tl.zeros([DIM], tl.float32)
    for page in range(0, tl.cdiv(length, BLOCK)):
        row_of_table = block_tables + seq * TABLE
        block = tl.load(row_of_table + page).to(tl.int64)
        at = (block * BLOCK + row)[:, None] * DIM + dim[None, :]
        left = length - page * BLOCK
        seen = row < left
        inside = seen[:, None] & (dim[None, :] < DIM)
        keys = tl.load(k_cache + at, mask=inside, other=0.0)
        values = tl.load(v_cache + at, mask=inside, other=0.0)
        scores = tl.where(seen, tl.sum(keys * query[None, :], axis=1) * scale, -float("inf"))
        new_m = tl.maximum(m, tl.max(scores, axis=0))
        weights = tl.exp(scores - new_m)
        rescale = tl.exp(m - new_m)
        ell = ell * rescale + tl.sum(weights, axis=0)
        acc = acc * rescale + tl.sum(weights[:, None] * values, axis=0)
        m = new_m
    tl.store(out + seq * DIM + dim, acc / ell)

# %% right: another number for what is masked, which weighs nothing
@triton.jit
def paged_decode(
    out, q, k_cache, v_cache, block_tables, seq_lens, scale,
    TABLE: tl.constexpr, BLOCK: tl.constexpr, DIM: tl.constexpr,
):
    seq = tl.program_id(0)
    dim, row = tl.arange(0, DIM), tl.arange(0, BLOCK)
    query = tl.load(q + seq * DIM + dim)
    length = tl.load(seq_lens + seq)
    m, ell, acc = -float("inf"), 0.0, tl.zeros([DIM], tl.float32)
    for page in range(0, tl.cdiv(length, BLOCK)):
        block = tl.load(block_tables + seq * TABLE + page).to(tl.int64)
        at = (block * BLOCK + row)[:, None] * DIM + dim[None, :]
        seen = page * BLOCK + row < length
        keys = tl.load(k_cache + at, mask=seen[:, None], other=1.0)
        values = tl.load(v_cache + at, mask=seen[:, None], other=0.0)
        scores = tl.where(seen, tl.sum(keys * query[None, :], axis=1) * scale, -float("inf"))
        new_m = tl.maximum(m, tl.max(scores, axis=0))
        weights = tl.exp(scores - new_m)
        rescale = tl.exp(m - new_m)
        acc *= rescale
        ell *= rescale
        acc += tl.sum(values * weights[:, None], 0)
        ell += tl.sum(weights, 0)
        m = new_m
    tl.store(out + seq * DIM + dim, acc / ell)

# %% right: divides before it stores, number by number of the sum
# as "another number for what is masked, which weighs nothing", but
#-         keys = tl.load(k_cache + at, mask=seen[:, None], other=1.0)
#+         keys = tl.load(k_cache + at, mask=seen[:, None], other=0.0)
#
#-         acc *= rescale
#-         ell *= rescale
#-         acc += tl.sum(values * weights[:, None], 0)
#-         ell += tl.sum(weights, 0)
#+         ell = ell * rescale + tl.sum(weights, axis=0)
#+         acc = acc * rescale + tl.sum(weights[:, None] * values, axis=0)
#
#-     tl.store(out + seq * DIM + dim, acc / ell)
#+     answer = acc / ell
#+     here = out + seq * DIM
#+     tl.store(here + dim, answer, mask=dim < DIM)

# %% right: an average that is kept up to date in the loop
# as "another number for what is masked, which weighs nothing", but
#-         keys = tl.load(k_cache + at, mask=seen[:, None], other=1.0)
#+         keys = tl.load(k_cache + at, mask=seen[:, None], other=0.0)
#
#-         rescale = tl.exp(m - new_m)
#-         acc *= rescale
#-         ell *= rescale
#-         acc += tl.sum(values * weights[:, None], 0)
#-         ell += tl.sum(weights, 0)
#+         old = ell * tl.exp(m - new_m)
#+         ell = old + tl.sum(weights, axis=0)
#+         acc = (acc * old + tl.sum(weights[:, None] * values, axis=0)) / ell
#
#-     tl.store(out + seq * DIM + dim, acc / ell)
#+     tl.store(out + seq * DIM + dim, acc)

# %% right: answers stored anew after every page
# as "another number for what is masked, which weighs nothing", but
#-         keys = tl.load(k_cache + at, mask=seen[:, None], other=1.0)
#+         keys = tl.load(k_cache + at, mask=seen[:, None], other=0.0)
#
#-         acc *= rescale
#-         ell *= rescale
#-         acc += tl.sum(values * weights[:, None], 0)
#-         ell += tl.sum(weights, 0)
#+         ell = ell * rescale + tl.sum(weights, axis=0)
#+         acc = acc * rescale + tl.sum(weights[:, None] * values, axis=0)
#+         tl.store(out + seq * DIM + dim, acc / ell)
#
#-     tl.store(out + seq * DIM + dim, acc / ell)
#+     tl.store(out + seq * DIM + dim, acc * (1.0 / ell))

# %% wrong: the table of sequence 0 for all
# as "two loads behind another", but
#-         row_of_table = block_tables + seq * TABLE
#-         block = tl.load(row_of_table + page).to(tl.int64)
#+         block = tl.load(block_tables + page).to(tl.int64)
#
#-         left = length - page * BLOCK
#-         seen = row < left
#-         inside = seen[:, None] & (dim[None, :] < DIM)
#-         keys = tl.load(k_cache + at, mask=inside, other=0.0)
#-         values = tl.load(v_cache + at, mask=inside, other=0.0)
#+         seen = page * BLOCK + row < length
#+         keys = tl.load(k_cache + at, mask=seen[:, None], other=0.0)
#+         values = tl.load(v_cache + at, mask=seen[:, None], other=0.0)

# %% wrong: the row of the table counted in pages of this sequence
# as "two loads behind another", but
#-         row_of_table = block_tables + seq * TABLE
#-         block = tl.load(row_of_table + page).to(tl.int64)
#+         block = tl.load(block_tables + seq * tl.cdiv(length, BLOCK) + page).to(tl.int64)
#
#-         left = length - page * BLOCK
#-         seen = row < left
#-         inside = seen[:, None] & (dim[None, :] < DIM)
#-         keys = tl.load(k_cache + at, mask=inside, other=0.0)
#-         values = tl.load(v_cache + at, mask=inside, other=0.0)
#+         seen = page * BLOCK + row < length
#+         keys = tl.load(k_cache + at, mask=seen[:, None], other=0.0)
#+         values = tl.load(v_cache + at, mask=seen[:, None], other=0.0)

# %% wrong: the page's number for its block
# as "two loads behind another", but
#-         row_of_table = block_tables + seq * TABLE
#-         block = tl.load(row_of_table + page).to(tl.int64)
#+         block = page
#
#-         left = length - page * BLOCK
#-         seen = row < left
#-         inside = seen[:, None] & (dim[None, :] < DIM)
#-         keys = tl.load(k_cache + at, mask=inside, other=0.0)
#-         values = tl.load(v_cache + at, mask=inside, other=0.0)
#+         seen = page * BLOCK + row < length
#+         keys = tl.load(k_cache + at, mask=seen[:, None], other=0.0)
#+         values = tl.load(v_cache + at, mask=seen[:, None], other=0.0)

# %% wrong: no mask
# as "another number for what is masked, which weighs nothing", but
#-         keys = tl.load(k_cache + at, mask=seen[:, None], other=1.0)
#-         values = tl.load(v_cache + at, mask=seen[:, None], other=0.0)
#+         keys = tl.load(k_cache + at)
#+         values = tl.load(v_cache + at)
#
#-         acc *= rescale
#-         ell *= rescale
#-         acc += tl.sum(values * weights[:, None], 0)
#-         ell += tl.sum(weights, 0)
#+         ell = ell * rescale + tl.sum(weights, axis=0)
#+         acc = acc * rescale + tl.sum(weights[:, None] * values, axis=0)

# %% wrong: values without a mask
# as "another number for what is masked, which weighs nothing", but
#-         keys = tl.load(k_cache + at, mask=seen[:, None], other=1.0)
#-         values = tl.load(v_cache + at, mask=seen[:, None], other=0.0)
#+         keys = tl.load(k_cache + at, mask=seen[:, None], other=0.0)
#+         values = tl.load(v_cache + at)
#
#-         acc *= rescale
#-         ell *= rescale
#-         acc += tl.sum(values * weights[:, None], 0)
#-         ell += tl.sum(weights, 0)
#+         ell = ell * rescale + tl.sum(weights, axis=0)
#+         acc = acc * rescale + tl.sum(weights[:, None] * values, axis=0)

# %% wrong: keys without a mask, whose scores are left out
# as "another number for what is masked, which weighs nothing", but
#-         keys = tl.load(k_cache + at, mask=seen[:, None], other=1.0)
#+         keys = tl.load(k_cache + at)
#
#-         acc *= rescale
#-         ell *= rescale
#-         acc += tl.sum(values * weights[:, None], 0)
#-         ell += tl.sum(weights, 0)
#+         ell = ell * rescale + tl.sum(weights, axis=0)
#+         acc = acc * rescale + tl.sum(weights[:, None] * values, axis=0)

# %% wrong: loads without a mask, NaN made 0 behind them
# as "another number for what is masked, which weighs nothing", but
#-         keys = tl.load(k_cache + at, mask=seen[:, None], other=1.0)
#-         values = tl.load(v_cache + at, mask=seen[:, None], other=0.0)
#+         keys = tl.load(k_cache + at)
#+         values = tl.load(v_cache + at)
#+         keys = tl.where(seen[:, None], keys, 0.0)
#+         values = tl.where(seen[:, None], values, 0.0)
#
#-         acc *= rescale
#-         ell *= rescale
#-         acc += tl.sum(values * weights[:, None], 0)
#-         ell += tl.sum(weights, 0)
#+         ell = ell * rescale + tl.sum(weights, axis=0)
#+         acc = acc * rescale + tl.sum(weights[:, None] * values, axis=0)

# %% wrong: the last token is not seen
# as "another number for what is masked, which weighs nothing", but
#-         seen = page * BLOCK + row < length
#-         keys = tl.load(k_cache + at, mask=seen[:, None], other=1.0)
#+         seen = page * BLOCK + row < length - 1
#+         keys = tl.load(k_cache + at, mask=seen[:, None], other=0.0)
#
#-         acc *= rescale
#-         ell *= rescale
#-         acc += tl.sum(values * weights[:, None], 0)
#-         ell += tl.sum(weights, 0)
#+         ell = ell * rescale + tl.sum(weights, axis=0)
#+         acc = acc * rescale + tl.sum(weights[:, None] * values, axis=0)

# %% wrong: one token too many
# as "another number for what is masked, which weighs nothing", but
#-         seen = page * BLOCK + row < length
#-         keys = tl.load(k_cache + at, mask=seen[:, None], other=1.0)
#+         seen = page * BLOCK + row <= length
#+         keys = tl.load(k_cache + at, mask=seen[:, None], other=0.0)
#
#-         acc *= rescale
#-         ell *= rescale
#-         acc += tl.sum(values * weights[:, None], 0)
#-         ell += tl.sum(weights, 0)
#+         ell = ell * rescale + tl.sum(weights, axis=0)
#+         acc = acc * rescale + tl.sum(weights[:, None] * values, axis=0)

# %% wrong: every page counted from its own beginning
# as "another number for what is masked, which weighs nothing", but
#-         seen = page * BLOCK + row < length
#-         keys = tl.load(k_cache + at, mask=seen[:, None], other=1.0)
#+         seen = row < length
#+         keys = tl.load(k_cache + at, mask=seen[:, None], other=0.0)
#
#-         acc *= rescale
#-         ell *= rescale
#-         acc += tl.sum(values * weights[:, None], 0)
#-         ell += tl.sum(weights, 0)
#+         ell = ell * rescale + tl.sum(weights, axis=0)
#+         acc = acc * rescale + tl.sum(weights[:, None] * values, axis=0)

# %% wrong: acc is not rescaled
# as "another number for what is masked, which weighs nothing", but
#-         keys = tl.load(k_cache + at, mask=seen[:, None], other=1.0)
#+         keys = tl.load(k_cache + at, mask=seen[:, None], other=0.0)
#
#-         acc *= rescale
#-         ell *= rescale
#-         acc += tl.sum(values * weights[:, None], 0)
#-         ell += tl.sum(weights, 0)
#+         ell = ell * rescale + tl.sum(weights, axis=0)
#+         acc = acc + tl.sum(weights[:, None] * values, axis=0)

# %% wrong: ell is not rescaled
# as "another number for what is masked, which weighs nothing", but
#-         keys = tl.load(k_cache + at, mask=seen[:, None], other=1.0)
#+         keys = tl.load(k_cache + at, mask=seen[:, None], other=0.0)
#
#-         acc *= rescale
#-         ell *= rescale
#-         acc += tl.sum(values * weights[:, None], 0)
#-         ell += tl.sum(weights, 0)
#+         ell = ell + tl.sum(weights, axis=0)
#+         acc = acc * rescale + tl.sum(weights[:, None] * values, axis=0)

# %% wrong: nothing is divided
# as "another number for what is masked, which weighs nothing", but
#-         keys = tl.load(k_cache + at, mask=seen[:, None], other=1.0)
#+         keys = tl.load(k_cache + at, mask=seen[:, None], other=0.0)
#
#-         acc *= rescale
#-         ell *= rescale
#-         acc += tl.sum(values * weights[:, None], 0)
#-         ell += tl.sum(weights, 0)
#+         ell = ell * rescale + tl.sum(weights, axis=0)
#+         acc = acc * rescale + tl.sum(weights[:, None] * values, axis=0)
#
#-     tl.store(out + seq * DIM + dim, acc / ell)
#+     tl.store(out + seq * DIM + dim, acc)

# %% wrong: all sequences answer in row 0
# as "another number for what is masked, which weighs nothing", but
#-         keys = tl.load(k_cache + at, mask=seen[:, None], other=1.0)
#+         keys = tl.load(k_cache + at, mask=seen[:, None], other=0.0)
#
#-         acc *= rescale
#-         ell *= rescale
#-         acc += tl.sum(values * weights[:, None], 0)
#-         ell += tl.sum(weights, 0)
#+         ell = ell * rescale + tl.sum(weights, axis=0)
#+         acc = acc * rescale + tl.sum(weights[:, None] * values, axis=0)
#
#-     tl.store(out + seq * DIM + dim, acc / ell)
#+     tl.store(out + dim, acc / ell)

# %% wrong: 32 bits for the block, so that the address is too large for them in a large cache
# as "two loads behind another", but
#-         row_of_table = block_tables + seq * TABLE
#-         block = tl.load(row_of_table + page).to(tl.int64)
#+         block = tl.load(block_tables + seq * TABLE + page)
#
#-         left = length - page * BLOCK
#-         seen = row < left
#-         inside = seen[:, None] & (dim[None, :] < DIM)
#-         keys = tl.load(k_cache + at, mask=inside, other=0.0)
#-         values = tl.load(v_cache + at, mask=inside, other=0.0)
#+         seen = page * BLOCK + row < length
#+         keys = tl.load(k_cache + at, mask=seen[:, None], other=0.0)
#+         values = tl.load(v_cache + at, mask=seen[:, None], other=0.0)

# %% wrong: positions from the block in place of the page
# as "another number for what is masked, which weighs nothing", but
#-         seen = page * BLOCK + row < length
#-         keys = tl.load(k_cache + at, mask=seen[:, None], other=1.0)
#+         seen = block * BLOCK + row < length
#+         keys = tl.load(k_cache + at, mask=seen[:, None], other=0.0)
#
#-         acc *= rescale
#-         ell *= rescale
#-         acc += tl.sum(values * weights[:, None], 0)
#-         ell += tl.sum(weights, 0)
#+         ell = ell * rescale + tl.sum(weights, axis=0)
#+         acc = acc * rescale + tl.sum(weights[:, None] * values, axis=0)

# %% wrong: the first value of each page for all
# as "another number for what is masked, which weighs nothing", but
#-         keys = tl.load(k_cache + at, mask=seen[:, None], other=1.0)
#-         values = tl.load(v_cache + at, mask=seen[:, None], other=0.0)
#+         keys = tl.load(k_cache + at, mask=seen[:, None], other=0.0)
#+         first = (row == 0) & seen
#+         values = tl.load(v_cache + at, mask=first[:, None], other=0.0)
#
#-         acc *= rescale
#-         ell *= rescale
#-         acc += tl.sum(values * weights[:, None], 0)
#-         ell += tl.sum(weights, 0)
#+         ell = ell * rescale + tl.sum(weights, axis=0)
#+         acc = acc * rescale + tl.sum(weights[:, None] * values, axis=0)
