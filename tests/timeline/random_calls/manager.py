"""Random things that happen to a block manager."""

import contextlib

import pagesim
from pagesim import SequenceStatus
from pagesim.errors import UsageError
from tests.timeline.random_calls.source import Source, rare


class ManagerRun(Source):
    """A block manager."""

    def __init__(self, seed: int, caching: bool, window: int | None = None, **sizes: int) -> None:
        super().__init__(seed)
        pool = {"block_size": 4, "num_gpu_blocks": 24, "num_cpu_blocks": 16} | sizes
        self.subject = self.manager = pagesim.SelfAttnBlockSpaceManager(
            **pool, watermark=0.0, sliding_window=window, enable_caching=caching
        )
        self.groups: list[pagesim.SequenceGroup] = []
        self._ids = 0

    def step(self) -> None:
        """One call; NoFreeBlocksError is a result like any other."""
        choice = self.random.choice
        common = [self.arrive, self.arrive, *[self.grow] * 6]
        action = choice([*common, self.fork, self.swap, self.end, self.mark])
        if not self.groups:
            action = self.arrive
        with contextlib.suppress(pagesim.NoFreeBlocksError):
            action()

    def arrive(self) -> None:
        prefix = self.random.choice([[1, 2, 3, 4], [1, 2, 3, 4, 5, 6, 7, 8, 9], [7] * 13, []])
        prompt = prefix + [self.random.randrange(3) for _ in range(self.random.randrange(1, 6))]
        if self.random.random() < 0.05:
            prompt = []
        seqs = [self._sequence(prompt) for _ in range(1 + (bool(prompt) and rare(self.random)))]
        group = pagesim.SequenceGroup(str(seqs[0].seq_id), seqs)
        self.manager.allocate(group)
        self._set(group, SequenceStatus.RUNNING)
        self.groups.append(group)

    def grow(self) -> None:
        group = self.random.choice(self.groups)
        if group.first_seq.status is not SequenceStatus.RUNNING:
            self.mark()
            return
        seq = self.random.choice(group.seqs)
        for _ in range(self.random.choice([0, 1, 1, 1, 1, 5, 9])):
            token = self.random.randrange(2)
            seq.append_token_id(token, {token: pagesim.Logprob(0.0)})
        computed = seq.data.get_num_uncomputed_tokens() - self.random.choice([1, 2])
        if computed > 0:
            held = self.manager.block_tables[seq.seq_id].num_full_slots
            room = held - seq.data.get_num_computed_tokens()
            seq.data.update_num_computed_tokens(max(0, min(computed, room)))
        with contextlib.suppress(UsageError):  # a sequence that came without tokens has no blocks
            self.manager.append_slots(seq, self.random.choice([0, 0, 0, 3, 6]))

    def fork(self) -> None:
        group = self.random.choice(self.groups)
        if group.first_seq.status is not SequenceStatus.RUNNING:
            self.mark()
            return
        parent = self.random.choice(group.seqs)
        self._ids += 1
        child = parent.fork(self._ids)
        if not self.manager.block_tables[parent.seq_id].blocks:
            return
        self.manager.fork(parent, child)
        self._replace(group, [*group.seqs, child])

    def swap(self) -> None:
        group = self.random.choice(self.groups)
        if group.first_seq.status is SequenceStatus.RUNNING:
            self.manager.swap_out(group)
            self._set(group, SequenceStatus.SWAPPED)
        else:
            self.manager.swap_in(group)
            self._set(group, SequenceStatus.RUNNING)

    def end(self) -> None:
        group = self.random.choice(self.groups)
        seq = self.random.choice(group.seqs)
        self.manager.free(seq)
        self._replace(group, [other for other in group.seqs if other is not seq])

    def mark(self) -> None:
        for seq in self.groups[0].seqs:
            self.manager.access_all_blocks_in_seq(seq, self.random.random())
        self.manager.mark_blocks_as_computed(self.groups[0], 1)

    def _sequence(self, prompt: list[int]) -> pagesim.Sequence:
        self._ids += 1
        return pagesim.Sequence(self._ids, prompt, self.manager.block_size)

    def _replace(self, group: pagesim.SequenceGroup, seqs: list[pagesim.Sequence]) -> None:
        self.groups.remove(group)
        if seqs:
            self.groups.append(pagesim.SequenceGroup(group.request_id, seqs))

    def _set(self, group: pagesim.SequenceGroup, status: SequenceStatus) -> None:
        for seq in group.seqs:
            seq.status = status
