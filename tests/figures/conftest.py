"""Caches to draw, written by hand: a small one with everything in it, and as many as one likes."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from figures import BlockView, Snapshot

MakeCache = Callable[..., Snapshot]


@pytest.fixture
def cache() -> Snapshot:
    """A and B share blocks 3 and 7, C lies on the CPU, block 2 is held by nobody."""
    prefix = (BlockView(3, (10, 11, 12, 13)), BlockView(7, (14, 15, 16, 17)))
    return Snapshot(
        block_size=4,
        num_gpu_blocks=12,
        num_cpu_blocks=8,
        tables={
            "A": (*prefix, BlockView(0, (18,))),
            "B": (*prefix, BlockView(5, (18, 19))),
            "C": (BlockView(13, (40, 41, 42, 43)), BlockView(12, (44, 45, 46))),
        },
        ref_counts={3: 2, 7: 2, 0: 1, 5: 1, 13: 1, 12: 1},
        free_gpu=(6, 1, 4, 11, 10, 9, 8),
        free_cpu=(19, 14, 15, 16, 17, 18),
    )


@pytest.fixture
def make_cache() -> MakeCache:
    """Build a cache of so many sequences of so many blocks, scattered over the GPU pool."""

    def make(
        sequences: int, blocks: int, gpu: int, cpu: int = 0, block_size: int = 4, swapped: int = 0
    ) -> Snapshot:
        draw = random.Random(0)
        free = draw.sample(range(gpu), gpu)
        away = list(range(gpu, gpu + cpu))
        tables = {}
        for order in range(sequences):
            pool = away if order < swapped else free
            full = [draw.choices(range(100), k=block_size) for _ in range(blocks)]
            full[-1] = full[-1][: draw.randint(1, block_size)]
            tables[f"s{order}"] = tuple(BlockView(pool.pop(), tuple(ids)) for ids in full)
        counts = {block.block_id: 1 for table in tables.values() for block in table}
        return Snapshot(block_size, gpu, cpu, tables, counts, tuple(free), tuple(away))

    return make
