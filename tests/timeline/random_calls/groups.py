"""Random things that happen to V1's scheduler with several KV cache groups."""

import contextlib
import random

from pagesim import v1
from pagesim.errors import UsageError
from pagesim.journal.effects import Name
from pagesim.sizing.kv_cache_spec import KVCacheSpec
from tests.timeline.random_calls.source import Source, rare

FULL, FULL_2 = v1.FullAttentionSpec(4), v1.FullAttentionSpec(2)
STATE = v1.MambaSpec(4, mamba_cache_mode="align")
CHECKPOINT = v1.MambaSpec(
    4,
    mamba_cache_mode="align",
    num_prefill_checkpoint_blocks=1,
    prefill_checkpoint_alignment=1,
)


def window(size: int, tokens: int) -> v1.SlidingWindowSpec:
    return v1.SlidingWindowSpec(size, sliding_window=tokens)


HYBRIDS: list[list[KVCacheSpec]] = [
    [FULL, window(4, 6)],
    [window(2, 3), window(2, 7), FULL_2, window(2, 5)],
    [FULL, window(2, 5)],
    [FULL_2, window(4, 9), window(4, 9)],
    [FULL, STATE, STATE],
    [FULL, CHECKPOINT, window(8, 10)],
]
"""Windows beside full attention, three windows, pages 2:1 in both directions, states."""


class V1Run(Source):
    """A scheduler and its engine, one public call at a time."""

    scheduler: v1.Scheduler
    late: bool
    """Whether a step is decided before the last one is computed."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.in_flight: list[tuple[v1.SchedulerOutput, list[Name]]] = []
        self.count = 0

    def step(self) -> None:
        if self.random.random() < 0.25:
            self.random.choice([*[self.arrive] * 6, self.abort, self.forget])()
        elif len(self.in_flight) > self.late or (self.in_flight and rare(self.random)):
            self.update()
        else:
            self.schedule()

    def schedule(self) -> None:
        output = self.scheduler.schedule()
        if output.num_scheduled_tokens:
            requests, tokens = self.scheduler.requests, output.num_scheduled_tokens
            names = [name for name in tokens if not requests[name].is_prefill_chunk]
            self.in_flight.append((output, names))

    def arrive(self) -> None:
        self.count += 1
        prefix = self.random.choice([range(9), range(17), [7] * 13])
        prompt = [*prefix, *random.Random(self.count % 3).choices(range(3), k=self.count % 9 + 1)]
        name = self.random.choice([f"r{self.count}", self.count])
        request = v1.Request(
            name,
            prompt,
            block_size=self.scheduler.kv_cache_manager.block_pool.hash_block_size,
            max_tokens=self.random.randrange(1, 12),
            priority=self.random.randrange(2),
        )
        self.scheduler.add_request(request)
        if rare(self.random):
            with contextlib.suppress(UsageError):
                self.scheduler.add_request(request)  # its id is taken

    def abort(self) -> None:
        if names := list(self.scheduler.requests):
            self.scheduler.finish_requests(
                self.random.choice(names), v1.RequestStatus.FINISHED_ABORTED
            )

    def forget(self) -> None:
        raise NotImplementedError

    def update(self) -> None:
        raise NotImplementedError


class GroupsRun(V1Run):
    """The seed says which groups."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        groups = HYBRIDS[seed % len(HYBRIDS)]
        caching = self.random.random() < 0.8 or any(isinstance(g, v1.MambaSpec) for g in groups)
        self.late = self.random.random() < 0.3
        config = v1.SchedulerConfig(
            self.random.choice([9, 16, 40]),
            self.random.choice([2, 5]),
            40,
            async_scheduling=self.late,
            policy=self.random.choice(["fcfs", "priority"]),
        )
        cache = v1.CacheConfig(
            num_gpu_blocks=self.random.choice([32, 60]) * len(groups) // groups[0].block_size,
            groups=groups,
            enable_prefix_caching=caching,
            retention_interval=self.random.choice([0, None]),
        )
        self.subject = self.scheduler = v1.Scheduler(config, cache)

    def forget(self) -> None:
        if rare(self.random):
            self.scheduler.reset_prefix_cache(reset_running_requests=not self.in_flight)
        else:
            self.scheduler.kv_cache_manager.evict_blocks({self.random.randrange(1, 16)})

    def update(self) -> None:
        output, names = self.in_flight.pop(0)
        sampled = {name: [self.random.randrange(3)] for name in names}
        self.scheduler.update_from_output(output, sampled)
