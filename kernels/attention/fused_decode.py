"""Decode attention that takes the new token's key and value from its arguments, not from the cache.

**The problem.** A decode step first writes the new token's key and value into the cache, and then
the attention kernel reads them back from memory: one launch waits for the other. Yet the caller has
those numbers at hand.

**The idea.** A running softmax may begin anywhere. Let it begin with the new token: its score is
the first maximum, its weight is exp(0) = 1.

                              cached: positions 0 … context_len - 1        new: context_len
    block_tables -->  k0 k1 k2 k3 | k4 k5 k6 k7 | k8 ?? ?? ??                k_new, v_new
                                                                                  |
    m   = score of the new token      <-------------------------------------------+
    ell = 1
    acc = its value                then on over the pages, as in `kernels.attention.tile`

The cache is not touched; writing k_new and v_new there (`reshape_and_cache`) can happen at any time
before the next step. Every sequence sees at least its new token, so none is empty.

An fp8 cache holds numbers divided by k_scale and v_scale; k_new and v_new have never been in it and
are not divided. So the new value is kept apart until the cached ones have been scaled back.

Tested in tests/kernels/attention; `python -m pagesim.kernels.bench` times decoding from the
cache only.
"""

from typing import no_type_check

import torch

from pagesim.kernels.attention import configs, numerics
from pagesim.kernels.attention import tile as tiles
from pagesim.kernels.runtime import mode
from pagesim.kernels.runtime.checks import checked
from pagesim.kernels.runtime.fallback import attend
from pagesim.kernels.runtime.inputs import Options, PagedInputs, Plan

triton, tl = mode.load_triton()


@no_type_check
@triton.jit
def fused_decode_kernel(
    out_ptr, lse_ptr,  # lse may be None
    q_ptr, k_new_ptr, v_new_ptr, k_cache_ptr, v_cache_ptr, block_tables_ptr, context_lens_ptr,
    alibi_slopes_ptr, k_scale_ptr, v_scale_ptr,  # each may be None
    scale, window,
    # Steps in elements from one sequence, head, block or row to the next; along D it is always 1.
    # v_block and v_row are None where V lies as K does.
    out_seq, out_head, q_seq, q_head, k_new_seq, k_new_head, v_new_seq, v_new_head,
    k_block, k_row, k_head, v_block, v_row, v_head, table_seq,
    GROUP: tl.constexpr,  # query heads per KV head
    BLOCK_SIZE: tl.constexpr,
    HEAD_DIM: tl.constexpr,
    DIMS: tl.constexpr,  # HEAD_DIM rounded up to a power of two, at least 16
    SOFTCAP: tl.constexpr,
    ROWS: tl.constexpr,  # GROUP as rows of a tile: a power of two, at least 16
    TILE: tl.constexpr,
):  # fmt: skip
    """One program: all query heads of one KV head of one sequence."""
    seq = tl.program_id(0).to(tl.int64)
    kv_head = tl.program_id(1).to(tl.int64)
    lane = tl.arange(0, ROWS)
    dim = tl.arange(0, DIMS)
    in_head = dim < HEAD_DIM
    head = kv_head * GROUP + lane
    wanted = (lane < GROUP)[:, None] & in_head[None, :]
    q_offset = seq * q_seq + head[:, None] * q_head + dim[None, :]
    q = tl.load(q_ptr + q_offset, mask=wanted, other=0.0)
    k_new_offset = seq * k_new_seq + kv_head * k_new_head + dim
    k_new = tl.load(k_new_ptr + k_new_offset, mask=in_head, other=0.0).to(tl.float32)
    v_new_offset = seq * v_new_seq + kv_head * v_new_head + dim
    v_new = tl.load(v_new_ptr + v_new_offset, mask=in_head, other=0.0).to(tl.float32)

    # The new token is at the query's own position: ALiBi adds nothing, every window includes it.
    own = tl.sum(q.to(tl.float32) * k_new[None, :], axis=1) * scale
    if SOFTCAP > 0.0:
        own = SOFTCAP * numerics.tanh(own / SOFTCAP)
    m = own
    ell = tl.full([ROWS], 1.0, dtype=tl.float32)
    acc = tl.zeros([ROWS, DIMS], dtype=tl.float32)

    q = numerics.operand(q, q_ptr.dtype.element_ty)
    if k_scale_ptr is not None:
        scale = scale * tl.load(k_scale_ptr + kv_head)
    slope = 0.0
    if alibi_slopes_ptr is not None:
        slope = tl.load(alibi_slopes_ptr + head, mask=lane < GROUP, other=0.0)[:, None]
    ALIBI: tl.constexpr = alibi_slopes_ptr is not None

    length = tl.load(context_lens_ptr + seq)
    start = tl.maximum(length + 1 - window, 0)
    table_ptr = block_tables_ptr + seq * table_seq
    k_ptr = k_cache_ptr + kv_head * k_head
    v_ptr = v_cache_ptr + kv_head * v_head
    cache = (slope, table_ptr, k_ptr, v_ptr, k_block, k_row, v_block, v_row, scale, window)
    m, ell, acc = tiles.attend_all(
        q, m, ell, acc, start, length, length, cache, BLOCK_SIZE, HEAD_DIM, TILE, SOFTCAP, ALIBI
    )

    if v_scale_ptr is not None:
        acc = acc * tl.load(v_scale_ptr + kv_head)
    acc += tiles.exp(own - m)[:, None] * v_new[None, :]
    out = numerics.round_to(acc / ell[:, None], out_ptr.dtype.element_ty)
    out_offset = seq * out_seq + head[:, None] * out_head + dim[None, :]
    tl.store(out_ptr + out_offset, out, mask=wanted)
    if lse_ptr is not None:
        num_heads = tl.num_programs(1) * GROUP
        tl.store(lse_ptr + seq * num_heads + head, tiles.log2_sum(m, ell), mask=lane < GROUP)


