"""The KV cache manager: all that the scheduler asks of the blocks.

Source: vLLM 0.33.0, ``vllm/v1/core/kv_cache_manager.py``.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from pagesim.checks import check_fraction, check_int, explained
from pagesim.journal import event
from pagesim.journal.effects import GET_COMPUTED_BLOCKS, KNOWN, Name, is_name
from pagesim.journal.state import FULL, Group, State, TableState
from pagesim.sizing.kv_cache_spec import FullAttentionSpec, KVCacheSpec, MambaSpec
from pagesim.v1.block_pool import FREE_QUEUE
from pagesim.v1.groups import cache_groups
from pagesim.v1.kv_cache_coordinator import Blocks, get_kv_cache_coordinator
from pagesim.v1.kv_cache_guards import check_tokens_of
from pagesim.v1.kv_cache_metrics import KVCacheMetricsCollector
from pagesim.v1.kv_cache_utils import KVCacheBlock
from pagesim.v1.kv_events import KVCacheEvent, with_kind
from pagesim.v1.request import Request, RequestStatus, check_bits, check_block_size
from pagesim.v1.state import (
    GroupTable,
    Owner,
    check_name,
    groups_as_shown,
    note_hits,
    note_skipped,
    note_written,
    read_pool,
)
from pagesim.v1.stats import PrefixCacheStats

RUNNING = RequestStatus.RUNNING


def request_id_of(_: object, result: object, request: Request, *more: object) -> Name:
    """Whom a call concerns."""
    return request.request_id


@dataclass(frozen=True, slots=True)
class KVCacheBlocks:
    """The blocks of a request, one list for each KV cache group."""

    blocks: tuple[Sequence[KVCacheBlock], ...]

    def get_block_ids(self) -> tuple[list[int], ...]:
        """Return the ids of the blocks."""
        return tuple([block.block_id for block in group] for group in self.blocks)


class KVCacheManager:
    """Block tables on one pool of ``num_gpu_blocks`` blocks, including the null block.

    The model's layers are of one kind, with blocks of ``block_size`` tokens and, for a window,
    ``sliding_window`` tokens; or they form several ``groups``, each with a spec and tables of its
    own, and ``hash_block_size`` divides all their block sizes. ``max_in_flight_tokens`` is the
    maximum number of tokens scheduled but not yet computed. ``enable_kv_cache_events`` keeps what a
    router should hear, and a ``metrics_collector`` hears what blocks live through. The other
    arguments are those of `CacheConfig` and `SchedulerConfig`. A call that raises has changed
    nothing.
    """

    def __init__(
        self,
        num_gpu_blocks: int,
        block_size: int | None = None,
        max_model_len: int = sys.maxsize,
        enable_caching: bool = True,
        sliding_window: int | None = None,
        watermark: float = 0.0,
        max_in_flight_tokens: int | None = None,
        retention_interval: int | None = 0,
        *,
        groups: Iterable[KVCacheSpec] | None = None,
        hash_block_size: int | None = None,
        enable_kv_cache_events: bool = False,
        metrics_collector: KVCacheMetricsCollector | None = None,
    ) -> None:
        self.max_model_len = check_int("max_model_len", max_model_len, 1)
        check_fraction("watermark", watermark)
        given = block_size, sliding_window, groups, hash_block_size
        self.kv_cache_groups, hash_block_size = cache_groups(*given)
        self.coordinator = get_kv_cache_coordinator(
            self.kv_cache_groups,
            num_gpu_blocks,
            hash_block_size,
            max_model_len,
            enable_caching,
            max_in_flight_tokens,
            retention_interval,
            enable_kv_cache_events,
            metrics_collector,
        )
        self.enable_caching = enable_caching
        self.block_pool = self.coordinator.block_pool
        self.block_size = self.coordinator.scheduler_block_size
        self.journal = self.block_pool.journal
        self.watermark_blocks = int(watermark * num_gpu_blocks)
        self.empty_kv_cache_blocks = KVCacheBlocks(self.coordinator.no_blocks)
        self.prefix_cache_stats = PrefixCacheStats()
        self._drops_blocks = any(type(g) is not FullAttentionSpec for g in self.kv_cache_groups)
        has_states = any(isinstance(group, MambaSpec) for group in self.kv_cache_groups)
        self._pins_prompt_ends = has_states and retention_interval == 0
        self._owners: dict[Name, Request] = {}
        """The requests that have begun the tables."""
        self._tables: dict[Name, dict[Name, Owner]] = {}
        """What stands for the tables of several groups, once there has been a recording."""
        self._num_slots: dict[Name, int] = {}
        """Positions of each table that are written, or will be by the steps in flight."""

    # -- looking up and allocating ---------------------------------------------------------------

    @event(request_id_of, if_changed=True)
    def get_computed_blocks(self, request: Request) -> tuple[KVCacheBlocks, int, int]:
        """Return the cached blocks that a request could begin with, and the number of their tokens.

        At least one token remains to be computed, because the next token is sampled from its
        output. The lookup has no effect: the blocks found are safe only after they are passed to
        `allocate_slots`. The third value is where a longer hit would have ended that some groups
        had and others have forgotten; 0 if all agree.
        """
        if not self.enable_caching or request.skip_reading_prefix_cache:
            return self.empty_kv_cache_blocks, 0, 0
        found, num_tokens, uncached = self.coordinator.find_longest_cache_hit(
            request.block_hashes, request.num_tokens - 1
        )
        if self.journal.recording and len(found) > 1:
            self.journal.close(GET_COMPUTED_BLOCKS, request.request_id)
        return KVCacheBlocks(found), num_tokens, num_tokens + uncached if uncached else 0

    @event(request_id_of, if_changed=True)
    def allocate_slots(
        self,
        request: Request,
        num_new_tokens: int,
        num_new_computed_tokens: int = 0,
        new_computed_blocks: KVCacheBlocks | None = None,
        num_lookahead_tokens: int = 0,
        num_external_computed_tokens: int = 0,
        delay_cache_blocks: bool = False,
        full_sequence_must_fit: bool = False,
        reserved_blocks: int = 0,
        has_scheduled_reqs: bool = True,
    ) -> KVCacheBlocks | None:
        """Give a request room for its next tokens; returns the new blocks of its table.

        ``new_computed_blocks`` and ``num_new_computed_tokens`` are the result of
        `get_computed_blocks` for a request without a table. ``full_sequence_must_fit`` requires
        room for all tokens of the request, not only the next ones. Behind the hits, the blocks of
        ``num_external_computed_tokens`` are filled by a connector; ``delay_cache_blocks`` caches
        nothing yet, because they are not filled at once. If there is no room, None is
        returned and nothing is allocated; blocks behind the window are given back even then.
        ValueError if there are no tokens at all.
        """
        hits = new_computed_blocks.blocks if new_computed_blocks else self.coordinator.no_blocks
        has_hits, request_id = new_computed_blocks is not None and any(hits), request.request_id
        is_plain = type(num_new_tokens) is int and num_new_tokens > 0
        if not is_plain or num_new_computed_tokens or new_computed_blocks:
            tokens = num_new_tokens, num_new_computed_tokens, num_external_computed_tokens
            where = self.kv_cache_groups, self.block_pool
            check_tokens_of(request, *tokens, hits, *where, has_table=request_id in self._owners)
        if num_lookahead_tokens or reserved_blocks:
            check_int("num_lookahead_tokens", num_lookahead_tokens, 0)
            check_int("reserved_blocks", reserved_blocks, 0)
        if self.journal.active:
            check_bits("token ids", request.all_token_ids[request.num_computed_tokens :])
        tables, longest = self.coordinator, self.max_model_len
        computed = request.num_computed_tokens + num_new_computed_tokens
        computed += num_external_computed_tokens
        total_computed = min(computed, longest)
        free = self.block_pool.get_num_free_blocks()
        if request.status is not RUNNING and has_scheduled_reqs:
            free -= self.watermark_blocks
        prefill_end = self._prefill_end(request) if self._pins_prompt_ends else 0
        if full_sequence_must_fit and free < tables.get_num_blocks_to_allocate(
            request_id,
            whole := min(request.num_tokens, longest),
            hits,
            0,
            total_computed,
            total_computed,
            whole,
            True,
            prefill_end,
        ):
            return None
        if self._drops_blocks:
            in_flight = request.num_in_flight_tokens
            before = self.block_pool.get_num_free_blocks()
            self.remove_skipped_blocks(request_id, max(total_computed - in_flight, 0))
            free += self.block_pool.get_num_free_blocks() - before
        end = min(total_computed + num_new_tokens, longest)
        need = min(end + num_lookahead_tokens, longest) if num_lookahead_tokens else end
        num_blocks = tables.get_num_blocks_to_allocate(
            request_id, need, hits, 0, computed, computed, end, False, prefill_end
        )
        if num_blocks > free - reserved_blocks:
            return None

        if self._owners.get(request_id) is not request:
            self._open(request)
        if has_hits or num_external_computed_tokens:
            self._adopt(request_id, hits, computed - num_external_computed_tokens)
        new_blocks: Blocks = tables.no_blocks
        if num_blocks:
            new_blocks = tables.allocate_new_blocks(request_id, need, end)
        is_loading = num_external_computed_tokens > 0
        self._written(request_id, total_computed, end, hits, new_blocks, is_loading)
        if self.enable_caching and not delay_cache_blocks:
            # Before they are computed: a step is atomic, so no other request can read them earlier.
            # Slots ahead of the known tokens hold nothing yet.
            known = len(request.all_token_ids)
            tables.cache_blocks(request, min(total_computed + num_new_tokens, known))
        return KVCacheBlocks(new_blocks) if num_blocks else self.empty_kv_cache_blocks

    def _prefill_end(self, request: Request) -> int:
        """From where the request decodes; one that was preempted computes its output again.

        It matters only to a state that is kept for the end of a prompt.
        """
        return max(request.num_prompt_tokens, request.num_tokens - 1)

    def _open(self, request: Request) -> None:
        """The tables begin."""
        check_block_size(request, self.block_pool.hash_block_size)
        name = request.request_id
        if name in self._owners:  # the table of another object with this id goes on
            return
        if self.journal.active and len(self.kv_cache_groups) > 1:
            check_name(name, self._owners)
        self._owners[name] = request
        if self.journal.active:
            for called, owner in self._tables_of(name).items():
                self.journal.opened(owner, called)

    def _tables_of(self, request_id: Name) -> dict[Name, Owner]:
        """What a recording calls the tables of a request, and what stands for them in its rows."""
        request, num_groups = self._owners[request_id], len(self.kv_cache_groups)
        if num_groups == 1:
            return {request_id: request}
        if request_id not in self._tables:
            tables = [GroupTable(request, group_id) for group_id in range(num_groups)]
            self._tables[request_id] = {table.name: table for table in tables}
        return self._tables[request_id]

    def _adopt(self, request_id: Name, hits: Blocks, num_computed_tokens: int) -> None:
        """The tables begin with these hits, which may end beyond max_model_len, or go on."""
        self._num_slots[request_id] = num_computed_tokens
        if not self.journal.active or self.coordinator.has_tables(request_id):
            self.coordinator.allocate_new_computed_blocks(request_id, hits, num_computed_tokens)
            return
        managers, owners = self.coordinator.single_type_managers, self._tables_of(request_id)
        for manager, owner, found in zip(managers, owners.values(), hits, strict=True):
            size, skipped = manager.block_size, manager.get_num_skipped_tokens(num_computed_tokens)
            note_hits(self.journal, owner, found, size, skipped // size)
            manager.allocate_new_computed_blocks(request_id, found, num_computed_tokens)

    def _written(
        self,
        request_id: Name,
        start: int,
        end: int,
        hits: Blocks,
        new_blocks: Blocks,
        is_loading: bool = False,
    ) -> None:
        """These positions have slots now, in tables that have grown by these blocks.

        A load fills those before: with the step, or later if nothing else is written.
        """
        if is_loading:
            local = self._num_slots[request_id]
            start, end = local, end if end > start else local
        if end > self._num_slots.get(request_id, -1):
            self._num_slots[request_id] = end
        if not self.journal.active:
            return
        managers, owners = self.coordinator.single_type_managers, self._tables_of(request_id)
        for manager, owner, *grown in zip(managers, owners.values(), hits, new_blocks, strict=True):
            table, size = manager.req_to_blocks.get(request_id, []), manager.block_size
            num_new, states = sum(map(len, grown)), manager.states_written(request_id, end)
            note_written(self.journal, owner, table, size, start, end, num_new, states)

    @explained
    def note_known(self, request: Request) -> None:
        """Tell a recording the tokens whose slots were written before the tokens were sampled."""
        if request.request_id in self._owners:
            written = self._num_slots[request.request_id]
            for owner in self._tables_of(request.request_id).values():
                self.journal.note((KNOWN, owner, owner.all_token_ids, written))

    @event(request_id_of, if_changed=True)
    def note_loaded(self, request: Request) -> None:
        """Tell a recording that a load has filled the slots of the tokens computed so far."""
        name, no_blocks = request.request_id, self.coordinator.no_blocks
        if (start := self._num_slots.get(name)) is not None:
            self._written(name, start, request.num_computed_tokens, no_blocks, no_blocks)

    # -- what else happens to blocks -------------------------------------------------------------

    @event(request_id_of, if_changed=True)
    def cache_blocks(self, request: Request, num_computed_tokens: int) -> None:
        """Cache the full blocks of a request's first tokens."""
        if self.enable_caching:
            self.coordinator.cache_blocks(request, num_computed_tokens)

    @event(lambda _, result, name, *more: name if is_name(name) else None, if_changed=True)
    def remove_skipped_blocks(self, request_id: Name, total_computed_tokens: int) -> None:
        """Give back the blocks behind a window, and the states before the last one."""
        gone = self.coordinator.remove_skipped_blocks(request_id, total_computed_tokens)
        if self.journal.active and any(gone):
            tables = self.coordinator.get_blocks(request_id)
            owners = self._tables_of(request_id).values()
            for owner, table, entries in zip(owners, tables, gone, strict=True):
                note_skipped(self.journal, owner, table, entries)

    @event(request_id_of, if_changed=True)
    def free(self, request: Request) -> None:
        """Give the blocks of this id back, last to first; an id without a table is ignored."""
        self._close(request.request_id)
        self.coordinator.free(request.request_id)

    @event(request_id_of, if_changed=True)
    def pop_blocks_for_free(self, request: Request) -> list[KVCacheBlock]:
        """Forget the table of this id; its blocks, last to first, are free later."""
        self._close(request.request_id)
        return self.coordinator.pop_blocks_for_free(request.request_id)

    def _close(self, request_id: Name) -> None:
        """The tables end."""
        if request_id in self._owners:
            if self.journal.active:
                for owner in self._tables_of(request_id).values():
                    self.journal.closed(owner)
            self._tables.pop(request_id, None)
            del self._owners[request_id], self._num_slots[request_id]

    def new_step_starts(self) -> None:
        """The scheduler begins to decide a step: what the last one caches is computed."""
        self.coordinator.new_step_starts()

    @event()
    def evict_blocks(self, block_ids: Iterable[int]) -> None:
        """Forget the content of these blocks."""
        self.block_pool.evict_blocks(block_ids)

    @event()
    def reset_prefix_cache(self) -> bool:
        """Forget all cached content; while any block is owned, return False and forget nothing."""
        is_reset = self.block_pool.reset_prefix_cache()
        self.prefix_cache_stats.reset |= is_reset
        return is_reset

    def take_events(self) -> list[KVCacheEvent]:
        """Return what a router should hear since the last call; nothing unless it is enabled."""
        return [with_kind(event, self.kv_cache_groups) for event in self.block_pool.take_events()]

    @property
    def usage(self) -> float:
        """The fraction of the pool that is owned."""
        return self.block_pool.get_usage()

    @explained
    def get_blocks(self, request_id: Name) -> KVCacheBlocks:
        """Return a request's table."""
        return KVCacheBlocks(self.coordinator.get_blocks(request_id))

    def get_block_ids(self, request_id: Name) -> tuple[list[int], ...]:
        """Return the ids of a request's tables; an unknown id has empty lists."""
        return self.get_blocks(request_id).get_block_ids()

    def get_num_common_prefix_blocks(self, running_request_id: Name) -> list[int]:
        """Return zeros: vLLM no longer has the kernel that shared a prefix among all requests."""
        return [0] * len(self.kv_cache_groups)

    def make_prefix_cache_stats(self) -> PrefixCacheStats:
        """Return the counts since the last call."""
        stats, self.prefix_cache_stats = self.prefix_cache_stats, PrefixCacheStats()
        return stats

    def state(self) -> State:
        """Return the present state of tables and pool; a token joins a table with its slot."""
        groups = groups_as_shown(self.kv_cache_groups)
        tables: dict[Name, TableState] = {}
        live: dict[Name, Owner] = {}
        kinds = groups or [Group(FULL, self.block_size)] * len(self.kv_cache_groups)
        for name, request in self._owners.items():
            if groups:
                check_name(name, self._owners)
            written, owners = self._num_slots[name], self._tables_of(name)
            tokens = tuple(request.all_token_ids[:written])
            for called, group, ids in zip(owners, kinds, self.get_block_ids(name), strict=True):
                tables[called] = group.table(tuple(ids), tokens, 0, written)
            live |= owners
        return replace(read_pool(self.block_pool, FREE_QUEUE, tables, groups), live=live)
