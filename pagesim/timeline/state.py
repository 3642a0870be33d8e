"""What the pages look like at one moment of a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pagesim.timeline.effects import Name, Queues


@dataclass(frozen=True, slots=True)
class TableState:
    """One block table: its blocks, the tokens written through it, and how full each block is.

    ``token_ids`` are all tokens from position 0 on. ``fill`` has an entry for each block: the slots
    that hold tokens, 0 for one that is only reserved and for the null block.
    """

    block_ids: tuple[int, ...]
    token_ids: tuple[int, ...]
    fill: tuple[int, ...]

    @property
    def num_tokens(self) -> int:
        """How many tokens the table has been given."""
        return len(self.token_ids)


@dataclass(frozen=True, slots=True)
class State:
    """Tables, pools and queues at one moment. Ids are absolute: GPU 0 … G-1, CPU G … G+C-1.

    ``ref_counts`` has every block, 0 for those nobody uses. The free lists are in the order in
    which blocks will be taken, the evictors in order of arrival. ``cached``: blocks that are found
    by their content; ``touched``: those cached since the last ``mark_blocks_as_computed`` (GPU);
    ``computed``: those whose keys and values are known to exist. ``requests`` names the first
    sequence of the requests in the queues.
    """

    block_size: int
    num_gpu_blocks: int
    num_cpu_blocks: int
    caching: bool
    tables: Mapping[Name, TableState]
    ref_counts: Mapping[int, int]
    free_gpu: tuple[int, ...]
    free_cpu: tuple[int, ...]
    evictor_gpu: tuple[int, ...] = ()
    evictor_cpu: tuple[int, ...] = ()
    cached: frozenset[int] = frozenset()
    touched: frozenset[int] = frozenset()
    computed: frozenset[int] = frozenset()
    null_block: int | None = None
    queues: Queues = field(default_factory=Queues)
    requests: Mapping[Name, Name] = field(default_factory=dict)


def fill_of(
    block_ids: tuple[int, ...], num_tokens: int, block_size: int, null_block: int | None
) -> tuple[int, ...]:
    """How many slots of each block of a table hold tokens."""
    return tuple(
        0 if block_id == null_block else max(0, min(block_size, num_tokens - k * block_size))
        for k, block_id in enumerate(block_ids)
    )
