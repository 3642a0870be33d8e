"""What a router makes of the events that it hears: an index of the blocks in an engine's caches.

It sends a request to the engine that has most of its prompt. It must count copies, because an
engine also tells that one copy is gone while others are still found.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from math import lcm

from pagesim.checks import check_int
from pagesim.errors import UsageError
from pagesim.v1.kv_events import (
    MEDIUM_GPU,
    AllBlocksCleared,
    BlockStored,
    ExternalBlockHash,
    KVCacheEvent,
)


class RouterIndex:
    """The blocks of one engine, by medium and KV cache group, and what its groups need for a hit.

    ``copies`` has for each medium and group the hashes that are found, and by how many blocks.
    """

    def __init__(self) -> None:
        self.copies: dict[tuple[str | None, int], Counter[ExternalBlockHash]] = {}
        self._sizes: dict[int, int] = {}
        """Tokens of a block in each group that was heard of."""
        self._needed: dict[int, int] = {}
        """How many blocks before its end a hit needs, where that is not all of them."""

    def apply(self, events: Iterable[KVCacheEvent]) -> None:
        """Hear events, in their order; what was stored before the index began is unknown."""
        for event in events:
            if isinstance(event, AllBlocksCleared):
                for medium, group_idx in self.copies:
                    if medium == MEDIUM_GPU:
                        self.copies[medium, group_idx].clear()
                continue
            copies = self.copies.setdefault((event.medium, event.group_idx or 0), Counter())
            if isinstance(event, BlockStored):
                copies.update(event.block_hashes)
                if event.block_size:  # what the CPU stores may have nothing but its hash
                    self._learn(event)
                continue
            for block_hash in event.block_hashes:
                copies[block_hash] -= 1
                if copies[block_hash] <= 0:
                    del copies[block_hash]

    def _learn(self, event: BlockStored) -> None:
        """What the event says about its group; the hash of a part of a block has fewer tokens."""
        group, size = event.group_idx or 0, event.block_size
        size = self._sizes[group] = max(size, self._sizes.get(group, 1))
        if event.kv_cache_spec_kind == "mamba":
            self._needed[group] = 1
        elif event.kv_cache_spec_sliding_window is not None:
            self._needed[group] = max(-(-(event.kv_cache_spec_sliding_window - 1) // size), 1)

    def longest_prefix(
        self,
        block_hashes: Sequence[ExternalBlockHash],
        hash_block_size: int,
        media: Iterable[str] = (MEDIUM_GPU,),
    ) -> int:
        """How many tokens of a request the engine has, so that all groups can go on from there.

        Each hash covers ``hash_block_size`` tokens more than the one before. A block counts if one
        of the ``media`` has it. An engine computes at least one token: pass no hash that includes
        the last.
        """
        size = check_int("hash_block_size", hash_block_size, 1)
        media, runs = list(media), dict[int, list[int]]()
        for group, block_size in self._sizes.items():
            known = [copies for place in media if (copies := self.copies.get((place, group)))]
            run, runs[group] = 0, [0]
            if block_size % size:
                raise UsageError(
                    f"hash_block_size must divide the {block_size} tokens of a block, not be {size}"
                )
            for block_hash in block_hashes[block_size // size - 1 :: block_size // size]:
                run = run + 1 if any(block_hash in copies for copies in known) else 0
                runs[group].append(run)
        step = lcm(*self._sizes.values())
        for end in range(len(block_hashes) * size // step * step, 0, -step):
            for group, block_size in self._sizes.items():
                num_blocks = end // block_size
                if runs[group][num_blocks] < min(self._needed.get(group, num_blocks), num_blocks):
                    break
            else:
                return end if self._sizes else 0
        return 0
