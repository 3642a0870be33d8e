import kernels  # first: it turns on Triton's interpreter where there is no GPU

import triton
import triton.language as tl


# %% right: a softmax over partitions, where there is one
@triton.jit
def merge_kernel(
    out_ptr, partial_ptr, lse_ptr, num_partitions, PARTS: tl.constexpr, HEAD_DIM: tl.constexpr
):
    query = tl.program_id(0)
    part = tl.arange(0, PARTS)
    dim = tl.arange(0, HEAD_DIM)
    row = query * num_partitions + part
    lse = tl.load(lse_ptr + row, mask=part < num_partitions, other=-float("inf"))
    alive = lse > -float("inf")
    value = tl.load(
        partial_ptr + row[:, None] * HEAD_DIM + dim[None, :], mask=alive[:, None], other=0.0
    )
    top = tl.max(lse, 0)
    weight = tl.exp2(lse - top)
    total = tl.sum(weight, 0)
    out = tl.sum(value * weight[:, None], 0) / total
    tl.store(out_ptr + query * HEAD_DIM + dim, out)


def merge_partitions(out, partial, lse):
    queries, num_partitions, head_dim = partial.shape
    parts = triton.next_power_of_2(num_partitions)
    merge_kernel[(queries,)](out, partial, lse, num_partitions, PARTS=parts, HEAD_DIM=head_dim)


# %% right: weights first, then the weighted mean
@triton.jit
def merge_kernel(
    out_ptr, partial_ptr, lse_ptr, num_partitions, PARTS: tl.constexpr, HEAD_DIM: tl.constexpr
):
    query = tl.program_id(0)
    part = tl.arange(0, PARTS)
    dim = tl.arange(0, HEAD_DIM)
    lse = tl.load(
        lse_ptr + query * num_partitions + part, mask=part < num_partitions, other=float("-inf")
    )
    w = tl.exp2(lse - tl.max(lse, axis=0))
    w = w / tl.sum(w, axis=0)
    start = partial_ptr + query * num_partitions * HEAD_DIM
    tile = tl.load(start + part[:, None] * HEAD_DIM + dim[None, :], mask=(w > 0)[:, None], other=0.0)
    out = tl.sum(w[:, None] * tile, axis=0)
    tl.store(out_ptr + query * HEAD_DIM + dim, out)


def merge_partitions(out, partial, lse):
    queries, num_partitions, head_dim = partial.shape
    parts = triton.next_power_of_2(num_partitions)
    merge_kernel[(queries,)](out, partial, lse, num_partitions, PARTS=parts, HEAD_DIM=head_dim)


# %% right: a running merge, partition after partition
@triton.jit
def merge_kernel(
    out_ptr, partial_ptr, lse_ptr, num_partitions, PARTS: tl.constexpr, HEAD_DIM: tl.constexpr
):
    query = tl.program_id(0)
    part = tl.arange(0, PARTS)
    dim = tl.arange(0, HEAD_DIM)
    m = -float("inf")
    ell = 0.0
    acc = tl.zeros([HEAD_DIM], tl.float32)
    for i in range(0, num_partitions):
        one = tl.load(lse_ptr + query * num_partitions + i)
        x = tl.load(partial_ptr + (query * num_partitions + i) * HEAD_DIM + dim)
        x = tl.where(one > -float("inf"), x, 0.0)
        new = tl.maximum(m, one)
        old, w = tl.exp2(m - new), tl.exp2(one - new)
        ell = ell * old + w
        acc = acc * old + x * w
        m = new
    out = acc / ell
    tl.store(out_ptr + query * HEAD_DIM + dim, out)


def merge_partitions(out, partial, lse):
    queries, num_partitions, head_dim = partial.shape
    parts = triton.next_power_of_2(num_partitions)
    merge_kernel[(queries,)](out, partial, lse, num_partitions, PARTS=parts, HEAD_DIM=head_dim)


# %% right: two passes, the largest lse first, natural exponents
@triton.jit
def merge_kernel(
    out_ptr, partial_ptr, lse_ptr, num_partitions, PARTS: tl.constexpr, HEAD_DIM: tl.constexpr
):
    query = tl.program_id(0)
    part = tl.arange(0, PARTS)
    dim = tl.arange(0, HEAD_DIM)
    inside = part < num_partitions
    at = query * num_partitions + part
    lse = tl.load(lse_ptr + at, mask=inside, other=-1e30)
    lse = tl.where(lse == -float("inf"), -1e30, lse)
    weight = tl.exp((lse - tl.max(lse, axis=0)) * 0.6931471805599453)
    used = lse > -1e29
    tile = tl.load(partial_ptr + at[:, None] * HEAD_DIM + dim[None, :], mask=used[:, None], other=0.0)
    out = tl.sum(weight[:, None] * tile, axis=0) / tl.sum(weight, axis=0)
    tl.store(out_ptr + query * HEAD_DIM + dim, out)


