"""What really happens to V0's scheduler, told by its objects while it runs: no event is read."""

from collections import defaultdict
from typing import Any

import pagesim
from pagesim import SequenceStatus
from pagesim.v0.block_manager import AllocStatus
from tests.timeline.random_calls.scheduler import SchedulerRun

NOTHING = ([], [], [])


class V0Run(SchedulerRun):
    """Random calls of a scheduler with little memory, and what they did to it."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        config, rng = self.scheduler.scheduler_config, self.random
        cache = pagesim.CacheConfig(
            4,
            rng.choice([6, 10, 14]),
            rng.choice([2, 8, 16]),
            enable_prefix_caching=rng.random() < 0.2 and not config.enable_chunked_prefill,
            watermark=rng.choice([0.0, 0.0, 0.2, 0.4]),
        )
        self.subject = self.scheduler = pagesim.Scheduler(config, cache, clock=lambda: self.now)
        self.facts: dict[str, set[Any]] = defaultdict(set)
        self.number = 0
        self.high: dict[Any, int] = {}
        self.twice: dict[Any, int] = defaultdict(int)
        self.asked: list[tuple[Any, AllocStatus, int, int]] = []
        self.budget: Any = None
        manager = self.scheduler.block_manager
        self._can, self._prefills = manager.can_allocate, self.scheduler._schedule_prefills
        self.groups: list[Any] = []
        self._add = self.scheduler.add_seq_group
        self.scheduler.add_seq_group = self.add  # type: ignore[method-assign]
        manager.can_allocate = self.can  # type: ignore[method-assign]
        self.scheduler._schedule_prefills = self.prefills  # type: ignore[method-assign]

    def add(self, group: Any) -> None:
        self._add(group)
        self.groups.append(group)

    def can(self, group: Any, *more: Any) -> AllocStatus:
        told = self._can(group, *more)
        need = -(-group.first_seq.get_len() // 4)
        self.asked.append(
            (group, told, need, self.scheduler.block_manager.get_num_free_gpu_blocks())
        )
        return told

    def prefills(self, budget: Any) -> Any:
        self.asked = []
        told = self._prefills(budget)
        if not self.asked or self.asked[-1][0] not in self.scheduler.waiting:
            return told
        _, status, need, free = self.asked[-1]
        if status is AllocStatus.LATER:
            self.facts["watermark" if need <= free else "room"].add(self.number + 1)
        elif budget.num_curr_seqs >= self.scheduler.scheduler_config.max_num_seqs:
            self.facts["seats"].add(self.number + 1)
        else:
            self.facts["budget"].add(self.number + 1)
        return told

    def fork(self) -> None:
        """Groups of several sequences have no single story."""

    def schedule(self) -> None:
        self._one()
        for _ in range(2):  # what is stuck stays stuck
            if not self.empty:
                break
            self._one()
        else:
            self.facts["stuck"] |= {self.number - 2, self.number - 1, self.number}

    def _one(self) -> None:
        computing = self.computing
        running = list(self.scheduler.running)
        before = {group.request_id: group.first_seq.data for group in running}
        computed = {name: data.num_computed_tokens for name, data in before.items()}
        super().schedule()
        self.number += 1
        if self.stuck:
            self.facts["failed"].add(self.number)
            self.empty = False
            return
        self.stuck = True
        queues = self.scheduler.waiting, self.scheduler.swapped
        is_ignored = False
        for group, metadata in self.computing if self.computing is not computing else ():
            name, data = group.request_id, group.first_seq.data
            start = data.num_computed_tokens
            assert name not in computed or start == computed[name]
            end = start + metadata.token_chunk_size
            start = max(start, 0 if start else 4 * len(metadata.computed_block_nums))
            self.twice[name] += max(0, min(end, self.high.get(name, 0)) - start)
            self.high[name] = max(end, self.high.get(name, 0))
        for group in self.groups:
            if group.first_seq.status is SequenceStatus.FINISHED_IGNORED:
                is_ignored |= group.request_id not in self.facts["ignored"]
                self.facts["ignored"].add(group.request_id)
        self.empty = not self.computing and not self.scheduler.running and any(queues)
        self.empty &= not is_ignored

    def known(self) -> dict[str, set[Any]]:
        """What occurred, with what is counted over the whole run."""
        twice = {(name, count) for name, count in self.twice.items() if count}
        return self.facts | {"computed twice": twice, "pinned": {self.pinned()} - {0}}

    def pinned(self) -> int:
        """How many blocks are in no table of a request that is still there."""
        tables = self.scheduler.block_manager.block_tables
        queues = self.scheduler.waiting, self.scheduler.running, self.scheduler.swapped
        alive = {seq.seq_id for queue in queues for group in queue for seq in group.seqs}
        state = self.scheduler.block_manager.state()
        named = {block for name in alive & tables.keys() for block in state.tables[name].block_ids}
        return len({block for block, count in state.ref_counts.items() if count} - named)


def random_run(seed: int, steps: int = 150) -> tuple[pagesim.Timeline, V0Run]:
    """A recorded run, and the truth about it."""
    source = V0Run(seed)
    with pagesim.record(source.subject) as run:
        source.steps(steps)
    return run, source
