from pagesim import kernels  # first: it turns on Triton's interpreter where there is no GPU

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
# as "a softmax over partitions, where there is one", but
#-     weight = tl.exp2(lse - top)
#+     weight = tl.exp(lse - top)

# %% wrong: the largest lse is not subtracted
# as "a softmax over partitions, where there is one", but
#-     weight = tl.exp2(lse - top)
#+     weight = tl.exp2(lse)

# %% wrong: the weights are not divided by their sum
# as "a softmax over partitions, where there is one", but
#-     out = tl.sum(value * weight[:, None], 0) / total
#+     out = tl.sum(value * weight[:, None], 0)

# %% wrong: unwritten partitions are read, and weigh 0
# as "a softmax over partitions, where there is one", but
#-         partial_ptr + row[:, None] * HEAD_DIM + dim[None, :], mask=alive[:, None], other=0.0
#+         partial_ptr + row[:, None] * HEAD_DIM + dim[None, :], mask=(part < num_partitions)[:, None], other=0.0

# %% wrong: rows counted by PARTS
# as "a softmax over partitions, where there is one", but
#-     row = query * num_partitions + part
#+     row = query * PARTS + part

# %% wrong: other=0 for partitions that do not exist
# as "a softmax over partitions, where there is one", but
#-     lse = tl.load(lse_ptr + row, mask=part < num_partitions, other=-float("inf"))
#+     lse = tl.load(lse_ptr + row, mask=part < num_partitions, other=0.0)
#
#-         partial_ptr + row[:, None] * HEAD_DIM + dim[None, :], mask=alive[:, None], other=0.0
#+         partial_ptr + row[:, None] * HEAD_DIM + dim[None, :], mask=(alive & (part < num_partitions))[:, None], other=0.0

# %% wrong: the mean of the partitions
# as "a softmax over partitions, where there is one", but
#-     out = tl.sum(value * weight[:, None], 0) / total
#+     out = tl.sum(value, 0) / num_partitions

# %% wrong: the lse themselves as weights
# as "a softmax over partitions, where there is one", but
#-     weight = tl.exp2(lse - top)
#+     weight = tl.where(alive, lse, 0.0)

# %% wrong: the query forgotten: everyone reads the first query's partitions
# as "a softmax over partitions, where there is one", but
#-     row = query * num_partitions + part
#+     row = part

# %% wrong: columns counted by the number of partitions
# as "a softmax over partitions, where there is one", but
#-         partial_ptr + row[:, None] * HEAD_DIM + dim[None, :], mask=alive[:, None], other=0.0
#+         partial_ptr + row[:, None] + dim[None, :] * num_partitions, mask=alive[:, None], other=0.0
