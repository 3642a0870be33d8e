"""V1's pages without stepping every token: the same run, from its events alone.

A step of V1 computes a token of every request that decodes, then a chunk of the one prompt that is
half computed, then prompts of those that wait. For the first nothing is done unless they need a
block or finish (see `decoders`), so a step costs what it changes. A step with a preemption is run
request by request, in the scheduler's order.

A block's content matters only where it may be looked up: prompts that begin alike do so by their
hash ids, and a victim finds its own blocks again. Tokens are never compared.

Block ids, their order, tables, times and counts are those of `pagesim.simulation.paged_v1`.
"""

from collections import deque
from collections.abc import Collection, Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from pagesim.simulation.cached_block_ids import CachedBlockIds
from pagesim.simulation.decoders import Decoders
from pagesim.simulation.fast_forward import refuse, why_compared, why_not
from pagesim.simulation.serving import Server, Step, too_long
from pagesim.simulation.waste import CACHED_PARTS, Slots, usage
from pagesim.v1.config import CacheConfig, SchedulerConfig
from pagesim.v1.starvation import what_it_lacks
from pagesim.workload.request import Request


@dataclass(slots=True)
class Asked:
    """A request that is not finished."""

    row: int
    request: Request
    length: int
    """Its known tokens while it does not decode."""
    prefixes: list[int] = field(default_factory=list)
    """For each hash id a number that stands for all ids up to it."""
    table: list[int] = field(default_factory=list)
    computed: int = 0
    """Its cached tokens while its prompt is computed."""

    @property
    def goal(self) -> int:
        return self.request.total_tokens


class Chunk(NamedTuple):
    """A part of a prompt, or of what a victim had, that a step computes."""

    asked: Asked
    start: int
    end: int
    is_last: bool
    """Whether a token is sampled after it."""
    decodes: bool
    """Whether it is but the token that was sampled last: see `paged_v1.Part`."""


