"""Writing new keys and values into the paged cache (vLLM: `reshape_and_cache_flash`).

After the projections a step holds one key and one value per new token, in token order. They belong
in the slots that the allocator chose. The slot mapping says which:

    block_size = 4             slot = block · 4 + row

    token            0    1    2    3                 cache
    slot_mapping  [ 11 | 28 | -1 | 29 ]
                     |    |    :    |       block 2   [ .  .  .  t0 ]     slot  8  9 10 11
                     |    |    :    |       block 7   [ t1 t3 .  .  ]     slot 28 29 30 31
                     |    |    +-- padding: not written
                     |    +-- 28 // 4 = block 7, 28 % 4 = row 0
                     +------- 11 // 4 = block 2, 11 % 4 = row 3

It is a scatter. A program takes a tile of it: some heads of some tokens, each line with a slot of
its own. Numbers are moved bit for bit.

    line     0        1        2        3        4     …       2 KV heads
    token    t0       t0       t1       t1       t2
    head     0        1        0        1        0
    slot     11       11       28       28       -1

**An fp8 cache** takes half the bytes a token, so it holds twice as many tokens. float8_e4m3fn has 4
bits of exponent and 3 of fraction, and its largest number is 448: what is stored is x / scale, with
a scale for the whole tensor or one per head, and reading multiplies by it again.

    x, float16      [ 1.73   -0.0402   612.0   … ]     scale 2
    x / scale       [ 0.865  -0.0201   306.0   … ]     clamped to ±448
    stored          [ 0.875  -0.0195   320.0   … ]     to nearest: an eighth of a power of two apart

Tested in tests/kernels/test_cache_write.py and test_fp8.py.
"""

from typing import no_type_check

import torch

from pagesim.kernels.attention import numerics
from pagesim.kernels.runtime import checks, fallback, mode
from pagesim.kernels.runtime.argument_checks import FP8
from pagesim.kernels.runtime.inputs import Plan

triton, tl = mode.load_triton()

# Numbers of each tensor that a program moves; the interpreter pays for each step, not its size.
_TILE = 4096 if mode.decide().mode == "compiled" else 65536


@no_type_check
@triton.jit
def reshape_and_cache_kernel(
    key_ptr, value_ptr, k_cache_ptr, v_cache_ptr, slot_mapping_ptr,
    k_scale_ptr, v_scale_ptr,  # float32 [Hkv]; may be None
    num_tokens,
    # Steps in elements from one token, block, row or head to the next; along D it is always 1.
    key_token, key_head, value_token, value_head,
    k_block, k_row, k_head, v_block, v_row, v_head,
    BLOCK_SIZE: tl.constexpr,
    NUM_HEADS: tl.constexpr,
    HEAD_DIM: tl.constexpr,
    DIMS: tl.constexpr,  # HEAD_DIM rounded up to a power of two: tiles must be
    LINES: tl.constexpr,  # heads of tokens that a program moves
    FP8: tl.constexpr,
):  # fmt: skip
    """One program: LINES heads of tokens, from key and value into their slots."""
    # 64 bits before any product: block · stride passes 2³¹ in a cache of a few GiB.
    line = tl.program_id(0).to(tl.int64) * LINES + tl.arange(0, LINES)[:, None]
    dim = tl.arange(0, DIMS)[None, :]
    token = line // NUM_HEADS
    head = line % NUM_HEADS
    slot = tl.load(slot_mapping_ptr + token, mask=token < num_tokens, other=-1).to(tl.int64)
    block = slot // BLOCK_SIZE
    row = slot % BLOCK_SIZE
    wanted = (slot >= 0) & (dim < HEAD_DIM)

    key = tl.load(key_ptr + (token * key_token + head * key_head + dim), mask=wanted)
    if FP8:
        key = quantized(key, k_scale_ptr, head)
    k_offset = block * k_block + row * k_row + head * k_head + dim
    tl.store(k_cache_ptr + k_offset, key, mask=wanted)

    value = tl.load(value_ptr + (token * value_token + head * value_head + dim), mask=wanted)
    if FP8:
        value = quantized(value, v_scale_ptr, head)
    v_offset = block * v_block + row * v_row + head * v_head + dim
    tl.store(v_cache_ptr + v_offset, value, mask=wanted)


