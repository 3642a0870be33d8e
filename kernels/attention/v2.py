"""Decode attention in partitions (vLLM: `paged_attention_v2`): the fast one.

**The problem.** `v1.py` gives a sequence one program per head. A batch of 4 sequences and 8 heads
makes 32 programs: three quarters of a chip with 132 multiprocessors are idle, however long the
sequences are. And every query head reads its group's keys again.

**The idea.** Cut the KV sequence into partitions, attend to each as if it were alone, and merge the
answers.

    tokens      0 ............ 511 | 512 .......... 1023 | 1024 ... 1200
                   partition 0     |    partition 1      |  partition 2      one program each
                (m, ell, acc)₀     |  (m, ell, acc)₁     |  (m, ell, acc)₂
                        \\                  |                  /
                         reduce: the running softmax once more, over partitions
                                           |
                                         output

Attention over a partition gives (m, ell, acc), as a running softmax that stops there would. Two of
them merge by the same rule: rescale both to the larger m, then add. A partition is a slice of the
tokens of one sequence; it has nothing to do with how many GPUs share the model.

Inside a partition a program takes all query heads of one KV head and tiles of many tokens
(`kernels.attention.tile`); only the last tile needs a mask.

**How many partitions?** A GPU runs a wave of programs at a time. Splitting pays off while it fills
room that would stay empty, in the first wave or in the last; otherwise it only adds partial outputs
to write and merge. `kernels.attention.partitions` weighs the two.

Tested in tests/kernels/attention, timed by `python -m pagesim.kernels.bench`, its machine code
bounded by `python -m pagesim.kernels.gate`.
"""

from typing import no_type_check

import torch

from pagesim.kernels.attention import configs, numerics, partitions
from pagesim.kernels.attention import tile as tiles
from pagesim.kernels.runtime import mode
from pagesim.kernels.runtime.checks import checked
from pagesim.kernels.runtime.fallback import attend
from pagesim.kernels.runtime.inputs import Options, PagedInputs, Plan

triton, tl = mode.load_triton()


