"""Stages 1 and 2: q into shared memory, then its dot product with every key.

A thread group takes a key, and its lanes take the vecs in turn. For a group of 2:

    vec         0    1    2    3    4    5    …        lane 0 of the group:  0  2  4  …
    lane        0    1    0    1    0    1    …        lane 1:               1  3  5  …

Each lane multiplies its own vecs; then shuffles add up the lanes of the group.
"""

import numpy as np

from pagesim.kernels.simt import indices
from pagesim.kernels.simt.machine import LOWEST, halving, xor_reduce
from pagesim.kernels.simt.thread_block import KeyStep, ThreadBlock


def load_q(block: ThreadBlock) -> None:
    """Stage 1: the thread groups fetch q together, vec by vec, each into the row of its offset."""
    config, t = block.config, block.threads
    head = (block.seq * block.launch.num_heads + block.head) * config.head_size
    element = np.arange(config.vec_size)
    for turn in range(-(-config.num_vecs_per_thread // config.num_thread_groups)):
        i = t.group + turn * config.num_thread_groups
        wanted = i < config.num_vecs_per_thread
        vec = t.offset + i * config.thread_group_size
        offsets = np.where(wanted, head + vec * config.vec_size, -1)[:, :, None]
        values = block.load("q", [np.array(turn)], offsets, config.vec_size)[:, :, 0]
        place = (t.offset * config.num_vecs_per_thread + i) * config.vec_size
        block.q_vecs.store(
            t.index[wanted][:, None], place[wanted][:, None] + element, values[wanted]
        )
    block.barrier()


def score_keys(block: ThreadBlock) -> None:
    """Stage 2: qk for every token slot into shared memory, and each lane's largest."""
    config, t, launch = block.config, block.threads, block.launch
    vec = indices.vecs(config)
    row_of_q = np.arange(config.num_elems_per_thread) + (
        t.offset[:, :, None] * config.num_elems_per_thread
    )
    q = block.q_vecs.load(t.index[:, :, None], row_of_q).reshape(*vec.shape, config.vec_size)
    slope = launch.alibi_slopes[block.head]
    j = np.arange(config.num_vecs_per_thread)
    block.lane_max = np.full(t.index.shape, LOWEST, dtype=np.float32)
    for logical in block.rounds():
        working = np.broadcast_to(logical < block.end_block, t.index.shape)
        for i in range(config.num_tokens_per_thread_group):
            row = indices.k_row(config, i)
            token = logical * config.block_size + row
            inside = indices.k_offset(config, row[:, :, None], vec)
            offsets = np.where(working[:, :, None], block.slab(logical)[:, :, None] + inside, -1)
            k = block.load("k", [logical, np.array(i), j], offsets, config.vec_size)
            # Sum over the vecs, then over the elements of a vec.
            partial = (q * k).sum(axis=2).sum(axis=2)
            dot = xor_reduce(partial, halving(config.thread_group_size // 2), np.add)
            qk = launch.scale * dot + slope * (token - block.seq_len + 1).astype(np.float32)
            past = token >= block.seq_len
            leader = working & (t.offset == 0)
            # The V pass reads whole vecs of logits, so slots past the end must hold zeros.
            block.shared.store(
                t.index[leader],
                (token - block.first_token)[leader],
                np.where(past, np.float32(0), qk)[leader],
            )
            counts = leader & ~past
            block.lane_max = np.where(counts, np.fmax(block.lane_max, qk), block.lane_max)
            block.key_steps.append(KeyStep(working, token, partial, dot, qk))
    slots = (block.end_block - block.first_block) * config.block_size
    block.raw_logits = block.shared.words[:slots].copy()
