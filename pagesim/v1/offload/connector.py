"""The connector: what a request stores in the second tier and loads from it, and when.

A chunk is stored in the step that computes it, whether memory is short or not. A request that waits
may load what the GPU has lost. Nothing here moves bytes: workers do the jobs that a step's output
names, and say when they are done.

Source: vLLM 0.33.0, ``vllm/distributed/kv_transfer/kv_connector/v1/offloading/scheduler.py``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from pagesim.errors import UsageError
from pagesim.journal import Journal, event
from pagesim.journal.effects import APPEND, END, WRITE, Name, Row
from pagesim.journal.state import State
from pagesim.v1.config import CacheConfig
from pagesim.v1.kv_cache_utils import KVCacheBlock
from pagesim.v1.kv_events import KVCacheEvent
from pagesim.v1.offload.base import LookupResult, OffloadKey, ReqContext
from pagesim.v1.offload.config import OffloadingConfig
from pagesim.v1.offload.events import ChunkEvents
from pagesim.v1.offload.manager import CPUOffloadingManager
from pagesim.v1.offload.shown import ChunkBlocks
from pagesim.v1.output import SchedulerOutput
from pagesim.v1.request import Request, RequestStatus
from pagesim.v1.single_type_kv_cache_manager import cdiv
from pagesim.v1.transfers import (
    GPULoadStoreSpec,
    OffloadingConnectorMetadata,
    Spec,
    TransferJob,
)


@dataclass(slots=True, eq=False)
class RequestState:
    """What the connector knows of a request."""

    request: Request
    context: ReqContext
    keys: list[OffloadKey] = field(default_factory=list)
    block_ids: list[int] = field(default_factory=list)
    """The part of its table that the workers know."""
    next_chunk: int = 0
    """The first chunk that was not offered yet."""
    num_local_tokens: int = 0
    """What the GPU had when it was looked up last."""
    is_sync: bool = False
    """Whether the step waits for what was found then."""
    jobs: set[int] = field(default_factory=set)
    is_told: bool = False
    """Whether the manager knows that it is finished."""


class OffloadingConnector:
    """Stores and loads for the requests of one scheduler."""

    def __init__(
        self,
        config: OffloadingConfig,
        cache_config: CacheConfig,
        journal: Journal | None = None,
    ) -> None:
        self.config = config
        self.journal = journal or Journal()
        self.block_size = cache_config.block_size
        self.blocks_per_chunk = config.chunk_blocks(cache_config)
        self.chunk_size = self.block_size * self.blocks_per_chunk
        self.manager = CPUOffloadingManager(
            config.num_chunks,
            config.cache_policy,
            config.enable_kv_cache_events,
            config.store_threshold,
            config.max_tracker_size,
            self.journal,
            ChunkBlocks(cache_config.num_gpu_blocks, self.blocks_per_chunk),
        )
        self.events = ChunkEvents(
            self.blocks_per_chunk, self.block_size, config.self_describing_kv_events
        )
        self.jobs: dict[int, TransferJob] = {}
        """The jobs that are not done, by number."""
        self._fence: dict[int, TransferJob] = {}
        """Those that a reset left behind, which some workers have not reported."""
        self._num_jobs = self._num_stale = 0
        """How many jobs have begun, and how many of them before the last reset."""
        self._states: dict[Name, RequestState] = {}
        self._shares_loads = cache_config.enable_prefix_caching
        self._loading: set[OffloadKey] = set()
        """Keys that a load copies now: whoever needs them waits, and finds them on the GPU."""
        self._watched: dict[int, set[int]] = {}
        """Blocks that a store still reads, though their request has ended: its jobs, by block."""
        self._flushed: set[int] = set()
        """Jobs that a reset makes the next step wait for."""
        self._begin_step()

    def _begin_step(self) -> None:
        self._loads: dict[int, TransferJob] = {}
        self._allocated: set[int] = set()
        self._sync_budget = self.config.sync_load_budget_tokens

    # -- a request -------------------------------------------------------------------------------

    def on_new_request(self, request: Request) -> None:
        """A request arrives. UsageError if one of its id still has copies under way."""
        if request.request_id in self._states:
            raise UsageError(
                f"request {request.request_id!r} has ended, and the second tier still deals with "
                "it: give each request a unique id"
            )
        context = ReqContext(request.request_id)
        self._states[request.request_id] = RequestState(request, context)
        self.manager.on_new_request(context)

    def _grow_keys(self, state: RequestState) -> None:
        """A chunk's key is the hash of its last block."""
        hashes, step = state.request.block_hashes, self.blocks_per_chunk
        for index in range(len(state.keys), len(hashes) // step):
            key = hashes[(index + 1) * step - 1]
            state.keys.append(key)
            state.context.set_offload_key_position(key, (index + 1) * self.chunk_size)

    def get_num_new_matched_tokens(
        self, request: Request, num_computed_tokens: int
    ) -> tuple[int | None, bool]:
        """How many tokens beyond these can be loaded, and whether the request waits for them.

        None is "ask again in the next step": a copy that it needs is under way.
        """
        state, size, local = self._states[request.request_id], self.chunk_size, num_computed_tokens
        state.block_ids, state.next_chunk = [], 0
        if state.jobs:
            return None, False
        self._grow_keys(state)
        state.num_local_tokens = local
        if request.skip_reading_prefix_cache or len(state.keys) * size - local < size:
            return 0, False
        first = end = local // size
        is_pending = False
        while end < len(state.keys):
            result = self.manager.lookup(state.keys[end], state.context)
            if result is LookupResult.MISS:
                break
            self.events.learn(request, state.keys[end], end)
            is_pending |= result is LookupResult.HIT_PENDING
            end += 1
        num_tokens = end * size - local
        if is_pending:
            return None, False
        if end == first or num_tokens < size:
            return 0, False
        if not self._loading.isdisjoint(state.keys[first:end]):
            return None, False
        state.is_sync = end * size < request.num_tokens and num_tokens <= self._sync_budget
        if state.is_sync:
            self._sync_budget -= num_tokens
        return num_tokens, not state.is_sync

    def update_state_after_alloc(
        self, request: Request, blocks: Sequence[KVCacheBlock], num_external_tokens: int
    ) -> None:
        """A request has this table now; begin to load what of it is not computed."""
        self._allocated.update(block.block_id for block in blocks)
        if not num_external_tokens:
            return
        state, size = self._states[request.request_id], self.block_size
        num_tokens = state.num_local_tokens + num_external_tokens
        state.next_chunk = cdiv(num_tokens, self.chunk_size)
        end, start = cdiv(num_tokens, size), cdiv(state.num_local_tokens, size)
        if not state.is_sync:
            start = next((at for at in range(start, end) if blocks[at].key is None), end)
        keys = state.keys[start // self.blocks_per_chunk : state.next_chunk]
        source = self.manager.prepare_load(keys, state.context)
        target = GPULoadStoreSpec([block.block_id for block in blocks[start:end]], (start,))
        job = self._begin(state, keys, source, target)
        self._loads[job.job_id] = job
        if self._shares_loads and not state.is_sync:
            self._loading.update(keys)

    def _begin(
        self, state: RequestState, keys: Sequence[OffloadKey], source: Spec, target: Spec
    ) -> TransferJob:
        is_store = isinstance(source, GPULoadStoreSpec)
        job = TransferJob(
            self._num_jobs,
            state.request.request_id,
            keys,
            source,
            target,
            is_store,
            not is_store and state.is_sync,
            self.config.num_workers,
        )
        self._num_jobs += 1
        self.jobs[job.job_id] = job
        state.jobs.add(job.job_id)
        self.journal.note_all(self.manager.blocks.begun, job)
        return job

    def request_finished(self, request: Request) -> bool:
        """A request has ended, and its blocks are free; False: nobody keeps them for a copy.

        The stores that still read its blocks are watched: who takes such a block waits for them.
        """
        for job_id in self._states[request.request_id].jobs:
            self._watch(self.jobs[job_id])
        return False

    def _watch(self, job: TransferJob) -> None:
        if job.is_store:
            for block_id in job.src_spec.block_ids:
                self._watched.setdefault(block_id, set()).add(job.job_id)

    # -- a step ----------------------------------------------------------------------------------

    def build_connector_meta(self, output: SchedulerOutput) -> OffloadingConnectorMetadata:
        """What the workers are to copy, now that the step is decided."""
        self._learn_tables(output)
        flushed, self._flushed = self._flushed, set()
        for request_id in output.preempted_req_ids:
            state = self._states.get(request_id)
            flushed |= state.jobs - self._loads.keys() if state else set()
        for block_id in self._allocated & self._watched.keys():
            flushed |= self._watched[block_id]
        stores: dict[int, TransferJob] = {}
        for request_id, num_new in output.num_scheduled_tokens.items():
            state = self._states[request_id]
            self._store(state, state.request.num_computed_tokens + num_new, stores)
        for request_id in sorted(output.finished_req_ids, key=str):
            if (state := self._states.get(request_id)) is None:
                continue
            if job := self._store(state, _num_kept(state.request), stores):
                self._watch(job)
                if not self._allocated.isdisjoint(job.src_spec.block_ids):
                    flushed.add(job.job_id)
            self._tell_finished(state)
        metadata = OffloadingConnectorMetadata(self._loads, stores, flushed)
        self._begin_step()
        return metadata

    def _learn_tables(self, output: SchedulerOutput) -> None:
        """The blocks that the workers know by this step."""
        cached = output.scheduled_cached_reqs
        tables = [(new.req_id, new.block_ids, True) for new in output.scheduled_new_reqs] + [
            (request_id, block_ids, request_id in cached.resumed_req_ids)
            for request_id, block_ids in zip(cached.req_ids, cached.new_block_ids, strict=True)
        ]
        for request_id, block_ids, is_whole in tables:
            state = self._states[request_id]
            new = block_ids[0] if block_ids else []
            state.block_ids = [*new] if is_whole else state.block_ids + new
            self._allocated.update(new)

    def _store(
        self, state: RequestState, num_tokens: int, stores: dict[int, TransferJob]
    ) -> TransferJob | None:
        """Offer the chunks that are computed; those that the tier lacks are stored."""
        self._grow_keys(state)
        num_tokens = min(num_tokens, state.request.num_tokens)
        if self.config.offload_prompt_only:
            num_tokens = min(num_tokens, state.request.num_prompt_tokens)
        width, start = self.blocks_per_chunk, state.next_chunk
        end = min(num_tokens // self.chunk_size, len(state.block_ids) // width, len(state.keys))
        if end <= start:
            return None
        answer = self.manager.prepare_store(state.keys[start:end], state.context)
        if answer is None:  # no room: all is offered again in the next step
            return None
        state.next_chunk = end
        if not (keys := answer.keys_to_store):
            return None
        for index in range(start, end):
            self.events.learn(state.request, state.keys[index], index)
        places = [index for index in range(start, end) if state.keys[index] in keys]
        self.journal.note_all(self._written, state.request, places, answer.store_spec.block_ids)
        blocks = [state.block_ids[at * width + i] for at in places for i in range(width)]
        source = GPULoadStoreSpec(blocks, (places[0] * width,))
        job = self._begin(state, keys, source, answer.store_spec)
        stores[job.job_id] = job
        return job

    def _written(
        self, request: Request, places: Iterable[int], chunk_ids: Iterable[int]
    ) -> Iterator[Row]:
        """The rows that say whose tokens come into these chunks."""
        for place, chunk_id in zip(places, chunk_ids, strict=True):
            yield APPEND, request, place * self.chunk_size, ()
            yield from self.manager.blocks.rows(chunk_id, WRITE, self.block_size)

    def _tell_finished(self, state: RequestState) -> None:
        if not state.is_told:
            state.is_told = True
            self.manager.on_request_finished(state.context)
        if not state.jobs:
            self._states.pop(state.request.request_id, None)

    @event(queues=True, if_changed=True)
    def update_connector_output(self, completed: Iterable[tuple[int, int]]) -> None:
        """Workers report jobs: each number, and how many workers are done with it."""
        for job_id, num_reports in completed:
            is_stale = self.is_stale(job_id)
            job = self._fence.get(job_id) if is_stale else self.jobs[job_id]
            if job is None:  # it was done before the reset
                continue
            job.num_pending -= num_reports
            if job.num_pending > 0:
                continue
            self.journal.note((END, job_id))
            if is_stale:
                del self._fence[job_id]
            else:
                self._complete(job)

    def is_stale(self, job_id: int) -> bool:
        """Whether a job began before the last reset: whatever is reported of it does no harm."""
        return job_id < self._num_stale

    def num_pending(self, job_id: int) -> int:
        """How many workers have not reported a job yet; 0 for one that is done, or unknown."""
        job = self.jobs.get(job_id) or self._fence.get(job_id)
        return job.num_pending if job else 0

    def _complete(self, job: TransferJob) -> None:
        state = self._states[job.req_id]
        del self.jobs[job.job_id]
        state.jobs.remove(job.job_id)
        if job.is_store:
            self.manager.complete_store(job.keys, state.context)
            for block_id in job.src_spec.block_ids:
                if jobs := self._watched.get(block_id):
                    jobs.discard(job.job_id)
                    if not jobs:
                        del self._watched[block_id]
        else:
            self.manager.complete_load(job.keys, state.context)
            self._loading.difference_update(job.keys)
        if state.is_told and not state.jobs:
            del self._states[job.req_id]

    def take_events(self) -> list[KVCacheEvent]:
        """Return what a router should hear of the tier since the last call."""
        return self.events.of(self.manager.take_events())

    def has_pending_push_work(self) -> bool:
        """Whether copies are under way: the engine goes on with empty steps until they are done."""
        return bool(self.jobs or self._fence)

    def state(self, gpu: State) -> State:
        """Add the tier to the present state of the GPU."""
        return self.manager.state(gpu, (*self._fence.values(), *self.jobs.values()))

    @event(queues=True)
    def reset_cache(self) -> None:
        """Forget the tier. Copies under way are waited for in the next step, and lead nowhere."""
        self._flushed |= self.jobs.keys()
        self._fence |= self.jobs
        self._num_stale = self._num_jobs
        self.jobs.clear()
        for state in list(self._states.values()):
            state.jobs.clear()
            state.next_chunk = 0
            if state.request.is_finished():
                self._tell_finished(state)
        self.manager.reset_cache()
        self.events.known.clear()
        self._loading.clear()
        self._watched.clear()


def _num_kept(request: Request) -> int:
    """How many tokens of a finished request have keys and values: the last sampled one has not."""
    if request.status is RequestStatus.FINISHED_ABORTED:
        return request.num_computed_tokens
    return max(request.num_prompt_tokens, request.num_tokens - 1)
