"""The KV cache manager: all that the scheduler asks of the blocks.

Source: vLLM 0.33.0, ``vllm/v1/core/kv_cache_manager.py``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from pagesim.checks import check_bool, check_fraction, check_int, explained
from pagesim.errors import UsageError
from pagesim.journal import event
from pagesim.journal.effects import KNOWN, Name, is_name
from pagesim.journal.state import State, TableState
from pagesim.v1.block_pool import FREE_QUEUE, BlockPool
from pagesim.v1.config import check_window
from pagesim.v1.kv_cache_utils import KVCacheBlock
from pagesim.v1.request import Request, RequestStatus, check_bits, check_block_size
from pagesim.v1.single_type_kv_cache_manager import (
    FullAttentionManager,
    SingleTypeKVCacheManager,
    SlidingWindowManager,
)
from pagesim.v1.state import note_hits, note_skipped, note_written, read_pool

RUNNING = RequestStatus.RUNNING


def _request_id(_: object, result: object, request: Request, *more: object) -> Name:
    """Whom a call concerns."""
    return request.request_id


@dataclass(frozen=True, slots=True)
class KVCacheBlocks:
    """The blocks of a request, one list for each KV cache group; pagesim has one group."""

    blocks: tuple[Sequence[KVCacheBlock], ...]

    def get_block_ids(self) -> tuple[list[int], ...]:
        """Return the ids of the blocks."""
        return tuple([block.block_id for block in group] for group in self.blocks)


@dataclass(slots=True)
class PrefixCacheStats:
    """Requests admitted, the tokens they had then, and those of them that were found.

    What comes back after a preemption is counted apart: it finds its own blocks.
    """

    requests: int = 0
    queries: int = 0
    hits: int = 0
    preempted_requests: int = 0
    preempted_queries: int = 0
    preempted_hits: int = 0

    def record(self, num_tokens: int, num_hits: int, preempted: bool) -> None:
        """One request is admitted."""
        if preempted:
            self.preempted_requests += 1
            self.preempted_queries += num_tokens
            self.preempted_hits += num_hits
        else:
            self.requests += 1
            self.queries += num_tokens
            self.hits += num_hits


class KVCacheManager:
    """Block tables on one pool of ``num_gpu_blocks`` blocks, including the null block.

    ``sliding_window`` is a number of tokens, or None for full attention. ``max_in_flight_tokens``
    is the maximum number of tokens scheduled but not yet computed. The other arguments are those of
    `CacheConfig` and `SchedulerConfig`. A call that raises has changed nothing.
    """

    def __init__(
        self,
        num_gpu_blocks: int,
        block_size: int,
        max_model_len: int,
        enable_caching: bool = True,
        sliding_window: int | None = None,
        watermark: float = 0.0,
        max_in_flight_tokens: int | None = None,
        retention_interval: int | None = 0,
    ) -> None:
        self.block_size = check_int("block_size", block_size, 1)
        self.max_model_len = check_int("max_model_len", max_model_len, 1)
        check_bool("enable_caching", enable_caching)
        check_fraction("watermark", watermark)
        check_window(sliding_window, retention_interval, block_size)
        if max_in_flight_tokens is not None:
            check_int("max_in_flight_tokens", max_in_flight_tokens, 1)
        self.enable_caching = enable_caching
        self.block_pool = BlockPool(num_gpu_blocks, enable_caching, block_size)
        self.journal = self.block_pool.journal
        self.watermark_blocks = int(watermark * num_gpu_blocks)
        self.empty_kv_cache_blocks = KVCacheBlocks(((),))
        self.prefix_cache_stats = PrefixCacheStats()
        self.single_type_manager: SingleTypeKVCacheManager
        if sliding_window is None:
            self.single_type_manager = FullAttentionManager(self.block_pool, block_size)
        else:
            self.single_type_manager = SlidingWindowManager(
                self.block_pool,
                block_size,
                sliding_window,
                max_model_len,
                max_in_flight_tokens or max_model_len,
                retention_interval,
            )
        self._has_window = sliding_window is not None
        self._owners: dict[Name, Request] = {}
        """The requests that have begun the tables; a recording knows these by them."""
        self._num_slots: dict[Name, int] = {}
        """Positions of each table that are written, or will be by the steps in flight."""

    # -- looking up and allocating ---------------------------------------------------------------

    @explained
    def get_computed_blocks(self, request: Request) -> tuple[KVCacheBlocks, int, int]:
        """Return the cached blocks that a request could begin with, and the number of their tokens.

        At least one token remains to be computed, because the next token is sampled from its
        output. The lookup has no effect: the blocks found are safe only after they are passed to
        `allocate_slots`. The third value belongs to another feature of vLLM and is always 0.
        """
        if not self.enable_caching or request.skip_reading_prefix_cache:
            return self.empty_kv_cache_blocks, 0, 0
        limit = (request.num_tokens - 1) // self.block_size
        found = self.single_type_manager.find_longest_cache_hit(request.block_hashes, limit)
        return KVCacheBlocks((found,)), len(found) * self.block_size, 0

    @event(_request_id, if_changed=True)
    def allocate_slots(
        self,
        request: Request,
        num_new_tokens: int,
        num_new_computed_tokens: int = 0,
        new_computed_blocks: KVCacheBlocks | None = None,
        num_lookahead_tokens: int = 0,
        full_sequence_must_fit: bool = False,
        reserved_blocks: int = 0,
        has_scheduled_reqs: bool = True,
    ) -> KVCacheBlocks | None:
        """Give a request room for its next tokens; returns the new blocks of its table.

        ``new_computed_blocks`` and ``num_new_computed_tokens`` are the result of
        `get_computed_blocks` for a request without a table. ``full_sequence_must_fit`` requires
        room for all tokens of the request, not only the next ones. If there is no room, None is
        returned and nothing is allocated; blocks behind the window are given back even then.
        ValueError if there are no tokens at all.
        """
        hits = new_computed_blocks.blocks[0] if new_computed_blocks else ()
        if type(num_new_tokens) is not int or num_new_tokens < 1 or hits or num_new_computed_tokens:
            self._check_tokens(request, num_new_tokens, num_new_computed_tokens, hits)
        if num_lookahead_tokens or reserved_blocks:
            check_int("num_lookahead_tokens", num_lookahead_tokens, 0)
            check_int("reserved_blocks", reserved_blocks, 0)
        if self.journal.active:
            check_bits("token ids", request.all_token_ids[request.num_computed_tokens :])
        tables, request_id = self.single_type_manager, request.request_id
        computed = request.num_computed_tokens + num_new_computed_tokens
        total_computed = min(computed, self.max_model_len)
        free = self.block_pool.get_num_free_blocks()
        if request.status is not RUNNING and has_scheduled_reqs:
            free -= self.watermark_blocks

        if full_sequence_must_fit:
            full = min(request.num_tokens, self.max_model_len)
            if tables.get_num_blocks_to_allocate(request_id, full, hits, computed, True) > free:
                return None
        if self._has_window:
            in_flight = request.num_in_flight_tokens
            before = self.block_pool.get_num_free_blocks()
            self.remove_skipped_blocks(request_id, max(total_computed - in_flight, 0))
            free += self.block_pool.get_num_free_blocks() - before
        need = min(total_computed + num_new_tokens + num_lookahead_tokens, self.max_model_len)
        num_blocks = tables.get_num_blocks_to_allocate(request_id, need, hits, computed)
        if num_blocks > free - reserved_blocks:
            return None

        if self._owners.get(request_id) is not request:
            self._open(request, hits, computed)
        if hits:
            tables.allocate_new_computed_blocks(request_id, hits, computed)
        new_blocks = tables.allocate_new_blocks(request_id, need) if num_blocks else []
        end = min(total_computed + num_new_tokens, self.max_model_len)
        self._written(request, total_computed, end, len(hits) + len(new_blocks))
        if self.enable_caching:
            # Before they are computed: a step is atomic, so no other request can read them earlier.
            # Slots ahead of the known tokens hold nothing yet.
            tables.cache_blocks(request, min(total_computed + num_new_tokens, request.num_tokens))
        return KVCacheBlocks((new_blocks,)) if new_blocks else self.empty_kv_cache_blocks

    def _open(
        self, request: Request, hits: Sequence[KVCacheBlock], num_computed_tokens: int
    ) -> None:
        """A table begins, with these hits if there are any."""
        check_block_size(request, self.block_size)
        if request.request_id in self._owners:  # the table of another object with this id goes on
            return
        self.journal.opened(request, request.request_id)
        self._owners[request.request_id] = request
        if hits and self.journal.active:
            skipped = self.single_type_manager.get_num_skipped_tokens(num_computed_tokens)
            num_gone = skipped // self.block_size
            note_hits(self.journal, request, hits, self.block_size, num_gone)

    def _written(self, request: Request, start: int, end: int, num_new_blocks: int) -> None:
        """These positions have slots now, in a table that has grown by so many blocks."""
        request_id = request.request_id
        if end > self._num_slots.get(request_id, -1):
            self._num_slots[request_id] = end
        if self.journal.active:
            owner = self._owners[request_id]
            table = self.single_type_manager.req_to_blocks[request_id]
            note_written(self.journal, owner, table, self.block_size, start, end, num_new_blocks)

    @explained
    def note_known(self, request: Request) -> None:
        """Tell a recording the tokens whose slots were written before the tokens were sampled."""
        if owner := self._owners.get(request.request_id):
            written = self._num_slots[request.request_id]
            self.journal.note((KNOWN, owner, owner.all_token_ids, written))

    def _check_tokens(
        self, request: Request, num_new: int, num_new_computed: int, hits: Sequence[KVCacheBlock]
    ) -> None:
        check_int("num_new_tokens", num_new, 0)
        check_int("num_new_computed_tokens", num_new_computed, 0)
        name = f"request {request.request_id!r}"
        if num_new == 0 and num_new_computed == 0:
            raise ValueError(f"{name} must be given at least one token")
        if num_new_computed != len(hits) * self.block_size:
            raise UsageError(
                f"{num_new_computed} computed tokens do not fill the {len(hits)} blocks "
                f"found for {name}: pass both as get_computed_blocks() returned them"
            )
        if hits and request.request_id in self._owners:
            raise UsageError(f"{name} has a table: only a new one can begin with cached blocks")
        self.block_pool.check_own(block for block in hits if not block.is_null)

    # -- what else happens to blocks -------------------------------------------------------------

    @event(_request_id, if_changed=True)
    def cache_blocks(self, request: Request, num_computed_tokens: int) -> None:
        """Cache the full blocks of a request's first tokens."""
        if self.enable_caching:
            self.single_type_manager.cache_blocks(request, num_computed_tokens)

    @event(lambda _, result, name, *more: name if is_name(name) else None, if_changed=True)
    def remove_skipped_blocks(self, request_id: Name, total_computed_tokens: int) -> None:
        """Give back the blocks behind the window."""
        gone = self.single_type_manager.remove_skipped_blocks(request_id, total_computed_tokens)
        if self.journal.active and gone:
            table = self.get_blocks(request_id).blocks[0]
            note_skipped(self.journal, self._owners[request_id], table, gone)

    @event(_request_id, if_changed=True)
    def free(self, request: Request) -> None:
        """Give the blocks of this id back, last to first; an id without a table is ignored."""
        self.block_pool.free_blocks(self.pop_blocks_for_free(request))

    @explained
    def pop_blocks_for_free(self, request: Request) -> list[KVCacheBlock]:
        """Forget the table of this id; its blocks stay owned until they are freed in this order."""
        if owner := self._owners.pop(request.request_id, None):
            del self._num_slots[request.request_id]
            self.journal.closed(owner)
        return self.single_type_manager.pop_blocks_for_free(request.request_id)

    @event()
    def evict_blocks(self, block_ids: Iterable[int]) -> None:
        """Forget the content of these blocks."""
        self.block_pool.evict_blocks(block_ids)

    @event()
    def reset_prefix_cache(self) -> bool:
        """Forget all cached content; while any block is owned, return False and forget nothing."""
        return self.block_pool.reset_prefix_cache()

    # -- state -----------------------------------------------------------------------------------

    @property
    def usage(self) -> float:
        """The fraction of the pool that is owned."""
        return self.block_pool.get_usage()

    @explained
    def get_blocks(self, request_id: Name) -> KVCacheBlocks:
        """Return a request's table."""
        return KVCacheBlocks((self.single_type_manager.req_to_blocks.get(request_id, ()),))

    def get_block_ids(self, request_id: Name) -> tuple[list[int], ...]:
        """Return the ids of a request's table; an unknown id has an empty list."""
        return self.get_blocks(request_id).get_block_ids()

    def get_num_common_prefix_blocks(self, running_request_id: Name) -> list[int]:
        """Return [0]: vLLM no longer has the kernel that shared a prefix among all requests."""
        return [0]

    def make_prefix_cache_stats(self) -> PrefixCacheStats:
        """Return the counts since the last call."""
        stats, self.prefix_cache_stats = self.prefix_cache_stats, PrefixCacheStats()
        return stats

    def state(self) -> State:
        """Return the present state of tables and pool; a token joins a table with its slot."""
        tables: dict[Name, TableState] = {}
        for name, owner in self._owners.items():
            table, written = self.get_block_ids(name)[0], self._num_slots[name]
            tokens = tuple(owner.all_token_ids[:written])
            tables[name] = TableState.of(tuple(table), tokens, self.block_size, 0, written)
        return replace(read_pool(self.block_pool, FREE_QUEUE, tables), live=self._owners.copy())
