"""The pages of vLLM V1: the real scheduler and KV cache manager, every token stepped.

This is what V1's engine does around its scheduler. Asynchronously the next step is decided before
the tokens of the present one are known, so a request that has just arrived waits one step longer.
"""

from collections import deque
from collections.abc import Collection, Hashable, Iterable, Mapping
from contextlib import ExitStack
from itertools import chain, islice
from math import nan
from typing import NamedTuple

from pagesim.cache import AttentionMetadata, build_v1_metadata
from pagesim.errors import UsageError
from pagesim.journal.effects import MAX_BLOCKS, Name
from pagesim.simulation.paged_requests import check_sampled, prompt_of
from pagesim.simulation.serving import Gauges, PagedServing, Step, costs, too_long
from pagesim.simulation.waste import CACHED_PARTS, Slots, usage
from pagesim.timeline import Timeline
from pagesim.timeline import record as recorded
from pagesim.v1.config import CacheConfig, SchedulerConfig
from pagesim.v1.offload.config import OffloadingConfig
from pagesim.v1.output import SchedulerOutput
from pagesim.v1.request import Request as V1Request
from pagesim.v1.scheduler import Scheduler
from pagesim.v1.starvation import what_it_lacks, why_it_waits_forever
from pagesim.workload.request import Request


class Part(NamedTuple):
    """What a step computes of one request: positions ``start`` to ``end``."""

    row: int
    request: V1Request
    start: int
    end: int
    samples: bool
    """Whether its last token is followed by a new one."""
    decodes: bool
    """Whether its only token is the one that was sampled last."""


class NoMoves:
    """V1 neither swaps nor copies."""

    blocks_to_swap_in: tuple[tuple[int, int], ...] = ()
    blocks_to_swap_out: tuple[tuple[int, int], ...] = ()
    blocks_to_copy: tuple[tuple[int, int], ...] = ()


