"""The block tables of one kind of attention: which blocks a request needs, finds, and drops.

Source: vLLM 0.33.0, ``vllm/v1/core/single_type_kv_cache_manager.py``.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import takewhile

from pagesim.errors import UsageError
from pagesim.journal.effects import Name
from pagesim.v1.block_pool import BlockPool
from pagesim.v1.kv_cache_utils import BlockHash, KVCacheBlock
from pagesim.v1.request import Request


def cdiv(a: int, b: int) -> int:
    """a ÷ b, rounded up."""
    return -(-a // b)


class SingleTypeKVCacheManager:
    """The tables of all requests, and how many blocks of each are done with caching.

    A table only grows; what falls out of a window is replaced by the null block.
    """

    def __init__(self, block_pool: BlockPool, block_size: int) -> None:
        self.block_pool = block_pool
        self.block_size = block_size
        self.req_to_blocks: dict[Name, list[KVCacheBlock]] = {}
        self.num_cached_block: dict[Name, int] = {}
        self._null_block = block_pool.null_block

    # -- what differs between the kinds of attention ---------------------------------------------

    def get_num_skipped_tokens(self, num_computed_tokens: int) -> int:
        """How many leading tokens the next token does not look at."""
        raise NotImplementedError

    def find_longest_cache_hit(
        self, block_hashes: Sequence[BlockHash], max_num_blocks: int
    ) -> list[KVCacheBlock]:
        """The cached blocks from which a request can go on, at most ``max_num_blocks``."""
        raise NotImplementedError

    def get_block_mask(self, request: Request, start: int, end: int) -> list[bool] | None:
        """Which of a table's blocks from ``start`` up to ``end`` to cache; None for all."""
        raise NotImplementedError

    max_admission_blocks: int = sys.maxsize
    """The most blocks that one request needs at a time, however long it is."""

    # -- how many blocks, and which --------------------------------------------------------------

    def get_num_blocks_to_allocate(
        self,
        request_id: Name,
        num_tokens: int,
        new_computed_blocks: Sequence[KVCacheBlock],
        total_computed_tokens: int,
        apply_admission_cap: bool = False,
    ) -> int:
        """Free blocks that it takes to hold ``num_tokens`` tokens, hits in the queue included."""
        required = -(-num_tokens // self.block_size)
        if apply_admission_cap:
            required = min(required, self.max_admission_blocks)
        held = len(self.req_to_blocks.get(request_id, ()))
        if request_id in self.num_cached_block:
            return max(required - held, 0)
        skipped = self.get_num_skipped_tokens(total_computed_tokens) // self.block_size
        new = max(required - max(skipped, held + len(new_computed_blocks)), 0)
        touched = new_computed_blocks[max(skipped - held, 0) :]
        return new + sum(block.ref_cnt == 0 and not block.is_null for block in touched)

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

    def allocate_new_blocks(self, request_id: Name, num_tokens: int) -> list[KVCacheBlock]:
        """Make a table long enough for ``num_tokens``; returns what was added."""
        table = self.req_to_blocks.setdefault(request_id, [])
        num_new = cdiv(num_tokens, self.block_size) - len(table)
        if num_new <= 0:
            return []
        new_blocks = self.block_pool.get_new_blocks(num_new)
        table += new_blocks
        return new_blocks

    def cache_blocks(self, request: Request, num_tokens: int) -> None:
        """Make the full blocks of the first ``num_tokens`` tokens findable."""
        num_cached = self.num_cached_block.get(request.request_id, 0)
        num_full = min(num_tokens // self.block_size, len(request.block_hashes))
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
            0,
            self.get_block_mask(request, num_cached, num_full),
        )
        self.num_cached_block[request.request_id] = num_full

    def remove_skipped_blocks(self, request_id: Name, num_computed_tokens: int) -> range:
        """Free the blocks that the next token does not look at, last first; returns where."""
        table = self.req_to_blocks.get(request_id, [])
        skipped = self.get_num_skipped_tokens(num_computed_tokens) // self.block_size
        end = start = min(skipped, len(table))
        while start and not table[start - 1].is_null:
            start -= 1
        removed = table[start:end]
        table[start:end] = [self._null_block] * len(removed)
        self.block_pool.free_blocks(reversed(removed))
        return range(start, end)

    def pop_blocks_for_free(self, request_id: Name) -> list[KVCacheBlock]:
        """Forget a table; returns its blocks, last first, so that tails are taken before heads."""
        self.num_cached_block.pop(request_id, None)
        table = self.req_to_blocks.pop(request_id, [])
        return [block for block in reversed(table) if not block.is_null]


class FullAttentionManager(SingleTypeKVCacheManager):
    """Every token looks at all tokens before it."""

    def get_num_skipped_tokens(self, num_computed_tokens: int) -> int:
        return 0

    def find_longest_cache_hit(
        self, block_hashes: Sequence[BlockHash], max_num_blocks: int
    ) -> list[KVCacheBlock]:
        find = self.block_pool.cached_block_hash_to_block.get_one_block
        found = map(find, block_hashes[:max_num_blocks])
        return list(takewhile(bool, found))  # type: ignore[arg-type]

    def get_block_mask(self, request: Request, start: int, end: int) -> list[bool] | None:
        return None


class SlidingWindowManager(SingleTypeKVCacheManager):
    """A token looks at itself and at the ``sliding_window`` - 1 tokens before it."""

    def __init__(
        self,
        block_pool: BlockPool,
        block_size: int,
        sliding_window: int,
        max_model_len: int,
        max_in_flight_tokens: int,
        retention_interval: int | None,
    ) -> None:
        super().__init__(block_pool, block_size)
        self.sliding_window = sliding_window
        self.retention_interval = retention_interval
        self.num_window_blocks = cdiv(sliding_window - 1, block_size)
        """Blocks that a hit needs."""
        longest = min(sliding_window - 1 + max_in_flight_tokens, max_model_len)
        self.max_admission_blocks = cdiv(longest, block_size) + 1

    def get_num_skipped_tokens(self, num_computed_tokens: int) -> int:
        return max(num_computed_tokens - self.sliding_window + 1, 0)

    def find_longest_cache_hit(
        self, block_hashes: Sequence[BlockHash], max_num_blocks: int
    ) -> list[KVCacheBlock]:
        """From the right: the first run that fills the window, or one that reaches the start."""
        find = self.block_pool.cached_block_hash_to_block.get_one_block
        run: list[KVCacheBlock] = []
        for index in range(min(max_num_blocks, len(block_hashes)) - 1, -1, -1):
            block = find(block_hashes[index])
            if block is None:
                run.clear()
                continue
            run.append(block)
            if len(run) >= self.num_window_blocks:
                return [self._null_block] * index + run[::-1]
        return run[::-1]

    def get_block_mask(self, request: Request, start: int, end: int) -> list[bool] | None:
        """The blocks that a hit at the end of the prompt needs, or at an interval's end."""
        need, interval = self.num_window_blocks, self.retention_interval
        if interval is None:
            return None if need else [False] * (end - start)
        period = interval // self.block_size
        if period and need >= period:
            return None
        last = (request.num_prompt_tokens - 1) // self.block_size
        return [
            last - need <= index < last or (period > 0 and index % period >= period - need)
            for index in range(start, end)
        ]
