"""Small scenes, played with the real simulator, for the gallery."""

from __future__ import annotations

import pagesim

NAMES = {0: "A", 1: "B", 2: "C"}


def forked_and_swapped() -> pagesim.SelfAttnBlockSpaceManager:
    """Three sequences: B was forked from A and both went on writing, C was swapped to the CPU.

    A fourth has come and gone before, which left its blocks at the front of the free list.
    """
    manager = pagesim.SelfAttnBlockSpaceManager(block_size=4, num_gpu_blocks=12, num_cpu_blocks=8)

    def start(seq_id: int, prompt: list[int]) -> tuple[pagesim.Sequence, pagesim.SequenceGroup]:
        seq = pagesim.Sequence(seq_id, prompt, 4)
        group = pagesim.SequenceGroup(f"r{seq_id}", [seq])
        manager.allocate(group)
        seq.status = pagesim.SequenceStatus.RUNNING
        return seq, group

    def grow(seq: pagesim.Sequence, *token_ids: int) -> None:
        for token_id in token_ids:
            seq.append_token_id(token_id, {token_id: pagesim.Logprob(0.0)})
            manager.append_slots(seq, 0)

    gone, _ = start(9, [90, 91, 92, 93, 94, 95])
    one, _ = start(0, [10, 11, 12, 13, 14, 15, 16, 17, 18])
    away, group = start(2, [40, 41, 42, 43, 44, 45, 46])
    manager.free(gone)
    other = one.fork(1)
    manager.fork(one, other)
    grow(other, 29)  # the shared last block is copied: the first writer moves away
    grow(one, 19)
    manager.swap_out(group)
    away.status = pagesim.SequenceStatus.SWAPPED
    return manager
