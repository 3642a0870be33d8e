"""Three caches with one fault each, for exercise 4.3. Play with them before you read on."""

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
    copies_first = True

    def __init__(self, block_size: int = 4) -> None:
        self.story = Story(gpu_blocks=NUM_BLOCKS, block_size=block_size, record=False)
        pool: Any = self.story.manager.block_allocator.allocator_on(Device.GPU)
        pool.__class__ = self.allocator  # as it was, but for the methods with a fault
        self.here: dict[int, Writer] = {}
        self.memory: list[list[int | None]] = [[None] * block_size for _ in range(NUM_BLOCKS)]
        """What each slot of each block holds."""

    def play(self, acts: list[Act]) -> dict[int, list[int | None]]:
        """Let it happen; what each sequence reads in the end."""
        for act in acts:
            self.act(act)
        return {number: self.read(number) for number in self.here}

    def act(self, act: Act) -> None:
        """One act: first the books, then the bytes."""
        copies = act_once(act, self.story, self.here)
        if self.copies_first:
            self.copy(copies)
        self.store(act[1], act[2] if act[0] in ("arrive", "write") else 0)
        if not self.copies_first:
            self.copy(copies)

    def copy(self, copies: list[tuple[int, int]]) -> None:
        """Copy whole blocks, and what was never written as well."""
        for source, target in copies:
            self.memory[target] = [*self.memory[source]]

    def store(self, number: int, written: int) -> None:
        """Write the newest tokens of a sequence."""
        tokens = self.here[number].token_ids if written else []
        for position in range(len(tokens) - written, len(tokens)):
            block, offset = self._slot(number, position)
            self.memory[block][offset] = tokens[position]

    def read(self, number: int) -> list[int | None]:
        """What a sequence finds in its slots."""
        slots = (self._slot(number, at) for at in range(len(self.here[number].token_ids)))
        return [self.memory[block][offset] for block, offset in slots]

    def _slot(self, number: int, position: int) -> tuple[int, int]:
        page, offset = divmod(position, self.story.manager.block_size)
        return self.here[number].block_ids[page], offset


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

    copies_first = False


MACHINES: dict[str, type[Machine]] = {"A": A, "B": B, "C": C}

CAUSES = {
    "A": "a shared block is freed with its first owner",
    "B": "a fork does not raise the count",
    "C": "the copy is made after the write",
}
"""What is wrong with each. The others that can be chosen are wrong for all."""

DECOYS = ("a full block is also copied", "a freed block goes to the back of the free list")