def merge_partitions(out, partial, lse):
    queries, num_partitions, head_dim = partial.shape
    parts = triton.next_power_of_2(num_partitions)
    merge_kernel[(queries,)](out, partial, lse, num_partitions, PARTS=parts, HEAD_DIM=head_dim)


# %% right: everything loaded, what was not written replaced by 0
@triton.jit
def merge_kernel(
    out_ptr, partial_ptr, lse_ptr, num_partitions, PARTS: tl.constexpr, HEAD_DIM: tl.constexpr
):
    query = tl.program_id(0)
    part = tl.arange(0, PARTS)
    dim = tl.arange(0, HEAD_DIM)
    there = part < num_partitions
    row = query * num_partitions + part
    lse = tl.load(lse_ptr + row, mask=there, other=-float("inf"))
    tile = tl.load(partial_ptr + row[:, None] * HEAD_DIM + dim[None, :], mask=there[:, None], other=0.0)
    tile = tl.where(lse[:, None] > -float("inf"), tile, 0.0)
    weights = tl.exp2(lse - tl.max(lse, axis=0))
    out = tl.sum(weights[:, None] * tile, axis=0) / tl.sum(weights, axis=0)
    tl.store(out_ptr + query * HEAD_DIM + dim, out)


def merge_partitions(out, partial, lse):
    queries, num_partitions, head_dim = partial.shape
    parts = triton.next_power_of_2(num_partitions)
    merge_kernel[(queries,)](out, partial, lse, num_partitions, PARTS=parts, HEAD_DIM=head_dim)


# %% wrong: exp instead of exp2
@triton.jit
def merge_kernel(
    out_ptr, partial_ptr, lse_ptr, num_partitions, PARTS: tl.constexpr, HEAD_DIM: tl.constexpr
):
    query = tl.program_id(0)
    part = tl.arange(0, PARTS)
    dim = tl.arange(0, HEAD_DIM)
    row = query * num_partitions + part
    lse = tl.load(lse_ptr + row, mask=part < num_partitions, other=-float("inf"))
    alive = lse > -float("inf")
    value = tl.load(
        partial_ptr + row[:, None] * HEAD_DIM + dim[None, :], mask=alive[:, None], other=0.0
    )
    top = tl.max(lse, 0)
    weight = tl.exp(lse - top)
    total = tl.sum(weight, 0)
    out = tl.sum(value * weight[:, None], 0) / total
    tl.store(out_ptr + query * HEAD_DIM + dim, out)


def merge_partitions(out, partial, lse):
    queries, num_partitions, head_dim = partial.shape
    parts = triton.next_power_of_2(num_partitions)
    merge_kernel[(queries,)](out, partial, lse, num_partitions, PARTS=parts, HEAD_DIM=head_dim)


# %% wrong: the largest lse is not subtracted
@triton.jit
def merge_kernel(
    out_ptr, partial_ptr, lse_ptr, num_partitions, PARTS: tl.constexpr, HEAD_DIM: tl.constexpr
):
    query = tl.program_id(0)
    part = tl.arange(0, PARTS)
    dim = tl.arange(0, HEAD_DIM)
    row = query * num_partitions + part
    lse = tl.load(lse_ptr + row, mask=part < num_partitions, other=-float("inf"))
    alive = lse > -float("inf")
    value = tl.load(
        partial_ptr + row[:, None] * HEAD_DIM + dim[None, :], mask=alive[:, None], other=0.0
    )
    top = tl.max(lse, 0)
    weight = tl.exp2(lse)
    total = tl.sum(weight, 0)
    out = tl.sum(value * weight[:, None], 0) / total
    tl.store(out_ptr + query * HEAD_DIM + dim, out)


def merge_partitions(out, partial, lse):
    queries, num_partitions, head_dim = partial.shape
    parts = triton.next_power_of_2(num_partitions)
    merge_kernel[(queries,)](out, partial, lse, num_partitions, PARTS=parts, HEAD_DIM=head_dim)


