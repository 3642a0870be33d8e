"""Random things that happen to a manager, or to bare tables; each call is one operation."""

from __future__ import annotations

import contextlib
import random

import pagesim
from pagesim import Device, SequenceStatus
from pagesim.timeline import Timeline


class ManagerRun:
    """A block manager under random load; `step` makes one public call, most of which succeed."""

    def __init__(self, seed: int, caching: bool, window: int | None = None, **sizes: int) -> None:
        self.random = random.Random(seed)
        pool = {"block_size": 4, "num_gpu_blocks": 24, "num_cpu_blocks": 16} | sizes
        self.manager = pagesim.SelfAttnBlockSpaceManager(
            **pool, watermark=0.0, sliding_window=window, enable_caching=caching
        )
        self.groups: list[pagesim.SequenceGroup] = []
        self._ids = 0

    def step(self) -> None:
        """One call; NoFreeBlocksError is a result like any other."""
        choice = self.random.choice
        action = choice([self.arrive, self.arrive, *[self.grow] * 6, self.fork, self.swap, self.end])
        if action is not self.arrive and not self.groups:
            action = self.arrive
        with contextlib.suppress(pagesim.NoFreeBlocksError):
            action()

    def arrive(self) -> None:
        prefix = self.random.choice([[1, 2, 3, 4], [1, 2, 3, 4, 5, 6, 7, 8, 9], [7] * 13, []])
        prompt = prefix + [self.random.randrange(3) for _ in range(self.random.randrange(1, 6))]
        seqs = [self._sequence(prompt) for _ in range(self.random.choice([1, 1, 1, 2]))]
        group = pagesim.SequenceGroup(str(seqs[0].seq_id), seqs)
        self.manager.allocate(group)
        self._set(group, SequenceStatus.RUNNING)
        self.groups.append(group)

    def grow(self) -> None:
        group = self.random.choice(self.groups)
        if group.first_seq.status is not SequenceStatus.RUNNING:
            return self.mark()
        seq = self.random.choice(group.seqs)
        for _ in range(self.random.choice([0, 1, 1, 1, 1, 5, 9])):
            token = self.random.randrange(2)
            seq.append_token_id(token, {token: pagesim.Logprob(0.0)})
        computed = seq.data.get_num_uncomputed_tokens() - self.random.choice([1, 2])
        if computed > 0:
            held = self.manager.block_tables[seq.seq_id].num_full_slots
            room = held - seq.data.get_num_computed_tokens()
            seq.data.update_num_computed_tokens(max(0, min(computed, room)))
        self.manager.append_slots(seq, self.random.choice([0, 0, 0, 3, 6]))

    def fork(self) -> None:
        group = self.random.choice(self.groups)
        if group.first_seq.status is not SequenceStatus.RUNNING:
            return self.mark()
        parent = self.random.choice(group.seqs)
        self._ids += 1
        child = parent.fork(self._ids)
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


class TableRun:
    """Bare tables on an allocator of both devices."""

    def __init__(self, seed: int, caching: bool) -> None:
        self.random = random.Random(seed)
        kind = "prefix_caching" if caching else "naive"
        self.allocator = pagesim.CpuGpuBlockAllocator.create(kind, 20, 12, 4)
        self.tables: dict[str, pagesim.BlockTable] = {}
        self.where: dict[str, Device] = {}
        self.loose: list[object] = []
        self._count = 0
        self.run: Timeline | None = None

    def step(self) -> None:
        actions = [self.allocate, self.append, self.append, self.append, self.ensure, self.fork]
        actions += [self.swap, self.free, self.take, self.give]
        with contextlib.suppress(pagesim.NoFreeBlocksError):
            self.random.choice(actions)()

    def allocate(self) -> None:
        table = pagesim.BlockTable(4, self.allocator)
        device = self.random.choice([Device.GPU, Device.GPU, Device.CPU])
        table.allocate([self.random.randrange(2) for _ in range(self.random.randrange(1, 12))], device)
        self._add(table, device)

    def append(self) -> None:
        if name := self._pick(Device.GPU):
            tokens = [self.random.randrange(2) for _ in range(self.random.choice([0, 1, 1, 4, 7]))]
            self.tables[name].append_token_ids(tokens, self.random.choice([0, 0, 5]))

    def ensure(self) -> None:
        if name := self._pick(Device.GPU):
            self.tables[name].ensure_num_empty_slots(self.random.randrange(9))

    def fork(self) -> None:
        if name := self._pick():
            self._add(self.tables[name].fork(), self.where[name])

    def swap(self) -> None:
        if name := self._pick():
            source = self.where[name]
            target = Device.CPU if source is Device.GPU else Device.GPU
            blocks = self.tables[name].blocks
            self.allocator.swap(blocks, source, target)
            self.tables[name].update(blocks)
            self.where[name] = target

    def free(self) -> None:
        if name := self._pick():
            self.tables.pop(name).free()
            del self.where[name]

    def take(self) -> None:
        self.loose.append(self.allocator.allocate_mutable_block(None, Device.GPU))

    def give(self) -> None:
        if self.loose:
            self.allocator.free(self.loose.pop())  # type: ignore[arg-type]

    def _add(self, table: pagesim.BlockTable, device: Device) -> None:
        name = f"t{self._count}"
        self._count += 1
        self.tables[name], self.where[name] = table, device
        if self.run is not None:
            self.run.label(table, name)

    def _pick(self, device: Device | None = None) -> str | None:
        names = [name for name in self.tables if device in (None, self.where[name])]
        return self.random.choice(names) if names else None
