"""The paged policy without stepping every token: the same run, from its events alone.

In a decoding step every running sequence grows by one token, and nothing has to be done for it
unless it needs a block or finishes: see `decoders`. Two numbers, the free blocks and how many are
needed, tell whether a sequence must be preempted; a step with a preemption is run sequence by
sequence, in the scheduler's order.

Block ids, their order, tables, times and counts are those of `pagesim.simulation.paged`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping

from pagesim.errors import UsageError
from pagesim.simulation.decoders import Decoders
from pagesim.simulation.free_block_ids import FreeBlockIds
from pagesim.simulation.paged_requests import why_never
from pagesim.simulation.serving import Step
from pagesim.simulation.waste import PARTS
from pagesim.v0.config import CacheConfig, SchedulerConfig
from pagesim.workload.request import Request


def why_not(scheduler_config: SchedulerConfig, cache_config: CacheConfig) -> str | None:
    """Why a run cannot be fast-forwarded, in words; None if it can."""
    if cache_config.enable_prefix_caching:
        return "with prefix caching any block may turn out to be cached"
    if cache_config.sliding_window is not None:
        return "with a sliding window blocks are dropped between the events"
    if scheduler_config.enable_chunked_prefill:
        return "with chunked prefill each step computes a different number of tokens"
    if scheduler_config.policy != "fcfs" or scheduler_config.delay_factor > 0:
        return "the next request is known only under first come, first served, without a delay"
    if scheduler_config.num_lookahead_slots:
        return "with lookahead slots blocks are reserved before they are needed"
    return None


class FastForwardServer:
    """Decides as the scheduler would; see :class:`pagesim.simulation.Server`.

    UsageError gives the reason why a configuration must be stepped: see :func:`why_not`.
    """

    blocked, parts, cached, null_slots = False, PARTS, 0, 0

    def __init__(self, scheduler_config: SchedulerConfig, cache_config: CacheConfig) -> None:
        if (reason := why_not(scheduler_config, cache_config)) is not None:
            raise UsageError(f"fast_forward=True is not possible here: {reason}. Omit it")
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
        """See :meth:`pagesim.simulation.Server.add`."""
        reason = why_never(request, self.scheduler_config, self.cache_config)
        if reason is not None:
            self._why_not[row] = reason
            return False
        self._waiting.append(row)
        self._length[row], self._goal[row] = request.prompt_tokens, request.total_tokens
        return True

    def schedule(self, clock: float) -> Step | None:
        """See :meth:`pagesim.simulation.Server.schedule`."""
        block_size, free, running = self.cache_config.block_size, self._free, self._running
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
        num_free, external = len(free), 0
        seats = self.scheduler_config.max_num_seqs
        if batch < seats and (waiting or swapped) and self._head_waits(num_free):
            external = num_free * block_size
        internal = (self.cache_config.num_gpu_blocks - num_free) * block_size - self._cached
        usage = self._cached, 0, internal, external
        rows = [row for row, _ in admitted]
        return Step(batch, usage, prompts, decodes, read, moved * block_size, rows, preempted)

    def commit(self, tokens: Mapping[int, int] | None = None) -> tuple[list[int], list[int]]:
        """See :meth:`pagesim.simulation.Server.commit`; sampled tokens make no difference here."""
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
            self._leave(row, goal.pop(row))
        return answered, leavers

    def why_not(self, row: int) -> str:
        """See :meth:`pagesim.simulation.Server.why_not`: no request is ever stuck."""
        return self._why_not[row]

    def tables(self) -> dict[int, list[int]]:
        """See :meth:`pagesim.simulation.Server.tables`; a sequence's id is its row."""
        return {row: ids.copy() for row, ids in self._tables.items()}

    def finish(self) -> None:
        """See :meth:`pagesim.simulation.Server.finish`: nothing is recorded."""

    # -- requests come and go --------------------------------------------------------------------

    def _admit(self) -> list[tuple[int, int]]:
        """Allocate for the head of the queue as long as it fits; returns rows and lengths."""
        config, block_size = self.scheduler_config, self.cache_config.block_size
        free, waiting = self._free, self._waiting
        admitted: list[tuple[int, int]] = []
        seats, budget = config.max_num_seqs - len(self._running), config.max_num_batched_tokens
        while waiting and len(admitted) < seats:
            row = waiting[0]
            length = self._length[row]
            num_blocks = -(-length // block_size)
            if len(free) - num_blocks < self._watermark or length > budget:
                break
            waiting.popleft()
            del self._length[row]
            budget -= length
            self._tables[row] = free.take(num_blocks)
            admitted.append((row, length))
        return admitted

    def _leave(self, row: int, goal: int) -> None:
        """Free a finished request, of which all but the last token are cached."""
        self._cached -= goal - 1
        self._free.returned += self._tables.pop(row)

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
        if len(self._free_cpu) < -(-length // self.cache_config.block_size):
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
        block_size, free, moved = self.cache_config.block_size, self._free, 0
        while self._swapped and len(self._running) < self.scheduler_config.max_num_seqs:
            row = self._swapped[0]
            length = self._length[row]
            if len(free) - -(-length // block_size) < self._watermark:
                break
            self._swapped.popleft()
            del self._length[row]
            ids = self._tables[row]
            self._free_cpu.returned += ids
            moved += len(ids)
            self._tables[row] = free.take(-(-length // block_size))
            self._cached += length - 1
            self._running.join(row, length, self._goal[row])
        return moved

    def _head_waits(self, num_free: int) -> bool:
        """Whether the head of the queue finds too few blocks; swapped requests come first."""
        row = (self._swapped or self._waiting)[0]
        blocks = -(-self._length[row] // self.cache_config.block_size)
        return num_free - blocks < self._watermark
