"""V1's free queue and its map of contents, in ids alone.

Blocks without content come back to the front of the queue, cached ones to its back, and blocks are
taken from the front. So the queue always has two parts: nothing cached in the first one, nothing
else in the second. Contents are compared by keys, which are made only where they may be looked up.
"""

from collections import OrderedDict
from collections.abc import Hashable, Iterable, Sequence

from pagesim.simulation.free_block_ids import FreeBlockIds


class CachedBlockIds:
    """The blocks 1, 2, … of a pool, in memory that grows with use; block 0 is the null block."""

    def __init__(self, num_gpu_blocks: int) -> None:
        self.blank = FreeBlockIds(range(1, num_gpu_blocks))
        """The first part of the queue."""
        self.cached: OrderedDict[int, None] = OrderedDict()
        """The second part: free blocks that are still found."""
        self._key: dict[int, Hashable] = {}
        self._blocks: dict[Hashable, dict[int, None]] = {}
        """The blocks of each content, in the order in which they were cached."""
        self._more_owners: dict[int, int] = {}
        """Owners beyond the first, of blocks that have any."""

    def __len__(self) -> int:
        return len(self.blank) + len(self.cached)

    def take(self, count: int) -> list[int]:
        """The first ``count`` blocks of the queue; what they cached is forgotten."""
        taken = self.blank.take(min(count, len(self.blank)))
        while len(taken) < count:
            block_id, _ = self.cached.popitem(last=False)
            if (key := self._key.pop(block_id, None)) is not None:
                blocks = self._blocks[key]
                del blocks[block_id]
                if not blocks:
                    del self._blocks[key]
            taken.append(block_id)
        return taken

    def release(self, table: Sequence[int], num_full: int) -> None:
        """Give a table back, last block first; its first ``num_full`` blocks are cached."""
        self.blank.returned += table[num_full:]
        cached, more = self.cached, self._more_owners
        for block_id in reversed(table[:num_full]):
            if block_id not in more:
                cached[block_id] = None
            elif more[block_id] == 1:
                del more[block_id]
            else:
                more[block_id] -= 1

    def remember(self, block_id: int, key: Hashable) -> None:
        """Find a block by its content from now on, behind those that are found already."""
        if block_id not in self._key:
            self._key[block_id] = key
            self._blocks.setdefault(key, {})[block_id] = None

    def find(self, keys: Iterable[Hashable]) -> list[int]:
        """The blocks of the longest run of known contents: of each, the one cached first."""
        found = []
        for key in keys:
            if (blocks := self._blocks.get(key)) is None:
                break
            found.append(next(iter(blocks)))
        return found

    def touch(self, block_ids: Iterable[int]) -> None:
        """One more owner for each block: it leaves the queue, or is shared."""
        for block_id in block_ids:
            if block_id in self.cached:
                del self.cached[block_id]
            else:
                self._more_owners[block_id] = self._more_owners.get(block_id, 0) + 1