def fused_decode(
    q: torch.Tensor,
    k_new: torch.Tensor,
    v_new: torch.Tensor,
    k_cache: torch.Tensor,
    v_cache: torch.Tensor,
    block_tables: torch.Tensor,
    context_lens: torch.Tensor,
    *,
    scale: float | None = None,
    alibi_slopes: torch.Tensor | None = None,
    sliding_window: int = 0,
    softcap: float = 0.0,
    k_scale: float | torch.Tensor | None = None,
    v_scale: float | torch.Tensor | None = None,
    return_lse: bool = False,
    plan: Plan | None = None,
) -> torch.Tensor | tuple[torch.Tensor, torch.Tensor]:
    """Compute decode attention over the pages and one new token; returns [B, Hq, D] in q's dtype.

    k_new, v_new: [B, Hkv, D] in q's dtype, the key and value of the new token, not divided by any
    scale; context_lens: int32 [B], the number of tokens in the cache. The query and the new token
    have position context_len. The result is the same as after writing k_new and v_new into a cache
    of q's dtype and attending to context_lens + 1 tokens, but nothing is written.

    Everything else, including keywords and errors, is as in `paged_attention_v1`. With
    return_lse=True, returns (output, lse), where lse is float32 [B, Hq] = log₂ Σ exp(score).
    """
    options = Options(scale, alibi_slopes, sliding_window, softcap, k_scale, v_scale)
    inputs = PagedInputs(
        "fused decode", q, k_cache, v_cache, block_tables, context_lens, options,
        k_new=k_new, v_new=v_new, plan=plan,
    )  # fmt: skip
    return attend(launch, checked(inputs), return_lse)


def launch(out: torch.Tensor, lse: torch.Tensor | None, inputs: PagedInputs) -> None:
    """Start the kernel on checked arguments; waits for nothing."""
    fused_decode_kernel[(inputs.q.shape[0], inputs.k_cache.shape[2])](
        out, lse, *inputs.kernel_arguments, *inputs.strides(out, alike=True),
        **configs.constants(inputs, configs.decode_config(*configs.sizes(inputs))),
    )  # fmt: skip
