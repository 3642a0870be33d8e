"""What a recording sees of the second tier: its chunks are the blocks of a second pool.

A chunk's blocks are numbered behind those of the GPU, so that in a copy each block of the GPU has
one block on the CPU.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from pagesim.journal.effects import (
    BEGIN,
    EVICT,
    FREE,
    FRONT,
    LOAD,
    STORE,
    TAKE,
    UNSHARE,
    Row,
    check_pool_size,
)
from pagesim.journal.state import Job, State, Tier
from pagesim.v1.offload.base import ChunkStatus
from pagesim.v1.transfers import GPULoadStoreSpec, TransferJob

CPU_FREE_LIST = "CPU free list"
"""What the places without a chunk are called in a timeline."""


@dataclass(frozen=True, slots=True)
class ChunkBlocks:
    """Which blocks a chunk is in a recording, if the first one begins at ``first_block``."""

    first_block: int = 0
    blocks_per_chunk: int = 1

    def of(self, chunk_id: int) -> range:
        """The blocks of a chunk."""
        first = self.first_block + chunk_id * self.blocks_per_chunk
        return range(first, first + self.blocks_per_chunk)

    def of_all(self, chunk_ids: Iterable[int]) -> list[int]:
        """The blocks of these chunks, in order."""
        return [block_id for chunk_id in chunk_ids for block_id in self.of(chunk_id)]

    def rows(self, chunk_id: int, kind: str, *more: str | int) -> list[Row]:
        """The same effect on each block of a chunk."""
        return [(kind, block_id, *more) for block_id in self.of(chunk_id)]

    def begun(self, job: TransferJob) -> list[Row]:
        """The row of a copy that begins."""
        return [(BEGIN, *self.job(job))]

    def job(self, job: TransferJob) -> Job:
        """A copy, block by block; a load may leave out the first blocks of its first chunk."""
        if isinstance(source := job.src_spec, GPULoadStoreSpec):
            pairs = zip(source.block_ids, self.of_all(job.dst_spec.block_ids), strict=True)
            return Job(job.job_id, STORE, job.req_id, tuple(pairs))
        skipped = 0
        if isinstance(target := job.dst_spec, GPULoadStoreSpec):
            skipped = target.block_indices[0] % self.blocks_per_chunk
        on_cpu = self.of_all(source.block_ids)[skipped:]
        return Job(job.job_id, LOAD, job.req_id, tuple(zip(on_cpu, target.block_ids, strict=True)))

    def forgotten(
        self, chunks: Iterable[ChunkStatus], freed_ids: Iterable[int], num_used: int
    ) -> Iterator[Row]:
        """The rows of a reset, after which chunks are taken from the first one on again."""
        for block_id in self.of_all(freed_ids):
            yield TAKE, block_id, CPU_FREE_LIST
        for chunk in chunks:
            for block_id in self.of(chunk.chunk_id):
                for _ in range(chunk.ref_cnt):
                    yield UNSHARE, block_id
                if chunk.ref_cnt >= 0:
                    yield EVICT, block_id
        for block_id in reversed(self.of_all(range(num_used))):
            yield FREE, block_id, CPU_FREE_LIST, FRONT

    def shown(
        self,
        state: State,
        policy: str,
        chunks: Iterable[ChunkStatus],
        free_ids: Iterable[int],
        jobs: Iterable[TransferJob],
    ) -> State:
        """The state of the GPU's pool, and of the second tier."""
        counts, ready = dict(state.ref_counts), set[int]()
        free = self.of_all(free_ids)
        counts |= dict.fromkeys(free, 0)
        for chunk in chunks:
            owned = self.of(chunk.chunk_id)
            counts |= dict.fromkeys(owned, 1 + max(chunk.ref_cnt, 0))
            ready.update(owned if chunk.ref_cnt >= 0 else ())
        check_pool_size(len(counts))
        return replace(
            state,
            pools={**state.pools, "CPU": len(counts) - self.first_block},
            ref_counts=dict(sorted(counts.items())),
            lists={**state.lists, CPU_FREE_LIST: tuple(free)},
            cached=state.cached | ready,
            computed=state.computed | ready,
            tier=Tier(self.blocks_per_chunk, policy),
            jobs=tuple(map(self.job, jobs)),
        )
