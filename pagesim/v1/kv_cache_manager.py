"""The KV cache manager: all that the scheduler asks of the blocks.

Source: vLLM 0.33.0, ``vllm/v1/core/kv_cache_manager.py``.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from pagesim.checks import check_fraction, check_int, explained
from pagesim.journal import event
from pagesim.journal.effects import GET_COMPUTED_BLOCKS, Name, is_name
from pagesim.journal.state import FULL, Group, State
from pagesim.sizing.kv_cache_spec import FullAttentionSpec, KVCacheSpec, MambaSpec
from pagesim.v1.block_pool import FREE_QUEUE
from pagesim.v1.groups import cache_groups
from pagesim.v1.kv_cache_coordinator import Blocks, get_kv_cache_coordinator
from pagesim.v1.kv_cache_guards import check_asked
from pagesim.v1.kv_cache_metrics import KVCacheMetricsCollector
from pagesim.v1.kv_cache_utils import KVCacheBlock
from pagesim.v1.kv_events import KVCacheEvent, with_kind
from pagesim.v1.request import Request, RequestStatus, check_bits
from pagesim.v1.state import groups_as_shown, read_pool
from pagesim.v1.stats import PrefixCacheStats
from pagesim.v1.table_notes import TableNotes

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
        self._free_queue, self.journal = self.block_pool.free_block_queue, self.block_pool.journal
        self.watermark_blocks = int(watermark * num_gpu_blocks)
        self.empty_kv_cache_blocks = KVCacheBlocks(self.coordinator.no_blocks)
        self.prefix_cache_stats = PrefixCacheStats()
        self._drops_blocks = any(type(g) is not FullAttentionSpec for g in self.kv_cache_groups)
        has_states = any(isinstance(group, MambaSpec) for group in self.kv_cache_groups)
        self._pins_prompt_ends = has_states and retention_interval == 0
        self._notes = TableNotes(self.coordinator)

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
        if len(found) > 1:
            self.journal.decided(GET_COMPUTED_BLOCKS, request.request_id)
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

        What `get_computed_blocks` found is for a request without a table. Behind these hits, a
        connector fills the blocks of ``num_external_computed_tokens``; ``delay_cache_blocks`` if
        later, so that nothing is cached yet. Without room, None is returned and nothing is
        allocated; blocks behind the window are given back even then. ValueError without tokens.
        """
        hits = new_computed_blocks.blocks if new_computed_blocks else self.coordinator.no_blocks
        external, request_id = num_external_computed_tokens, request.request_id
        begins = new_computed_blocks or num_new_computed_tokens or external
        is_plain = type(num_new_tokens) is int and num_new_tokens > 0
        if begins or not is_plain or num_lookahead_tokens or reserved_blocks:
            counts = num_new_tokens, num_new_computed_tokens, external, num_lookahead_tokens
            check_asked(request, (*counts, reserved_blocks), hits, self._notes)
        if self.journal.active:
            check_bits("token ids", request.all_token_ids[request.num_computed_tokens :])
        computed = request.num_computed_tokens + num_new_computed_tokens + external
        start = min(computed, self.max_model_len)
        end = min(start + num_new_tokens, self.max_model_len)
        slots = min(end + num_lookahead_tokens, self.max_model_len) if num_lookahead_tokens else end
        watermark = self.watermark_blocks if has_scheduled_reqs else 0
        need = self._room_for(
            request, hits, computed, end, slots, full_sequence_must_fit, watermark, reserved_blocks
        )
        if need is None:
            return None
        if begins or self._notes.owners.get(request_id) is not request:
            self._notes.begin(request, hits, computed - external, external)
        tables = self.coordinator
        new = tables.allocate_new_blocks(request_id, slots, end) if need else tables.no_blocks
        self._notes.written(request_id, start, end, hits, new, external > 0)
        if self.enable_caching and not delay_cache_blocks:
            # Before they are computed: a step is atomic, so no other request can read them earlier.
            # Slots ahead of the known tokens hold nothing yet.
            tables.cache_blocks(request, min(start + num_new_tokens, len(request.all_token_ids)))
        return KVCacheBlocks(new) if need else self.empty_kv_cache_blocks

    def _room_for(
        self,
        request: Request,
        hits: Blocks,
        computed: int,
        end: int,
        slots: int,
        whole: bool,
        watermark: int,
        reserved: int,
    ) -> int | None:
        """How many blocks it takes until ``slots`` tokens have room; None if too few are free.

        Unless the request is running, the watermark stays free; if the ``whole`` request must fit,
        all its tokens must find room besides. What is reserved counts only for the step.
        """
        tables, request_id, queue = self.coordinator, request.request_id, self._free_queue
        free = queue.num_free_blocks
        if request.status is not RUNNING:
            free -= watermark
        prefill_end = request.prefill_end if self._pins_prompt_ends else 0
        if whole:
            start, length = (min(n, self.max_model_len) for n in (computed, request.num_tokens))
            asked = request_id, length, hits, 0, start, start, length, True, prefill_end
            if tables.get_num_blocks_to_allocate(*asked) > free:
                return None
        if self._drops_blocks:
            start = min(computed, self.max_model_len)
            before = queue.num_free_blocks
            self.remove_skipped_blocks(request_id, max(start - request.num_in_flight_tokens, 0))
            free += queue.num_free_blocks - before
        need = tables.get_num_blocks_to_allocate(
            request_id, slots, hits, 0, computed, computed, end, False, prefill_end
        )
        return need if need <= free - reserved else None

    @explained
    def note_known(self, request: Request) -> None:
        """Tell a recording the tokens whose slots were written before the tokens were sampled."""
        self._notes.known(request.request_id)

    @event(request_id_of, if_changed=True)
    def note_loaded(self, request: Request) -> None:
        """Tell a recording that a load has filled the slots of the tokens computed so far."""
        self._notes.loaded(request)

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
            self._notes.skipped(request_id, gone)

    @event(request_id_of, if_changed=True)
    def free(self, request: Request) -> None:
        """Give the blocks of this id back, last to first; an id without a table is ignored."""
        self._notes.close(request.request_id)
        self.coordinator.free(request.request_id)

    @event(request_id_of, if_changed=True)
    def pop_blocks_for_free(self, request: Request) -> list[KVCacheBlock]:
        """Forget the table of this id; its blocks, last to first, are free later."""
        self._notes.close(request.request_id)
        return self.coordinator.pop_blocks_for_free(request.request_id)

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
        kinds = groups or [Group(FULL, self.block_size)] * len(self.kv_cache_groups)
        tables, live = self._notes.state(kinds)
        return replace(read_pool(self.block_pool, FREE_QUEUE, tables, groups), live=live)
