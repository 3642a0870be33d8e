"""The scheduler's side of the second tier: who loads, and whose blocks are not free yet.

A request that loads has blocks, but does not run, so it cannot be preempted. Two rules keep such
requests from starving each other: those that hold blocks are looked at first
(``kv_holding_waiting``), and a load is admitted only if the blocks that unfinished prefills still
need stay free.

Source: vLLM 0.33.0, ``vllm/v1/core/sched/scheduler.py``.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from pagesim.journal import event
from pagesim.journal.effects import Name
from pagesim.v1.config import SchedulerConfig
from pagesim.v1.kv_cache_manager import KVCacheManager, request_id_of
from pagesim.v1.kv_cache_utils import KVCacheBlock
from pagesim.v1.offload.config import OffloadingConfig
from pagesim.v1.request import Request, RequestStatus
from pagesim.v1.single_type_kv_cache_manager import cdiv

LOADING = RequestStatus.WAITING_FOR_REMOTE_KVS


@dataclass(slots=True)
class ModelRunnerOutput:
    """What the workers report of a step: the tokens it sampled, and the copies that have ended.

    ``completed`` has the jobs in the order in which they ended, with how many workers report each;
    ``received`` the requests whose load every worker has finished; ``invalid`` the blocks whose
    load failed.
    """

    sampled_token_ids: Mapping[Name, Sequence[int]]
    completed: Sequence[tuple[int, int]] = ()
    received: Sequence[Name] = ()
    invalid: Collection[int] = frozenset()


NO_COPIES = ModelRunnerOutput({})
"""The report of a step during which no copy has ended."""


class RemoteKVs:
    """The requests with blocks that were, are or will be filled by a load."""

    def __init__(
        self, config: SchedulerConfig, manager: KVCacheManager, tier: OffloadingConfig | None
    ) -> None:
        self.config = config
        self.manager = manager
        self.journal = manager.journal
        self.recomputes = tier is not None and tier.kv_load_failure_policy == "recompute"
        """Whether a request whose load has failed computes the rest; otherwise it ends."""
        self.arrived: set[Name] = set()
        """Whose load has ended: the next step promotes them."""
        self.failed: set[Name] = set()
        """Whose load was not whole, and who compute the rest."""
        self.filling: dict[Name, Request] = {}
        """Loads, and prefills that are not finished."""
        self._num_steps = self._num_processed = 0
        self._last_step: dict[Name, int] = {}
        self._deferred: deque[tuple[int, list[KVCacheBlock]]] = deque()
        """Blocks that steps in flight still write, and the last of these steps."""

    # -- admission -------------------------------------------------------------------------------

    def reserved_blocks(self) -> int:
        """Blocks that the requests being filled need still."""
        tables, size = self.manager.coordinator.single_type_managers[0], self.manager.block_size
        longest, reserved = self.config.max_model_len, 0
        for request in self.filling.values():
            held = len(tables.req_to_blocks.get(request.request_id, ()))
            reserved += max(cdiv(min(request.num_tokens, longest), size) - held, 0)
        return reserved

    @event(request_id_of, queues=True)
    def promote(self, request: Request) -> None:
        """Let a request whose load has ended go on.

        If all its tokens were loaded, the last is computed again: the next one is sampled from it.
        """
        name = request.request_id
        self.arrived.remove(name)
        if name in self.failed and not request.num_computed_tokens:
            self.manager.free(request)
        else:
            self.manager.cache_blocks(request, request.num_computed_tokens)
        self.failed.discard(name)
        if request.num_computed_tokens == request.num_tokens:
            request.num_computed_tokens -= 1
        was_preempted = request.num_preemptions > 0
        request.status = RequestStatus.PREEMPTED if was_preempted else RequestStatus.WAITING

    @staticmethod
    def holds_blocks(request: Request) -> bool:
        """Whether a request that waits has blocks: it loads, or has loaded."""
        return request.status is LOADING or request.num_computed_tokens > 0

    # -- freeing ---------------------------------------------------------------------------------

    def can_be_freed(self, request: Request) -> bool:
        """Whether no step in flight writes the blocks of a request, which a load could fill."""
        return self._last_step.get(request.request_id, 0) <= self._num_processed

    def free(self, request: Request) -> None:
        """Give the blocks of a request back, or note that this must wait for a step in flight."""
        if self.can_be_freed(request):
            self.manager.free(request)
        elif blocks := self.manager.pop_blocks_for_free(request):
            self._deferred.append((self._num_steps, blocks))

    def is_loading(self, request_id: Name, status: RequestStatus) -> bool:
        """Whether workers still write into the blocks of a request that had this status."""
        return status is LOADING and request_id not in self.arrived

    def scheduled(self, requests: Iterable[Request]) -> None:
        """A step is under way for these requests, and some of them have no prefill left."""
        if self.config.async_scheduling:
            self._num_steps += 1
        for request in requests:
            self._last_step[request.request_id] = self._num_steps
            if not request.is_prefill_chunk:
                self.filling.pop(request.request_id, None)

    def processed(self) -> None:
        """The output of the oldest step is known: it writes no more."""
        if self.config.async_scheduling:
            self._num_processed += 1
        while self._deferred and self._deferred[0][0] <= self._num_processed:
            self.manager.block_pool.free_blocks(self._deferred.popleft()[1])

    # -- loads end -------------------------------------------------------------------------------

    @event(request_id_of, queues=True)
    def receive(self, request: Request) -> None:
        """A load has ended: its request goes on in a later step, or its blocks are free at last."""
        if request.is_finished():
            self.free(request)
        else:
            self.manager.note_loaded(request)
            self.arrived.add(request.request_id)

    def fail(self, waiting: Iterable[Request], invalid: Collection[int]) -> list[Request]:
        """Keep of each load what precedes its first failed block; returns the requests to end."""
        if not invalid:
            return []
        concerned, marked = [], set[int]()
        for request in waiting:
            if request.status is not LOADING:
                continue
            ids = self.manager.get_block_ids(request.request_id)[0]
            for index in range(cdiv(request.num_computed_tokens, self.manager.block_size)):
                if ids[index] in invalid and ids[index] not in marked:
                    marked.add(ids[index])
                    request.num_computed_tokens = index * self.manager.block_size
                    concerned.append(request)
                    break
        if not self.recomputes:
            return concerned
        self.failed.update(request.request_id for request in concerned)
        return []
