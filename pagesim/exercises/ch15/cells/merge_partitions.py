from pagesim import kernels  # first: it turns on Triton's interpreter where there is no GPU

import triton
import triton.language as tl


@triton.jit
def merge_kernel(
    out_ptr, partial_ptr, lse_ptr, num_partitions, PARTS: tl.constexpr, HEAD_DIM: tl.constexpr
):
    """One program: the partitions of one query become its output."""
    query = tl.program_id(0)
    part = tl.arange(0, PARTS)  # PARTS is num_partitions, rounded up to a power of two
    dim = tl.arange(0, HEAD_DIM)
    ### BEGIN SOLUTION
    there = part < num_partitions
    ### no_mask: there = part >= 0
    row = query * num_partitions + part
    ### first_query: row = part
    ### parts_as_step: row = query * PARTS + part
    lse = tl.load(lse_ptr + row, mask=there, other=float("-inf"))
    seen = (lse > float("-inf"))[:, None]
    ### unwritten: seen = (there)[:, None]
    offset = row[:, None] * HEAD_DIM + dim[None, :]
    partial = tl.load(partial_ptr + offset, mask=seen, other=0.0)
    weights = tl.exp2(lse - tl.max(lse, axis=0))
    ### base_e: weights = tl.exp(lse - tl.max(lse, axis=0))
    ### average: weights = tl.where(there, 1.0, 0.0)
    ### no_shift: weights = tl.exp2(lse)
    out = tl.sum(weights[:, None] * partial, axis=0) / tl.sum(weights, axis=0)
    ### not_divided: out = tl.sum(weights[:, None] * partial, axis=0)
    ### END SOLUTION
    tl.store(out_ptr + query * HEAD_DIM + dim, out)


def merge_partitions(out, partial, lse):
    """Merge the partial outputs of every query.

    out: [queries, head_dim]; partial: [queries, partitions, head_dim]; lse: [queries, partitions],
    to base 2. All are float32.
    """
    queries, num_partitions, head_dim = partial.shape
    parts = triton.next_power_of_2(num_partitions)
    merge_kernel[(queries,)](out, partial, lse, num_partitions, PARTS=parts, HEAD_DIM=head_dim)
