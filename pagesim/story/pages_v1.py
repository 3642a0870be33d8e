"""A story on V1: requests, which share only full blocks and never leave the GPU."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NoReturn

from pagesim.errors import NoFreeBlocksError, UnsupportedError, UsageError
from pagesim.journal.effects import Name
from pagesim.sizing.kv_cache_spec import MambaSpec
from pagesim.v1.group_words import Groups, parse_groups
from pagesim.v1.kv_cache_manager import KVCacheManager
from pagesim.v1.kv_cache_utils import KVCacheBlock
from pagesim.v1.mamba_manager import AlignedMambaManager, mamba_block_aligned_split
from pagesim.v1.request import Request, RequestStatus
from pagesim.v1.single_type_kv_cache_manager import cdiv

if TYPE_CHECKING:
    from pagesim.cache.attention_metadata import AttentionMetadata

Pairs = list[tuple[int, int]]
NO_SWAPPING = (
    "V1 has no swapping: a preempted request is computed again, from what is left of it in the "
    "cache. Let it leave, and arrive again with its tokens"
)
NO_TIER = (
    "V1 has no swapping, and its second tier belongs to a scheduler. Make a pagesim.v1.Scheduler "
    "with an OffloadingConfig, and let pagesim.v1.serve run it"
)
NO_FORKS = (
    "V1 has no forks and copies no blocks: samples of one prompt are requests of their own. Let it "
    "arrive again with caching=True, then its full blocks are shared"
)


class V1Pages:
    """The KV cache manager of release 0.33.0; each write is a step that stores its tokens."""

    takes_text_ids, swaps = True, False

    def __init__(
        self,
        gpu_blocks: int,
        cpu_blocks: int,
        block_size: int,
        caching: bool,
        watermark: float,
        sliding_window: int | None,
        groups: Groups | None = None,
    ) -> None:
        if cpu_blocks != 0:
            raise UnsupportedError(f"cpu_blocks must be 0, not {cpu_blocks!r}: {NO_TIER}")
        specs = None if groups is None else parse_groups(groups, block_size, caching)
        self.manager = KVCacheManager(
            gpu_blocks,
            block_size if specs is None else None,
            sys.maxsize,
            caching,
            sliding_window,
            watermark,
            groups=specs,
        )
        tables = self.manager.coordinator.single_type_managers
        self._aligned = [each for each in tables if isinstance(each, AlignedMambaManager)]
        self._computed: dict[Request, int] = {}
        """How many tokens of each a batch has computed, or a hit has found."""

    @property
    def tables(self) -> Mapping[Name, Sequence[KVCacheBlock]]:
        return self.manager.coordinator.single_type_managers[0].req_to_blocks

    def arrive(self, seq_id: Name, tokens: list[int], name: Name) -> Request:
        if seq_id in self.tables:
            raise UsageError(f"{name!r} is already in use: names must be unique")
        if not tokens:
            raise UsageError(f"the prompt of {name!r} is empty: it needs at least one token")
        manager = self.manager
        size = manager.block_pool.hash_block_size
        request = Request(seq_id, tokens, block_size=size, max_tokens=sys.maxsize)
        manager.new_step_starts()
        hits, found, request.shared_prefix_boundary = manager.get_computed_blocks(request)
        others = bool(self.tables)
        end, *later = self._steps(request, found)
        blocks = manager.allocate_slots(
            request,
            end - found,
            found,
            hits,
            reserved_blocks=self._num_later_blocks(end, later),
            has_scheduled_reqs=others,
        )
        if blocks is None:
            raise self._no_room(request, len(tokens))
        request.status, request.num_computed_tokens = RequestStatus.RUNNING, end
        self._take(request, later)
        self._computed[request] = found
        return request

    def _steps(self, request: Request, start: int) -> list[int]:
        """Where the steps end that compute a request from ``start`` on.

        It is one, unless there are states: then a step ends where one can be kept, as in vLLM.
        """
        if not self._aligned:
            return [request.num_tokens]
        ends: list[int] = []
        while start < request.num_tokens:
            start += mamba_block_aligned_split(
                self._aligned, request, start, request.num_tokens - start, sys.maxsize
            )
            ends.append(start)
        return ends

    def _num_later_blocks(self, end: int, later: Sequence[int], lookahead: int = 0) -> int:
        """The most blocks that later steps take at a time: there must be room before the first."""
        count = 0
        for spec in self.manager.kv_cache_groups if later else ():
            more = cdiv(later[-1] + lookahead, spec.block_size) - cdiv(end, spec.block_size)
            if isinstance(spec, MambaSpec):
                more = min(more, 1 + spec.num_prefill_checkpoint_blocks)
            count += more
        return count

    def _take(self, request: Request, ends: Sequence[int], lookahead: int = 0) -> None:
        """Later steps, for which there is room."""
        for end in ends:
            self.manager.new_step_starts()
            ahead = lookahead if end == ends[-1] else 0
            count = end - request.num_computed_tokens
            self.manager.allocate_slots(request, count, num_lookahead_tokens=ahead)
            request.num_computed_tokens = end

    def write(self, request: Request, tokens: list[int], lookahead: int) -> Pairs:
        if not tokens:
            if lookahead:
                raise UsageError("V1 reserves lookahead slots behind new tokens: write one or more")
            return []
        length, block_size = request.num_tokens, self.manager.block_pool.hash_block_size
        try:
            request.append_output_token_ids(tokens)
            end, *later = self._steps(request, length)
            self.manager.new_step_starts()
            blocks = self.manager.allocate_slots(
                request,
                end - length,
                num_lookahead_tokens=0 if later else lookahead,
                reserved_blocks=self._num_later_blocks(end, later, lookahead),
            )
            if blocks is None:
                raise self._no_room(request, request.num_tokens + lookahead)
        except BaseException:
            del request.all_token_ids[length:], request.block_hashes[length // block_size :]
            request._next_block_end = (len(request.block_hashes) + 1) * block_size
            raise
        request.num_computed_tokens = end
        self._take(request, later, lookahead)
        return []

    def _no_room(self, request: Request, num_tokens: int) -> NoFreeBlocksError:
        free = self.manager.block_pool.get_num_free_blocks()
        groups = self.manager.kv_cache_groups
        blocks = f"{free} blocks of {self.manager.block_size} slots are free"
        if len(groups) > 1:
            blocks = f"{free} blocks are free, and each of {len(groups)} groups needs its own"
        error = NoFreeBlocksError(
            f"no room for {num_tokens} tokens of {request.request_id!r}: {blocks}"
        )
        self.manager.journal.fail("allocate_slots", request.request_id, error)
        return error

    def leave(self, request: Request) -> None:
        self.manager.free(request)
        request.status = RequestStatus.FINISHED_STOPPED

    def fork(self, request: Request, child_id: Name) -> NoReturn:
        raise UnsupportedError(NO_FORKS)

    def swap_out(self, request: Request) -> NoReturn:
        raise UnsupportedError(NO_SWAPPING)

    def swap_in(self, request: Request) -> NoReturn:
        raise UnsupportedError(NO_SWAPPING)

    def group(self, request: Request) -> NoReturn:
        raise UnsupportedError("V1 has no sequence groups: a request is one sequence, writer.seq")

    def batch(self, requests: Sequence[Request]) -> AttentionMetadata:
        from pagesim.cache.attention_metadata import assemble_groups
        from pagesim.cache.spans_v1 import spans_of

        spans = [
            spans_of(request, self.manager, self._computed[request], request.num_tokens)
            for request in requests
            if self.num_uncomputed(request)
        ]
        batch = assemble_groups(spans, self.manager.kv_cache_groups)
        for request in requests:
            self._computed[request] = request.num_tokens
        return batch

    def is_running(self, request: Request) -> bool:
        return True

    def token_ids(self, request: Request) -> list[int]:
        return request.all_token_ids

    def block_ids_by_group(self, request: Request) -> tuple[list[int], ...]:
        return self.manager.get_block_ids(request.request_id)

    def num_uncomputed(self, request: Request) -> int:
        return request.num_tokens - self._computed[request]

    def num_cached(self, request: Request) -> int:
        return self._computed[request]
