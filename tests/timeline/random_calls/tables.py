"""Random things that happen to bare tables, and to blocks that are in no table."""

import contextlib
from typing import Any

import pagesim
from pagesim import Device
from pagesim.timeline import State
from tests.timeline.random_calls.source import Source


class TableRun(Source):
    """Bare tables on an allocator of both devices, and blocks that are in no table.

    Tables get their names, table 0, 1, …, as labels of the run once it is there.
    """

    def __init__(self, seed: int, caching: bool) -> None:
        super().__init__(seed)
        kind = "prefix_caching" if caching else "naive"
        self.subject = self.allocator = pagesim.CpuGpuBlockAllocator.create(kind, 20, 12, 4)
        self.tables: dict[str, pagesim.BlockTable] = {}
        self.where: dict[str, Device] = {}
        self.loose: list[Any] = []
        self._count = 0

    def live(self) -> State:
        return self.allocator.state(self.tables)

    def step(self) -> None:
        actions = [self.allocate, self.append, self.append, self.append, self.ensure, self.fork]
        actions += [self.swap, self.free, self.take, self.give, self.fork_loose, self.mark]
        with contextlib.suppress(pagesim.NoFreeBlocksError):
            self.random.choice(actions)()

    def allocate(self) -> None:
        table = pagesim.BlockTable(4, self.allocator)
        device = self.random.choice([Device.GPU, Device.GPU, Device.CPU])
        tokens = [self.random.randrange(2) for _ in range(self.random.randrange(1, 12))]
        table.allocate(tokens, device)
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
            self.allocator.free(self.loose.pop())

    def fork_loose(self) -> None:
        if self.loose:
            self.loose += self.allocator.fork_blocks(self.loose[-1:])

    def mark(self) -> None:
        self.allocator.mark_blocks_as_computed([])

    def _add(self, table: pagesim.BlockTable, device: Device) -> None:
        name = f"table {self._count}"
        self._count += 1
        self.tables[name], self.where[name] = table, device
        if self.run is not None:
            self.run.label(table, name)

    def _pick(self, device: Device | None = None) -> str | None:
        names = [name for name in self.tables if device in (None, self.where[name])]
        return self.random.choice(names) if names else None
