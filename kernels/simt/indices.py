"""The kernel's index formulas, for all threads of a thread block at once.

Every function returns an array whose first two axes are [warp, lane]: entry [w, l] belongs to lane
l of warp w. The emulation and the figures both use them, so the two cannot differ.

    K block   [head_size / x, block_size, x]     16 bytes of each token side by side
    V block   [head_size, block_size]            one row a dimension, its tokens side by side
"""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from pagesim.kernels.simt.config import WARP_SIZE, Config

Ints: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Threads:
    """Every thread's numbers, each [num_warps, 32].

    index: the thread's place in the thread block. group: its thread group, counted over the thread
    block. offset: its place in the group.
    """

    index: Ints
    warp: Ints
    lane: Ints
    group: Ints
    offset: Ints


def threads(config: Config) -> Threads:
    """The threads of one thread block."""
    index = np.arange(config.num_threads, dtype=np.int64).reshape(config.num_warps, WARP_SIZE)
    group, offset = np.divmod(index, config.thread_group_size)
    return Threads(index, index // WARP_SIZE, index % WARP_SIZE, group, offset)


def vecs(config: Config) -> Ints:
    """Vecs of q and of each key that a thread multiplies, [warp, lane, j]: offset + j · group."""
    j = np.arange(config.num_vecs_per_thread)
    return threads(config).offset[:, :, None] + j * config.thread_group_size


def k_row(config: Config, i: int) -> Ints:
    """The token inside a block whose key a thread reads in step `i`, [warp, lane]."""
    return (threads(config).group + i * WARP_SIZE) % config.block_size


def k_offset(config: Config, row: Ints, vec: Ints) -> Ints:
    """Where a vec of a key starts inside its block and KV head, in elements."""
    element = vec * config.vec_size
    piece, rest = np.divmod(element, config.x)
    return piece * config.block_size * config.x + row * config.x + rest


def k_offset_token_major(config: Config, row: Ints, vec: Ints) -> Ints:
    """The same if a block were [block_size, head_size], the layout that K's is compared with."""
    return row * config.head_size + vec * config.vec_size


def v_token(config: Config) -> Ints:
    """The first token inside a block of every V vec that a thread reads, [warp, lane]."""
    return threads(config).lane % config.num_v_vecs_per_row * config.v_vec_size


def v_rows(config: Config) -> Ints:
    """Rows of V (dimensions of the head) that a thread sums, [warp, lane, i]: one per acc.

    No thread reads a row at or past head_size.
    """
    i = np.arange(config.num_rows_per_thread)
    first = threads(config).lane // config.num_v_vecs_per_row
    return first[:, :, None] + i * config.num_rows_per_iter


def v_offset(config: Config, row: Ints, token: Ints) -> Ints:
    """Where a V vec starts inside its block and KV head, in elements."""
    return row * config.block_size + token