@no_type_check
@triton.jit
def split_kernel(
    out_ptr, lse_ptr,  # lse may be None
    partial_ptr, partial_m_ptr, partial_ell_ptr,  # acc [B, Hq, S, D], m, ell; None for 1 partition
    q_ptr, k_cache_ptr, v_cache_ptr, block_tables_ptr, seq_lens_ptr,
    alibi_slopes_ptr, k_scale_ptr, v_scale_ptr,  # each may be None
    scale, window,
    span,  # tokens of a partition
    # Steps in elements from one sequence, head, block or row to the next; along D it is always 1.
    # v_block and v_row are None where V lies as K does.
    out_seq, out_head, q_seq, q_head,
    k_block, k_row, k_head, v_block, v_row, v_head, table_seq,
    GROUP: tl.constexpr,  # query heads per KV head
    BLOCK_SIZE: tl.constexpr,
    HEAD_DIM: tl.constexpr,
    DIMS: tl.constexpr,  # HEAD_DIM rounded up to a power of two, at least 16
    SOFTCAP: tl.constexpr,
    ROWS: tl.constexpr,  # GROUP as rows of a tile: a power of two, at least 16
    TILE: tl.constexpr,
):  # fmt: skip
    """One program: one partition of one sequence, for all query heads of one KV head."""
    seq = tl.program_id(0).to(tl.int64)
    kv_head = tl.program_id(1).to(tl.int64)
    part = tl.program_id(2)
    seq_len = tl.load(seq_lens_ptr + seq)
    # Partitions are counted from the oldest visible token, so that tiles need no mask for a window.
    start = tl.maximum(seq_len - window, 0) + part * span
    stop = tl.minimum(start + span, seq_len)
    if part > 0 and start >= seq_len:
        return  # reduce_kernel works out how many partitions a sequence has

    lane = tl.arange(0, ROWS)
    dim = tl.arange(0, DIMS)
    head = kv_head * GROUP + lane
    wanted = (lane < GROUP)[:, None] & (dim < HEAD_DIM)[None, :]
    q_offset = seq * q_seq + head[:, None] * q_head + dim[None, :]
    q = tl.load(q_ptr + q_offset, mask=wanted, other=0.0)
    q = numerics.operand(q, q_ptr.dtype.element_ty)
    if k_scale_ptr is not None:
        scale = scale * tl.load(k_scale_ptr + kv_head)
    slope = 0.0
    if alibi_slopes_ptr is not None:
        slope = tl.load(alibi_slopes_ptr + head, mask=lane < GROUP, other=0.0)[:, None]
    ALIBI: tl.constexpr = alibi_slopes_ptr is not None

    table_ptr = block_tables_ptr + seq * table_seq
    k_ptr = k_cache_ptr + kv_head * k_head
    v_ptr = v_cache_ptr + kv_head * v_head
    m = tl.full([ROWS], float("-inf"), dtype=tl.float32)
    ell = tl.zeros([ROWS], dtype=tl.float32)
    acc = tl.zeros([ROWS, DIMS], dtype=tl.float32)
    cache = (slope, table_ptr, k_ptr, v_ptr, k_block, k_row, v_block, v_row, scale, window)
    m, ell, acc = tiles.attend_all(
        q, m, ell, acc, start, stop, seq_len - 1, cache, BLOCK_SIZE, HEAD_DIM, TILE, SOFTCAP, ALIBI
    )

    if partial_ptr is None:
        # An empty sequence has seen nothing: its acc is 0, and so is its output.
        out = acc / tl.where(ell == 0.0, 1.0, ell)[:, None]
        if v_scale_ptr is not None:
            out = out * tl.load(v_scale_ptr + kv_head)
        out = numerics.round_to(out, out_ptr.dtype.element_ty)
        offset = seq * out_seq + head[:, None] * out_head + dim[None, :]
        tl.store(out_ptr + offset, out, mask=wanted)
        if lse_ptr is not None:
            num_heads = tl.num_programs(1) * GROUP
            lse = tiles.log2_sum(m, ell)
            tl.store(lse_ptr + seq * num_heads + head, lse, mask=lane < GROUP)
    else:
        num_heads = tl.num_programs(1) * GROUP
        place = (seq * num_heads + head) * tl.num_programs(2) + part
        tl.store(partial_ptr + place[:, None] * HEAD_DIM + dim[None, :], acc, mask=wanted)
        tl.store(partial_m_ptr + place, m, mask=lane < GROUP)
        tl.store(partial_ell_ptr + place, ell, mask=lane < GROUP)


