"""Attention for many new tokens of a sequence at once: prompts, and chunks of prompts.

**The problem.** All tokens of a prompt are known at once. Some of its keys may already be in the
cache: from an earlier chunk, or from a prefix that another request computed. The new tokens' own
keys were also just written there. So there is one place to read, and a causal rule: no query sees a
later key.

    seq_len 7: 4 tokens cached, 3 queries at its end

                     keys  k0  k1  k2  k3 | k4  k5  k6           query_start_loc = [0, 3, 5, …]
    q[0], position 4       x   x   x   x  | x   .   .            q holds sequence 0's queries,
    q[1], position 5       x   x   x   x  | x   x   .            then sequence 1's, …
    q[2], position 6       x   x   x   x  | x   x   x
                             no mask      |   causal

**The idea.** A tile of query rows walks over the keys as in decode (`kernels.attention.tile`). Its
rows are query tokens times the query heads of one KV head, so that GQA fills the tile too:

    row      0        1        2        3        4     …       GROUP = 2
    token    q0       q0       q1       q1       q2
    head     4        5        4        5        4

Only two stretches of keys need a mask: where the causal edge cuts through the tile, and, with a
sliding window, where the window's old end does. All keys between them are seen by every row.

    keys     | . window's edge . |   seen by every row   | . causal edge . |
             oldest              inner                    outer             stop

Tested in tests/kernels/attention; `python -m pagesim.kernels.bench` times decoding only.
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
def prefill_kernel(
    out_ptr, lse_ptr,  # lse may be None
    q_ptr, k_cache_ptr, v_cache_ptr, block_tables_ptr, query_start_loc_ptr, seq_lens_ptr,
    alibi_slopes_ptr, k_scale_ptr, v_scale_ptr,  # each may be None
    scale, window,
    # Steps in elements from one token, sequence, head, block or row to the next; along D it is 1.
    # v_block and v_row are None where V lies as K does.
    out_token, out_head, q_token, q_head,
    k_block, k_row, k_head, v_block, v_row, v_head, table_seq,
    GROUP: tl.constexpr,  # query heads per KV head
    BLOCK_SIZE: tl.constexpr,
    HEAD_DIM: tl.constexpr,
    DIMS: tl.constexpr,  # HEAD_DIM rounded up to a power of two, at least 16
    SOFTCAP: tl.constexpr,
    ROWS: tl.constexpr,  # rows of a tile, a power of two, at least GROUP and 16
    TILE: tl.constexpr,
):  # fmt: skip
    """One program: some query tokens of one sequence, for all query heads of one KV head."""
    seq = tl.program_id(0).to(tl.int64)
    kv_head = tl.program_id(1).to(tl.int64)
    begin = tl.load(query_start_loc_ptr + seq)
    num_queries = tl.load(query_start_loc_ptr + seq + 1) - begin
    QUERIES: tl.constexpr = ROWS // GROUP
    first = tl.program_id(2) * QUERIES
    if first >= num_queries:
        return

    lane = tl.arange(0, ROWS)
    dim = tl.arange(0, DIMS)
    query = first + lane // GROUP
    head = kv_head * GROUP + lane % GROUP
    there = (lane < QUERIES * GROUP) & (query < num_queries)
    wanted = there[:, None] & (dim < HEAD_DIM)[None, :]
    token = (begin + query).to(tl.int64)
    q_offset = token[:, None] * q_token + head[:, None] * q_head + dim[None, :]
    q = tl.load(q_ptr + q_offset, mask=wanted, other=0.0)
    q = numerics.operand(q, q_ptr.dtype.element_ty)
    if k_scale_ptr is not None:
        scale = scale * tl.load(k_scale_ptr + kv_head)
    slope = 0.0
    if alibi_slopes_ptr is not None:
        slope = tl.load(alibi_slopes_ptr + head)[:, None]
    ALIBI: tl.constexpr = alibi_slopes_ptr is not None

    # Positions of this program's first query, of each row's, and of its last.
    seq_len = tl.load(seq_lens_ptr + seq)
    lowest = seq_len - num_queries + first
    position = (seq_len - num_queries + query)[:, None]
    highest = tl.minimum(lowest + QUERIES, seq_len) - 1

    oldest = tl.maximum(lowest - window + 1, 0)
    stop = highest + 1
    # Every row sees the keys from the last row's oldest to the first row's own.
    inner = tl.minimum(tl.maximum(highest - window + 1, oldest), stop)
    outer = inner + tl.maximum(lowest + 1 - inner, 0) // TILE * TILE

    table_ptr = block_tables_ptr + seq * table_seq
    k_ptr = k_cache_ptr + kv_head * k_head
    v_ptr = v_cache_ptr + kv_head * v_head
    m = tl.full([ROWS], float("-inf"), dtype=tl.float32)
    ell = tl.zeros([ROWS], dtype=tl.float32)
    acc = tl.zeros([ROWS, DIMS], dtype=tl.float32)
    cache = (slope, table_ptr, k_ptr, v_ptr, k_block, k_row, v_block, v_row, scale, window)
    # fmt: off
    for start in range(oldest, inner, TILE):
        m, ell, acc = tiles.attend(q, m, ell, acc, start, inner, position, *cache,
                                   BLOCK_SIZE, HEAD_DIM, TILE, SOFTCAP, ALIBI, MASKED=True)
    for start in range(inner, outer, TILE):
        m, ell, acc = tiles.attend(q, m, ell, acc, start, stop, position, *cache,
                                   BLOCK_SIZE, HEAD_DIM, TILE, SOFTCAP, ALIBI, MASKED=False)
    for start in range(outer, stop, TILE):
        m, ell, acc = tiles.attend(q, m, ell, acc, start, stop, position, *cache,
                                   BLOCK_SIZE, HEAD_DIM, TILE, SOFTCAP, ALIBI, MASKED=True)
    # fmt: on

    # Every query sees itself; only rows that are padding may have seen nothing.
    out = acc / tl.where(ell == 0.0, 1.0, ell)[:, None]
    if v_scale_ptr is not None:
        out = out * tl.load(v_scale_ptr + kv_head)
    out = numerics.round_to(out, out_ptr.dtype.element_ty)
    out_offset = token[:, None] * out_token + head[:, None] * out_head + dim[None, :]
    tl.store(out_ptr + out_offset, out, mask=wanted)
    if lse_ptr is not None:
        num_heads = tl.num_programs(1) * GROUP
        tl.store(lse_ptr + token * num_heads + head, tiles.log2_sum(m, ell), mask=there)


def paged_prefill(
    q: torch.Tensor,
    k_cache: torch.Tensor,
    v_cache: torch.Tensor,
    block_tables: torch.Tensor,
    query_start_loc: torch.Tensor,
    seq_lens: torch.Tensor,
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
    """Compute causal attention of each sequence's last tokens over its pages; returns [T, Hq, D].

    q: [T, Hq, D], the queries of all sequences one after the other; query_start_loc: int32 [B + 1],
    the queries of sequence b are q[query_start_loc[b] : query_start_loc[b + 1]]. They belong to the
    last tokens of the sequence: seq_lens counts these tokens, and their keys and values are already
    in the cache. A sequence may have no query. The result has q's dtype.

    Everything else, including keywords and errors, is as in `paged_attention_v1`, for a query at
    its own position. With return_lse=True, returns (output, lse), where lse is float32 [T, Hq] =
    log₂ Σ exp(score).
    """
    options = Options(scale, alibi_slopes, sliding_window, softcap, k_scale, v_scale)
    inputs = PagedInputs(
        "prefill", q, k_cache, v_cache, block_tables, seq_lens, options, query_start_loc, plan=plan
    )
    return attend(launch, checked(inputs), return_lse)


def launch(out: torch.Tensor, lse: torch.Tensor | None, inputs: PagedInputs) -> None:
    """Start the kernel on checked arguments; waits for nothing."""
    config = configs.prefill_config(*configs.sizes(inputs))
    tiles_of_queries = triton.cdiv(int(inputs.found.counts.max()), config.rows // inputs.group)
    prefill_kernel[(inputs.lens.shape[0], inputs.k_cache.shape[2], tiles_of_queries)](
        out, lse, *inputs.kernel_arguments, *inputs.strides(out, alike=True),
        **configs.constants(inputs, config),
    )  # fmt: skip
