"""Any sequence of requests keeps a manager consistent, and its can_* answers are promises."""

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

from pagesim import (
    AllocStatus,
    Device,
    SelfAttnBlockSpaceManager,
    Sequence,
    SequenceGroup,
    SequenceStatus,
)
from tests.v0.block.scenes import add_tokens, new_group, set_status
from tests.v0.block.world import Memory, attempt, check_all_free, check_pools, check_tokens

SIZE = 2
TOKENS = st.lists(st.sampled_from([-1, -2]), max_size=5)
PICK = st.integers(0, 99)
RUNNING, SWAPPED, WAITING = (SequenceStatus.RUNNING, SequenceStatus.SWAPPED, SequenceStatus.WAITING)
EXAMPLES = int(os.environ.get("PAGESIM_V0_EXAMPLES", "8"))
SETTINGS = settings(max_examples=EXAMPLES, derandomize=True)


class Requests(RuleBasedStateMachine):
    """Groups of one, or of two after a fork, in one of three states, as a scheduler keeps them."""

    kind: ClassVar[bool]
    window: ClassVar[int | None] = None

    def __init__(self) -> None:
        super().__init__()
        self.manager = SelfAttnBlockSpaceManager(
            SIZE, 10, 8, 0.1, self.window, enable_caching=self.kind
        )
        self.memory = Memory(self.manager.block_allocator, SIZE)
        self.groups: list[SequenceGroup] = []
        self.now, self.next_id = 0, 0

    def pick(self, number: int, *statuses: SequenceStatus) -> SequenceGroup | None:
        """One of the groups of these states."""
        found = [group for group in self.groups if group.first_seq.status in statuses]
        return found[number % len(found)] if found else None

    def promised(self) -> bool:
        """Whether the can_* answers are promises: nothing reserved, no window to be opened."""
        tables = self.manager.block_tables.values()
        reserved = any(len(t.blocks) * SIZE - t.num_full_slots >= SIZE for t in tables)
        return self.window is None and not reserved

    @rule(tokens=TOKENS.filter(len))
    def add(self, tokens: list[int]) -> None:
        if len(self.groups) < 6:
            self.groups.append(new_group(Sequence(self.next_id, tokens, SIZE)))
            self.next_id += 1

    @rule(pick=PICK)
    def allocate(self, pick: int) -> None:
        group = self.pick(pick, WAITING)
        if group is None:
            return
        answer = self.manager.can_allocate(group)
        self.memory.watch()
        done = attempt(lambda: self.manager.allocate(group), self.manager)
        assert done or answer is not AllocStatus.OK or self.window is not None
        if done:
            set_status(group, RUNNING)
            for seq in group.seqs:
                ids = self.manager.get_block_table(seq)
                self.memory.compute(ids, seq.get_token_ids(), 0)

    @rule(pick=PICK, tokens=TOKENS, lookahead=st.sampled_from([0, 0, 0, 1, 3]))
    def append(self, pick: int, tokens: list[int], lookahead: int) -> None:
        group = self.pick(pick, RUNNING)
        if group is None:
            return
        for seq in group.seqs:
            seq.data.update_num_computed_tokens(seq.data.get_num_uncomputed_tokens())
            add_tokens(seq, *tokens)
        promise = self.manager.can_append_slots(group, lookahead) and self.promised()
        for seq in group.seqs:
            self.append_one(seq, lookahead, promise)

    def append_one(self, seq: Sequence, lookahead: int, promise: bool) -> None:
        held = self.manager.block_tables[seq.seq_id].num_full_slots
        self.memory.watch()
        done = attempt(lambda: self.manager.append_slots(seq, lookahead), self.manager)
        assert done or not promise
        if done:
            self.memory.copy(done[0])
            ids = self.manager.get_block_table(seq)
            self.memory.compute(ids, seq.get_token_ids(), held)
        else:
            del seq.data.token_ids[held:]
            seq.data.num_computed_tokens = min(seq.get_num_computed_tokens(), held)

    @rule(pick=PICK)
    def fork(self, pick: int) -> None:
        group = self.pick(pick, RUNNING, SWAPPED)
        if group is None or len(group.seqs) > 1:
            return
        child = group.first_seq.fork(self.next_id)
        self.next_id += 1
        assert attempt(lambda: self.manager.fork(group.first_seq, child), self.manager)
        assert self.manager.get_block_table(child) == self.manager.get_block_table(group.first_seq)
        self.groups[self.groups.index(group)] = new_group(group.first_seq, child)

    @rule(pick=PICK)
    def swap_out(self, pick: int) -> None:
        group = self.pick(pick, RUNNING)
        if group is None:
            return
        promise = self.manager.can_swap_out(group) and self.promised()
        done = attempt(lambda: self.manager.swap_out(group), self.manager)
        assert done or not promise
        if done:
            set_status(group, SWAPPED)
            gpu_blocks = self.manager.num_total_gpu_blocks
            self.memory.copy((gpu, gpu_blocks + cpu) for gpu, cpu in done[0])

    @rule(pick=PICK)
    def swap_in(self, pick: int) -> None:
        group = self.pick(pick, SWAPPED)
        if group is None:
            return
        promise = self.manager.can_swap_in(group, 0) is AllocStatus.OK and self.promised()
        done = attempt(lambda: self.manager.swap_in(group), self.manager)
        assert done or not promise
        if done:
            set_status(group, RUNNING)
            gpu_blocks = self.manager.num_total_gpu_blocks
            self.memory.copy((gpu_blocks + cpu, gpu) for cpu, gpu in done[0])

    @rule(pick=PICK)
    def free(self, pick: int) -> None:
        group = self.pick(pick, WAITING, RUNNING, SWAPPED)
        if group is None:
            return
        self.groups.remove(group)
        for seq in group.seqs:
            assert attempt(lambda seq=seq: self.manager.free(seq), self.manager)
            assert seq.seq_id not in self.manager.block_tables

    @rule(pick=PICK)
    def preempt(self, pick: int) -> None:
        group = self.pick(pick, RUNNING)
        if group is None or len(group.seqs) > 1:
            return
        self.manager.free(group.first_seq)
        group.first_seq.reset_state_for_recompute()
        set_status(group, WAITING)

    @rule(pick=PICK)
    def schedule(self, pick: int) -> None:
        """What a scheduler does with every group it runs."""
        group = self.pick(pick, RUNNING)
        if group is None:
            return
        self.now += pick % 2

        def call() -> list[int]:
            for seq in group.seqs:
                self.manager.access_all_blocks_in_seq(seq, self.now)
            common = self.manager.get_common_computed_block_ids(group.seqs)
            self.manager.mark_blocks_as_computed(group, 1)
            return common

        (common,) = attempt(call, self.manager)
        assert self.kind or not common

    @precondition(lambda self: self.groups)
    @rule()
    def take_swaps(self) -> None:
        self.manager.block_allocator.get_and_reset_swaps()
        assert not self.manager.block_allocator.get_and_reset_swaps()

    @invariant()
    def pools_are_sound(self) -> None:
        check_pools(self.manager.block_allocator, self.manager.block_tables.values())

    @invariant()
    def tokens_are_right(self) -> None:
        tables = self.manager.block_tables
        held = [seq for group in self.groups for seq in group.seqs if seq.seq_id in tables]
        assert len(held) == len(tables)
        pairs = [(tables[seq.seq_id], seq.get_token_ids()) for seq in held]
        check_tokens(self.manager.block_allocator, pairs, self.memory, SIZE)

    @invariant()
    def devices_are_told_apart(self) -> None:
        allocator = self.manager.block_allocator
        null = getattr(allocator._null_block, "block_id", None)
        for group in self.groups:
            device = Device.CPU if group.first_seq.status is SWAPPED else Device.GPU
            for seq in group.seqs:
                if seq.seq_id in self.manager.block_tables:
                    ids = self.manager.get_block_table(seq)
                    assert {allocator.device_of(i) for i in ids if i != null} <= {device}

    def teardown(self) -> None:
        for group in self.groups:
            for seq in group.seqs:
                self.manager.free(seq)
        check_all_free(self.manager.block_allocator)


@pytest.mark.parametrize("window", [None, 1])
@pytest.mark.parametrize("caching", [False, True])
def test_any_requests(caching: bool, window: int | None) -> None:
    machine = type("Requests", (Requests,), {"kind": caching, "window": window})
    run_state_machine_as_test(machine, settings=SETTINGS)
