"""The block tables of one KV cache group: which blocks a request needs, finds, and drops.

Source: vLLM 0.33.0, ``vllm/v1/core/single_type_kv_cache_manager.py``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import takewhile
from typing import Any

from pagesim.errors import UsageError
from pagesim.journal.effects import Name
from pagesim.v1.block_pool import BlockPool
from pagesim.v1.kv_cache_utils import BlockHash, BlockHashListWithBlockSize, KVCacheBlock
from pagesim.v1.request import Request

Column = list[KVCacheBlock]
"""The blocks of one position, one for each of the groups that are looked up together."""

Hashes = Sequence[BlockHash]
Find = Callable[[BlockHash], Column | None]


def cdiv(a: int, b: int) -> int:
    """a ÷ b, rounded up."""
    return -(-a // b)


@dataclass(eq=False)
class SingleTypeKVCacheManager:
    """The tables of all requests in one group, and how many blocks of each are done with caching.

    A table only grows; what falls out of a window is replaced by the null block. A hit ends at a
    multiple of ``scheduler_block_size``, which the block sizes of all groups divide.
    """

    kv_cache_spec: Any
    block_pool: BlockPool
    kv_cache_group_id: int
    scheduler_block_size: int
    retention_interval: int | None
    max_admission_blocks_per_request: int = sys.maxsize
    """The most blocks that one request needs at a time, however long it is."""

    def __post_init__(self) -> None:
        self.block_size: int = self.kv_cache_spec.block_size
        self.req_to_blocks: dict[Name, list[KVCacheBlock]] = {}
        self.num_cached_block: dict[Name, int] = {}
        self._null_block = self.block_pool.null_block

    # -- what differs between the kinds of layers ------------------------------------------------

    def get_num_skipped_tokens(self, num_computed_tokens: int) -> int:
        """How many leading tokens the next token does not look at."""
        return 0

    def _find_hit(self, hashes: Hashes, find: Find, null: Column) -> list[Column]:
        """The longest hit among the blocks of these hashes; ``null`` stands for one not needed."""
        raise NotImplementedError

    def reachable_block_mask(self, request: Request, start: int, end: int) -> list[bool] | None:
        """Which of a table's blocks from ``start`` up to ``end`` to cache; None for all."""
        return None

    def most_blocks_at_once(self, num_tokens: int) -> int:
        """Blocks without which a request of ``num_tokens`` tokens can never be computed whole."""
        return min(cdiv(num_tokens, self.block_size), self.max_admission_blocks_per_request)

    def states_written(self, request_id: Name, num_tokens: int) -> list[tuple[int, int]] | None:
        """After how many tokens a step keeps a state, and in which entry; None if it keeps rows."""
        return None

    # -- what a request finds --------------------------------------------------------------------

    def find_longest_cache_hit(
        self, block_hashes: Sequence[BlockHash], max_length: int, kv_cache_group_ids: Sequence[int]
    ) -> list[list[KVCacheBlock]]:
        """The cached blocks from which a request can go on, of at most ``max_length`` tokens.

        The groups are of one kind: a block counts only if all of them have it. Each has a list.
        """
        pool, size = self.block_pool, self.block_size
        if pool.hash_block_size != size:
            block_hashes = BlockHashListWithBlockSize(block_hashes, pool.hash_block_size, size)
        find = partial(pool.get_cached_block, kv_cache_group_ids=kv_cache_group_ids)
        num_groups = len(kv_cache_group_ids)
        null = [self._null_block] * num_groups
        columns = self._find_hit(block_hashes[: max_length // size], find, null)
        return [[column[group] for column in columns] for group in range(num_groups)]

    # -- how many blocks, and which --------------------------------------------------------------

    def get_num_blocks_to_allocate(
        self,
        request_id: Name,
        num_tokens: int,
        new_computed_blocks: Sequence[KVCacheBlock],
        total_computed_tokens: int,
        num_tokens_main_model: int,
        apply_admission_cap: bool = False,
        prefill_end: int = 0,
    ) -> int:
        """Free blocks that it takes to hold ``num_tokens`` tokens, hits in the queue included.

        The last tokens of ``num_tokens`` may be those of a draft model; ``prefill_end`` is where
        the request begins to decode. Both matter only to states.
        """
        required = -(-num_tokens // self.block_size)
        if apply_admission_cap:
            required = min(required, self.max_admission_blocks_per_request)
        held = len(self.req_to_blocks.get(request_id, ()))
        if request_id in self.num_cached_block:
            return max(required - held, 0)
        skipped = self.get_num_skipped_tokens(total_computed_tokens) // self.block_size
        new = max(required - max(skipped, held + len(new_computed_blocks)), 0)
        if not new_computed_blocks:
            return new
        return new + num_to_touch(new_computed_blocks[max(skipped - held, 0) :])

    def allocate_new_computed_blocks(
        self,
        request_id: Name,
        new_computed_blocks: Sequence[KVCacheBlock],
        num_computed_tokens: int,
    ) -> None:
        """Begin a table with hits; those that fell out of the window are null blocks."""
        skipped = self.get_num_skipped_tokens(num_computed_tokens) // self.block_size
        kept = new_computed_blocks[skipped:]
        self.block_pool.touch(kept)
        table = [self._null_block] * (len(new_computed_blocks) - len(kept))
        self.req_to_blocks[request_id] = [*table, *kept]
        self.num_cached_block[request_id] = len(new_computed_blocks)

    def allocate_new_blocks(
        self, request_id: Name, num_tokens: int, num_tokens_main_model: int
    ) -> list[KVCacheBlock]:
        """Make a table long enough for ``num_tokens``; returns what was added."""
        table = self.req_to_blocks.setdefault(request_id, [])
        num_new = -(-num_tokens // self.block_size) - len(table)
        if num_new <= 0:
            return []
        new_blocks = self.block_pool.get_new_blocks(num_new)
        table += new_blocks
        return new_blocks

    def cache_blocks(self, request: Request, num_tokens: int) -> None:
        """Make the full blocks of the first ``num_tokens`` tokens findable."""
        num_full = num_tokens // self.block_size
        num_cached = self.num_cached_block.get(request.request_id, 0)
        if num_cached >= num_full:
            return
        num_hashed = len(request.block_hashes) * self.block_pool.hash_block_size
        num_full = min(num_full, num_hashed // self.block_size)
        if num_cached >= num_full:
            return
        if (table := self.req_to_blocks.get(request.request_id)) is None:
            raise UsageError(
                f"request {request.request_id!r} has no table: call allocate_slots() first"
            )
        self.block_pool.cache_full_blocks(
            request,
            table,
            num_cached,
            min(num_full, len(table)),  # a prompt may be longer than max_model_len, its table not
            self.block_size,
            self.kv_cache_group_id,
            self.reachable_block_mask(request, num_cached, num_full),
        )
        self.num_cached_block[request.request_id] = num_full

    def replay_boundaries(self, request: Request) -> set[int]:
        """After which tokens a request like this one may go on: where a hit must be possible."""
        return {request.num_prompt_tokens - 1, request.shared_prefix_boundary} - {0}

    def remove_skipped_blocks(self, request_id: Name, num_computed_tokens: int) -> Sequence[int]:
        """Free the blocks that the next token does not look at, last first; returns where."""
        table = self.req_to_blocks.get(request_id, [])
        skipped = self.get_num_skipped_tokens(num_computed_tokens) // self.block_size
        end = start = min(skipped, len(table))
        while start and not table[start - 1].is_null:
            start -= 1
        if start < end:
            self._drop(table, start, end)
        return range(start, end)

    def _drop(self, table: list[KVCacheBlock], start: int, end: int) -> None:
        """Free these entries of a table, last first."""
        removed = table[start:end]
        table[start:end] = [self._null_block] * len(removed)
        self.block_pool.free_blocks(reversed(removed))

    def pop_blocks_for_free(self, request_id: Name) -> list[KVCacheBlock]:
        """Forget a table; returns its blocks, last first, so that tails are taken before heads."""
        self.num_cached_block.pop(request_id, None)
        table = self.req_to_blocks.pop(request_id, [])
        return [block for block in reversed(table) if not block.is_null]

    def new_step_starts(self) -> None:
        """The scheduler begins to decide a step."""


def num_to_touch(hits: Sequence[KVCacheBlock]) -> int:
    """How many of these blocks leave the free queue when they are touched."""
    return sum(block.ref_cnt == 0 and not block.is_null for block in hits)


class FullAttentionManager(SingleTypeKVCacheManager):
    """Every token looks at all tokens before it."""

    def _find_hit(self, hashes: Hashes, find: Find, null: Column) -> list[Column]:
        """From the left, up to the first block that is missing."""
        columns = [column for column in takewhile(bool, map(find, hashes)) if column]
        hit = len(columns) * self.block_size // self.scheduler_block_size
        return columns[: hit * self.scheduler_block_size // self.block_size]


class CoarseFullAttentionManager(FullAttentionManager):
    """Full attention with blocks larger than a hash: a prompt's last one may end inside a block."""

    def cache_blocks(self, request: Request, num_tokens: int) -> None:
        """Cache the full blocks, and find the prompt's last block by its last hash as well."""
        super().cache_blocks(request, num_tokens)
        size = self.block_pool.hash_block_size
        num_hashes = min((request.num_prompt_tokens - 1) // size, len(request.block_hashes))
        end = num_hashes * size
        table = self.req_to_blocks.get(request.request_id, ())
        index, inside = divmod(end, self.block_size)
        if 0 < end <= num_tokens and inside and index < len(table):
            self.block_pool.cache_partial_block(
                request, table[index], end, self.kv_cache_group_id, self.block_size
            )


class SlidingWindowManager(SingleTypeKVCacheManager):
    """A token looks at itself and at the ``sliding_window`` - 1 tokens before it."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.sliding_window: int = self._get_sliding_window()
        self.num_window_blocks = cdiv(self.sliding_window - 1, self.block_size)
        """Blocks that a hit needs."""

    def _get_sliding_window(self) -> int:
        return int(self.kv_cache_spec.sliding_window)

    def get_num_skipped_tokens(self, num_computed_tokens: int) -> int:
        return max(num_computed_tokens - self.sliding_window + 1, 0)

    def _find_hit(self, hashes: Hashes, find: Find, null: Column) -> list[Column]:
        """From the right: the first run that fills the window, or one that reaches the start."""
        run: list[Column] = []
        for index in range(len(hashes) - 1, -1, -1):
            column = find(hashes[index])
            if column is None:
                run.clear()
                continue
            if not run and (index + 1) * self.block_size % self.scheduler_block_size:
                continue  # no hit can end here
            run.append(column)
            if len(run) >= self.num_window_blocks:
                return [null] * index + run[::-1]
        return run[::-1]

    def reachable_block_mask(self, request: Request, start: int, end: int) -> list[bool] | None:
        """The blocks that a hit needs where a prompt ends, or an interval.

        Without a ``retention_interval``, a hit is possible wherever blocks of all groups end.
        """
        need, interval = self.num_window_blocks, self.retention_interval
        period = (self.scheduler_block_size if interval is None else interval) // self.block_size
        if period and need >= period:
            return None
        mask = [period > 0 and index % period >= period - need for index in range(start, end)]
        for boundary in self.replay_boundaries(request) if interval is not None else ():
            whole = boundary // self.scheduler_block_size * self.scheduler_block_size
            last = whole // self.block_size
            for index in range(max(last - need, start), min(last, end)):
                mask[index - start] = True
        return mask
