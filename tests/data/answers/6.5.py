from pagesim import kernels  # first: it turns on Triton's interpreter where there is no GPU

import triton
import triton.language as tl


# %% right: positions from the end of the sequence
@triton.jit
def prefill_kernel(
    out, q, k_cache, v_cache, block_tables, query_start, seq_lens, scale,
    TABLE: tl.constexpr, BLOCK: tl.constexpr, DIM: tl.constexpr, ROWS: tl.constexpr,
):
    seq = tl.program_id(0)
    row, slot, dim = tl.arange(0, ROWS), tl.arange(0, BLOCK), tl.arange(0, DIM)
    begin = tl.load(query_start + seq)
    count = tl.load(query_start + seq + 1) - begin
    length = tl.load(seq_lens + seq)
    position = length - count + row
    offset = (begin + row)[:, None] * DIM + dim[None, :]
    there = (row < count)[:, None]
    query = tl.load(q + offset, mask=there, other=0.0)
    m = tl.full([ROWS], -float("inf"), tl.float32)
    ell = tl.zeros([ROWS], tl.float32)
    acc = tl.zeros([ROWS, DIM], tl.float32)
    for page in range(0, tl.cdiv(length, BLOCK)):
        block = tl.load(block_tables + seq * TABLE + page).to(tl.int64)
        key = page * BLOCK + slot
        at = (block * BLOCK + slot)[:, None] * DIM + dim[None, :]
        keys = tl.load(k_cache + at, mask=(key < length)[:, None], other=0.0)
        values = tl.load(v_cache + at, mask=(key < length)[:, None], other=0.0)
        seen = key[None, :] <= position[:, None]
        scores = tl.sum(query[:, None, :] * keys[None, :, :], axis=2) * scale
        scores = tl.where(seen, scores, -float("inf"))
        new_m = tl.maximum(m, tl.max(scores, axis=1))
        weights, rescale = tl.exp(scores - new_m[:, None]), tl.exp(m - new_m)
        ell = ell * rescale + tl.sum(weights, axis=1)
        acc = acc * rescale[:, None] + tl.sum(weights[:, :, None] * values[None, :, :], axis=1)
        m = new_m
    tl.store(out + offset, acc / ell[:, None], mask=there)


def prefix_prefill(out, q, k_cache, v_cache, block_tables, query_start, seq_lens):
    sequences, pages = block_tables.shape
    block, dim = k_cache.shape[1], k_cache.shape[3]
    prefill_kernel[(sequences,)](
        out, q, k_cache, v_cache, block_tables, query_start, seq_lens, dim**-0.5,
        TABLE=pages, BLOCK=block, DIM=dim, ROWS=8,
    )

# %% right: causal by how many tokens are behind
# as "positions from the end of the sequence", but
#-     position = length - count + row
#+     behind = count - 1 - row
#
#-         seen = key[None, :] <= position[:, None]
#+         seen = key[None, :] + behind[:, None] < length

# %% right: offset from the start of the row, tl.trans for the mask
# as "positions from the end of the sequence", but
#-     position = length - count + row
#-     offset = (begin + row)[:, None] * DIM + dim[None, :]
#+     cached = length - count
#+     position = cached + row
#+     offset = begin * DIM + row[:, None] * DIM + dim[None, :]
#
#-         seen = key[None, :] <= position[:, None]
#+         seen = tl.trans(key[:, None] <= position[None, :])

# %% right: a matrix product for the values
# as "positions from the end of the sequence", but
#-     position = length - count + row
#+     position = row + (length - count)
#
#-         seen = key[None, :] <= position[:, None]
#+         seen = (key[None, :] < length) & (position[:, None] >= key[None, :])
#
#-         acc = acc * rescale[:, None] + tl.sum(weights[:, :, None] * values[None, :, :], axis=1)
#+         acc = acc * rescale[:, None] + tl.sum(tl.trans(weights)[:, :, None] * values[:, None, :], axis=0)

# %% right: the sums in two steps each
# as "positions from the end of the sequence", but
#-         ell = ell * rescale + tl.sum(weights, axis=1)
#-         acc = acc * rescale[:, None] + tl.sum(weights[:, :, None] * values[None, :, :], axis=1)
#+         ell *= rescale
#+         ell += tl.sum(weights, axis=1)
#+         acc *= tl.expand_dims(rescale, 1)
#+         acc += tl.sum(weights[:, :, None] * values[None, :, :], axis=1)

# %% wrong: a token does not see itself, but for the first
# as "positions from the end of the sequence", but
#-         seen = key[None, :] <= position[:, None]
#+         seen = (key[None, :] < position[:, None]) | (key[None, :] == 0)

# %% wrong: not causal among the new tokens
# as "positions from the end of the sequence", but
#-         seen = key[None, :] <= position[:, None]
#+         seen = (key[None, :] < length) & (position[:, None] >= 0)

# %% wrong: the cached tokens are forgotten
# as "positions from the end of the sequence", but
#-     position = length - count + row
#+     position = row

# %% wrong: positions of the batch instead of the sequence
# as "positions from the end of the sequence", but
#-     position = length - count + row
#+     position = length - count + begin + row

# %% wrong: the first sequence's queries for everyone
# as "positions from the end of the sequence", but
#-     offset = (begin + row)[:, None] * DIM + dim[None, :]
#+     offset = row[:, None] * DIM + dim[None, :]

# %% wrong: ell is not rescaled
# as "positions from the end of the sequence", but
#-         ell = ell * rescale + tl.sum(weights, axis=1)
#+         ell = ell + tl.sum(weights, axis=1)

# %% wrong: acc is not rescaled
# as "positions from the end of the sequence", but
#-         acc = acc * rescale[:, None] + tl.sum(weights[:, :, None] * values[None, :, :], axis=1)
#+         acc = acc + tl.sum(weights[:, :, None] * values[None, :, :], axis=1)

# %% wrong: one position too early
# as "positions from the end of the sequence", but
#-     position = length - count + row
#+     position = tl.maximum(length - count + row - 1, 0)

# %% wrong: count and begin exchanged: rows counted by the sequence
# as "positions from the end of the sequence", but
#-     offset = (begin + row)[:, None] * DIM + dim[None, :]
#+     offset = (seq * ROWS + row)[:, None] * DIM + dim[None, :]

# %% wrong: only the new keys are attended to
# as "positions from the end of the sequence", but
#-         seen = key[None, :] <= position[:, None]
#+         seen = (key[None, :] <= position[:, None]) & (key[None, :] >= length - count)
