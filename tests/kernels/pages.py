"""Block tables as a serving engine leaves them: made by the simulator, never by counting up.

The allocator hands out blocks in the order in which they came back, so a table says something about
everything that happened before. Each function below plays a little history and returns the tables.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass

import torch

import pagesim
from kernels import backend

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


class History:
    """A block manager and the sequences that came and went."""

    def __init__(self, block_size: int, num_blocks: int) -> None:
        self.block_size, self.num_blocks = block_size, num_blocks
        self.manager = pagesim.SelfAttnBlockSpaceManager(
            block_size=block_size, num_gpu_blocks=num_blocks, num_cpu_blocks=num_blocks
        )
        self._next_id = 0

    def admit(self, num_tokens: int) -> tuple[pagesim.Sequence, pagesim.SequenceGroup]:
        """A new running sequence with a prompt of `num_tokens` tokens."""
        prompt = list(range(num_tokens))
        seq = pagesim.Sequence(self._next_id, prompt, self.block_size)
        group = pagesim.SequenceGroup(str(self._next_id), [seq])
        self._next_id += 1
        self.manager.allocate(group)
        seq.status = pagesim.SequenceStatus.RUNNING
        return seq, group

    def append(self, seq: pagesim.Sequence, token: int) -> None:
        """One decoded token."""
        seq.append_token_id(token, {token: pagesim.Logprob(0.0)})
        self.manager.append_slots(seq, 0)

    def pages(self, sequences: Iterable[pagesim.Sequence | None], lengths: list[int]) -> Pages:
        """The tables of these sequences; None stands for an empty sequence, which has no table."""
        tables = [
            [] if seq is None else list(self.manager.get_block_table(seq)) for seq in sequences
        ]
        return Pages(tables, list(lengths), self.block_size, self.num_blocks)


def fragmented(lengths: list[int], block_size: int, seed: int = 0) -> Pages:
    """Sequences that grew side by side in a pool where others had died in no order."""
    rng = random.Random(seed)
    needed = sum(-(-length // block_size) for length in lengths)
    history = History(block_size, 2 * needed + 12)
    short = [history.admit(block_size)[0] for _ in range(needed + 8)]
    for seq in rng.sample(short, needed + 2):
        history.manager.free(seq)
    # Half of each as prompt, the rest token by token, in turns: their pages interleave.
    prompts = [length - length // 2 for length in lengths]
    sequences = [history.admit(prompt)[0] if prompt else None for prompt in prompts]
    for step in range(max(lengths, default=0)):
        for seq, prompt, length in zip(sequences, prompts, lengths, strict=True):
            if seq is not None and prompt + step < length:
                history.append(seq, 1000 + step)
    return history.pages(sequences, lengths)


def forked(prompt: int, grown: int, block_size: int) -> Pages:
    """A parent and two children sharing their prompt's pages; each then grew by `grown` tokens."""
    history = History(block_size, 4 * (-(-(prompt + grown) // block_size)) + 8)
    history.admit(block_size)
    parent, _ = history.admit(prompt)
    family = [parent]
    for child_id in (100, 101):
        child = parent.fork(child_id)
        history.manager.fork(parent, child)
        family.append(child)
    for step in range(grown):
        for seq in family:
            history.append(seq, 10 * seq.seq_id + step)
    return history.pages(family, [prompt + grown] * 3)


def swapped(lengths: list[int], block_size: int) -> Pages:
    """The first sequence went to the CPU, others took its blocks, and it came back elsewhere."""
    needed = sum(-(-length // block_size) for length in lengths)
    history = History(block_size, 3 * needed + 8)
    admitted = [history.admit(length) for length in lengths]
    first, group = admitted[0]
    history.manager.swap_out(group)
    first.status = pagesim.SequenceStatus.SWAPPED
    history.admit(lengths[0] + 1)
    history.manager.swap_in(group)
    first.status = pagesim.SequenceStatus.RUNNING
    return history.pages([seq for seq, _ in admitted], lengths)