@no_type_check
@triton.jit
def reduce_kernel(
    out_ptr, lse_ptr, partial_ptr, partial_m_ptr, partial_ell_ptr, seq_lens_ptr, v_scale_ptr,
    window, span, num_partitions, out_seq, out_head,
    GROUP: tl.constexpr,
    HEAD_DIM: tl.constexpr,
    DIMS: tl.constexpr,
    PARTS: tl.constexpr,  # partitions merged at once
):  # fmt: skip
    """One program: the partitions of one query head of one sequence become its output."""
    seq = tl.program_id(0).to(tl.int64)
    head = tl.program_id(1).to(tl.int64)
    dim = tl.arange(0, DIMS)
    place = seq * tl.num_programs(1) + head
    # What follows a sequence's last partition was never written, and may be NaN.
    count = tl.cdiv(tl.minimum(tl.load(seq_lens_ptr + seq), window), span)

    m = float("-inf")
    ell = 0.0
    acc = tl.zeros([DIMS], dtype=tl.float32)
    for first in range(0, count, PARTS):
        part = first + tl.arange(0, PARTS)
        there = part < count
        index = place * num_partitions + part
        part_m = tl.load(partial_m_ptr + index, mask=there, other=float("-inf"))
        part_ell = tl.load(partial_ell_ptr + index, mask=there, other=0.0)
        wanted = there[:, None] & (dim < HEAD_DIM)[None, :]
        offset = index[:, None] * HEAD_DIM + dim[None, :]
        part_acc = tl.load(partial_ptr + offset, mask=wanted, other=0.0)
        new_m = tl.maximum(m, tl.max(part_m, axis=0))
        weights = tiles.exp(part_m - new_m)
        rescale = tiles.exp(m - new_m)
        ell = ell * rescale + tl.sum(weights * part_ell, axis=0)
        acc = acc * rescale + tl.sum(weights[:, None] * part_acc, axis=0)
        m = new_m

    out = acc / tl.where(ell == 0.0, 1.0, ell)
    if v_scale_ptr is not None:
        out = out * tl.load(v_scale_ptr + head // GROUP)
    out = numerics.round_to(out, out_ptr.dtype.element_ty)
    tl.store(out_ptr + seq * out_seq + head * out_head + dim, out, mask=dim < HEAD_DIM)
    if lse_ptr is not None:
        tl.store(lse_ptr + place, tiles.log2_sum(m, ell))


def paged_attention_v2(
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
    partition_size: int = partitions.PARTITION_SIZE,
    num_partitions: int | None = None,
    return_lse: bool = False,
    plan: Plan | None = None,
) -> torch.Tensor | tuple[torch.Tensor, torch.Tensor]:
    """Compute the result of `paged_attention_v1` with the KV sequence cut into partitions.

    The common arguments, their checks and errors are those of `paged_attention_v1`. partition_size:
    the minimum number of tokens in a partition. num_partitions: the number of partitions of the
    longest sequence, regardless of partition_size; None chooses enough to keep the GPU busy (the
    interpreter uses partition_size). Shorter sequences have fewer partitions of the same size. A
    plan includes both numbers: pass them to `plan_decode` instead.

    With return_lse=True, returns (output, lse), where lse is float32 [B, Hq] = log₂ Σ exp(score),
    or -inf for length 0. With lse, outputs over parts of a sequence can be merged.
    """
    partitions.check(partition_size, num_partitions, plan)
    options = Options(scale, alibi_slopes, sliding_window, softcap, k_scale, v_scale)
    inputs = PagedInputs("decode", q, k_cache, v_cache, block_tables, seq_lens, options, plan=plan)
    inputs = partitions.chosen(checked(inputs), partition_size, num_partitions)
    return attend(launch, inputs, return_lse)


def launch(out: torch.Tensor, lse: torch.Tensor | None, inputs: PagedInputs) -> None:
    """Start the kernels on checked arguments; waits for nothing."""
    (num_seqs, num_heads, head_dim), plan = inputs.q.shape, inputs.found
    config = configs.decode_config(*configs.sizes(inputs))
    partial: list[torch.Tensor | None] = [None] * 3
    if plan.num_partitions > 1:
        shape = (num_seqs, num_heads, plan.num_partitions)
        partial = [
            torch.empty((*shape, *more), dtype=torch.float32, device=out.device)
            for more in ([head_dim], [], [])
        ]
    split_kernel[(num_seqs, inputs.k_cache.shape[2], plan.num_partitions)](
        out, lse, *partial, *inputs.kernel_arguments, plan.span,
        *inputs.strides(out, alike=True), **configs.constants(inputs, config),
    )  # fmt: skip
    if plan.num_partitions > 1:
        reduce_kernel[(num_seqs, num_heads)](
            out, lse, *partial, inputs.lens, inputs.options.v_scale,
            inputs.options.window, plan.span, plan.num_partitions, *out.stride()[:2],
            GROUP=inputs.group, HEAD_DIM=head_dim, DIMS=configs.padded(head_dim),
            PARTS=min(16, triton.next_power_of_2(plan.num_partitions)),
        )  # fmt: skip
