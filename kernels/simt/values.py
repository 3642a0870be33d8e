"""Stages 5 to 7: the weighted sum of V, added up over lanes, then over warps.

A row of a V block is one dimension of the head, its tokens side by side. A lane reads one vec of a
row: with 16 tokens in a block and vecs of 8, lanes 0 and 1 share row 0, lanes 2 and 3 row 1, …

    tokens      0 ‥ 7    8 ‥ 15                  next instruction
    row 0       lane 0   lane 1        row 16    lane 0   lane 1
    row 1       lane 2   lane 3        row 17    lane 2   lane 3
    ⋮                                  ⋮
    row 15      lane 30  lane 31       row 31    lane 30  lane 31

so that lane 0 sums rows 0, 16, 32, …. Each of its sums (accs) still lacks the tokens of the other
lane, and those in the blocks of the other warps.
"""

import numpy as np

from pagesim.kernels.simt import indices
from pagesim.kernels.simt.machine import Floats, halving, xor_reduce
from pagesim.kernels.simt.memory import Launch
from pagesim.kernels.simt.thread_block import ThreadBlock


def weigh_values(block: ThreadBlock) -> None:
    """Stage 5: every lane multiplies its vecs of V by the logits of the same tokens."""
    config, t = block.config, block.threads
    rows, inside = indices.v_rows(config), indices.v_token(config)
    element = np.arange(config.v_vec_size)
    i = np.arange(config.num_rows_per_thread)
    last_block = -(-block.seq_len // config.block_size) - 1
    block.lane_accs = np.zeros(rows.shape, dtype=np.float32)
    for logical in block.rounds():
        working = np.broadcast_to(logical < block.end_block, t.index.shape)
        token = (logical * config.block_size + inside)[:, :, None] + element
        weights = np.zeros(token.shape, dtype=np.float32)
        weights[working] = block.shared.load(
            t.index[working][:, None], (token - block.first_token)[working]
        )
        place = indices.v_offset(config, rows, inside[:, :, None])
        wanted = working[:, :, None] & (rows < config.head_size)
        offsets = np.where(wanted, block.slab(logical)[:, :, None] + place, -1)
        v = block.load("v", [logical, i], offsets, config.v_vec_size)
        # Slots past the end were never written: a NaN there would survive a weight of 0.
        unwritten = (logical == last_block)[:, :, None] & (token >= block.seq_len)
        v[np.broadcast_to(unwritten[:, :, None, :], v.shape)] = 0
        block.lane_accs += dot(block.launch, weights[:, :, None, :], v)


def dot(launch: Launch, weights: Floats, v: Floats) -> Floats:
    """Σ weights · v over the last axis, in float32 or as the kernel does it.

    For half-precision types the kernel rounds the weights and every product to that type; it adds
    even and odd elements separately, rounding each time, and the last two sums in float32.
    """
    products = launch.rounded(launch.rounded(weights) * v)
    if products.shape[-1] == 1:
        return products[..., 0]
    pairs = products.reshape(*products.shape[:-1], -1, 2)
    total = pairs[..., 0, :]
    for n in range(1, pairs.shape[-2]):
        total = launch.rounded(total + pairs[..., n, :])
    return np.asarray(total[..., 0] + total[..., 1])


def reduce_lanes(block: ThreadBlock) -> None:
    """Stage 6: add up the lanes that share a row; the first of them holds the warp's sum."""
    masks = halving(block.config.num_v_vecs_per_row // 2)
    block.warp_accs = xor_reduce(block.lane_accs, masks, np.add)


def reduce_warps(block: ThreadBlock) -> None:
    """Stage 7: a tree, until the sums of one warp are left.

    In each step the upper half of the warps passes its sums to the lower half. The outputs
    replace the logits in shared memory, so no thread may still be reading those.
    """
    config, t = block.config, block.threads
    rows = indices.v_rows(config)
    holds = (t.lane % config.num_v_vecs_per_row == 0)[:, :, None] & (rows < config.head_size)
    accs = block.warp_accs.copy()
    thread = np.broadcast_to(t.index[:, :, None], rows.shape)
    block.barrier()
    for half in halving(config.num_warps // 2):
        upper, lower = slice(half, 2 * half), slice(0, half)
        place = (t.warp[lower] * config.head_size)[:, :, None] + rows[lower]
        held = holds[lower]
        block.shared.store(thread[upper][held], place[held], accs[upper][held])
        block.barrier()
        accs[lower][held] += block.shared.load(thread[lower][held], place[held])
        block.barrier()
        block.tree.append(accs[lower].copy())
    block.output = np.full(config.head_size, np.nan, dtype=np.float32)
    block.output[rows[0][holds[0]]] = accs[0][holds[0]]
