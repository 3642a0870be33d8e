"""A pool costs what is used of it: ids that were never taken are a number, not a list."""

import random
import sys
import tracemalloc
from collections import deque
from typing import Any

import pytest

import pagesim
from pagesim import Device, UsageError
from pagesim.simulation.free_block_ids import FreeBlockIds
from pagesim.v0.block.common import first_shared
from tests.v0.block.scenes import both_kinds, new_allocator, new_table

LARGE = 10**15


@pytest.mark.parametrize("ids", [range(12), range(3, 15), [7, 3, 9, 1, 30, 5]])
def test_the_free_ids_are_a_deque_that_is_used_at_its_left(ids: Any) -> None:
    r = random.Random(1)
    free, model, taken = FreeBlockIds(ids), deque(ids), []
    for _ in range(500):
        if model and r.random() < 0.5:
            taken.append(model.popleft())
            assert free.popleft() == taken[-1]
        elif taken:
            block_id = taken.pop(r.randrange(len(taken)))
            model.appendleft(block_id)
            free.appendleft(block_id)
        assert (list(free), len(free), bool(free)) == (list(model), len(model), bool(model))
    for _ in range(len(model)):
        free.popleft()
    with pytest.raises(IndexError):
        free.popleft()


@pytest.mark.parametrize("caching", [False, True])
def test_a_manager_takes_no_room_for_blocks_that_it_never_used(caching: bool) -> None:
    tracemalloc.start()
    manager = pagesim.SelfAttnBlockSpaceManager(4, LARGE, LARGE, enable_caching=caching)
    seq = pagesim.Sequence(0, list(range(10)), 4)
    group = pagesim.SequenceGroup("a", [seq])
    manager.allocate(group)
    seq.status = pagesim.SequenceStatus.RUNNING
    assert manager.get_block_table(seq) == [0, 1, 2]
    assert manager.swap_out(group) == [(0, 0), (1, 1), (2, 2)]
    assert manager.get_block_table(seq) == [LARGE, LARGE + 1, LARGE + 2]
    assert manager.get_num_free_gpu_blocks() == LARGE
    seq.status = pagesim.SequenceStatus.SWAPPED
    assert manager.can_swap_in(group, 0) is pagesim.AllocStatus.OK
    manager.free(seq)
    assert manager.get_num_free_cpu_blocks() == LARGE
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1_000_000


@both_kinds
def test_every_id_of_a_large_pool_is_known(kind: str) -> None:
    allocator = new_allocator(kind, gpu=LARGE, cpu=LARGE)
    new_table(allocator, 6)
    assert [allocator.device_of(i) for i in (LARGE - 1, LARGE)] == [Device.GPU, Device.CPU]
    assert [allocator.get_ref_count(i) for i in (0, 2, LARGE - 1, 2 * LARGE - 1)] == [1, 0, 0, 0]
    assert allocator.get_physical_block_id(Device.GPU, LARGE - 1) == LARGE - 1
    assert allocator.get_num_total_blocks(Device.CPU) == LARGE
    for unknown in (-1, 2 * LARGE, 0.5, "0", None):
        with pytest.raises(UsageError):
            allocator.get_ref_count(unknown)  # type: ignore[arg-type]
        with pytest.raises(UsageError):
            allocator.get_physical_block_id(Device.GPU, unknown)  # type: ignore[arg-type]


def test_more_blocks_than_can_be_numbered_are_refused() -> None:
    with pytest.raises(UsageError, match=f"num_blocks must be at most {sys.maxsize}, not 1000"):
        pagesim.NaiveBlockAllocator(10**30, 4)
    with pytest.raises(UsageError, match="num_cpu_blocks must be at most"):
        pagesim.CacheConfig(4, 10, 10**30)
    with pytest.raises(UsageError, match="num_gpu_blocks must be at most"):
        pagesim.CacheConfig(4, 10**30)


@pytest.mark.parametrize(
    ("gpu", "cpu", "shared"),
    [
        (range(LARGE), range(LARGE - 1, 2 * LARGE), LARGE - 1),
        (range(5, 9), range(LARGE), 5),
        ([1, 4, 30], [0, 4, 30], 4),
        ([1, 4, 30], [0, 2, 31], None),
        ([1, 4, 30, 40], [2, 31], None),
        (range(LARGE), [LARGE, LARGE + 7], None),
        (range(0), range(LARGE), None),
        (range(0), range(0), None),
    ],
)
def test_two_devices_have_no_id_in_common(gpu: Any, cpu: Any, shared: int | None) -> None:
    assert first_shared(gpu, cpu) == first_shared(cpu, gpu) == shared


@pytest.mark.parametrize("ids", [[5, 2, 9], range(4, 7), range(9, 0, -3)])
def test_ids_are_taken_as_given_and_ranked_by_size(ids: Any) -> None:
    pool = pagesim.NaiveBlockAllocator(3, 4, ids)
    assert pool.free_block_ids == tuple(ids)
    assert pool.all_block_ids == set(ids)
    assert [pool.get_physical_block_id(i) for i in sorted(ids)] == [0, 1, 2]
    with pytest.raises(UsageError, match="block 8 does not belong to this pool"):
        pool.get_physical_block_id(8)


def test_a_pool_that_no_timeline_can_show_is_not_recorded() -> None:
    manager = pagesim.SelfAttnBlockSpaceManager(4, LARGE, 0)
    message = f"{LARGE} blocks are more than the 2000000 that a recorded run may have"
    with pytest.raises(UsageError, match=message), pagesim.record(manager):
        pass
