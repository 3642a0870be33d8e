"""Which thread reads which elements, as plain data for JSON; `figures.thread_map` draws it."""

from typing import Any

import numpy as np

from pagesim.kernels.simt import indices
from pagesim.kernels.simt.config import Config
from pagesim.kernels.simt.indices import Ints
from pagesim.kernels.simt.warp_load import LINE_BYTES, SECTOR_BYTES, WarpLoad

_CONSTANTS = (
    "head_size", "block_size", "num_threads", "element_bytes", "cache_bytes", "num_warps",
    "thread_group_size", "vec_size", "num_vecs", "num_vecs_per_thread", "x", "v_vec_size",
    "num_v_vecs_per_row", "num_rows_per_thread",
)  # fmt: skip

Words = dict[str, Any]
"""What JSON can hold, by name."""


def thread_map(config: Config, num_blocks: int = 12) -> Words:
    """Which elements of q, K and V each thread reads, for warp 0 of one thread block.

    config: the constants. warp_of_block: for the first `num_blocks` blocks of a sequence, the warp
    that takes each. offset_of_vec: for every vec of q and of a key, the lane of the group.
    k: one entry per load instruction on a block of keys, in order, with `token` and `vec` of each
    of the 32 lanes. v: the same with the `row` of each lane (null: none) and its first `token`.
    footprints: what the first instruction touches in K, in a K laid out token after token, and in
    V: `line` of 128 bytes → bytes used of each of its four sectors.
    """
    vec = indices.vecs(config)[0]
    k = []
    for i in range(config.num_tokens_per_thread_group):
        token = indices.k_row(config, i)[0].tolist()
        k += [{"token": token, "vec": vec[:, j].tolist()} for j in range(vec.shape[1])]
    rows, first = indices.v_rows(config)[0], indices.v_token(config)[0].tolist()
    v = [
        {"row": [int(r) if r < config.head_size else None for r in column], "token": first}
        for column in rows.T
    ]
    return {
        "config": {name: getattr(config, name) for name in _CONSTANTS},
        "warp_of_block": [block % config.num_warps for block in range(num_blocks)],
        "offset_of_vec": [v % config.thread_group_size for v in range(config.num_vecs)],
        "k": k,
        "v": v,
        "footprints": footprints(config),
    }


def footprints(config: Config) -> dict[str, list[Words]]:
    """The lines that warp 0's first instruction touches: `k`, `k_token_major` and `v`."""
    row, vec = indices.k_row(config, 0), indices.vecs(config)[:, :, 0]
    v_row, v_token = indices.v_rows(config)[:, :, 0], indices.v_token(config)
    v_offset = np.where(v_row < config.head_size, indices.v_offset(config, v_row, v_token), -1)
    k_width, v_width = config.vec_size, config.v_vec_size
    return {
        "k": _footprint(config, indices.k_offset(config, row, vec), k_width),
        "k_token_major": _footprint(
            config, indices.k_offset_token_major(config, row, vec), k_width
        ),
        "v": _footprint(config, v_offset, v_width),
    }


def _footprint(config: Config, offsets: Ints, count: int) -> list[Words]:
    size = config.cache_bytes
    addresses = np.where(offsets[0] >= 0, offsets[0] * size, -1)
    access = WarpLoad("k", 0, (), addresses, count * size)
    sectors, a_line = access.sectors(), LINE_BYTES // SECTOR_BYTES
    return [
        {"line": line, "bytes": [sectors.get(line * a_line + s, 0) for s in range(a_line)]}
        for line in access.lines()
    ]