# %% wrong: the weights are not divided by their sum
@triton.jit
def merge_kernel(
    out_ptr, partial_ptr, lse_ptr, num_partitions, PARTS: tl.constexpr, HEAD_DIM: tl.constexpr
):
    query = tl.program_id(0)
    part = tl.arange(0, PARTS)
    dim = tl.arange(0, HEAD_DIM)
    row = query * num_partitions + part
    lse = tl.load(lse_ptr + row, mask=part < num_partitions, other=-float("inf"))
    alive = lse > -float("inf")
    value = tl.load(
        partial_ptr + row[:, None] * HEAD_DIM + dim[None, :], mask=alive[:, None], other=0.0
    )
    top = tl.max(lse, 0)
    weight = tl.exp2(lse - top)
    total = tl.sum(weight, 0)
    out = tl.sum(value * weight[:, None], 0)
    tl.store(out_ptr + query * HEAD_DIM + dim, out)


def merge_partitions(out, partial, lse):
    queries, num_partitions, head_dim = partial.shape
    parts = triton.next_power_of_2(num_partitions)
    merge_kernel[(queries,)](out, partial, lse, num_partitions, PARTS=parts, HEAD_DIM=head_dim)


# %% wrong: unwritten partitions are read, and weigh 0
@triton.jit
def merge_kernel(
    out_ptr, partial_ptr, lse_ptr, num_partitions, PARTS: tl.constexpr, HEAD_DIM: tl.constexpr
):
    query = tl.program_id(0)
    part = tl.arange(0, PARTS)
    dim = tl.arange(0, HEAD_DIM)
    row = query * num_partitions + part
    lse = tl.load(lse_ptr + row, mask=part < num_partitions, other=-float("inf"))
    alive = lse > -float("inf")
    value = tl.load(
        partial_ptr + row[:, None] * HEAD_DIM + dim[None, :], mask=(part < num_partitions)[:, None], other=0.0
    )
    top = tl.max(lse, 0)
    weight = tl.exp2(lse - top)
    total = tl.sum(weight, 0)
    out = tl.sum(value * weight[:, None], 0) / total
    tl.store(out_ptr + query * HEAD_DIM + dim, out)


def merge_partitions(out, partial, lse):
    queries, num_partitions, head_dim = partial.shape
    parts = triton.next_power_of_2(num_partitions)
    merge_kernel[(queries,)](out, partial, lse, num_partitions, PARTS=parts, HEAD_DIM=head_dim)


# %% wrong: rows counted by PARTS
@triton.jit
def merge_kernel(
    out_ptr, partial_ptr, lse_ptr, num_partitions, PARTS: tl.constexpr, HEAD_DIM: tl.constexpr
):
    query = tl.program_id(0)
    part = tl.arange(0, PARTS)
    dim = tl.arange(0, HEAD_DIM)
    row = query * PARTS + part
    lse = tl.load(lse_ptr + row, mask=part < num_partitions, other=-float("inf"))
    alive = lse > -float("inf")
    value = tl.load(
        partial_ptr + row[:, None] * HEAD_DIM + dim[None, :], mask=alive[:, None], other=0.0
    )
    top = tl.max(lse, 0)
    weight = tl.exp2(lse - top)
    total = tl.sum(weight, 0)
    out = tl.sum(value * weight[:, None], 0) / total
    tl.store(out_ptr + query * HEAD_DIM + dim, out)


def merge_partitions(out, partial, lse):
    queries, num_partitions, head_dim = partial.shape
    parts = triton.next_power_of_2(num_partitions)
    merge_kernel[(queries,)](out, partial, lse, num_partitions, PARTS=parts, HEAD_DIM=head_dim)


# %% wrong: other=0 for partitions that do not exist
@triton.jit
def merge_kernel(
    out_ptr, partial_ptr, lse_ptr, num_partitions, PARTS: tl.constexpr, HEAD_DIM: tl.constexpr
):
    query = tl.program_id(0)
    part = tl.arange(0, PARTS)
    dim = tl.arange(0, HEAD_DIM)
    row = query * num_partitions + part
    lse = tl.load(lse_ptr + row, mask=part < num_partitions, other=0.0)
    alive = lse > -float("inf")
    value = tl.load(
        partial_ptr + row[:, None] * HEAD_DIM + dim[None, :], mask=(alive & (part < num_partitions))[:, None], other=0.0
    )
    top = tl.max(lse, 0)
    weight = tl.exp2(lse - top)
    total = tl.sum(weight, 0)
    out = tl.sum(value * weight[:, None], 0) / total
    tl.store(out_ptr + query * HEAD_DIM + dim, out)


def merge_partitions(out, partial, lse):
    queries, num_partitions, head_dim = partial.shape
    parts = triton.next_power_of_2(num_partitions)
    merge_kernel[(queries,)](out, partial, lse, num_partitions, PARTS=parts, HEAD_DIM=head_dim)