class FastForwardV1Server(Server):
    """Decides as V1's scheduler would. UsageError for what must be stepped: see :func:`why_not`."""

    parts = CACHED_PARTS

    def __init__(self, scheduler_config: SchedulerConfig, cache_config: CacheConfig) -> None:
        refuse(why_not(scheduler_config, cache_config))
        self.scheduler_config = scheduler_config
        self.cache_config = cache_config
        self._block_size = cache_config.block_size
        self._caches = cache_config.enable_prefix_caching
        self.pool = (cache_config.num_gpu_blocks - 1) * self._block_size
        self.null_slots = self._block_size
        self._watermark = int(scheduler_config.watermark * cache_config.num_gpu_blocks)
        self._free = CachedBlockIds(cache_config.num_gpu_blocks)
        self._asked: dict[int, Asked] = {}
        """All that are not finished, by row."""
        self._waiting: deque[Asked] = deque()
        self._decoders = Decoders(self._block_size)
        self._half: Asked | None = None
        """The last running request, if its prompt is not complete."""
        self._chunks: list[Chunk] = []
        """What this step computes of prompts."""
        self._num_complete = 0
        """How many of these complete their prompt."""
        self._found: list[tuple[int, int]] = []
        """Rows that this step admits, and how many of their tokens were in the cache."""
        self._cached = 0
        """Cached tokens of the decoders."""
        self._empty = 0
        """Slots of their last blocks that are empty."""
        self._numbers: dict[tuple[int, int], int] = {}
        """A number for every beginning of hash ids: of the beginning before, and the next id."""
        self._too_long: dict[int, str] = {}
        self._starving: dict[int, str] = {}
        """Why requests wait forever: asked only when nothing can run any more."""

    @property
    def cached(self) -> int:
        return len(self._free.cached) * self._block_size

    @property
    def blocked(self) -> bool:
        return bool(self._waiting)

    def add(self, row: int, request: Request) -> bool:
        longest = self.scheduler_config.max_model_len
        if request.total_tokens > longest:
            self._too_long[row] = too_long(request, longest)
            return False
        refuse(why_compared(request) if self._caches else None)
        asked = self._asked[row] = Asked(row, request, request.prompt_tokens)
        prefix = -1
        for hash_id in request.hash_ids if self._caches else ():
            prefix = self._numbers.setdefault((prefix, hash_id), len(self._numbers))
            asked.prefixes.append(prefix)
        self._waiting.append(asked)
        return True

    def why_not(self, row: int) -> str:
        if row in self._too_long:
            return self._too_long[row]
        if not self._starving:
            why = {each.row: self._lacks(each) for each in self._asked.values()}
            self._starving = {row: f"it {words}" for row, words in why.items() if words}
        if row in self._starving:
            return self._starving[row]
        first = self._asked[next(iter(self._starving))].request.request_id
        return f"it waits behind request {first!r}, which waits forever"

    def schedule(self, clock: float) -> Step | None:
        decoders, config = self._decoders, self.scheduler_config
        if not (decoders.rows or self._waiting or self._half):
            return None
        preempted = self._decode()
        num_decoding = len(decoders.rows)
        self._cached += num_decoding
        self._empty -= num_decoding
        budget = config.max_num_batched_tokens - num_decoding
        self._chunks, self._found, self._num_complete = [], [], 0
        if self._half is not None:  # there is budget left: it is at least max_num_seqs
            budget -= self._continue(self._half, budget, preempted)
        if not preempted and budget and self._waiting:
            self._admit(budget)
        if not num_decoding and not self._chunks:
            return Step(preempted=preempted) if preempted else None
        decoders.steps += 1
        prompts, decodes, read, rows = 0, num_decoding, self._cached, []
        for asked, start, end, _, is_decode in self._chunks:  # as `costs`, in a single pass
            if is_decode:
                decodes += 1
                read += end
            else:
                prompts += end - start
                read += start
                rows.append(asked.row)
        batch, found = self._num_running(), self._found
        slots = self._usage(batch)
        return Step(batch, slots, prompts, decodes, read, 0, rows, preempted, found=found)

    def commit(
        self, tokens: Mapping[int, int] | None = None, ended: Collection[int] = ()
    ) -> tuple[list[int], list[int]]:
        finished = []
        for row in self._decoders.finished():
            asked = self._asked[row]
            self._empty -= -(asked.goal - 1) % self._block_size
            self._cached -= asked.goal - 1
            self._leave(asked)
            finished.append(row)
        answered = []
        for chunk in self._chunks:
            if not chunk.is_last:
                continue
            asked, row = chunk.asked, chunk.asked.row
            if not chunk.decodes:
                answered.append(row)
            if chunk.end + 1 < asked.goal:
                self._decoders.join(row, chunk.end + 1, asked.goal)
                self._empty += -chunk.end % self._block_size
                self._cached += chunk.end
            else:
                self._leave(asked)
                finished.append(row)
        return answered, finished

    def tables(self) -> dict[int, list[int]]:
        return {row: asked.table.copy() for row, asked in self._asked.items() if asked.table}

    # -- those that run --------------------------------------------------------------------------

    def _decode(self) -> list[int]:
        """Give the decoders their next slot; returns the rows that were preempted."""
        need, preempted = self._decoders.needing(), list[int]()
        if len(need) <= len(self._free):
            for row, block_id in zip(need, self._free.take(len(need)), strict=True):
                self._asked[row].table.append(block_id)
            self._empty += len(need) * self._block_size
            return preempted
        for row in list(need):
            if row not in self._decoders.rows:
                continue
            while not len(self._free):
                preempted.append(self._preempt())
                if preempted[-1] == row:
                    return preempted
            self._asked[row].table += self._free.take(1)
            self._empty += self._block_size
        return preempted

    def _continue(self, asked: Asked, budget: int, preempted: list[int]) -> int:
        """Compute more of the prompt that is half computed; returns how many tokens."""
        start, end = asked.computed, min(asked.length, asked.computed + budget)
        num_new = -(-end // self._block_size) - len(asked.table)
        if num_new > len(self._free):
            preempted.append(self._preempt())
            return 0
        asked.table += self._free.take(num_new)
        self._compute(asked, start, end)
        return end - start

    def _preempt(self) -> int:
        """Take the blocks of the last running request away; returns its row."""
        if self._half is not None:
            asked, self._half = self._half, None
        else:
            asked = self._asked[next(reversed(self._decoders.rows))]
            asked.length = self._decoders.leave(asked.row, asked.goal)
            asked.computed = asked.length - 1
            self._empty -= -asked.computed % self._block_size
            self._cached -= asked.computed
        if self._caches:
            self._remember(asked)
        self._release(asked)
        self._waiting.appendleft(asked)
        return asked.row

    def _leave(self, asked: Asked) -> None:
        """A request is finished: all but its last token are cached."""
        asked.computed = asked.goal - 1
        self._release(asked)
        del self._asked[asked.row]

    def _release(self, asked: Asked) -> None:
        full = asked.computed // self._block_size if self._caches else 0
        self._free.release(asked.table, full)
        asked.table, asked.computed = [], 0

    # -- those that wait -------------------------------------------------------------------------

    def _admit(self, budget: int) -> None:
        """Let waiting requests run in their order, up to the first for which there is no room."""
        config, block_size = self.scheduler_config, self._block_size
        while budget and self._waiting and self._num_running() < config.max_num_seqs:
            asked = self._waiting[0]
            hits = self._find(asked)
            start = len(hits) * block_size
            if not config.enable_chunked_prefill and asked.length - start > budget:
                return
            if self._is_short_of_blocks(asked, hits):
                return
            end = min(asked.length, start + budget)
            self._waiting.popleft()
            self._free.touch(hits)
            asked.table = hits + self._free.take(-(-end // block_size) - len(hits))
            if start:
                self._found.append((asked.row, start))
            self._compute(asked, start, end)
            budget -= end - start

    def _compute(self, asked: Asked, start: int, end: int) -> None:
        """A chunk of a request is computed; other prompts may begin with its blocks at once."""
        is_last = end == asked.length
        decodes = is_last and end - start == 1 and start >= asked.request.prompt_tokens
        self._chunks.append(Chunk(asked, start, end, is_last, decodes))
        asked.computed = end
        self._half = None if is_last else asked
        self._num_complete += is_last
        if asked.prefixes:
            self._remember(asked)

    def _remember(self, asked: Asked) -> None:
        """Its full blocks are found by their content from now on."""
        full = asked.computed // self._block_size
        for block_id, key in zip(asked.table, self._keys(asked, full), strict=False):
            self._free.remember(block_id, key)

    def _find(self, asked: Asked) -> list[int]:
        """The cached blocks that a request could begin with; a token remains to be computed."""
        if not self._caches:
            return []
        return self._free.find(self._keys(asked, (asked.length - 1) // self._block_size))

    def _keys(self, asked: Asked, count: int) -> Iterator[Hashable]:
        """The contents of a request's first blocks: equal if all tokens up to their ends are."""
        shared = asked.request.prompt_tokens // self._block_size if asked.prefixes else 0
        for index in range(count):
            if index < shared:
                last = ((index + 1) * self._block_size - 1) // asked.request.hash_block_tokens
                yield asked.prefixes[last], index
            else:
                yield -1 - asked.row, index

    def _is_short_of_blocks(self, asked: Asked, hits: list[int]) -> bool:
        """Whether all of a request's tokens would not fit; hits in the queue cost a block too."""
        in_use = sum(block_id not in self._free.cached for block_id in hits)
        needed = -(-asked.length // self._block_size) - in_use
        kept_free = self._watermark if self._num_running() else 0
        return needed + kept_free > len(self._free)

    def _lacks(self, asked: Asked) -> str | None:
        return what_it_lacks(
            asked.length,
            asked.computed,
            lambda: len(self._find(asked)) * self._block_size,
            self.scheduler_config,
            self.cache_config,
        )

    # -- where the slots are ---------------------------------------------------------------------

    def _num_running(self) -> int:
        """Decoders, the request that is half computed, and those that this step completes."""
        return len(self._decoders) + (self._half is not None) + self._num_complete

    def _usage(self, batch: int) -> Slots:
        """The slots while this step runs."""
        block_size, free = self._block_size, len(self._free) * self._block_size
        empty = self._empty + sum([-chunk.end % block_size for chunk in self._chunks])
        has_seat = batch < self.scheduler_config.max_num_seqs
        head = self._waiting[0] if has_seat and self._waiting else None
        head_waits = head is not None and self._is_short_of_blocks(head, self._find(head))
        return usage(self.pool - free, free - self.cached, head_waits, empty)
