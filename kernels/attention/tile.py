"""One tile of keys and values for several query rows: the step that the fast kernels share.

`v1.py` takes one query head at a time. With GQA the heads of a group look at the same keys, so here
they become the rows of a matrix, and one `tl.dot` scores them all:

                        TILE keys                           head_dim
                   k8  k9  k10 … k71
    head 4   q4  [ s   s   s  …  s  ]  --> weights   [ acc4 ]     K and V are read once
    head 5   q5  [ s   s   s  …  s  ]      · V  -->  [ acc5 ]     for the whole group
    (rows up to 16, the fewest that a dot takes, are padding)

A tile may start at any token and may cover several pages: each key looks up its own page.

    position   8    9    10   11 | 12   13   …      block_size 4
    page       2    2    2    2  | 3    3    …      = position // 4
    block      tbl[2] ………………… | tbl[3] …
    row        0    1    2    3  | 0    1    …      = position % 4

`attend` updates (m, ell, acc) by one tile, as in `v1.py`, with exp as a power of two. Scores are
multiplied by log₂e after the maximum is subtracted: the other way round large scores would lose the
digits in which they differ.
"""

from typing import no_type_check

from pagesim.kernels.attention import numerics
from pagesim.kernels.runtime import mode

triton, tl = mode.load_triton()


@no_type_check
@triton.jit
def attend(
    q,  # [ROWS, DIMS]
    m, ell,  # [ROWS]
    acc,  # [ROWS, DIMS]
    start, stop,  # the tile: keys start … start + TILE - 1, those below stop
    query_position,  # [ROWS, 1] or one for all
    slope,
    table_ptr,  # this sequence's row of the table
    k_ptr, v_ptr,  # this KV head in block 0
    k_block, k_row, v_block, v_row,  # v_block None: V lies as K does, and one offset serves both
    scale, window,
    BLOCK_SIZE: tl.constexpr, HEAD_DIM: tl.constexpr, TILE: tl.constexpr,
    SOFTCAP: tl.constexpr, ALIBI: tl.constexpr,
    MASKED: tl.constexpr,  # False: every row sees all TILE keys
):  # fmt: skip
    """The running softmax of all rows, after one more tile of keys."""
    position = start + tl.arange(0, TILE)
    present = position < stop
    # On unsigned numbers / and % are a shift and a mask, and widening is free.
    unsigned = position.to(tl.uint32)
    page_ptr = table_ptr + unsigned // BLOCK_SIZE
    block = tl.load(page_ptr, mask=present, other=0) if MASKED else tl.load(page_ptr)
    # 64 bits before any product: block · stride passes 2³¹ in a cache of a few GiB.
    block = block.to(tl.uint32).to(tl.int64)
    row = (unsigned % BLOCK_SIZE).to(tl.int64)
    k_offset = block * k_block + row * k_row
    v_offset = k_offset if v_block is None else block * v_block + row * v_row
    k = load_rows(k_ptr, k_offset, present, HEAD_DIM, q.shape[1], MASKED)
    v = load_rows(v_ptr, v_offset, present, HEAD_DIM, q.shape[1], MASKED)

    k = numerics.operand(k, q.dtype)
    scores = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
    if SOFTCAP > 0.0:
        scores = SOFTCAP * numerics.tanh(scores / SOFTCAP)
    distance = position[None, :] - query_position
    if ALIBI:
        scores += slope * distance
    if MASKED:
        visible = present[None, :] & (distance <= 0) & (distance > -window)
        scores = tl.where(visible, scores, float("-inf"))

    new_m = tl.maximum(m, tl.max(scores, axis=1))
    # A row that has seen no key yet has m = -inf, and -inf - (-inf) is NaN.
    shift = tl.where(new_m == float("-inf"), 0.0, new_m) if MASKED else new_m
    weights = exp(scores - shift[:, None])
    rescale = exp(m - shift)
    ell = ell * rescale + tl.sum(weights, axis=1)
    weights, v = numerics.operand(weights, q.dtype), numerics.operand(v, q.dtype)
    acc = acc * rescale[:, None] + tl.dot(weights, v, input_precision="ieee")
    return new_m, ell, acc


@no_type_check
@triton.jit
def attend_all(
    q, m, ell, acc, start, stop, query_position, cache,
    BLOCK_SIZE: tl.constexpr, HEAD_DIM: tl.constexpr, TILE: tl.constexpr,
    SOFTCAP: tl.constexpr, ALIBI: tl.constexpr,
):  # fmt: skip
    """The running softmax after keys start … stop - 1, all of which every row sees.

    Only the last tile may be partial and need a mask. cache: attend's arguments slope … window.
    """
    full = start + tl.maximum(stop - start, 0) // TILE * TILE
    # fmt: off
    for first in range(start, full, TILE):
        m, ell, acc = attend(q, m, ell, acc, first, stop, query_position, *cache,
                             BLOCK_SIZE, HEAD_DIM, TILE, SOFTCAP, ALIBI, MASKED=False)
    if full < stop:
        m, ell, acc = attend(q, m, ell, acc, full, stop, query_position, *cache,
                             BLOCK_SIZE, HEAD_DIM, TILE, SOFTCAP, ALIBI, MASKED=True)
    # fmt: on
    return m, ell, acc


@no_type_check
@triton.jit
def load_rows(
    ptr, offset, present, HEAD_DIM: tl.constexpr, DIMS: tl.constexpr, MASKED: tl.constexpr
):
    """A tile of K or V, [TILE, DIMS]; absent rows and columns are 0 and are not read."""
    dim = tl.arange(0, DIMS)[None, :]
    ptrs = ptr + (offset[:, None] + dim)
    if MASKED:
        tile = tl.load(ptrs, mask=present[:, None] & (dim < HEAD_DIM), other=0.0)
    elif HEAD_DIM < DIMS:
        tile = tl.load(ptrs, mask=dim < HEAD_DIM, other=0.0)
    else:
        tile = tl.load(ptrs)
    return tile


@no_type_check
@triton.jit
def exp(x):
    """eˣ as a power of two, which is what a GPU has an instruction for."""
    return tl.exp2(x * 1.4426950408889634)


@no_type_check
@triton.jit
def log2_sum(m, ell):
    """log₂ Σ exp(score) of what a running softmax has seen; -inf for nothing."""
    return m * 1.4426950408889634 + tl.log2(tl.where(ell == 0.0, 1.0, ell))
