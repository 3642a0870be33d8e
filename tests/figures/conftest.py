"""Caches to draw, written by hand: a small one with everything in it, and as many as one likes."""

import random
from collections.abc import Callable, Mapping

import pytest

from pagesim.journal.state import State, TableState

MakeCache = Callable[..., State]


def cache_of(
    block_size: int,
    gpu: int,
    cpu: int,
    tables: Mapping[str, tuple[tuple[int, ...], tuple[int, ...]]],
    free: tuple[int, ...],
    free_cpu: tuple[int, ...] = (),
) -> State:
    """A state as V0 would give it; a table is its block ids and its tokens."""
    states = {name: TableState.of(*table, block_size) for name, table in tables.items()}
    ids = [block_id for table in states.values() for block_id in table.block_ids]
    return State(
        block_size,
        {"GPU": gpu, "CPU": cpu} if cpu else {"GPU": gpu},
        False,
        states,
        {block_id: ids.count(block_id) for block_id in range(gpu + cpu)},
        {"GPU free list": free} | ({"CPU free list": free_cpu} if cpu else {}),
    )


@pytest.fixture(scope="session")
def cache() -> State:
    """A and B share blocks 3 and 7, C lies on the CPU, block 2 is held and in no table."""
    prompt = tuple(range(10, 18))
    return cache_of(
        4,
        12,
        8,
        {
            "A": ((3, 7, 0), (*prompt, 18)),
            "B": ((3, 7, 5), (*prompt, 18, 19)),
            "C": ((13, 12), (40, 41, 42, 43, 44, 45, 46)),
        },
        (6, 1, 4, 11, 10, 9, 8),
        (19, 14, 15, 16, 17, 18),
    )


@pytest.fixture
def make_cache() -> MakeCache:
    """Build a cache of so many sequences of so many blocks, scattered over the GPU pool."""

    def make(
        sequences: int, blocks: int, gpu: int, cpu: int = 0, block_size: int = 4, swapped: int = 0
    ) -> State:
        draw = random.Random(0)
        free = draw.sample(range(gpu), gpu)
        away = list(range(gpu, gpu + cpu))
        tables = {}
        for order in range(sequences):
            pool = away if order < swapped else free
            count = block_size * (blocks - 1) + draw.randint(1, block_size)
            ids = tuple(pool.pop() for _ in range(blocks))
            tables[f"s{order}"] = (ids, tuple(draw.choices(range(100), k=count)))
        return cache_of(block_size, gpu, cpu, tables, tuple(free), tuple(away))

    return make
