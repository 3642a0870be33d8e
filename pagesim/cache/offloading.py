"""The bytes of V1's second tier: which blocks a job copies.

A chunk has F blocks, so chunk c is the blocks c·F to c·F + F - 1 of the CPU's pool. A cache engine
moves them like the blocks that V0 swaps. For example, with F = 2:

    store   GPU blocks 4 7 2 9 -> chunks 3 and 0    swap out   4 -> 6, 7 -> 7, 2 -> 0, 9 -> 1
    load    chunks 3 and 0 -> GPU blocks 5 8 6      swap in    7 -> 5, 0 -> 8, 1 -> 6

The load leaves out the first block of chunk 3, because the GPU still has it. The request's blocks
from number 1 on are loaded: so the first 1 % F blocks of the first chunk are skipped.

Source: vLLM 0.33.0, ``vllm/v1/kv_offload/cpu/gpu_worker.py``.
"""

from collections.abc import Sequence

from pagesim.checks import check_int
from pagesim.errors import UsageError
from pagesim.v1.transfers import CPULoadStoreSpec, GPULoadStoreSpec, TransferJob


def block_pairs(job: TransferJob, blocks_per_chunk: int) -> list[tuple[int, int]]:
    """The blocks (from, to) that a job copies; each pool counts its blocks from 0.

    UsageError if the job's chunks do not have as many blocks as it copies.
    """
    check_int("blocks_per_chunk", blocks_per_chunk, 1)
    gpu, cpu = (job.src_spec, job.dst_spec) if job.is_store else (job.dst_spec, job.src_spec)
    if not isinstance(gpu, GPULoadStoreSpec) or not isinstance(cpu, CPULoadStoreSpec):
        raise UsageError(
            f"job {job.job_id} must copy {'to' if job.is_store else 'from'} the CPU, not from "
            f"{job.src_spec!r} to {job.dst_spec!r}"
        )
    skipped = 0 if job.is_store else gpu.block_indices[0] % blocks_per_chunk
    chunks = _blocks_of(cpu.block_ids, blocks_per_chunk)
    spare = len(chunks) - skipped - len(gpu.block_ids)
    if spare < 0 or spare >= blocks_per_chunk or (job.is_store and spare):
        raise UsageError(
            f"job {job.job_id} copies {len(gpu.block_ids)} blocks, but {len(cpu.block_ids)} chunks "
            f"have {len(chunks)}, of which {skipped} are skipped: blocks_per_chunk must be that of "
            "the scheduler's OffloadingConfig"
        )
    pairs = zip(gpu.block_ids, chunks[skipped:], strict=False)
    return list(pairs) if job.is_store else [(cpu_id, gpu_id) for gpu_id, cpu_id in pairs]


def _blocks_of(chunk_ids: Sequence[int], blocks_per_chunk: int) -> list[int]:
    return [chunk * blocks_per_chunk + i for chunk in chunk_ids for i in range(blocks_per_chunk)]
