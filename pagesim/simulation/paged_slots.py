"""What V0's server counts in a step: where the slots of its pages are, and what is computed."""

from collections.abc import Iterable

from pagesim.simulation.waste import Slots, usage
from pagesim.v0.block.common import cdiv
from pagesim.v0.block_manager import AllocStatus
from pagesim.v0.scheduler import Scheduler
from pagesim.v0.scheduler_outputs import SequenceGroupMetadata


class PagedSlots:
    """Counts the slots of a scheduler's blocks; ``shares``: one may be in more than one table."""

    def __init__(self, scheduler: Scheduler, samples_share: bool) -> None:
        self._scheduler = scheduler
        cache = scheduler.cache_config
        self.shares = samples_share or cache.enable_prefix_caching or bool(cache.sliding_window)
        self._cached: dict[int, int] = {}
        """By row: how many tokens of a chunked prompt are cached."""

    def usage(self, metadata: Iterable[SequenceGroupMetadata]) -> Slots:
        """The slots while this step runs."""
        manager = self._scheduler.block_manager
        free = manager.get_num_free_gpu_blocks() * manager.block_size
        held = manager.num_total_gpu_blocks * manager.block_size - free
        empty, reserved = self._empty(held), self._later_chunks(metadata)
        return usage(held, free, self._head_waits(), empty=empty, reserved=reserved)

    def num_tokens(self) -> int:
        """Slots that hold a token, between two steps; those of a prompt's later chunks count."""
        manager = self._scheduler.block_manager
        held = manager.num_total_gpu_blocks - manager.get_num_free_gpu_blocks()
        held *= manager.block_size
        return held - self._empty(held)

    def _later_chunks(self, metadata: Iterable[SequenceGroupMetadata]) -> int:
        """Slots that later chunks of prompts fill, unless another sequence has filled them."""
        scheduler, cache = self._scheduler, self._scheduler.cache_config
        if not scheduler.scheduler_config.enable_chunked_prefill:
            return 0
        block_size, tables = cache.block_size, scheduler.block_manager.block_tables
        for meta in metadata:
            if meta.is_prompt:
                tag, (data,) = meta.sampling_params, meta.seq_data.values()
                found = len(meta.computed_block_nums) * block_size
                self._cached[tag.row] = max(found, data.num_computed_tokens + meta.token_chunk_size)
        left: dict[int, int] = {}
        complete: set[int] = set()
        for group in scheduler.running:
            table = tables[group.first_seq.seq_id]
            ids, end = table.physical_block_ids, table.num_full_slots
            cached = self._cached[group.sampling_params.row] if group.is_prefill() else end
            for index in range(cached // block_size, cdiv(end, block_size)):
                start = index * block_size
                missing = min(start + block_size, end) - max(start, cached)
                left[ids[index]] = missing  # a shared block is missing as a whole
            if cache.enable_prefix_caching:
                complete.update(ids[: cached // block_size])
        return sum(missing for block_id, missing in left.items() if block_id not in complete)

    def _empty(self, held: int) -> int:
        """Slots without a token: in last blocks, which may be shared, and in the null block."""
        manager, empty = self._scheduler.block_manager, {}
        block_size, tables = manager.block_size, manager.block_tables
        if not self.shares:
            running = self._scheduler.running
            return held - sum([tables[g.seqs[0].seq_id].num_full_slots for g in running])
        if (null_block_id := manager.block_allocator.null_block_id) is not None:
            empty[null_block_id] = block_size
        for group in self._scheduler.running:
            for seq in group.seqs:
                table = tables[seq.seq_id]
                ids = table.physical_block_ids
                empty[ids[-1]] = len(ids) * block_size - table.num_full_slots
        return sum(empty.values())

    def _head_waits(self) -> bool:
        """Whether a request waits for lack of blocks rather than seats."""
        scheduler, manager = self._scheduler, self._scheduler.block_manager
        if len(scheduler.running) >= scheduler.scheduler_config.max_num_seqs:
            return False
        if scheduler.swapped:
            return manager.can_swap_in(scheduler.swapped[0], 0) is not AllocStatus.OK
        waiting = scheduler.waiting
        return bool(waiting) and manager.can_allocate(waiting[0]) is not AllocStatus.OK


def computed_by(
    metadata: Iterable[SequenceGroupMetadata], block_size: int
) -> tuple[list[tuple[int, int, bool]], list[tuple[int, int]]]:
    """The positions that a step computes, for `costs`; rows, and tokens that they are spared.

    Of a chunk, only tokens that are neither computed nor in the prefix cache are computed; if
    none are left, its last token, as in vLLM.
    """
    parts, found = [], []
    for meta in metadata:
        chunk, is_decode = meta.token_chunk_size, not meta.is_prompt
        for data in meta.seq_data.values():
            start = first = data.num_computed_tokens
            if not is_decode:
                cached = len(meta.computed_block_nums) * block_size
                first = min(max(start, cached), start + chunk - 1)
            if first > start:
                found.append((meta.sampling_params.row, first - start))
            parts.append((first, start + chunk, is_decode))
    return parts, found
