"""V1's groups without stepping every token, where nothing is cached: full attention and windows.

As in `fast_forward_v1`, a request that decodes is touched only where something happens to it: in
each group it needs its next block in the same steps, and a window drops a block in other ones. Both
are known by the request's length modulo the block size, so one set of buckets serves both.

Tables, times and counts are those of `paged_v1_groups`.
"""

from array import array
from collections.abc import Collection, Mapping, Sequence

from pagesim.simulation.fast_forward_v1 import Asked, FastForwardV1Server
from pagesim.simulation.groups import names_of
from pagesim.simulation.serving import Step
from pagesim.simulation.waste import Slots, usage
from pagesim.sizing.kv_cache_spec import KVCacheSpec, SlidingWindowSpec
from pagesim.v1.config import CacheConfig, SchedulerConfig
from pagesim.v1.starvation import what_it_lacks


class FastForwardGroupsServer(FastForwardV1Server):
    """`FastForwardV1Server` for groups of equal block sizes. UsageError as there."""

    def __init__(
        self,
        scheduler_config: SchedulerConfig,
        cache_config: CacheConfig,
        layers: Sequence[int] = (),
    ) -> None:
        super().__init__(scheduler_config, cache_config)
        self._specs: tuple[KVCacheSpec, ...] = tuple(cache_config.groups or ())
        self.layers = tuple(layers) or (1,) * len(self._specs)
        self.group_names = tuple(names_of(self._specs))
        self.held = array("q")
        self._windows = [
            spec.sliding_window if isinstance(spec, SlidingWindowSpec) else None
            for spec in self._specs
        ]
        config = scheduler_config
        longest, in_flight = config.max_model_len, config.max_num_batched_tokens
        self._caps = [
            longest if window is None else spec.blocks_for(longest, in_flight)
            for spec, window in zip(self._specs, self._windows, strict=True)
        ]
        """The most blocks that a request is asked to have room for, by group."""
        self._by_group: dict[int, list[list[int]]] = {}
        """The tables of each row that runs; 0 stands for a block behind a window."""
        self._dropped: dict[int, list[int]] = {}
        """How many of their first entries are 0, by group."""
        self._counts = [0] * len(self._specs)
        """Blocks that requests hold, by group."""
        self._order: dict[int, int] = {}
        """The decoders in running order: when each of them joined."""
        self._num_joined = 0
        self._joined: list[int] = []
        """Those that decode in the next step for the first time."""

    def tables_of(self, group_id: int) -> dict[int, list[int]]:
        """Return copies of a group's block tables by row."""
        return {row: tables[group_id].copy() for row, tables in self._by_group.items()}

    def tables(self) -> dict[int, list[int]]:
        return self.tables_of(0)

    def schedule(self, clock: float) -> Step | None:
        step = super().schedule(clock)
        if step is None or step.usage is None:
            return step
        lengths = [base + self._decoders.steps - 1 for base in self._decoders.rows.values()]
        whole = 0
        for window, layers in zip(self._windows, self.layers, strict=True):
            whole += layers * self._read(window, lengths)
        return step._replace(read=round(whole / sum(self.layers)))

    def commit(
        self, tokens: Mapping[int, int] | None = None, ended: Collection[int] = ()
    ) -> tuple[list[int], list[int]]:
        answered, finished = super().commit(tokens, ended)
        for row in finished:
            self._order.pop(row, None)
        rows = [chunk.asked.row for chunk in self._chunks if chunk.is_last]
        self._joined = [row for row in rows if row in self._decoders.rows]
        for row in self._joined:
            self._order[row] = self._num_joined = self._num_joined + 1
        return answered, finished

    # -- those that run --------------------------------------------------------------------------

    def _decode(self) -> list[int]:
        decoders, size, preempted = self._decoders, self._block_size, list[int]()
        rows = {*decoders.needing(), *self._joined}
        self._joined = []
        for window in {window for window in self._windows if window is not None}:
            rows.update(decoders.at_length(window))
        for row in sorted(rows, key=self._order.__getitem__):
            if row not in decoders.rows:
                continue
            computed = decoders.rows[row] + decoders.steps - 1
            self._drop(row, computed)
            if computed % size:
                continue
            while len(self._free) < len(self._specs):
                preempted.append(self._preempt())
                if preempted[-1] == row:
                    return preempted
            self._grow(row, 1)
            self._empty += size
        return preempted

    def _continue(self, asked: Asked, budget: int, preempted: list[int]) -> int:
        start, end = asked.computed, min(asked.length, asked.computed + budget)
        self._drop(asked.row, start)
        num_new = -(-end // self._block_size) - len(self._by_group[asked.row][0])
        if num_new * len(self._specs) > len(self._free):
            preempted.append(self._preempt())
            return 0
        self._grow(asked.row, num_new)
        self._compute(asked, start, end)
        return end - start

    def _grow(self, row: int, num_new: int) -> None:
        """So many more blocks in each group, group by group."""
        tables = self._by_group.setdefault(row, [[] for _ in self._specs])
        self._dropped.setdefault(row, [0] * len(self._specs))
        for group, table in enumerate(tables):
            table.extend(self._free.take(num_new))
            self._counts[group] += num_new

    def _drop(self, row: int, computed: int) -> None:
        """Free what the next token does not look at."""
        tables, dropped = self._by_group[row], self._dropped[row]
        for group, window in enumerate(self._windows):
            if window is None:
                continue
            start, table = dropped[group], tables[group]
            end = min(max(computed - window + 1, 0) // self._block_size, len(table))
            if end > start:
                self._free.blank.returned += table[start:end]
                table[start:end] = [0] * (end - start)
                dropped[group] = end
                self._counts[group] -= end - start

    def _preempt(self) -> int:
        row = super()._preempt()
        self._order.pop(row, None)
        return row

    def _release(self, asked: Asked) -> None:
        tables, dropped = self._by_group.pop(asked.row, []), self._dropped.pop(asked.row, [])
        for group, table in enumerate(tables):
            kept = table[dropped[group] :]
            self._free.blank.returned += kept
            self._counts[group] -= len(kept)
        asked.computed = 0

    # -- those that wait -------------------------------------------------------------------------

    def _admit(self, budget: int) -> None:
        config = self.scheduler_config
        while budget and self._waiting and self._num_running() < config.max_num_seqs:
            asked = self._waiting[0]
            if not config.enable_chunked_prefill and asked.length > budget:
                return
            if self._is_short_of_blocks(asked, []):
                return
            end = min(asked.length, budget)
            self._waiting.popleft()
            self._grow(asked.row, -(-end // self._block_size))
            self._compute(asked, 0, end)
            budget -= end

    def _blocks_at_once(self, num_tokens: int) -> int:
        return sum(min(-(-num_tokens // self._block_size), cap) for cap in self._caps)

    def _is_short_of_blocks(self, asked: Asked, hits: list[int]) -> bool:
        kept_free = self._watermark if self._num_running() else 0
        return self._blocks_at_once(asked.length) + kept_free > len(self._free)

    def _lacks(self, asked: Asked) -> str | None:
        configs = self.scheduler_config, self.cache_config
        return what_it_lacks(
            asked.length, asked.computed, lambda: 0, *configs, self._blocks_at_once
        )

    # -- where the places are --------------------------------------------------------------------

    def _read(self, window: int | None, lengths: list[int]) -> int:
        """Tokens that one layer reads: a window reads at most its own."""
        most = window or self.scheduler_config.max_model_len
        read = sum([length if length < most else most for length in lengths])
        for chunk in self._chunks:
            read += min(chunk.end, most) if chunk.decodes else min(chunk.start, most - bool(window))
        return read

    def _usage(self, batch: int) -> Slots:
        size, free = self._block_size, len(self._free) * self._block_size
        empty = self._empty + sum([-chunk.end % size for chunk in self._chunks])
        starts = [base + self._decoders.steps - 2 for base in self._decoders.rows.values()]
        starts += [chunk.start for chunk in self._chunks]
        for window, count in zip(self._windows, self._counts, strict=True):
            behind = 0
            if window is not None:
                behind = sum([(start - window + 1) % size for start in starts if start >= window])
            self.held.extend((count * size - empty - behind, empty, behind))
        has_seat = batch < self.scheduler_config.max_num_seqs
        head = self._waiting[0] if has_seat and self._waiting else None
        head_waits = head is not None and self._is_short_of_blocks(head, [])
        return usage(self.pool - free, free, head_waits, empty * len(self._specs))
