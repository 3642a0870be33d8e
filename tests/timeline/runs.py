"""Random things that happen to a scheduler, a manager, bare tables, or one device's allocator.

Each `step` makes about one public call. `subject` is what is recorded, `live` what it looks like
now, told by the objects themselves.
"""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pagesim
from pagesim import Device, SequenceStatus
from pagesim.errors import UsageError
from pagesim.timeline import State, Timeline


class Source:
    """Something under random load: `step` makes one public call, most of which succeed."""

    subject: Any

    def __init__(self, seed: int, subject: Any = None) -> None:
        self.random = random.Random(seed)
        self.subject = subject
        self.run: Timeline | None = None

    def live(self) -> State:
        state: State = self.subject.state()
        return state

    def step(self) -> None:
        raise NotImplementedError


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


class SchedulerRun(Source):
    """A scheduler and its engine, one public call at a time; the seed says which policies.

    A step is ``schedule()``, then a call for each sequence that computed, then the end of those
    that are finished. Requests come, go and fork in between.
    """

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        chunked, caching, swap = (self.random.random() < 0.5 for _ in range(3))
        config = pagesim.SchedulerConfig(
            max(self.random.choice([16, 24]), 0 if chunked else 40),
            max_num_seqs=self.random.choice([2, 4, 9]),
            max_model_len=40,
            num_lookahead_slots=self.random.choice([0, 0, 2]),
            enable_chunked_prefill=chunked,
            preemption_mode="swap" if swap else None,
            policy=self.random.choice(["fcfs", "priority"]),
            delay_factor=self.random.choice([0.0, 2.0]),
        )
        cache = pagesim.CacheConfig(
            4, 10, self.random.choice([2, 16]), enable_prefix_caching=caching, watermark=0.0
        )
        self.now = 0.0
        self.subject = self.scheduler = pagesim.Scheduler(config, cache, clock=lambda: self.now)
        self.computing: list[tuple[pagesim.SequenceGroup, Any]] = []
        self.finished = self.stuck = False
        self._ids = 0

    def step(self) -> None:
        """One call; a `schedule()` that raises is a result like any other."""
        if self.random.random() < 0.2:
            self.random.choice([*[self.arrive] * 5, self.fork, self.fork, self.end, self.abort])()
        elif self.stuck and rare(self.random):
            self.stuck = False
            self.abort()
        elif self.computing:
            self.compute(*self.computing.pop(0))
        elif self.finished:
            self.finished = False
            self.scheduler.free_finished_seq_groups()
        else:
            self.schedule()

    def arrive(self) -> None:
        prefix = self.random.choice([[1, 2, 3, 4], [1, 2, 3, 4, 5, 6, 7, 8, 9], [7] * 13])
        prompt = prefix + [self.random.randrange(3) for _ in range(self.random.randrange(9))]
        if rare(self.random):
            prompt *= 3  # some of these are too long
        self._ids += 1
        name = self.random.choice([f"request {self._ids}", f"{self._ids}"])
        seq = pagesim.Sequence(self._ids, prompt, 4)
        priority = self.random.randrange(3)
        group = pagesim.SequenceGroup(name, [seq], self.now, priority=priority)
        self.scheduler.add_seq_group(group)

    def fork(self) -> None:
        groups = [g for g in self.scheduler.running if len(g.seqs) == 1 and not g.is_prefill()]
        if groups and not self.computing and not self.finished and rare(self.random):
            group = self.random.choice(groups)
            self._ids += 1
            child = group.first_seq.fork(self._ids)
            group.add(child)
            self.scheduler.fork_seq(group.first_seq, child)

    def end(self) -> None:
        """One member ends, and the others go on without it."""
        groups = [group for group in self.scheduler.running if len(group.seqs) > 1]
        if groups and not self.computing and not self.finished:
            group = self.random.choice(groups)
            seq = self.random.choice(group.seqs[1:])  # the first names the request
            seq.status = SequenceStatus.FINISHED_STOPPED
            self.scheduler.free_seq(seq)
            group.remove(seq.seq_id)

    def abort(self) -> None:
        queues = (self.scheduler.waiting, self.scheduler.running, self.scheduler.swapped)
        names = [group.request_id for queue in queues for group in queue]
        chosen = {*self.random.choices(names, k=self.random.randrange(1, 3))} if names else {"?"}
        self.computing = [pair for pair in self.computing if pair[0].request_id not in chosen]
        self.scheduler.abort_seq_group(chosen)

    def schedule(self) -> None:
        self.now += 1.0
        self.stuck = True
        with contextlib.suppress(pagesim.NoFreeBlocksError, RuntimeError, UsageError):
            metadata, outputs, _ = self.scheduler.schedule()
            groups = [scheduled.seq_group for scheduled in outputs.scheduled_seq_groups]
            self.computing = list(zip(groups, metadata, strict=True))
            self.stuck = False

    def compute(self, group: pagesim.SequenceGroup, metadata: Any) -> None:
        """What an engine does for a group once its tokens are there."""
        ends = self.random.random() < 0.06
        for seq in group.seqs:
            seq.data.update_num_computed_tokens(metadata.token_chunk_size)
            if metadata.do_sample:
                token = self.random.randrange(2)
                seq.append_token_id(token, {token: pagesim.Logprob(0.0)})
                if ends:
                    self.finished = True
                    seq.status = SequenceStatus.FINISHED_STOPPED
        if self.finished and rare(self.random):  # or free_finished_seq_groups does it
            for seq in group.get_finished_seqs():
                self.scheduler.free_seq(seq)


