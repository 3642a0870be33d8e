"""The tables of a group of states: one block holds the state after all tokens so far.

An attention layer keeps a row for each token; a Mamba layer, or another recurrent one, keeps one
state, and each token changes it. So a request needs one block however long it is, and can go on
from a cached state only where that state was kept: at the end of a block.

Source: vLLM 0.33.0, ``vllm/v1/core/single_type_kv_cache_manager.py`` and
``vllm/v1/core/sched/scheduler.py``.
"""

from __future__ import annotations

from collections.abc import Sequence

from pagesim.journal.effects import Name
from pagesim.v1.kv_cache_utils import BlockHash, KVCacheBlock
from pagesim.v1.request import Request
from pagesim.v1.single_type_kv_cache_manager import (
    SlidingWindowManager,
    cdiv,
    num_to_touch,
)


class MambaManager(SlidingWindowManager):
    """One block a request in mode "none": nobody looks for its state, which is never cached.

    The last token's state is all that the next one looks at, as in a window of two tokens.
    """

    def _get_sliding_window(self) -> int:
        return 2

    def states_written(self, request_id: Name, num_tokens: int) -> list[tuple[int, int]] | None:
        return [(num_tokens, (num_tokens - 1) // self.block_size)]


class AlignedMambaManager(MambaManager):
    """States at the ends of blocks in mode "align": entry k is the state after k + 1 blocks.

    The entries before the last one are null, but those of a step that ends in a new block.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        self.max_admission_blocks_per_request = 2  # the states before and after a step
        self.last_state_block_idx: dict[Name, int] = {}
        """The entry that held a request's state before the step that is being decided."""
        self.num_retired: dict[Name, int] = {}
        """The entries of a table that are null for good."""
        self.checkpoints: dict[Name, tuple[int, int]] = {}
        """A state to be kept inside the next chunk: after how many tokens, and in which entry."""
        self.cached_blocks_this_step: set[BlockHash] = set()
        """Keys of states that do not exist before the end of this step."""

    def new_step_starts(self) -> None:
        self.cached_blocks_this_step.clear()

    def reachable_block_mask(self, request: Request, start: int, end: int) -> list[bool] | None:
        """The states where a prompt ends, or an interval; all without a retention_interval."""
        if self.retention_interval is None:
            return None
        return super().reachable_block_mask(request, start, end)

    def states_written(self, request_id: Name, num_tokens: int) -> list[tuple[int, int]] | None:
        checkpoint = self.checkpoints.get(request_id, (0, 0))
        return [checkpoint, (num_tokens, (num_tokens - 1) // self.block_size)]

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
        """A block for the state after the last token, and one for a checkpoint.

        A hit that is still being computed takes more than there are: it can be used in the next
        step. A count that is not capped decides where the next checkpoint is.
        """
        hits, num_tokens = new_computed_blocks, num_tokens_main_model
        if hits and hits[-1].key in self.cached_blocks_this_step:
            return self.block_pool.num_gpu_blocks + 1
        table = self.req_to_blocks.get(request_id, [])
        checkpoint = None
        if num_tokens >= prefill_end:
            checkpoint = self.get_mamba_prefill_checkpoint_position(
                total_computed_tokens, num_tokens, num_tokens
            )
        entry = cdiv(num_tokens, self.block_size) - 2
        if checkpoint and entry < len(table) and not table[entry].is_null:
            checkpoint = None
        if not apply_admission_cap:
            self.checkpoints.pop(request_id, None)
            if checkpoint:
                self.checkpoints[request_id] = checkpoint, entry
        num_new = cdiv(num_tokens, self.block_size) - len(hits) - len(table)
        return max(min(num_new, 2 if checkpoint else 1), 0) + num_to_touch(hits)

    def get_mamba_prefill_checkpoint_position(
        self, start: int, end: int, prefill_end: int
    ) -> int | None:
        """After how many tokens the chunk ``start`` to ``end`` can keep a state; None: nowhere."""
        alignment, size = self.kv_cache_spec.prefill_checkpoint_alignment, self.scheduler_block_size
        if not self.kv_cache_spec.num_prefill_checkpoint_blocks or alignment is None:
            return None
        hash_size = self.block_pool.hash_block_size
        position = (prefill_end - 1) // size * size
        is_inside = start < position < end and start + hash_size <= position
        is_aligned = start % hash_size == 0 and (position - start) % alignment == 0
        has_entry = cdiv(end, self.block_size) - 2 > (start - 1) // self.block_size
        return position if is_inside and is_aligned and has_entry else None

    def allocate_new_blocks(
        self, request_id: Name, num_tokens: int, num_tokens_main_model: int
    ) -> list[KVCacheBlock]:
        """An entry for the state after the last token, behind null ones; returns what was added."""
        table = self.req_to_blocks.setdefault(request_id, [])
        num_old, required = len(table), cdiv(num_tokens_main_model, self.block_size)
        has_checkpoint = request_id in self.checkpoints
        if required <= num_old and not has_checkpoint:
            return []
        if num_old:
            self.last_state_block_idx[request_id] = num_old - 1
        if num_old < required - 1:
            table += [self._null_block] * (required - 1 - has_checkpoint - num_old)
        table += self.block_pool.get_new_blocks(max(required - len(table), 0))
        return table[num_old:]

    def remove_skipped_blocks(self, request_id: Name, num_computed_tokens: int) -> Sequence[int]:
        """Free the states before the last one, last first; returns where."""
        table = self.req_to_blocks.get(request_id, [])
        start = self.num_retired.get(request_id, 0)
        end = min(self.get_num_skipped_tokens(num_computed_tokens) // self.block_size, len(table))
        gone = [index for index in range(start, end) if not table[index].is_null]
        if end > start:
            self._drop(table, start, end)
            self.num_retired[request_id] = end
        last = self.last_state_block_idx.get(request_id, len(table))
        behind = min(cdiv(num_computed_tokens, self.block_size) - 1, len(table))
        if last < behind and not table[last].is_null:
            self._drop(table, last, last + 1)
            gone.append(last)
        return gone

    def cache_blocks(self, request: Request, num_tokens: int) -> None:
        """Make the states of full blocks findable, and the one inside the chunk if it is kept."""
        num_before = self.num_cached_block.get(request.request_id, 0)
        super().cache_blocks(request, num_tokens)
        table = self.req_to_blocks.get(request.request_id, [])
        num_after = self.num_cached_block.get(request.request_id, 0)
        self._mark_fresh(table[num_before:num_after])
        if request.request_id in self.checkpoints:
            self._cache_checkpoint(request, table)
            return
        size = self.block_pool.hash_block_size
        last = (request.num_prompt_tokens - 1) // size * size
        entry = num_tokens // self.block_size - 1
        if 0 < num_tokens == last and entry < len(table):
            self._cache_state(request, table[entry], num_tokens, replace=False)

    def _cache_checkpoint(self, request: Request, table: list[KVCacheBlock]) -> None:
        position, entry = self.checkpoints[request.request_id]
        size, interval = self.scheduler_block_size, self.retention_interval
        ends = (request.num_prompt_tokens - 1) // size * size, request.shared_prefix_boundary
        is_periodic = interval is None or (interval > 0 and position % interval == 0)
        if is_periodic or position in ends:
            self._cache_state(request, table[entry], position, replace=True)
        else:
            self.block_pool.evict_blocks([table[entry].block_id])

    def _cache_state(
        self, request: Request, block: KVCacheBlock, num_tokens: int, replace: bool
    ) -> None:
        if block.is_null or (block.key is not None and block.block_hash_num_tokens == num_tokens):
            return
        if len(request.block_hashes) * self.block_pool.hash_block_size < num_tokens:
            return  # a request without hashes, whose state nobody could find
        self.block_pool.cache_partial_block(
            request, block, num_tokens, self.kv_cache_group_id, self.block_size, replace
        )
        self._mark_fresh([block])

    def _mark_fresh(self, blocks: Sequence[KVCacheBlock]) -> None:
        self.cached_blocks_this_step |= {block.key for block in blocks if block.key is not None}

    def pop_blocks_for_free(self, request_id: Name) -> list[KVCacheBlock]:
        for each in (self.last_state_block_idx, self.num_retired, self.checkpoints):
            each.pop(request_id, None)
        return super().pop_blocks_for_free(request_id)


def mamba_block_aligned_split(
    managers: Sequence[AlignedMambaManager],
    request: Request,
    num_computed_tokens: int,
    num_new_tokens: int,
    max_chunk: int,
) -> int:
    """How many of ``num_new_tokens`` a step may compute so that it ends where a state can be kept.

    ``max_chunk`` is the most that any step computes of a request.
    """
    size = managers[0].block_size
    start, end = num_computed_tokens, num_computed_tokens + num_new_tokens
    prefill_end = request.prefill_end
    if start >= prefill_end:
        return num_new_tokens
    inside = end >= prefill_end and all(
        each.get_mamba_prefill_checkpoint_position(start, end, prefill_end) for each in managers
    )
    if end < prefill_end:
        whole = end // size * size
        if whole > start or size <= max_chunk:
            end = whole
    stops = [] if inside else [(request.num_tokens - 1) // size * size]
    if start % size and not inside:
        stops.append((start // size + 1) * size)
    junction = request.shared_prefix_boundary
    if start < junction < end:
        stops.append(start + (junction - start) // size * size)
    return max(min([end, *(stop for stop in stops if start < stop < end)]) - start, 0)
