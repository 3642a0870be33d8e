"""Random things that happen to one device's allocator."""

import contextlib
from typing import Any

import pagesim
from tests.timeline.random_calls.source import Source


class DeviceRun(Source):
    """One device's allocator alone: chains of handles that grow, fork, and are given up."""

    def __init__(self, seed: int, caching: bool) -> None:
        super().__init__(seed)
        kinds = pagesim.NaiveBlockAllocator, pagesim.PrefixCachingBlockAllocator
        ids = [3, 0, 9, 4, 7, 5, 1, 12, 6] if seed % 2 else None
        self.subject = self.allocator = kinds[caching](9, 4, ids)
        self.chains: list[list[Any]] = []

    def step(self) -> None:
        begin = [self.mutable, self.immutable, self.several]
        go_on = [self.write, self.write, self.fork, self.free, self.swap, self.mark]
        with contextlib.suppress(pagesim.NoFreeBlocksError):
            self.random.choice([*begin, *go_on] if self.chains else begin)()

    def mutable(self) -> None:
        self.chains.append([self.allocator.allocate_mutable_block(None)])

    def immutable(self) -> None:
        self.chains.append([self.allocator.allocate_immutable_block(None, self._tokens(4))])

    def several(self) -> None:
        tokens = [self._tokens(4) for _ in range(self.random.randrange(4))]
        if chain := self.allocator.allocate_immutable_blocks(None, tokens):
            self.chains.append(chain)

    def write(self) -> None:
        last = self.random.choice(self.chains)[-1]
        last.append_token_ids(self._tokens(self.random.randrange(last.num_empty_slots + 1)))

    def fork(self) -> None:
        chain = self.random.choice(self.chains)
        self.chains.append(self.allocator.fork(chain[-1]))

    def free(self) -> None:
        chain = self.chains.pop(self.random.randrange(len(self.chains)))
        for block in chain:
            self.allocator.free(block)

    def swap(self) -> None:
        chain = self.random.choice(self.chains)
        self.allocator.swap_out(chain)
        self.chains.remove(chain)
        self.allocator.swap_in(chain)
        self.chains.append(chain)

    def mark(self) -> None:
        self.allocator.mark_blocks_as_computed([])

    def _tokens(self, count: int) -> list[int]:
        return [self.random.randrange(2) for _ in range(count)]