# %% wrong: the mean of the partitions
@triton.jit
def merge_kernel(
    out_ptr, partial_ptr, lse_ptr, num_partitions, PARTS: tl.constexpr, HEAD_DIM: tl.constexpr
):
    query = tl.program_id(0)
    part = tl.arange(0, PARTS)
    dim = tl.arange(0, HEAD_DIM)
    row = query * num_partitions + part
    lse = tl.load(lse_ptr + row, mask=part < num_partitions, other=-float("inf"))
    alive = lse > -float("inf")
    value = tl.load(
        partial_ptr + row[:, None] * HEAD_DIM + dim[None, :], mask=alive[:, None], other=0.0
    )
    top = tl.max(lse, 0)
    weight = tl.exp2(lse - top)
    total = tl.sum(weight, 0)
    out = tl.sum(value, 0) / num_partitions
    tl.store(out_ptr + query * HEAD_DIM + dim, out)


def merge_partitions(out, partial, lse):
    queries, num_partitions, head_dim = partial.shape
    parts = triton.next_power_of_2(num_partitions)
    merge_kernel[(queries,)](out, partial, lse, num_partitions, PARTS=parts, HEAD_DIM=head_dim)


# %% wrong: the lse themselves as weights
@triton.jit
def merge_kernel(
    out_ptr, partial_ptr, lse_ptr, num_partitions, PARTS: tl.constexpr, HEAD_DIM: tl.constexpr
):
    query = tl.program_id(0)
    part = tl.arange(0, PARTS)
    dim = tl.arange(0, HEAD_DIM)
    row = query * num_partitions + part
    lse = tl.load(lse_ptr + row, mask=part < num_partitions, other=-float("inf"))
    alive = lse > -float("inf")
    value = tl.load(
        partial_ptr + row[:, None] * HEAD_DIM + dim[None, :], mask=alive[:, None], other=0.0
    )
    top = tl.max(lse, 0)
    weight = tl.where(alive, lse, 0.0)
    total = tl.sum(weight, 0)
    out = tl.sum(value * weight[:, None], 0) / total
    tl.store(out_ptr + query * HEAD_DIM + dim, out)


def merge_partitions(out, partial, lse):
    queries, num_partitions, head_dim = partial.shape
    parts = triton.next_power_of_2(num_partitions)
    merge_kernel[(queries,)](out, partial, lse, num_partitions, PARTS=parts, HEAD_DIM=head_dim)


# %% wrong: the query forgotten: everyone reads the first query's partitions
@triton.jit
def merge_kernel(
    out_ptr, partial_ptr, lse_ptr, num_partitions, PARTS: tl.constexpr, HEAD_DIM: tl.constexpr
):
    query = tl.program_id(0)
    part = tl.arange(0, PARTS)
    dim = tl.arange(0, HEAD_DIM)
    row = part
    lse = tl.load(lse_ptr + row, mask=part < num_partitions, other=-float("inf"))
    alive = lse > -float("inf")
    value = tl.load(
        partial_ptr + row[:, None] * HEAD_DIM + dim[None, :], mask=alive[:, None], other=0.0
    )
    top = tl.max(lse, 0)
    weight = tl.exp2(lse - top)
    total = tl.sum(weight, 0)
    out = tl.sum(value * weight[:, None], 0) / total
    tl.store(out_ptr + query * HEAD_DIM + dim, out)


def merge_partitions(out, partial, lse):
    queries, num_partitions, head_dim = partial.shape
    parts = triton.next_power_of_2(num_partitions)
    merge_kernel[(queries,)](out, partial, lse, num_partitions, PARTS=parts, HEAD_DIM=head_dim)


# %% wrong: columns counted by the number of partitions
@triton.jit
def merge_kernel(
    out_ptr, partial_ptr, lse_ptr, num_partitions, PARTS: tl.constexpr, HEAD_DIM: tl.constexpr
):
    query = tl.program_id(0)
    part = tl.arange(0, PARTS)
    dim = tl.arange(0, HEAD_DIM)
    row = query * num_partitions + part
    lse = tl.load(lse_ptr + row, mask=part < num_partitions, other=-float("inf"))
    alive = lse > -float("inf")
    value = tl.load(
        partial_ptr + row[:, None] + dim[None, :] * num_partitions, mask=alive[:, None], other=0.0
    )
    top = tl.max(lse, 0)
    weight = tl.exp2(lse - top)
    total = tl.sum(weight, 0)
    out = tl.sum(value * weight[:, None], 0) / total
    tl.store(out_ptr + query * HEAD_DIM + dim, out)


def merge_partitions(out, partial, lse):
    queries, num_partitions, head_dim = partial.shape
    parts = triton.next_power_of_2(num_partitions)
    merge_kernel[(queries,)](out, partial, lse, num_partitions, PARTS=parts, HEAD_DIM=head_dim)
