"""Decode attention over a block table, in one pass (vLLM: `paged_attention_v1`).

**The problem.** A sequence decodes one token: its query needs every earlier key and every earlier
value. Those lie in blocks scattered over the cache; only the block table says where.

    block_size = 4, seq_len = 10                   k_cache, row   0    1    2    3

    block_tables[b] = [7, 2, 5]
                       |  |  +---- page 2 -------> block 5     [ k8   k9   ??   ?? ]
                       |  +------- page 1 -------> block 2     [ k4   k5   k6   k7 ]
                       +---------- page 0 -------> block 7     [ k0   k1   k2   k3 ]

    k8: the keys of position 8, [num_kv_heads, head_dim]. ??: never written, may hold NaN.

    address of key p = block_tables[b, p // 4] · k_block + (p % 4) · k_row + kv_head · k_head + d

**The idea.** Visit the pages in order and keep, for what has been seen so far,

    m    the largest score             m'   = max(m, max(scores))
    ell  Σ exp(score - m)              ell' = ell · exp(m - m') + Σ exp(scores - m')
    acc  Σ exp(score - m) · value      acc' = acc · exp(m - m') + Σ exp(scores - m') · values

At the end acc / ell is softmax(scores) · V, and the scores were never stored. Subtracting the
maximum keeps exp from overflowing; a larger maximum only rescales what is there.
`kernels.reference.online_softmax_attention` is the same walk in NumPy.

**The work.** One program per sequence and query head. With fewer KV heads than query heads (GQA),
the programs of a group read the same keys, which is the first thing that a faster kernel avoids.
All arithmetic is plain float32, whatever the dtype of the tensors: no tensor cores, no TF32.

Tested in tests/kernels/attention, timed by `python -m pagesim.kernels.bench`.
"""

from typing import no_type_check

import torch

from pagesim.kernels.attention import numerics
from pagesim.kernels.runtime import mode
from pagesim.kernels.runtime.checks import checked
from pagesim.kernels.runtime.fallback import attend
from pagesim.kernels.runtime.inputs import Options, PagedInputs, Plan

triton, tl = mode.load_triton()

# A page with more numbers than this is read in slices, because it would not fit the registers.
_TILE = 4096


@no_type_check
@triton.jit
def paged_attention_v1_kernel(
    out_ptr, q_ptr, k_cache_ptr, v_cache_ptr, block_tables_ptr, seq_lens_ptr,
    alibi_slopes_ptr, k_scale_ptr, v_scale_ptr,  # each may be None
    scale, window,
    # Steps in elements from one sequence, head, block or row to the next; along D it is always 1.
    out_seq, out_head, q_seq, q_head,
    k_block, k_row, k_head, v_block, v_row, v_head, table_seq,
    GROUP: tl.constexpr,  # query heads per KV head
    BLOCK_SIZE: tl.constexpr,
    ROWS: tl.constexpr,  # rows of a page read at once, a power of two
    HEAD_DIM: tl.constexpr,
    DIMS: tl.constexpr,  # HEAD_DIM rounded up to a power of two
    SOFTCAP: tl.constexpr,
):  # fmt: skip
    """One program: one query head of one sequence, over all pages it can see."""
    seq = tl.program_id(0).to(tl.int64)
    head = tl.program_id(1).to(tl.int64)
    kv_head = head // GROUP
    dim = tl.arange(0, DIMS)
    in_head = dim < HEAD_DIM
    seq_len = tl.load(seq_lens_ptr + seq)
    q = tl.load(q_ptr + seq * q_seq + head * q_head + dim, mask=in_head, other=0.0).to(tl.float32)
    if k_scale_ptr is not None:
        scale = scale * tl.load(k_scale_ptr + kv_head)

    m = float("-inf")
    ell = 0.0
    acc = tl.zeros([DIMS], dtype=tl.float32)

    # A step is a slice of ROWS rows of a page; pages up to ROWS rows have just one slice. The first
    # and the last step hold a visible key each, so m is finite from the first step on.
    SLICES: tl.constexpr = (BLOCK_SIZE + ROWS - 1) // ROWS
    oldest = tl.maximum(seq_len - window, 0)
    first = oldest // BLOCK_SIZE * SLICES + oldest % BLOCK_SIZE // ROWS
    last = seq_len // BLOCK_SIZE * SLICES + (seq_len % BLOCK_SIZE + ROWS - 1) // ROWS
    for step in range(first, last):
        page = step // SLICES
        row = step % SLICES * ROWS + tl.arange(0, ROWS)
        position = page * BLOCK_SIZE + row
        visible = (row < BLOCK_SIZE) & (position >= oldest) & (position < seq_len)

        # 64 bits before any product: block · stride passes 2³¹ in a cache of a few GiB.
        block = tl.load(block_tables_ptr + seq * table_seq + page).to(tl.int64)
        row = row.to(tl.int64)[:, None]
        # What is not visible is not read: exp(-inf) · NaN would still be NaN.
        wanted = visible[:, None] & in_head[None, :]
        k_offset = block * k_block + kv_head * k_head + row * k_row + dim[None, :]
        k = numerics.widen(tl.load(k_cache_ptr + k_offset, mask=wanted, other=0.0))
        v_offset = block * v_block + kv_head * v_head + row * v_row + dim[None, :]
        v = numerics.widen(tl.load(v_cache_ptr + v_offset, mask=wanted, other=0.0))

        scores = tl.sum(q[None, :] * k, axis=1) * scale
        if SOFTCAP > 0.0:
            scores = SOFTCAP * numerics.tanh(scores / SOFTCAP)
        if alibi_slopes_ptr is not None:
            scores += tl.load(alibi_slopes_ptr + head) * (position - (seq_len - 1))
        scores = tl.where(visible, scores, float("-inf"))

        new_m = tl.maximum(m, tl.max(scores, axis=0))
        weights = tl.exp(scores - new_m)
        rescale = tl.exp(m - new_m)
        ell = ell * rescale + tl.sum(weights, axis=0)
        acc = acc * rescale + tl.sum(weights[:, None] * v, axis=0)
        m = new_m

    # An empty sequence has seen nothing: its acc is 0, and so is its output.
    out = acc / tl.where(ell == 0.0, 1.0, ell)
    if v_scale_ptr is not None:
        out = out * tl.load(v_scale_ptr + kv_head)
    out = numerics.round_to(out, out_ptr.dtype.element_ty)
    tl.store(out_ptr + seq * out_seq + head * out_head + dim, out, mask=in_head)


