"""Stages 3 and 4: one maximum and one sum for the whole thread block, then the softmax.

Both reductions take the same steps: shuffles inside each warp, one word per warp in shared memory,
a barrier, and shuffles again, now over the warps' words, in every warp at once.

    lanes  ─ shuffles ─►  lane 0 of each warp  ─ red[w], barrier ─►  lanes 0 … W-1  ─ shuffles ─►
"""

from collections.abc import Callable

import numpy as np

from pagesim.kernels.simt.config import WARP_SIZE
from pagesim.kernels.simt.machine import LOWEST, Floats, halving, xor_reduce
from pagesim.kernels.simt.thread_block import ThreadBlock

# vLLM adds it to the sum before dividing; the sum is at least 1 wherever there is a token.
EPSILON = np.float32(1e-6)


def reduce_max(block: ThreadBlock) -> None:
    """Stage 3: the largest qk of the thread block, in every lane.

    Only the first lane of a group has one, so the shuffles stop at the size of a group.
    """
    masks = halving(WARP_SIZE // 2, block.config.thread_group_size)
    within = xor_reduce(block.lane_max, masks, np.fmax)
    block.qk_max = across_warps(block, within, np.fmax, LOWEST, first_word=0)


def softmax(block: ThreadBlock) -> None:
    """Stage 4: logits become exp(qk - max) / sum; thread t takes tokens t, t + num_threads, …"""
    t = block.threads
    block.lane_sum = np.zeros(t.index.shape, dtype=np.float32)
    turns = [t.index + start for start in range(0, block.num_tokens, block.config.num_threads)]
    for token in turns:
        mine = token < block.num_tokens
        qk = block.shared.load(t.index[mine], token[mine])
        value = np.exp(qk - block.qk_max[mine])
        block.shared.store(t.index[mine], token[mine], value)
        block.lane_sum[mine] += value
    block.exp_sum = block_sum(block, block.lane_sum)
    inverse = np.float32(1) / (block.exp_sum + EPSILON)
    for token in turns:
        mine = token < block.num_tokens
        value = block.shared.load(t.index[mine], token[mine])
        block.shared.store(t.index[mine], token[mine], value * inverse[mine])
    block.barrier()
    block.logits = block.shared.words[: block.raw_logits.size].copy()


def block_sum(block: ThreadBlock, register: Floats) -> Floats:
    """The sum of a register over all threads of the block, in every lane."""
    within = xor_reduce(register, halving(WARP_SIZE // 2), np.add)
    return across_warps(block, within, np.add, 0.0, first_word=block.config.num_warps)


def across_warps(
    block: ThreadBlock,
    within: Floats,
    combine: Callable[..., Floats],
    empty: float,
    *,
    first_word: int,
) -> Floats:
    """Combine the warps' values (each in its lane 0) through shared memory; all lanes get it."""
    t, red = block.threads, block.red
    red.store(t.index[:, 0], first_word + t.warp[:, 0], within[:, 0])
    block.barrier()
    reads = t.lane < block.config.num_warps
    found = np.full(within.shape, empty, dtype=np.float32)
    found[reads] = red.load(t.index[reads], first_word + t.lane[reads])
    found = xor_reduce(found, halving(block.config.num_warps // 2), combine)
    # Lane 0 has combined every warp's word: all lanes get its value.
    return found[:, :1].repeat(WARP_SIZE, axis=1)