SOURCES: dict[str, Callable[[int], Source]] = {
    "manager-naive": lambda seed: ManagerRun(seed, False),
    "manager-caching": lambda seed: ManagerRun(seed, True),
    "window-naive": lambda seed: ManagerRun(seed, False, window=8),
    "window-caching": lambda seed: ManagerRun(seed, True, window=8),
    "tables-naive": lambda seed: TableRun(seed, False),
    "tables-caching": lambda seed: TableRun(seed, True),
    "device-naive": lambda seed: DeviceRun(seed, False),
    "device-caching": lambda seed: DeviceRun(seed, True),
    "scheduler": SchedulerRun,
}
"""Each kind of run: makes one from a seed."""


def rare(rng: random.Random) -> bool:
    return rng.random() < 0.25


def recorded(kind: str, seed: int, steps: int) -> Timeline:
    """A run of so many steps, begun after some that nobody recorded."""
    source = SOURCES[kind](seed)
    for _ in range(seed % 7):
        source.step()
    with pagesim.record(source.subject) as run:
        source.run = run
        for _ in range(steps):
            source.step()
    return run


def watched(source: Source, steps: int) -> tuple[Timeline, list[tuple[int, State]]]:
    """A recorded run, and the live states at its steps: one after each call that made events."""
    with pagesim.record(source.subject) as run:
        source.run = run
        if isinstance(source, TableRun):
            for name, table in source.tables.items():
                run.label(table, name)
        states = [(0, source.live())]
        for _ in range(steps):
            source.step()
            if len(run) > states[-1][0]:
                states.append((len(run), source.live()))
    return run, states


def comparable(state: State, tables: Sequence[object] | None = None) -> State:
    """A state without what no live table can tell: tokens that fell out of its window.

    With ``tables`` only those of its tables that are named there.
    """
    size = state.block_size
    kept = {}
    for name, table in state.tables.items():
        tokens = list(table.token_ids)
        for k, block_id in enumerate(table.block_ids):
            if block_id == state.null_block:
                tokens[size * k : size * (k + 1)] = [0] * len(tokens[size * k : size * (k + 1)])
        if tables is None or name in tables:
            kept[name] = replace(table, token_ids=tuple(tokens))
    return replace(state, tables=kept)