def paged_attention_v1(
    q: torch.Tensor,
    k_cache: torch.Tensor,
    v_cache: torch.Tensor,
    block_tables: torch.Tensor,
    seq_lens: torch.Tensor,
    *,
    scale: float | None = None,
    alibi_slopes: torch.Tensor | None = None,
    sliding_window: int = 0,
    softcap: float = 0.0,
    k_scale: float | torch.Tensor | None = None,
    v_scale: float | torch.Tensor | None = None,
    plan: Plan | None = None,
) -> torch.Tensor:
    """Compute attention of one query per sequence over its pages; returns [B, Hq, D] in q's dtype.

    q: [B, Hq, D] in float32, float16 or bfloat16; caches: [num_blocks, block_size, Hkv, D] of the
    same dtype or float8_e4m3fn, Hq a multiple of Hkv, D ≤ 256, any strides as long as D is
    contiguous; block_tables: int32 [B, max_blocks]; seq_lens: int32 [B], including the query's own
    token. A sequence of length 0 gives zeros.

    score = scale·(q·k)·k_scale, then softcap·tanh(score/softcap) if softcap > 0, then
    + slope·(key position - query position). scale: 1/√D by default. alibi_slopes: float32 [Hq].
    sliding_window: the number of keys that the query attends to, including its own; 0 = all. Blocks
    that hold only older tokens are not read: their table entries may be -1, or V1's null block.
    k_scale, v_scale: a number or a float tensor [Hkv]; value = stored · scale. plan: from
    `plan_decode` with this step's tables and lengths. Without a plan, this call checks the tables
    and lengths itself, which waits for the GPU.

    Raises ValueError or TypeError naming the argument, the value and the sequence, also if a table
    is too short for its sequence or names a block outside the cache.
    """
    options = Options(scale, alibi_slopes, sliding_window, softcap, k_scale, v_scale)
    inputs = PagedInputs("decode", q, k_cache, v_cache, block_tables, seq_lens, options, plan=plan)
    return attend(launch, checked(inputs))


def launch(out: torch.Tensor, lse: None, inputs: PagedInputs) -> None:
    """Start the kernel on checked arguments; waits for nothing. It gives no LSE."""
    num_seqs, num_heads, head_dim = inputs.q.shape
    block_size, dims = inputs.k_cache.shape[1], triton.next_power_of_2(head_dim)
    paged_attention_v1_kernel[(num_seqs, num_heads)](
        out, *inputs.kernel_arguments, *inputs.strides(out),
        GROUP=inputs.group, BLOCK_SIZE=block_size,
        ROWS=min(triton.next_power_of_2(block_size), max(_TILE // dims, 1)),
        HEAD_DIM=head_dim, DIMS=dims, SOFTCAP=inputs.options.softcap,
    )  # fmt: skip