class PagedV1Server(PagedServing):
    """`pagesim.v1.Scheduler` with its manager; see :class:`pagesim.simulation.PagedServing`.

    The null block is not part of ``pool``. What exceeds ``max_model_len`` is refused, as V1's
    engine does; what exceeds the pool is not, and waits forever in front of all others. ``record``
    asks for a timeline. UsageError for more blocks than a timeline may have: V1's pool makes them
    all at once.
    """

    parts = CACHED_PARTS
    can_fork = False
    moves = NoMoves()

    def __init__(
        self,
        scheduler_config: SchedulerConfig,
        cache_config: CacheConfig,
        record: bool = False,
        offloading_config: OffloadingConfig | None = None,
    ) -> None:
        if cache_config.num_gpu_blocks > MAX_BLOCKS:
            raise UsageError(
                f"{cache_config.num_gpu_blocks} blocks are too many: a stepped run of V1 may "
                f"have at most {MAX_BLOCKS}. Simulate a smaller pool, or larger blocks"
            )
        self.scheduler = Scheduler(scheduler_config, cache_config, offloading_config)
        self.pool = (cache_config.num_gpu_blocks - 1) * cache_config.block_size
        self.null_slots = cache_config.block_size
        self._recording = ExitStack()
        self._timeline = self._recording.enter_context(recorded(self.scheduler)) if record else None
        self._arrived: deque[tuple[int, Request]] = deque()
        """Requests that have arrived and are not yet in the scheduler's queue."""
        self._names: dict[int, str] = {}
        """What the workload calls the requests that are not finished."""
        self._too_long: dict[int, str] = {}
        self._now: tuple[SchedulerOutput, list[Part]]
        self._ahead: tuple[SchedulerOutput, list[Part]] | None = None
        """Asynchronously: the next step, decided before the present one is known."""
        self._preempted: list[int] = []
        """Rows preempted since the last step was told."""
        self._found: list[tuple[int, int]] = []
        """Rows admitted since then, and how many of their tokens were in the cache."""
        self._seen: set[Hashable] = set()
        """The states after each preemption since a token was sampled, where a run may spin."""
        self._spins = False
        self._may_spin = not scheduler_config.scheduler_reserve_full_isl
        """Otherwise what was admitted once has room for its whole prompt when it runs alone."""
        self._starving: dict[int, str] | None = None
        """Why requests wait forever, once that is asked after the last step."""

    @property
    def cached(self) -> int:
        pool = self.scheduler.kv_cache_manager.block_pool
        return pool.num_cached_free_blocks * pool.hash_block_size

    @property
    def blocked(self) -> bool:
        return bool(self.scheduler.waiting) and not self._spins

    def add(self, row: int, request: Request) -> bool:
        longest = self.scheduler.scheduler_config.max_model_len
        if request.total_tokens > longest:
            self._too_long[row] = too_long(request, longest)
            return False
        self._arrived.append((row, request))
        self._names[row], self._spins = request.request_id, False
        return True

    def why_not(self, row: int) -> str:
        if row in self._too_long:
            return self._too_long[row]
        if row not in self._names:
            raise UsageError(f"request {row} is neither ignored nor stuck")
        if self._starving is None:
            self._starving = self._find_starving()
        if row in self._starving:
            return self._starving[row]
        first = next((self._names[each] for each in self._starving), "")
        return f"it waits behind request {first!r}, which waits forever"

    def schedule(self, clock: float) -> Step | None:
        """As a server's: None also if all is preempted over and over, without a new token."""
        self._starving = None
        self._queue()
        decided, self._ahead = self._ahead, None
        if decided is None and not self._spins:
            decided = self._decide()
        preempted, self._preempted = self._preempted, []
        found, self._found = self._found, []
        if decided is None:
            return Step(preempted=preempted) if preempted else None
        self._now = decided
        parts = decided[1]
        prefills = [part.row for part in parts if not part.decodes]
        batch = max(len(self.scheduler.running), len(parts))
        cost = self._costs([(p.start, p.end, p.decodes) for p in parts])
        return Step(batch, self._usage(), *cost, 0, prefills, preempted, found=found)

    def batch(self) -> AttentionMetadata:
        return build_v1_metadata(self._now[0], self.scheduler)

    def commit(
        self, tokens: Mapping[int, int] | None = None, ended: Collection[int] = ()
    ) -> tuple[list[int], list[int]]:
        output, parts = self._now
        new = [part for part in parts if part.samples and part.row in self.scheduler.requests]
        if tokens is not None or ended:
            check_sampled([part.row for part in new], tokens, ended)
        if parts and self.scheduler.scheduler_config.async_scheduling:
            self._ahead = self._decide()
        sampled: dict[Name, list[int]]
        sampled = {row: [-1 - row if tokens is None else tokens[row]] for row, *_ in new}
        for part in new if ended else ():
            if part.row in ended:
                part.request.stop_token_ids = frozenset(sampled[part.row])
        self._update(output, sampled)
        if new:
            self._seen.clear()
        answered = [part.row for part in new if not part.decodes]
        finished = [part.row for part in new if part.request.is_finished()]
        for row in finished:
            del self._names[row]
        return answered, finished

    def tables(self) -> dict[int, list[int]]:
        manager = self.scheduler.kv_cache_manager.coordinator.single_type_managers[0]
        tables = manager.req_to_blocks
        return {int(row): [block.block_id for block in table] for row, table in tables.items()}

    def gauges(self) -> Gauges:
        """What the engine measures now, between two steps."""
        running, waiting = self.scheduler.get_request_counts()
        usage = self.scheduler.kv_cache_manager.usage
        return Gauges(running, waiting + len(self._arrived), nan, usage, self._share_of_tokens())

    def _share_of_tokens(self) -> float:
        """The fraction of the slots that hold a token."""
        return self._usage()[0] / self.pool if self.pool else 0.0

    def finish(self) -> Timeline | None:
        """The timeline, whose last events say what waits forever."""
        if self._timeline is not None:
            for row, why in self._find_starving().items():
                error = UsageError(f"{why}, so it waits forever")
                self.scheduler.journal.fail("schedule", row, error)
            self._recording.close()
        return self._timeline

    # -- a step ----------------------------------------------------------------------------------

    def _queue(self) -> None:
        """Move requests that have arrived to the scheduler's queue, as far as a step can look.

        The adaptive threshold counts all of them, and a timeline shows them.
        """
        scheduler = self.scheduler
        config = scheduler.scheduler_config
        needs_all = config.long_prefill_token_threshold_adaptive or self._timeline is not None
        needs_all = needs_all or scheduler.connector is not None  # who waits for a copy is passed
        while self._arrived and (needs_all or len(scheduler.waiting) <= config.max_num_seqs):
            row, request = self._arrived.popleft()
            scheduler.add_request(self._v1_request(row, request))

    def _v1_request(self, row: int, request: Request) -> V1Request:
        manager = self.scheduler.kv_cache_manager
        hashes = manager.enable_caching or self.scheduler.connector is not None
        return V1Request(
            row,
            prompt_of(request, row),
            block_size=manager.block_pool.hash_block_size if hashes else None,
            max_tokens=request.output_tokens,
            arrival_time=request.arrival_s,
        )

    def _decide(self) -> tuple[SchedulerOutput, list[Part]] | None:
        """Schedule a step; None if it is empty."""
        scheduler = self.scheduler
        if not scheduler.requests:
            return None
        return self._decided(scheduler.schedule())

    def _decided(self, output: SchedulerOutput) -> tuple[SchedulerOutput, list[Part]] | None:
        """What a step computes; None if that is nothing."""
        scheduler = self.scheduler
        if output.preempted_req_ids:
            self._preempted += map(int, output.preempted_req_ids)
            self._look_whether_it_spins()
        known = output.scheduled_cached_reqs
        found = [(new.req_id, new.num_computed_tokens) for new in output.scheduled_new_reqs]
        if known.resumed_req_ids:
            pairs = zip(known.req_ids, known.num_computed_tokens, strict=True)
            found += [(row, tokens) for row, tokens in pairs if row in known.resumed_req_ids]
        self._note_found(found)
        parts, requests = [], scheduler.requests
        for name, count in output.num_scheduled_tokens.items():
            row, request = int(name), requests[name]
            end = request.num_computed_tokens
            samples = not request.is_prefill_chunk
            decodes = samples and count == 1 and end > request.num_prompt_tokens
            parts.append(Part(row, request, end - count, end, samples, decodes))
        return (output, parts) if parts else None

    def _update(self, output: SchedulerOutput, sampled: dict[Name, list[int]]) -> None:
        """Tell the scheduler what the step has sampled."""
        self.scheduler.update_from_output(output, sampled)

    def _note_found(self, found: Iterable[tuple[Name, int]]) -> None:
        """The rows that a step admits, and how many of their tokens were in the cache."""
        self._found += [(int(row), tokens) for row, tokens in found if tokens]

    def _costs(self, parts: list[tuple[int, int, bool]]) -> tuple[int, int, int]:
        return costs(parts, self.scheduler.cache_config.sliding_window)

    def _more_state(self) -> tuple[Hashable, ...]:
        """What else decides what comes next."""
        return ()

    def _look_whether_it_spins(self) -> None:
        """Notice a state in which the scheduler was before, without a token sampled since.

        Blocks are told by their content, since their ids decide nothing. Of the queue only what a
        step can look at counts.
        """
        scheduler, config = self.scheduler, self.scheduler.scheduler_config
        if not self._may_spin:
            return
        seen = None if config.long_prefill_token_threshold_adaptive else config.max_num_seqs + 1
        requests = tuple(
            (r.request_id, r.num_computed_tokens, r.num_tokens, r.num_stale_output_tokens)
            for r in chain(scheduler.running, islice(scheduler.waiting, seen))
        )
        queue = scheduler.kv_cache_manager.block_pool.free_block_queue
        blocks = tuple(block.block_hash for block in queue.get_all_free_blocks())
        state = (len(scheduler.running), requests, blocks, self._more_state())
        self._spins = state in self._seen
        self._seen.add(state)

    def _find_starving(self) -> dict[int, str]:
        """Why no step can ever complete these requests, by row."""
        scheduler = self.scheduler
        manager = scheduler.kv_cache_manager
        most = manager.coordinator.most_blocks_at_once
        configs = scheduler.scheduler_config, scheduler.cache_config
        why: dict[Name, str | None] = {}
        for row, its in scheduler.requests.items():
            words = why_it_waits_forever(scheduler, its)
            why[row] = words and words.removeprefix(f"request {row!r} ")
        for row, request in self._arrived:

            def find(row: int = row, request: Request = request) -> int:
                return manager.get_computed_blocks(self._v1_request(row, request))[1]

            why[row] = what_it_lacks(request.prompt_tokens, 0, find, *configs, most)
        return {int(row): f"it {words}" for row, words in why.items() if words}

    def _usage(self) -> Slots:
        """The slots while this step runs.

        Full blocks alone are shared, so a request has empty slots only in a last block of its own.
        """
        scheduler, block_size = self.scheduler, self.scheduler.cache_config.block_size
        free = scheduler.kv_cache_manager.block_pool.get_num_free_blocks() * block_size
        empty = sum([-r.num_computed_tokens % block_size for r in scheduler.running])
        return usage(self.pool - free, free - self.cached, self._head_waits(), empty=empty)

    def _head_waits(self) -> bool:
        """Whether the head of the queue waits for lack of blocks rather than seats or budget."""
        scheduler, manager = self.scheduler, self.scheduler.kv_cache_manager
        config, running = scheduler.scheduler_config, len(scheduler.running)
        if not scheduler.waiting or running >= config.max_num_seqs:
            return False
        head = scheduler.waiting.peek_request()
        hits, found, _ = manager.get_computed_blocks(head)
        tokens = head.num_tokens
        if not config.scheduler_reserve_full_isl:
            tokens = min(tokens, found + config.max_num_batched_tokens)
        needed = manager.coordinator.get_num_blocks_to_allocate(
            head.request_id, tokens, hits.blocks, 0, found, found, tokens, apply_admission_cap=True
        )
        kept_free = manager.watermark_blocks if running else 0
        return needed + kept_free > manager.block_pool.get_num_free_blocks()
