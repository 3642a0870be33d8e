"""How much memory sharing saves: several samples of one prompt, or the beams of a search.

The blocks in use are compared with the entries of the tables, which without sharing would all be
different blocks. Samples follow from their lengths. Each beam search is played through the real
block tables, including copy-on-write. Requests share nothing with each other, so one at a time is
enough.

Source: "Efficient Memory Management for Large Language Model Serving with PagedAttention"
(SOSP '23), section 6.3 and Figure 15, which divides the blocks saved by the blocks without sharing.
"""

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from pagesim.checks import check_int
from pagesim.v0.block.block_table import BlockTable
from pagesim.v0.block.common import cdiv
from pagesim.v0.block.cpu_gpu_block_allocator import CpuGpuBlockAllocator
from pagesim.v0.block.interfaces import Device
from pagesim.workload.request import Request

Lengths = npt.NDArray[np.int64]

TOKEN = 0
"""The tokens make no difference here: nothing is shared by its content."""


def parallel_sampling(requests: Iterable[Request], n: int, block_size: int = 16) -> float:
    """Return the percentage of blocks saved when ``n`` samples of each request share its prompt.

    All samples of a request are as long as its output and grow together. The mean is taken over all
    steps of all requests, so long requests weigh more, as in a running server.

    The lengths alone tell it. The full blocks of the prompt stay shared, a partial last one only
    until the first token is written. A request of ``p`` and ``o`` tokens names
    ``n · ceil((p + i) / block_size)`` blocks in iteration ``i``, from 0 to ``o - 1``.
    """
    check_int("n", n, 1)
    lengths = np.array([(request.prompt_tokens, request.output_tokens) for request in requests])
    prompts, outputs = lengths.T
    partial = prompts % check_int("block_size", block_size, 1) > 0
    saved = (n - 1) * (outputs * (prompts // block_size) + partial).sum()
    last, before = prompts + outputs - 1, prompts - 1
    named = n * (_sum_of_blocks(last, block_size) - _sum_of_blocks(before, block_size)).sum()
    return float(100 * saved / named)


def beam_search(
    requests: Iterable[Request], width: int, block_size: int = 16, seed: int = 0
) -> float:
    """Return the percentage of blocks saved by a beam search of ``width`` candidates.

    The branching model: after every token, each of the next candidates continues one of the present
    ones, chosen uniformly. Real models branch less evenly; the paper does not say how, so this is
    not a reproduction.
    """
    check_int("width", width, 1)
    branch = np.random.default_rng(seed)
    used = named = 0
    for request in requests:
        allocator, tables = _prompt(request, width, block_size)
        for _ in range(request.output_tokens):
            free = allocator.get_num_free_blocks(Device.GPU)
            used += allocator.get_num_total_blocks(Device.GPU) - free
            named += sum(len(table.physical_block_ids) for table in tables)
            tables = _branch(tables, branch.integers(width, size=width).tolist())
            for table in tables:
                table.append_token_ids([TOKEN])
    return 100 * (named - used) / named


def _sum_of_blocks(tokens: Lengths, block_size: int) -> Lengths:
    """The sum of the numbers of blocks for 1, 2, … and ``tokens`` tokens."""
    full, rest = np.divmod(tokens, block_size)
    return np.asarray(block_size * full * (full + 1) // 2 + rest * (full + 1))


def _prompt(
    request: Request, n: int, block_size: int
) -> tuple[CpuGpuBlockAllocator, list[BlockTable]]:
    """An allocator with room for all, and ``n`` tables that share the prompt's blocks."""
    # Copy-on-write takes the new block before it releases the old one, so one more is needed.
    num_blocks = n * (cdiv(request.total_tokens, block_size) + 1)
    allocator = CpuGpuBlockAllocator.create("naive", num_blocks, 0, block_size)
    first = BlockTable(block_size, allocator)
    first.allocate([TOKEN] * request.prompt_tokens)
    return allocator, [first, *(first.fork() for _ in range(n - 1))]


def _branch(tables: list[BlockTable], parents: list[int]) -> list[BlockTable]:
    """The tables of the next candidates: the first child takes its parent's, others fork it."""
    children = []
    for parent in set(parents):
        children += [tables[parent].fork() for _ in range(parents.count(parent) - 1)]
        children.append(tables[parent])
    for index in set(range(len(tables))).difference(parents):
        tables[index].free()
    return children
