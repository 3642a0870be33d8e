"""The paged policy without stepping every token: the same run, from its events alone.

In a decoding step every running sequence grows by one token, and nothing has to be done for it
unless it needs a block or finishes: see `decoders`. What a fast-forward of either engine assumes
beyond that is in `ASSUMED`: whatever changes more between two events must be stepped.

In V0 two numbers, the free blocks and how many are needed, tell whether a sequence must be
preempted; a step with a preemption is run sequence by sequence, in the scheduler's order. Block
ids, their order, tables, times and counts are those of `pagesim.simulation.paged`.
"""

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from pagesim.errors import UsageError
from pagesim.simulation.decoders import Decoders
from pagesim.simulation.free_block_ids import FreeBlockIds
from pagesim.simulation.paged_requests import why_never
from pagesim.simulation.serving import Server, Step
from pagesim.simulation.waste import usage
from pagesim.sizing.kv_cache_spec import KVCacheSpec, MambaSpec
from pagesim.v0.config import CacheConfig, SchedulerConfig
from pagesim.v1.config import CacheConfig as CacheConfigV1
from pagesim.v1.config import SchedulerConfig as SchedulerConfigV1
from pagesim.workload.request import Request

IN_ORDER = "the next request is known only under first come, first served"

ASSUMED: dict[str, dict[str, tuple[Any, str]]] = {
    "v0": {
        "enable_prefix_caching": (False, "with prefix caching any block may turn out to be cached"),
        "sliding_window": (None, "with a sliding window blocks are dropped between the events"),
        "enable_chunked_prefill": (
            False,
            "with chunked prefill each step computes a different number of tokens",
        ),
        "policy": ("fcfs", f"{IN_ORDER}, without a delay"),
        "delay_factor": (0, f"{IN_ORDER}, without a delay"),
        "num_lookahead_slots": (
            0,
            "with lookahead slots blocks are reserved before they are needed",
        ),
    },
    "v1": {
        "async_scheduling": (
            False,
            "asynchronously a step is decided before the last one is known",
        ),
        "sliding_window": (None, "with a sliding window blocks are dropped between the events"),
        "policy": ("fcfs", IN_ORDER),
        "long_prefill_token_threshold": (
            0,
            "with long_prefill_token_threshold several prompts are half computed at once",
        ),
        "scheduler_reserve_full_isl": (
            True,
            "without scheduler_reserve_full_isl a prompt may be computed over and over",
        ),
    },
}
"""By engine: the fields of its configurations, the value that each must have, and why."""


def why_not(
    scheduler_config: SchedulerConfig | SchedulerConfigV1,
    cache_config: CacheConfig | CacheConfigV1,
    requests: Iterable[Request] = (),
) -> str | None:
    """Why a run cannot be fast-forwarded, in words; None if it can.

    V1 may cache prefixes, as far as their contents need not be compared token by token.
    """
    if reason := _why_not_groups(getattr(cache_config, "groups", None), cache_config):
        return reason
    is_v0 = isinstance(scheduler_config, SchedulerConfig)
    given = asdict(scheduler_config) | asdict(cache_config)
    for name, (value, reason) in ASSUMED["v0" if is_v0 else "v1"].items():
        if given[name] != value:
            return reason
    compared = map(why_compared, requests if cache_config.enable_prefix_caching else ())
    return next(filter(None, compared), None)


def _why_not_groups(
    groups: Sequence[KVCacheSpec] | None, cache_config: CacheConfig | CacheConfigV1
) -> str | None:
    """Why a cache of several groups must be stepped; None if it need not be."""
    if groups is None:
        return None
    if cache_config.enable_prefix_caching:
        return "with several groups and prefix caching a hit depends on what each of them keeps"
    if any(isinstance(spec, MambaSpec) for spec in groups):
        return "groups of states decide where a chunk ends"
    if len({spec.block_size for spec in groups}) > 1:
        return "groups with different block sizes need their blocks in different steps"
    return None


