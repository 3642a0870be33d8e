"""Any sequence of operations on tables keeps ids, counts, tokens and the cache consistent."""

import os
from typing import ClassVar

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from pagesim import BlockTable, CpuGpuBlockAllocator, Device
from tests.v0.block.scenes import KINDS
from tests.v0.block.world import Memory, attempt, check_all_free, check_pools, check_tokens

SIZE = 2
# Few tokens and small blocks: contents meet, and pools run dry, all the time. Python hashes the
# two tokens alike, so that all contents of one length collide.
TOKENS = st.lists(st.sampled_from([-1, -2]), max_size=6)
PICK = st.integers(0, 99)
DEVICES = st.sampled_from(list(Device))
EXAMPLES = int(os.environ.get("PAGESIM_V0_EXAMPLES", "8"))
SETTINGS = settings(max_examples=EXAMPLES, derandomize=True)


class Tables(RuleBasedStateMachine):
    """Tables beside a model of their tokens, and a memory beside the allocator."""

    kind: ClassVar[str]
    window: ClassVar[int | None] = None

    def __init__(self) -> None:
        super().__init__()
        self.allocator = CpuGpuBlockAllocator.create(self.kind, 9, 7, SIZE)
        self.tables: list[BlockTable] = []
        self.model: list[list[int]] = []
        self.swapped: dict[int, int] = {}
        self.memory = Memory(self.allocator, SIZE)

    @rule(tokens=TOKENS, device=DEVICES)
    def allocate(self, tokens: list[int], device: Device) -> None:
        table = BlockTable(SIZE, self.allocator, max_block_sliding_window=self.window)
        self.memory.watch()
        if attempt(lambda: table.allocate(tokens, device), self.allocator, [*self.tables, table]):
            self.tables.append(table)
            self.model.append(tokens)
            self.memory.compute(table.physical_block_ids, tokens, 0)

    @precondition(lambda self: self.tables)
    @rule(pick=PICK, tokens=TOKENS, lookahead=st.integers(0, 3), behind=st.integers(-3, 3))
    def append(self, pick: int, tokens: list[int], lookahead: int, behind: int) -> None:
        index = pick % len(self.tables)
        table, held = self.tables[index], len(self.model[index])
        done = min(max(0, held - behind), held + len(tokens))
        self.memory.watch()
        if attempt(
            lambda: table.append_token_ids(tokens, lookahead, done), self.allocator, self.tables
        ):
            self.model[index] = self.model[index] + tokens
            self.memory.compute(table.physical_block_ids, self.model[index], held)

    @precondition(lambda self: self.tables)
    @rule(pick=PICK, slots=st.integers(0, 7))
    def reserve(self, pick: int, slots: int) -> None:
        table = self.tables[pick % len(self.tables)]
        attempt(lambda: table.ensure_num_empty_slots(slots), self.allocator, self.tables)

    @precondition(lambda self: 0 < len(self.tables) < 6)
    @rule(pick=PICK)
    def fork(self, pick: int) -> None:
        index = pick % len(self.tables)
        if forks := attempt(self.tables[index].fork, self.allocator, self.tables):
            assert forks[0].physical_block_ids == self.tables[index].physical_block_ids
            self.tables += forks
            self.model.append(list(self.model[index]))

    @precondition(lambda self: self.tables)
    @rule(pick=PICK)
    def free(self, pick: int) -> None:
        table = self.tables[pick % len(self.tables)]
        assert attempt(table.free, self.allocator, self.tables)
        self.tables.remove(table)
        self.model.pop(pick % len(self.model))
        assert (table.physical_block_ids, table.num_full_slots) == ([], 0)

    @precondition(lambda self: self.tables)
    @rule(pick=PICK, source=DEVICES)
    def swap(self, pick: int, source: Device) -> None:
        table = self.tables[pick % len(self.tables)]
        target = Device.CPU if source is Device.GPU else Device.GPU

        def call() -> dict[int, int]:
            blocks = table.blocks
            mapping = self.allocator.swap(blocks, source, target)
            table.update(blocks)
            return mapping

        for mapping in attempt(call, self.allocator, self.tables):
            self.swapped |= mapping
            self.memory.copy(mapping.items())

    @rule()
    def take_swaps(self) -> None:
        assert self.allocator.get_and_reset_swaps() == list(self.swapped.items())
        self.swapped = {}

    @rule()
    def take_copies(self) -> None:
        gpu = self.allocator.allocator_on(Device.GPU)
        copies = list(gpu.pending_copies)
        assert attempt(self.allocator.clear_copy_on_writes, self.allocator) == [copies]
        assert not gpu.pending_copies

    @rule(device=DEVICES, pick=PICK, now=st.integers(0, 3))
    def access(self, device: Device, pick: int, now: int) -> None:
        pool = self.allocator.allocator_on(device)
        ids = sorted(pool.all_block_ids)
        block_ids = [ids[pick % len(ids)], ids[pick // 10 % len(ids)]]
        attempt(lambda: pool.mark_blocks_as_accessed(block_ids, now), self.allocator, self.tables)

    @rule(device=DEVICES)
    def computed(self, device: Device) -> None:
        pool = self.allocator.allocator_on(device)
        attempt(lambda: pool.mark_blocks_as_computed([]), self.allocator)

    @invariant()
    def pools_are_sound(self) -> None:
        check_pools(self.allocator, self.tables)

    @invariant()
    def tokens_are_right(self) -> None:
        pairs = zip(self.tables, self.model, strict=True)
        check_tokens(self.allocator, pairs, self.memory, SIZE)

    def teardown(self) -> None:
        for table in self.tables:
            table.free()
        check_all_free(self.allocator)


@pytest.mark.parametrize("window", [None, 1])
@pytest.mark.parametrize("kind", KINDS)
def test_any_operations(kind: str, window: int | None) -> None:
    machine = type("Tables", (Tables,), {"kind": kind, "window": window})
    run_state_machine_as_test(machine, settings=SETTINGS)
