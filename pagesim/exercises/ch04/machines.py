"""Three caches with one fault each, for exercise 4.3. Play with them before you read on."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pagesim.exercises.acts import Act, act_once
from pagesim.story import Story, Writer
from pagesim.v0.block.interfaces import Device
from pagesim.v0.block.naive_block import NaiveBlockAllocator

NUM_BLOCKS = 12


class Machine:
    """A block manager and a memory: what every sequence reads through its table.

    ``play(acts)`` lets acts happen and returns what each sequence then reads: its tokens, None for
    a slot that was never written. Acts are those of `pagesim.exercises.acts`.
    """

    allocator = NaiveBlockAllocator

    def __init__(self, block_size: int = 4) -> None:
        self.story = Story(gpu_blocks=NUM_BLOCKS, block_size=block_size, record=False)
        pool: Any = self.story.manager.block_allocator.allocator_on(Device.GPU)
        pool.__class__ = self.allocator  # as it was, but for the methods with a fault
        self.here: dict[int, Writer] = {}
        self.slots: dict[int, int] = {}
        """What each slot of the memory holds."""

    def play(self, acts: Iterable[Act]) -> dict[int, list[int | None]]:
        """Let it happen; what each sequence reads in the end."""
        for act in acts:
            self.act(act)
        return {number: self.read(number) for number in self.here}

    def act(self, act: Act) -> None:
        """One act: first the books, then the bytes."""
        copies = act_once(act, self.story, self.here)
        self.carry_out(copies, act[1], act[2] if act[0] in ("arrive", "write") else 0)

    def carry_out(self, copies: list[tuple[int, int]], number: int, written: int) -> None:
        """The copies, and behind them so many new tokens of a sequence."""
        self.copy(copies)
        self.store(number, written)

    def copy(self, copies: list[tuple[int, int]]) -> None:
        """Copy whole blocks; a slot that was never written leaves nothing."""
        size: int = self.story.manager.block_size
        for source, target in copies:
            for offset in range(size):
                self.slots.pop(target * size + offset, None)
                if source * size + offset in self.slots:
                    self.slots[target * size + offset] = self.slots[source * size + offset]

    def store(self, number: int, written: int) -> None:
        """Write the newest tokens of a sequence."""
        tokens = self.here[number].token_ids if written else []
        for position in range(len(tokens) - written, len(tokens)):
            self.slots[self._slot(number, position)] = tokens[position]

    def read(self, number: int) -> list[int | None]:
        """What a sequence finds in its slots."""
        length = len(self.here[number].token_ids)
        return [self.slots.get(self._slot(number, position)) for position in range(length)]

    def _slot(self, number: int, position: int) -> int:
        size: int = self.story.manager.block_size
        return self.here[number].block_ids[position // size] * size + position % size


class _FreesForAll(NaiveBlockAllocator):
    def _free_block_id(self, block: Any) -> None:
        block_id = block.block_id
        super()._free_block_id(block)
        if self.ref_counts[block_id]:
            self._free_block_indices.appendleft(block_id)


class _DoesNotCount(NaiveBlockAllocator):
    def _share_block_id(self, block_id: int) -> None:
        pass


class A(Machine):
    """The first."""

    allocator = _FreesForAll


class B(Machine):
    """The second."""

    allocator = _DoesNotCount


class C(Machine):
    """The third."""

    def carry_out(self, copies: list[tuple[int, int]], number: int, written: int) -> None:
        self.store(number, written)
        self.copy(copies)


MACHINES: dict[str, type[Machine]] = {"A": A, "B": B, "C": C}

CAUSES = {
    "A": "a shared block is freed with its first owner",
    "B": "a fork does not raise the count",
    "C": "the copy is made after the write",
}
"""What is wrong with each. The others that can be chosen are wrong for all."""

DECOYS = ("a full block is also copied", "a freed block goes to the back of the free list")
