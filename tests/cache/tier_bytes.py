"""The bytes of a second tier: pools of several workers, and copies as early or late as may be.

A worker has its own part of every key and value, so its pools hold other numbers. A copy may move
its bytes at any time between where it may begin and where the worker reports it, but behind the
copies before it in the same direction. A load waits for no kernel, so it may begin while the step
before is computed, unless the step flushes something first. A store begins when the step that plans
it has been computed. What a step flushes, and the loads that it computes with, end before it
computes.
"""

import random
from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pagesim.cache import CacheEngine, KVPool
from pagesim.v1.offload.worker import OffloadingWorker
from pagesim.v1.transfers import OffloadingConnectorMetadata, TransferJob
from tests.cache.contents import LAYERS, Bytes, mixed, noise

Words = NDArray[np.int64]


def noisy_chunks(num_chunks: int, width: int, block_size: int) -> NDArray[np.float32]:
    """Chunks of any numbers, [blocks of all chunks, layers, 2, block size, 1, 2]."""
    blocks = noise(num_chunks * width, block_size, 1).swapaxes(0, 1)
    return blocks.reshape(-1, LAYERS, 2, *blocks.shape[2:])


class WorkerBytes(Bytes):
    """The two pools of one worker, NumPy's."""

    def __init__(self, block_size: int, num_gpu_blocks: int, num_chunks: int, width: int) -> None:
        gpu, chunks = (
            noise(num_gpu_blocks, block_size, 0),
            noisy_chunks(num_chunks, width, block_size),
        )
        pools = KVPool(gpu[0::2], gpu[1::2]), KVPool.of_blocks(chunks)
        self.engine = CacheEngine(*pools, blocks_per_chunk=width)
        self._words = gpu.view(np.int64).reshape(2 * LAYERS, -1)
        self.chunks = words_of(chunks, width)


def words_of(chunks: NDArray[np.float32], width: int) -> Words:
    """The same memory as [chunks, blocks of a chunk, 2 · layers, block size]."""
    return chunks.view(np.int64).reshape(-1, width, 2 * LAYERS, chunks.shape[3])


class Copier:
    """A worker with its bytes: when its copies move them is drawn, and when they end."""

    def __init__(self, number: int, memory: Any, slowest: int) -> None:
        self.bytes, self.slowest = memory, slowest
        self.salt = np.uint64(mixed(number)).astype(np.int64)
        self.random, self.counts = random.Random(number), Counter[str]()
        self.model = OffloadingWorker(self._ends_at, self._begins)
        self.failing: dict[int, set[int]] = {}
        """Jobs that will not fill some of their blocks."""
        self.failed: dict[int, set[int]] = {}
        """Jobs that have moved, but for these blocks."""
        self._still: dict[int, TransferJob] = {}
        """The copies under way that have not moved their bytes, in order."""
        self._flushed: set[int] = set()
        self._moved: set[int] = set()
        """Loads that did before the worker began the step."""

    def _ends_at(self, job: TransferJob, now: float) -> float:
        return now + self.random.randint(0, self.slowest)

    def _begins(self, job: TransferJob) -> None:
        if job.job_id in self._moved:
            self._moved.remove(job.job_id)
            return
        self._still[job.job_id] = job
        if job.sync or job.job_id in self._flushed or self.random.random() < 0.5:
            self._move(job)
            self.counts["early"] += 1

    def _move(self, last: TransferJob) -> None:
        """A copy moves its bytes, and before it those that must."""
        before = [job for job in self._still.values() if job.is_store == last.is_store]
        for job in [*before, last] if last not in before else before[: before.index(last) + 1]:
            self._still.pop(job.job_id, None)
            self.bytes.engine.transfer(job)
            if failing := self.failing.pop(job.job_id, None):
                self.failed[job.job_id] = failing
                gpu = self.bytes.engine.gpu
                for array in (*gpu.keys, *gpu.values):
                    array[sorted(failing)] = -1.0

    def begin_loads(self, metadata: OffloadingConnectorMetadata) -> None:
        """A step begins to load while the one before is computed, unless it must flush first."""
        if metadata.jobs_to_flush:
            return
        for job in metadata.load_jobs.values():
            if self.random.random() < 0.7:
                self._move(job)
                self._moved.add(job.job_id)
                self.counts["ahead"] += 1
            else:
                return

    def start(self, metadata: OffloadingConnectorMetadata, now: float) -> float:
        """The step before is computed; returns when this one can be."""
        self._flushed = metadata.jobs_to_flush
        for number in self._flushed & self._still.keys():
            if number in self._still:
                self._move(self._still[number])
        return self.model.start(metadata, now)

    def finish(self, now: float) -> list[TransferJob]:
        """The copies that have ended by now."""
        ended = self.model.finish(now)
        for job in ended:
            if job.job_id in self._still:
                self.counts["late"] += 1
                self._move(job)
        return ended


class TierBytes(Bytes):
    """All workers' pools as one: what is written goes to all, and what is read must be in all."""

    def __init__(self, workers: list[Copier]) -> None:
        self.workers = workers

    def write(self, slots: Words, contents: Words) -> None:
        for worker in self.workers:
            worker.bytes.write(slots, contents ^ worker.salt)

    def read(self, slots: Words) -> Words:
        return self._agreed([each.bytes.read(slots) ^ each.salt for each in self.workers])

    def read_chunks(self, chunk_ids: list[int]) -> Words:
        """What chunks hold, [chunks, blocks of a chunk, 2 · layers, block size]."""
        return self._agreed([each.bytes.chunks[chunk_ids] ^ each.salt for each in self.workers])

    @staticmethod
    def _agreed(read: list[Words]) -> Words:
        """What the first worker has, made wrong where another has something else."""
        first, *others = read
        for other in others:
            first = np.where(first == other, first, ~first)
        return first
