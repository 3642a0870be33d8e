"""Block tables as a serving engine leaves them: made by the simulator, never by counting up.

The allocator hands out blocks in the order in which they came back, so a table says something about
everything that happened before. Each function below plays a little history and returns the tables.
"""

import random
from collections.abc import Iterable
from dataclasses import dataclass

import torch

import pagesim
from pagesim.kernels import backend
from pagesim.story import Writer

# What fills a table after its sequence's last page. A kernel that reads it reads outside the cache.
UNUSED = -99


@dataclass(frozen=True, slots=True)
class Pages:
    """Tables as Python lists, one per sequence, for a cache of num_blocks blocks."""

    tables: list[list[int]]
    lengths: list[int]
    block_size: int
    num_blocks: int

    def block_tables(self) -> torch.Tensor:
        """int32 [B, max_blocks], filled up with UNUSED."""
        width = max([len(table) for table in self.tables] + [1])
        rows = [table + [UNUSED] * (width - len(table)) for table in self.tables]
        tables = torch.tensor(rows, dtype=torch.int32, device=backend.device())
        return tables.reshape(len(rows), width)

    def seq_lens(self) -> torch.Tensor:
        """int32 [B]."""
        return torch.tensor(self.lengths, dtype=torch.int32, device=backend.device())

    def slots(self, seq: int, first: int = 0) -> list[int]:
        """Slots of one sequence's tokens in order, from token `first` on."""
        size, table = self.block_size, self.tables[seq]
        return [table[p // size] * size + p % size for p in range(first, self.lengths[seq])]


def begin(block_size: int, num_blocks: int) -> pagesim.Story:
    """A story that is not recorded, with as many blocks on the CPU as on the GPU."""
    return pagesim.Story(num_blocks, num_blocks, block_size, record=False)


def pages(story: pagesim.Story, writers: Iterable[Writer | None], lengths: list[int]) -> Pages:
    """The tables of these sequences; None stands for an empty sequence, which has no table."""
    tables = [[] if writer is None else writer.block_ids for writer in writers]
    manager = story.manager
    return Pages(tables, list(lengths), manager.block_size, manager.num_total_gpu_blocks)


def fragmented(lengths: list[int], block_size: int, seed: int = 0) -> Pages:
    """Sequences that grew side by side in a pool where others had died in no order."""
    rng = random.Random(seed)
    needed = sum(-(-length // block_size) for length in lengths)
    story = begin(block_size, 2 * needed + 12)
    short = [story.arrive(range(block_size)) for _ in range(needed + 8)]
    for writer in rng.sample(short, needed + 2):
        writer.leave()
    # Half of each as prompt, the rest token by token, in turns: their pages interleave.
    prompts = [length - length // 2 for length in lengths]
    writers = [story.arrive(range(prompt)) if prompt else None for prompt in prompts]
    for step in range(max(lengths, default=0)):
        for writer, prompt, length in zip(writers, prompts, lengths, strict=True):
            if writer is not None and prompt + step < length:
                writer.write([1000 + step])
    return pages(story, writers, lengths)


def forked(prompt: int, grown: int, block_size: int) -> Pages:
    """A parent and two children sharing their prompt's pages; each then grew by `grown` tokens."""
    story = begin(block_size, 4 * (-(-(prompt + grown) // block_size)) + 8)
    story.arrive(range(block_size))
    parent = story.arrive(range(prompt))
    family = [parent, parent.fork(100), parent.fork(101)]
    for step in range(grown):
        for writer in family:
            writer.write([10 * writer.seq.seq_id + step])
    return pages(story, family, [prompt + grown] * 3)


def swapped(lengths: list[int], block_size: int) -> Pages:
    """The first sequence went to the CPU, others took its blocks, and it came back elsewhere."""
    needed = sum(-(-length // block_size) for length in lengths)
    story = begin(block_size, 3 * needed + 8)
    writers = [story.arrive(range(length)) for length in lengths]
    writers[0].swap_out()
    story.arrive(range(lengths[0] + 1))
    writers[0].swap_in()
    return pages(story, writers, lengths)