@no_type_check
@triton.jit
def quantized(x, scale_ptr, head):
    """x / scale as float8_e4m3fn: clamped, and rounded to nearest."""
    x = x.to(tl.float32)
    if scale_ptr is not None:
        # A GPU's plain `/` may be off by a bit, which can change how the result is rounded.
        x = tl.div_rn(x, tl.broadcast_to(tl.load(scale_ptr + head), x.shape))
    # Comparisons, because minimum and maximum would lose a NaN.
    x = tl.where(x > 448.0, 448.0, tl.where(x < -448.0, -448.0, x))
    return numerics.round_to(x, tl.float8e4nv)


def reshape_and_cache(
    key: torch.Tensor,
    value: torch.Tensor,
    k_cache: torch.Tensor,
    v_cache: torch.Tensor,
    slot_mapping: torch.Tensor,
    k_scale: float | torch.Tensor | None = None,
    v_scale: float | torch.Tensor | None = None,
    plan: Plan | None = None,
) -> None:
    """Write each token's key and value into its slot of the caches, in place.

    key, value: [T, Hkv, D] in float32, float16 or bfloat16; caches: [num_blocks, block_size, Hkv,
    D], contiguous along D only, of the same dtype (values are then stored bit for bit) or
    float8_e4m3fn (then x / scale is stored, clamped to ±448 and rounded to nearest); slot_mapping:
    int64 [T], -1 = skip the token. k_scale, v_scale: for fp8 caches, a positive number or a float
    tensor [Hkv]. plan: from `plan_write`, or from another kernels.plan_… that was given these
    slots. Without a plan, this call checks the slots itself, which waits for the GPU.

    Before anything is written, raises ValueError or TypeError naming the argument, also for a slot
    outside the cache or two tokens for one slot.
    """
    scales, _ = checks.cache_write(
        key, value, k_cache, v_cache, slot_mapping, k_scale, v_scale, plan
    )
    if mode.decide().mode == "reference":
        fallback.reshape_and_cache(key, value, k_cache, v_cache, slot_mapping, *scales)
        return
    num_tokens, num_heads, head_dim = key.shape
    if num_tokens == 0:
        return
    dims, rows = triton.next_power_of_2(head_dim), num_tokens * num_heads
    lines = max(1, min(_TILE // dims, triton.next_power_of_2(rows)))
    with torch.cuda.device_of(key):
        reshape_and_cache_kernel[(triton.cdiv(rows, lines),)](
            key, value, k_cache, v_cache, slot_mapping, *scales, num_tokens,
            *key.stride()[:2], *value.stride()[:2], *k_cache.stride()[:3], *v_cache.stride()[:3],
            BLOCK_SIZE=k_cache.shape[1], NUM_HEADS=num_heads, HEAD_DIM=head_dim,
            DIMS=dims, LINES=lines, FP8=k_cache.dtype == FP8,
        )  # fmt: skip


def plan_write(
    key: torch.Tensor,
    value: torch.Tensor,
    k_cache: torch.Tensor,
    v_cache: torch.Tensor,
    slot_mapping: torch.Tensor,
) -> Plan:
    """Check a step's slots once; the plan returned serves `reshape_and_cache` in every layer.

    The arguments and errors are those of one layer's write. The other layers may pass other keys,
    values, caches and scales of the same shapes and dtypes, but must pass the same slot_mapping,
    unchanged. With a plan, the values of scale tensors are not checked.
    """
    return checks.cache_write(key, value, k_cache, v_cache, slot_mapping)[1]
