"""A job of the second tier copies the right blocks of its chunks, in every layer."""

from typing import Any

import numpy as np
import pytest

from pagesim import UsageError
from pagesim.cache import CacheEngine, KVPool
from pagesim.cache.offloading import block_pairs
from pagesim.v1.offload.worker import OffloadingWorker
from pagesim.v1.transfers import (
    CPULoadStoreSpec,
    GPULoadStoreSpec,
    OffloadingConnectorMetadata,
    TransferJob,
)


def store(blocks: list[int], chunks: list[int], number: int = 0) -> TransferJob:
    """A job; what stands in the places of a request's blocks does not matter."""
    source, target = GPULoadStoreSpec(blocks, (1,)), CPULoadStoreSpec(chunks)
    return TransferJob(number, "a", [], source, target, True, False, 1)


def load(chunks: list[int], blocks: list[int], first: int, number: int = 0) -> TransferJob:
    """A job that fills a request's blocks from ``first`` on."""
    source, target = CPULoadStoreSpec(chunks), GPULoadStoreSpec(blocks, (first,))
    return TransferJob(number, "a", [], source, target, False, False, 1)


def test_a_store_fills_whole_chunks() -> None:
    assert block_pairs(store([4, 7, 2, 9], [3, 0]), 2) == [(4, 6), (7, 7), (2, 0), (9, 1)]
    assert block_pairs(store([4, 7], [3, 0]), 1) == [(4, 3), (7, 0)]
    assert block_pairs(store([], []), 2) == []


def test_a_load_may_begin_inside_a_chunk() -> None:
    assert block_pairs(load([3, 0], [5, 8, 6], 1), 2) == [(7, 5), (0, 8), (1, 6)]
    assert block_pairs(load([3], [5, 8], 4), 2) == [(6, 5), (7, 8)]
    assert block_pairs(load([2, 1], [5, 8, 6, 4], 8), 3) == [(8, 5), (3, 8), (4, 6), (5, 4)]
    assert block_pairs(load([], [], 4), 2) == []


@pytest.mark.parametrize(
    "job", [store([4], [3]), store([4, 7, 2], [3]), load([3], [5, 8], 1), load([3, 0], [5], 1)]
)
def test_chunks_of_another_size(job: TransferJob) -> None:
    with pytest.raises(UsageError, match="blocks_per_chunk must be that of the scheduler's"):
        block_pairs(job, 2)


def test_a_store_from_the_cpu() -> None:
    job = load([3], [5], 0)
    job.is_store = True
    with pytest.raises(UsageError, match="job 0 must copy to the CPU, not from CPULoadStoreSpec"):
        block_pairs(job, 1)


def tiers(num_chunks: int, blocks_per_chunk: int) -> tuple[CacheEngine, Any]:
    """Six blocks on the GPU, and chunks whose blocks lie side by side."""
    gpu = np.arange(6 * 3 * 2 * 4).reshape(6, 3, 2, 4, 1, 1)
    chunks = np.zeros((num_chunks * blocks_per_chunk, *gpu.shape[1:]), dtype=gpu.dtype)
    pools = KVPool.of_blocks(gpu.copy()), KVPool.of_blocks(chunks)
    return CacheEngine(*pools, blocks_per_chunk=blocks_per_chunk), (gpu, chunks)


def test_a_chunk_has_all_layers_of_its_blocks_side_by_side() -> None:
    engine, (gpu, chunks) = tiers(3, 2)
    engine.transfer(store([5, 1], [2]))
    by_chunk = chunks.reshape(3, -1)
    assert np.array_equal(by_chunk[2], gpu[[5, 1]].reshape(-1))
    assert not by_chunk[:2].any()
    assert (engine.num_swapped_out, engine.num_swapped_in) == (2, 0)
    assert [array.shape for array in engine.cpu.keys] == [(6, 4, 1, 1)] * 3


def test_what_was_stored_is_loaded() -> None:
    engine, (gpu, _) = tiers(3, 2)
    engine.transfer(store([5, 1, 4, 3], [2, 0]))
    engine.transfer(load([2, 0], [0, 1, 2], 3))
    for layer in range(3):
        for half, arrays in enumerate((engine.gpu.keys, engine.gpu.values)):
            assert np.array_equal(arrays[layer], gpu[[1, 4, 3, 3, 4, 5], layer, half])
    assert (engine.num_swapped_out, engine.num_swapped_in) == (4, 3)


def test_a_chunk_that_is_not_there_moves_nothing() -> None:
    engine, (_, chunks) = tiers(3, 2)
    with pytest.raises(UsageError, match="there is no block 6 in the CPU pool"):
        engine.transfer(store([5, 1, 4, 3], [2, 3]))
    assert not chunks.any()
    assert engine.num_swapped_out == 0


def test_the_size_of_a_chunk() -> None:
    with pytest.raises(UsageError, match="blocks_per_chunk must be at least 1, not 0"):
        tiers(3, 0)


def test_a_worker_copies_what_begins() -> None:
    """A store begins one step late, unless the step must wait for it."""
    begun: list[int] = []
    worker = OffloadingWorker(copy=lambda job: begun.append(job.job_id))
    jobs = {number: store([1], [0], number) for number in range(3)}
    worker.start(OffloadingConnectorMetadata({3: load([1], [2], 0, 3)}, jobs, {1}))
    assert begun == [1, 3]
    worker.start(OffloadingConnectorMetadata({}, {}, set()))
    assert begun == [1, 3, 0, 2]
