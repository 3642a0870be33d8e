"""What really happens to V1's scheduler, told by its objects while it runs: no event is read.

Every call by which the scheduler asks for blocks is watched, and judged by the pool as it is then.
"""

from collections import defaultdict
from typing import Any

from pagesim import v1
from pagesim.v1 import Request, RequestStatus

Found = dict[str, set[Any]]


class Truth:
    """Watches a scheduler; ``facts`` has what occurred, by the name of its predicate."""

    def __init__(self, scheduler: v1.Scheduler) -> None:
        self.scheduler, self.manager = scheduler, scheduler.kv_cache_manager
        self.config, self.pool = scheduler.scheduler_config, self.manager.block_pool
        self.facts: Found = defaultdict(set)
        self.number, self.salted = 0, False
        self.high: dict[Any, int] = {}
        self.twice: dict[Any, int] = defaultdict(int)
        self.sampled: dict[Any, int] = {}
        self.took_part: dict[Any, int] = {}
        self.seen: set[Any] = set()
        self.ever: dict[bytes, None] = {}
        self.contents: dict[bytes, tuple[int, ...]] = {}
        self.copies = 0
        self.refused: list[tuple[Any, str]] = []
        self._allocate, self._schedule = self.manager.allocate_slots, scheduler.schedule
        self._preempt = scheduler._preempt_request
        self.manager.allocate_slots = self.allocate  # type: ignore[method-assign]
        self._update = scheduler.update_from_output
        scheduler.update_from_output = self.update  # type: ignore[method-assign]
        self.victims: list[Any] = []
        scheduler.schedule = self.schedule  # type: ignore[method-assign]
        scheduler._preempt_request = self.preempt  # type: ignore[method-assign, assignment]
        if scheduler.connector:
            self._match = scheduler.connector.get_num_new_matched_tokens
            scheduler.connector.get_num_new_matched_tokens = self.match  # type: ignore[method-assign]
            self._load = scheduler.connector.update_state_after_alloc
            scheduler.connector.update_state_after_alloc = self.load  # type: ignore[method-assign]
            self.loads: dict[Any, int] = defaultdict(int)

    def known(self) -> Found:
        """What occurred, with what is counted over the whole run."""
        twice = {(name, count) for name, count in self.twice.items() if count}
        return self.facts | {"computed twice": twice, "equal blocks": {self.copies} - {0}}

    # -- what the pool has ------------------------------------------------------------------------

    def cached(self) -> set[bytes]:
        """The hashes that can be found, remembered for ever."""
        now = {block.block_hash for block in self.pool.blocks if block.block_hash is not None}
        self.ever |= dict.fromkeys(now)
        return now

    def learn(self, request: Request) -> None:
        size, tokens = self.manager.block_size, request.all_token_ids
        for at, block_hash in enumerate(request.block_hashes):
            if block_hash not in self.contents:
                self.contents[block_hash] = tuple(tokens[: (at + 1) * size])

    # -- watched calls ----------------------------------------------------------------------------

    def allocate(self, request: Request, num_new: int, hit: int = 0, hits: Any = None, **more: Any):
        is_first = request.status in (RequestStatus.WAITING, RequestStatus.PREEMPTED)
        is_plain = len(self.manager.kv_cache_groups) == 1 and not self.window
        loaded = bool(self.manager.get_block_ids(request.request_id)[0])
        found = [] if hits is None else hits.blocks[0]
        free, shared = self.pool.get_num_free_blocks(), sum(block.ref_cnt > 0 for block in found)
        self.learn(request)
        now = self.cached()
        external = more.get("num_external_computed_tokens", 0)
        self.before = dict(self.ever)
        told = self._allocate(request, num_new, hit, hits, **more)
        self.cached()
        if not is_first or not is_plain:
            return told
        if told is None:
            held = len(self.manager.get_block_ids(request.request_id)[0]) if loaded else shared
            self.refuse(request, num_new, hit, external, held, free)
        elif request.request_id not in self.seen and not loaded:
            self.seen.add(request.request_id)
            if self.manager.enable_caching and not external:
                self.misses(request, hit, now)
        return told

    @property
    def window(self) -> bool:
        return isinstance(self.manager.kv_cache_groups[0], v1.SlidingWindowSpec)

    def blocks(self, tokens: int) -> int:
        return -(-min(tokens, self.config.max_model_len) // self.manager.block_size)

    def refuse(
        self, request: Request, num_new: int, hit: int, external: int, held: int, free: int
    ) -> None:
        tokens = request.num_tokens
        if not self.config.scheduler_reserve_full_isl:
            tokens = request.num_computed_tokens + hit + external + num_new
        need, usable = self.blocks(tokens), self.pool.num_gpu_blocks - 1
        kept = self.manager.watermark_blocks if self.scheduler.running else 0
        kind = "guard"
        if need > usable and self.config.scheduler_reserve_full_isl:
            kind = "never fits"
        elif need - held > free:
            kind = "room"
        elif need - held > free - kept:
            kind = "watermark"
        name = request.request_id if kind == "never fits" else self.number
        self.facts[kind].add(name)

    def misses(self, request: Request, hit: int, now: set[bytes]) -> None:
        size, name, hashes = self.manager.block_size, request.request_id, request.block_hashes
        index, last = hit // size, (request.num_tokens - 1) // size
        if index < len(hashes) and hashes[index] in now:
            kind = "last block" if index == last else "salt"
            self.facts[kind].add(name)
            return
        own = tuple(request.all_token_ids)
        contents = [self.contents.get(each, ()) for each in now]
        if index < last and own[: (index + 1) * size] in contents:
            self.facts["salt"].add(name)
            return
        end = index
        while end < last and hashes[end] in self.before and hashes[end] not in now:
            end += 1
        if end > index:
            self.facts["evicted"].add(name)
            if any(each in now for each in hashes[end:last]):
                self.facts["hole"].add(name)
            return
        best = 0
        for other in contents:
            if len(other) == (index + 1) * size and other[: index * size] == own[: index * size]:
                pairs = zip(other[index * size :], own[index * size :], strict=False)
                same = [a == b for a, b in pairs]
                best = max(best, same.index(False) if False in same else len(same))
        if best:
            self.facts["part of a block"].add((name, best))

    def preempt(self, request: Request, *more: Any, **options: Any) -> None:
        name = request.request_id
        if self.in_step:
            self.victims.append(name)
            if not self.sampled.get(name) and self.took_part.get(name):
                self.facts["in vain"].add(name)
        self.sampled[name] = self.took_part[name] = 0
        self._preempt(request, *more, **options)

    def match(self, request: Request, num_computed: int) -> Any:
        told = self._match(request, num_computed)
        if told[0] is None:
            self.facts["copied"].add((request.request_id, self.number))
        return told

    def load(self, request: Request, blocks: Any, num_external: int) -> None:
        self._load(request, blocks, num_external)
        if num_external and not self.scheduler.connector._states[request.request_id].is_sync:
            self.loads[request.request_id] += 1
            if self.loads[request.request_id] > 1:
                self.facts["loaded again"].add(request.request_id)

    in_step = False

    def schedule(self) -> v1.SchedulerOutput:
        self.number += 1
        self.in_step, self.victims = True, []
        output = self._schedule()
        self.in_step = False
        self.judge(output)
        return output

    def update(self, output: v1.SchedulerOutput, report: Any) -> Any:
        free = self.pool.get_num_free_blocks()
        told = self._update(output, report)
        is_late = self.config.async_scheduling
        if self.victims and not is_late and self.pool.get_num_free_blocks() > free:
            self.facts["just before room"].add(self.number)
        return told

    # -- a step -----------------------------------------------------------------------------------

    def judge(self, output: v1.SchedulerOutput) -> None:
        prompts, left = self.judge_batch(output)
        self.judge_copies()
        scheduler, config = self.scheduler, self.config
        if not (scheduler.kv_holding_waiting or scheduler.waiting) or scheduler.connector:
            return
        head = scheduler.waiting.peek_request()
        is_plain = len(self.manager.kv_cache_groups) == 1 and not self.window
        fits = is_plain and left > 0 and self.fits(head, left)
        if self.victims:
            if fits:
                self.facts["admits nobody"].add(self.number)
        elif len(scheduler.running) >= config.max_num_seqs:
            if fits:
                self.facts["seats"].add(self.number)
        elif left <= 0 and prompts and 2 * max(prompts) >= config.max_num_batched_tokens:
            self.facts["budget"].add(self.number)

    def judge_batch(self, output: v1.SchedulerOutput) -> tuple[list[int], int]:
        """How many tokens each prompt computes, and how many tokens the step has left."""
        scheduler, config = self.scheduler, self.config
        tokens, requests = output.num_scheduled_tokens, scheduler.requests
        total, prompts = sum(tokens.values()), []
        for name, count in tokens.items():
            request = requests[name]
            self.took_part[name] = self.took_part.get(name, 0) + 1
            end, start = request.num_computed_tokens, request.num_computed_tokens - count
            self.twice[name] += max(0, min(end, self.high.get(name, 0)) - start)
            self.high[name] = max(end, self.high.get(name, 0))
            known = request.num_tokens + request.num_output_placeholders
            self.sampled[name] = self.sampled.get(name, 0) + (not request.is_prefill_chunk)
            if scheduler.connector:
                self.loads[name] = 0
            if config.async_scheduling and not request.is_prefill_chunk:
                known -= 1
            if start + 1 != known:
                prompts.append(count)
                is_cut = count == config.long_prefill_token_threshold and end < request.num_tokens
                if is_cut and total < config.max_num_batched_tokens:
                    self.facts["threshold"].add(self.number)
        return prompts, config.max_num_batched_tokens - total

    def judge_copies(self) -> None:
        now = [block for block in self.pool.blocks if block.block_hash and block.ref_cnt]
        for request in self.scheduler.requests.values():
            self.learn(request)
        texts = [self.contents.get(block.block_hash) for block in now]
        self.copies = max(self.copies, len(texts) - len(set(texts)))

    def fits(self, request: Request, left: int) -> bool:
        hits, found, _ = self.manager.get_computed_blocks(request)
        tokens = request.num_tokens
        threshold = self.config.long_prefill_token_threshold or tokens
        if not self.config.scheduler_reserve_full_isl:
            tokens = min(tokens, found + min(left, threshold))
        shared = sum(block.ref_cnt > 0 for block in hits.blocks[0])
        kept = self.manager.watermark_blocks if self.scheduler.running else 0
        total = self.blocks(request.num_tokens)
        free = self.pool.get_num_free_blocks() - kept
        return total < self.pool.num_gpu_blocks and self.blocks(tokens) - shared <= free
