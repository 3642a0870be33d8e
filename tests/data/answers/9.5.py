import kernels  # first: it turns on Triton's interpreter where there is no GPU

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
    behind = count - 1 - row
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
        seen = key[None, :] + behind[:, None] < length
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


# %% right: offset from the start of the row, tl.trans for the mask
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
    cached = length - count
    position = cached + row
    offset = begin * DIM + row[:, None] * DIM + dim[None, :]
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
        seen = tl.trans(key[:, None] <= position[None, :])
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


# %% right: a matrix product for the values
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
    position = row + (length - count)
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
        seen = (key[None, :] < length) & (position[:, None] >= key[None, :])
        scores = tl.sum(query[:, None, :] * keys[None, :, :], axis=2) * scale
        scores = tl.where(seen, scores, -float("inf"))
        new_m = tl.maximum(m, tl.max(scores, axis=1))
        weights, rescale = tl.exp(scores - new_m[:, None]), tl.exp(m - new_m)
        ell = ell * rescale + tl.sum(weights, axis=1)
        acc = acc * rescale[:, None] + tl.sum(tl.trans(weights)[:, :, None] * values[:, None, :], axis=0)
        m = new_m
    tl.store(out + offset, acc / ell[:, None], mask=there)


def prefix_prefill(out, q, k_cache, v_cache, block_tables, query_start, seq_lens):
    sequences, pages = block_tables.shape
    block, dim = k_cache.shape[1], k_cache.shape[3]
    prefill_kernel[(sequences,)](
        out, q, k_cache, v_cache, block_tables, query_start, seq_lens, dim**-0.5,
        TABLE=pages, BLOCK=block, DIM=dim, ROWS=8,
    )


# %% right: the sums in two steps each
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
        ell *= rescale
        ell += tl.sum(weights, axis=1)
        acc *= tl.expand_dims(rescale, 1)
        acc += tl.sum(weights[:, :, None] * values[None, :, :], axis=1)
        m = new_m
    tl.store(out + offset, acc / ell[:, None], mask=there)


def prefix_prefill(out, q, k_cache, v_cache, block_tables, query_start, seq_lens):
    sequences, pages = block_tables.shape
    block, dim = k_cache.shape[1], k_cache.shape[3]
    prefill_kernel[(sequences,)](
        out, q, k_cache, v_cache, block_tables, query_start, seq_lens, dim**-0.5,
        TABLE=pages, BLOCK=block, DIM=dim, ROWS=8,
    )


# %% wrong: a token does not see itself, but for the first
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
        seen = (key[None, :] < position[:, None]) | (key[None, :] == 0)
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


# %% wrong: not causal among the new tokens
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
        seen = (key[None, :] < length) & (position[:, None] >= 0)
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


# %% wrong: the cached tokens are forgotten
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
    position = row
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


# %% wrong: positions of the batch instead of the sequence
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
    position = length - count + begin + row
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


# %% wrong: the first sequence's queries for everyone
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
    offset = row[:, None] * DIM + dim[None, :]
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


# %% wrong: ell is not rescaled
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
        ell = ell + tl.sum(weights, axis=1)
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


# %% wrong: acc is not rescaled
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
        acc = acc + tl.sum(weights[:, :, None] * values[None, :, :], axis=1)
        m = new_m
    tl.store(out + offset, acc / ell[:, None], mask=there)


def prefix_prefill(out, q, k_cache, v_cache, block_tables, query_start, seq_lens):
    sequences, pages = block_tables.shape
    block, dim = k_cache.shape[1], k_cache.shape[3]
    prefill_kernel[(sequences,)](
        out, q, k_cache, v_cache, block_tables, query_start, seq_lens, dim**-0.5,
        TABLE=pages, BLOCK=block, DIM=dim, ROWS=8,
    )


# %% wrong: one position too early
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
    position = tl.maximum(length - count + row - 1, 0)
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


# %% wrong: count and begin exchanged: rows counted by the sequence
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
    offset = (seq * ROWS + row)[:, None] * DIM + dim[None, :]
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


# %% wrong: only the new keys are attended to
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
        seen = (key[None, :] <= position[:, None]) & (key[None, :] >= length - count)
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
