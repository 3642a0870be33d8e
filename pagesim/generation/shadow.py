"""A ledger of every slot: which text was last written there, and which text a reader expects.

A key at position p depends on all tokens up to p. So a slot is right for a sequence only if the
same tokens, 0 to p, were written there. The shadow notes them and, before every step, compares all
that attention is about to read: a wrong block shows even where an answer happens to be right.
"""

from typing import Any, NamedTuple

import numpy as np
from torch import Tensor

from pagesim.cache import AttentionMetadata
from pagesim.cache.cache_engine import BlockMoves
from pagesim.cache.offloading import block_pairs
from pagesim.generation.engine import Engine
from pagesim.generation.vectors import Noted, note
from pagesim.v1.transfers import TransferJob


class Misread(NamedTuple):
    """The positions of a sequence, in a step, whose slots hold other tokens or none."""

    step: int
    answer: int
    positions: tuple[int, ...]


class ShadowedEngine(Engine):
    """An engine with a shadow: `misread` is empty as long as every page is right."""

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        self.misread: list[Misread] = []
        self.vectors: Noted | None = None
        """The keys and values of the first words, if they are to be noted."""
        self._numbers: dict[int, list[int]] = {}
        shapes = (pool.keys[0].shape[:2] for pool in (self.cache.gpu, self.cache.cpu))
        self._written = [np.zeros(shape, dtype=np.int64) for shape in shapes]

    def move(self, moves: BlockMoves) -> None:
        super().move(moves)
        gpu, cpu = self._written
        for pairs, source, target in (
            (moves.blocks_to_swap_out, gpu, cpu),
            (moves.blocks_to_copy, gpu, gpu),
            (moves.blocks_to_swap_in, cpu, gpu),
        ):
            for old, new in pairs:
                target[new] = source[old]

    def transfer(self, job: TransferJob) -> None:
        super().transfer(job)
        source, target = self._written if job.is_store else reversed(self._written)
        for old, new in block_pairs(job, self.cache.blocks_per_chunk):
            target[new] = source[old]

    def forward(self, batch: AttentionMetadata) -> Tensor:
        for row, seq_id in enumerate(batch.seq_ids):
            number = int(seq_id)
            sequence = self._sequences[number]
            computed, end = int(batch.context_lens[row]), int(batch.seq_lens[row])
            tokens = *sequence.answer.prompt, *sequence.tokens
            texts = np.array(self._texts_of(number, tokens)[:end], dtype=np.int64)
            begin, stop = batch.query_start_loc[row : row + 2]
            misread: set[int] = set()
            for index, group in enumerate(batch.groups):
                # What another group wrote about the same text is something else.
                its, window = texts ^ index, group.sliding_window
                oldest = max(0, computed + 1 - window) if window else 0
                written = self._written[0][group.block_tables[row]].reshape(-1)[oldest:computed]
                wrong = oldest + np.flatnonzero(written != its[oldest:computed])
                misread.update(wrong.tolist())
                self._written[0].reshape(-1)[group.slot_mapping[begin:stop]] = its[computed:]
            if misread:
                positions = tuple(sorted(misread))
                self.misread.append(Misread(self.steps, sequence.answer.id, positions))
        logits = super().forward(batch)
        if self.vectors is not None:
            note(self.vectors, batch, self.cache.gpu)
        return logits

    def _texts_of(self, seq_id: int, tokens: tuple[int, ...]) -> list[int]:
        """A number for the text up to each position: equal for equal texts."""
        numbers = self._numbers.setdefault(seq_id, [])
        for token in tokens[len(numbers) :]:
            numbers.append(hash((numbers[-1] if numbers else 0, token)))
        return numbers