def why_compared(request: Request) -> str | None:
    """Why a request's tokens would have to be compared where prefixes are cached, in words."""
    if request.token_ids:
        return f"request {request.request_id!r} has token_ids, which would be compared"
    if request.hash_ids and min(request.hash_ids) < 0:
        return f"request {request.request_id!r} has a hash id below 0"
    return None


def refuse(reason: str | None) -> None:
    """UsageError unless there is no ``reason`` against a fast-forward."""
    if reason is not None:
        raise UsageError(f"fast_forward=True is not possible here: {reason}. Omit it")


class FastForwardServer(Server):
    """Decides as the scheduler would. UsageError for what must be stepped: see :func:`why_not`."""

    def __init__(self, scheduler_config: SchedulerConfig, cache_config: CacheConfig) -> None:
        refuse(why_not(scheduler_config, cache_config))
        self.scheduler_config = scheduler_config
        self.cache_config = cache_config
        self.pool = cache_config.num_gpu_blocks * cache_config.block_size
        self._swaps = scheduler_config.preemption_mode == "swap"
        self._watermark = int(cache_config.watermark * cache_config.num_gpu_blocks)
        num_gpu, num_cpu = cache_config.num_gpu_blocks, cache_config.num_cpu_blocks
        self._free = FreeBlockIds(range(num_gpu))
        self._free_cpu = FreeBlockIds(range(num_gpu, num_gpu + num_cpu))
        self._tables: dict[int, list[int]] = {}
        self._waiting: deque[int] = deque()
        self._running = Decoders(cache_config.block_size)
        self._swapped: deque[int] = deque()
        self._length: dict[int, int] = {}
        """Row -> its tokens, while it waits or is swapped out."""
        self._goal: dict[int, int] = {}
        """Row -> its tokens when it finishes."""
        self._cached = 0
        """Tokens of the running sequences that are cached."""
        self._admitted: list[tuple[int, int]] = []
        """Rows and lengths of the prompts in this step."""
        self._why_not: dict[int, str] = {}

    def add(self, row: int, request: Request) -> bool:
        reason = why_never(request, self.scheduler_config, self.cache_config)
        if reason is not None:
            self._why_not[row] = reason
            return False
        self._waiting.append(row)
        self._length[row], self._goal[row] = request.prompt_tokens, request.total_tokens
        return True

    def schedule(self, clock: float) -> Step | None:
        free, running = self._free, self._running
        waiting, swapped = self._waiting, self._swapped
        if not (waiting or len(running) or swapped):
            return None
        admitted = self._admitted = self._admit() if waiting and not swapped else []
        preempted: list[int] = []
        prompts = decodes = read = moved = 0
        if admitted:
            prompts = sum(length for _, length in admitted)
            self._cached += prompts
            batch = len(running) + len(admitted)
        else:
            need = running.needing()
            if len(free) > len(need):
                for row, block_id in zip(need, free.take(len(need)), strict=True):
                    self._tables[row].append(block_id)
            elif len(running):
                preempted, moved = self._decode_one_by_one()
            if swapped and not preempted:
                moved += self._swap_in()
            batch = decodes = len(running)
            if batch:
                running.steps += 1
                self._cached += batch
            elif not moved:
                if not preempted:  # unreachable: why_never() refuses such a request
                    raise RuntimeError(f"row {(swapped or waiting)[0]} can never continue")
                return Step(preempted=preempted)
            read = self._cached if batch else 0
        block_size, rows = self.cache_config.block_size, [row for row, _ in admitted]
        queue, has_seat = swapped or waiting, batch < self.scheduler_config.max_num_seqs
        head_waits = has_seat and bool(queue) and not self._fits(queue[0])
        held = self.pool - len(free) * block_size
        slots = usage(held, self.pool - held, head_waits, held - self._cached)
        return Step(batch, slots, prompts, decodes, read, moved * block_size, rows, preempted)

    def commit(self, tokens: Mapping[int, int] | None = None) -> tuple[list[int], list[int]]:
        goal, answered = self._goal, []
        if self._admitted:
            leavers = []
            for row, length in self._admitted:
                answered.append(row)
                if length + 1 < goal[row]:
                    self._running.join(row, length + 1, goal[row])
                else:
                    leavers.append(row)
        else:
            leavers = self._running.finished()
        for row in leavers:
            self._cached -= goal.pop(row) - 1  # the last token was never stored
            self._free.returned += self._tables.pop(row)
        return answered, leavers

    def why_not(self, row: int) -> str:
        return self._why_not[row]  # no request is ever stuck

    def tables(self) -> dict[int, list[int]]:
        return {row: ids.copy() for row, ids in self._tables.items()}

    # -- requests come and go --------------------------------------------------------------------

    def _admit(self) -> list[tuple[int, int]]:
        """Allocate for the head of the queue as long as it fits; returns rows and lengths."""
        config, waiting, free = self.scheduler_config, self._waiting, self._free
        admitted: list[tuple[int, int]] = []
        seats, budget = config.max_num_seqs - len(self._running), config.max_num_batched_tokens
        while waiting and len(admitted) < seats:
            row = waiting[0]
            length = self._length[row]
            num_blocks = self._blocks(length)
            if len(free) - num_blocks < self._watermark or length > budget:
                break
            waiting.popleft()
            del self._length[row]
            budget -= length
            self._tables[row] = free.take(num_blocks)
            admitted.append((row, length))
        return admitted

    # -- requests are preempted, and return ------------------------------------------------------

    def _decode_one_by_one(self) -> tuple[list[int], int]:
        """A step in which a sequence finds no free block, in the scheduler's order.

        Returns the preempted rows, and how many blocks were moved to the CPU.
        """
        free, need = self._free, self._running.needing()
        queue, preempted, moved = deque(self._running.rows), [], 0
        while queue:
            row = queue.popleft()
            while not free:
                victim = queue.pop() if queue else row
                moved += self._preempt(victim, self._goal[victim])
                preempted.append(victim)
                if victim == row:
                    break
            else:
                if row in need:
                    self._tables[row].append(free.popleft())
        if self._swaps:
            self._swapped.extend(preempted)
        else:
            self._waiting.extendleft(preempted)
        return preempted, moved

    def _preempt(self, row: int, goal: int) -> int:
        """Take a request's blocks away; returns how many go to the CPU."""
        length = self._length[row] = self._running.leave(row, goal)
        self._cached -= length - 1
        ids = self._tables.pop(row)
        if not self._swaps:
            self._free.returned += ids
            return 0
        # As in can_swap_out(), the token that is not yet written also counts.
        if len(self._free_cpu) < self._blocks(length):
            raise RuntimeError(
                f"no CPU swap space for the request in row {row}: {len(self._free_cpu)} CPU blocks "
                f"are free. Raise num_cpu_blocks, or set preemption_mode='recompute'"
            )
        self._free.returned += ids
        self._tables[row] = self._free_cpu.take(len(ids))
        return len(ids)

    def _swap_in(self) -> int:
        """Swap in from the head of the queue while it fits; returns how many blocks moved.

        These requests take part in this step.
        """
        moved = 0
        while self._swapped and len(self._running) < self.scheduler_config.max_num_seqs:
            row = self._swapped[0]
            if not self._fits(row):
                break
            self._swapped.popleft()
            length = self._length.pop(row)
            ids = self._tables[row]
            self._free_cpu.returned += ids
            moved += len(ids)
            self._tables[row] = self._free.take(self._blocks(length))
            self._cached += length - 1
            self._running.join(row, length, self._goal[row])
        return moved

    def _blocks(self, length: int) -> int:
        return -(-length // self.cache_config.block_size)

    def _fits(self, row: int) -> bool:
        """Whether there are enough free blocks for a request that waits or is swapped out."""
        return len(self._free) - self._blocks(self._length[row]) >= self._watermark
