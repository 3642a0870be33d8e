"""The manager of the second tier: which chunks are on the CPU, who reads them, who goes.

It moves no bytes. Preparing a store gives its chunks a place; completing it lets them be loaded.

Source: vLLM 0.33.0, ``vllm/v1/kv_offload/cpu/manager.py``.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any
from weakref import WeakKeyDictionary

from pagesim.checks import Flag, Natural, NaturalCount, check_a, check_choice, checked, explained
from pagesim.errors import UsageError
from pagesim.journal import Journal
from pagesim.journal.effects import BACK, CACHE, COMPUTED, EVICT, FREE, SHARE, TAKE, UNSHARE
from pagesim.journal.state import State
from pagesim.v1.offload.arc import ARCCachePolicy
from pagesim.v1.offload.base import (
    ChunkStatus,
    Keys,
    LookupResult,
    OffloadingEvent,
    OffloadKey,
    PrepareStoreOutput,
    ReqContext,
)
from pagesim.v1.offload.lru import LRUCachePolicy
from pagesim.v1.offload.shown import CPU_FREE_LIST, ChunkBlocks
from pagesim.v1.transfers import CPULoadStoreSpec, TransferJob

POLICIES: dict[str, type[LRUCachePolicy] | type[ARCCachePolicy]] = {
    "lru": LRUCachePolicy,
    "arc": ARCCachePolicy,
}


@dataclass(slots=True)
class AccessRecord:
    """The keys that a request has needed, in this order, and what it did with them."""

    keys: dict[OffloadKey, None] = field(default_factory=dict)
    inserted: set[OffloadKey] = field(default_factory=set)
    reused: set[OffloadKey] = field(default_factory=set)
    missed: set[OffloadKey] = field(default_factory=set)
    finished: bool = False


class CPUOffloadingManager:
    """A tier of ``num_chunks`` chunks; ``cache_policy``, "lru" or "arc", says which goes first.

    With a ``store_threshold`` above 1, a chunk is stored when it is offered for that many times;
    ``counts`` has at most ``max_tracker_size`` chunks. ``blocks`` are the blocks that a recording
    shows a chunk as. A failed call has changed nothing.
    """

    num_used: int
    """The places below this one have had a chunk since the last reset."""

    @checked
    def __init__(
        self,
        num_chunks: NaturalCount,
        cache_policy: str = "lru",
        enable_events: Flag = False,
        store_threshold: Natural = 1,
        max_tracker_size: Natural = 64000,
        journal: Journal | None = None,
        blocks: ChunkBlocks | None = None,
    ) -> None:
        check_choice("cache_policy", cache_policy, tuple(POLICIES))
        self.policy: LRUCachePolicy | ARCCachePolicy = POLICIES[cache_policy](num_chunks)
        self.num_chunks, self.enable_events = num_chunks, enable_events
        self.store_threshold, self.max_tracker_size = store_threshold, max_tracker_size
        self.cache_policy = cache_policy
        self.journal, self.blocks = journal or Journal(), blocks or ChunkBlocks()
        self.counts = OrderedDict[OffloadKey, int]() if store_threshold > 1 else None
        self.events: list[OffloadingEvent] = []
        self.allocations: list[int] = []
        self.skipped = 0
        self.reset_cache()

    def reset_cache(self) -> None:
        """Forget all chunks, even those in use, but not what was offered and announced."""
        if self.journal.recording:
            chunks = self.policy.chunks.values()
            self.journal.note_all(self.blocks.forgotten, chunks, self.freed_ids, self.num_used)
        self.policy.clear()
        self.records: WeakKeyDictionary[ReqContext, AccessRecord] = WeakKeyDictionary()
        self.freed_ids: list[int] = []
        self.num_used = self.num_pending = self.num_pinned = 0

    # -- what a request has needed ---------------------------------------------------------------

    @explained
    def on_new_request(self, req_context: ReqContext) -> None:
        """A request arrives."""
        self.records[req_context] = AccessRecord()

    def _needs(
        self, keys: Iterable[OffloadKey], reused: Keys, req_context: ReqContext
    ) -> AccessRecord:
        """Note it, unless the request has finished: that is a UsageError."""
        check_a("req_context", req_context, ReqContext)
        record = self.records.setdefault(req_context, AccessRecord())
        new = [key for key in keys if key not in record.keys]
        if new and record.finished:
            raise UsageError(
                f"request {req_context.req_id!r} has finished, so it cannot need chunk {new[0]!r}: "
                "make a ReqContext for each request"
            )
        if new:
            record.keys.update(dict.fromkeys(new))
            self.policy.on_request_access(new, req_context)
        record.reused.update(key for key in reused if key not in record.inserted)
        return record

    @explained
    def on_request_finished(self, req_context: ReqContext) -> None:
        """A request ends, and the policy learns what it has needed, from its head to its tail."""
        record = self._needs((), (), req_context)
        if not record.finished:
            record.finished = True
            keys, ends = list(record.keys), req_context.positions
            if ends.keys() >= record.keys.keys():
                keys.sort(key=ends.__getitem__)
            inserted = record.inserted - record.reused
            self.policy.on_request_finished(keys, inserted, record.reused, req_context)

    @explained
    def touch(self, keys: Iterable[OffloadKey], req_context: ReqContext) -> None:
        """These chunks are used now."""
        self.policy.touch(list(dict.fromkeys(keys)))

    # -- loading and storing ---------------------------------------------------------------------

    @explained
    def lookup(self, key: OffloadKey, req_context: ReqContext) -> LookupResult:
        """Return whether a chunk can be loaded."""
        if (chunk := self.policy.get(key)) is None:
            return LookupResult.MISS
        return LookupResult.HIT_PENDING if chunk.ref_cnt < 0 else LookupResult.HIT

    @explained
    def prepare_load(self, keys: Iterable[OffloadKey], req_context: ReqContext) -> CPULoadStoreSpec:
        """Return where these chunks are; they stay there until the load is completed."""
        wanted = list(keys)
        for key in wanted:
            if (found := self.lookup(key, req_context)) is not LookupResult.HIT:
                raise AssertionError(f"chunk {key!r} cannot be loaded: lookup() says {found.name}")
        self._needs(dict.fromkeys(wanted), wanted, req_context)
        return CPULoadStoreSpec([self._pin(self.policy.chunks[key]) for key in wanted])

    @explained
    def complete_load(self, keys: Iterable[OffloadKey], req_context: ReqContext) -> None:
        """These chunks have been read."""
        read = list(keys)
        for key, times in Counter(read).items():
            chunk = self.policy.get(key)
            if chunk is None or chunk.ref_cnt < times:
                raise AssertionError(
                    f"chunk {key!r} is not being loaded{'' if times == 1 else f' {times} times'}: "
                    "call prepare_load() first"
                )
        for key in read:
            self._release(self.policy.chunks[key])

    @explained
    def prepare_store(
        self, keys: Iterable[OffloadKey], req_context: ReqContext
    ) -> PrepareStoreOutput | None:
        """Give these chunks a place, if they have none, and evict others for them.

        None if there is no room for all of them.
        """
        offered = list(keys)
        chunks = {key: self.policy.get(key) for key in offered}
        if len(chunks) < len(offered):
            twice = next(key for key, times in Counter(offered).items() if times > 1)
            raise UsageError(f"chunk {twice!r} is offered twice: offer each key once")
        missing = [key for key, chunk in chunks.items() if chunk is None]
        new = [key for key in missing if self._is_offered_often(key)]
        ready = [key for key, chunk in chunks.items() if chunk is not None and chunk.ref_cnt >= 0]
        needed = {*new, *ready}
        record = self._needs([key for key in offered if key in needed], ready, req_context)
        self._count(offered)  # nothing has changed when the line above raises
        self.skipped += len(missing) - len(new)
        missed = [key for key in new if key not in record.missed]
        self.policy.on_store_miss(missed, req_context)
        record.missed.update(missed)
        if new:
            self.allocations.append(len(new))
        evicted = self._evict(len(new) - self._num_free(), {*offered})
        if evicted is None:
            return None
        record.inserted.update(new)
        ids = [self._begin_store(key, req_context) for key in new]
        return PrepareStoreOutput(new, CPULoadStoreSpec(ids), evicted)

    @explained
    def complete_store(
        self, keys: Iterable[OffloadKey], req_context: ReqContext, success: bool = True
    ) -> None:
        """These chunks have been written, or could not be; those not being stored stay."""
        chunks = {key: self.policy.get(key) for key in keys}
        pending = {key: chunk for key, chunk in chunks.items() if chunk and chunk.ref_cnt < 0}
        for key, chunk in pending.items():
            self._end_store(key, chunk, success)
        self._announce(list(pending), not success, not success)

    def _is_offered_often(self, key: OffloadKey) -> bool:
        return self.counts is None or self.counts.get(key, 0) + 1 >= self.store_threshold

    def _count(self, offered: Keys) -> None:
        """Count these offers; the oldest others make room for those that are offered first now."""
        if (counts := self.counts) is None:
            return
        known = [key for key in offered if key in counts]
        for key in known:
            counts[key] += 1
            counts.move_to_end(key)
        others = len(counts) - len(known)
        for key in offered:
            if key not in counts:
                if len(counts) >= self.max_tracker_size:
                    if not others:
                        return
                    counts.popitem(last=False)
                    others -= 1
                counts[key] = 1

    # -- what happens to a chunk -----------------------------------------------------------------

    def _num_free(self) -> int:
        return self.num_chunks - self.num_used + len(self.freed_ids)

    def _begin_store(self, key: OffloadKey, req_context: ReqContext) -> int:
        if self.num_used < self.num_chunks:
            chunk_id, self.num_used = self.num_used, self.num_used + 1
        else:
            chunk_id = self.freed_ids.pop()
        self.num_pending += 1
        self.policy.insert(key, ChunkStatus(chunk_id), req_context)
        self._note(chunk_id, TAKE, CPU_FREE_LIST)
        return chunk_id

    def _end_store(self, key: OffloadKey, chunk: ChunkStatus, success: bool) -> None:
        self.num_pending -= 1
        if success:
            chunk.ref_cnt = 0
            self._note(chunk.chunk_id, COMPUTED)
            self._note(chunk.chunk_id, CACHE)
        else:
            self.policy.remove(key)
            self.freed_ids.append(chunk.chunk_id)
            self._note(chunk.chunk_id, FREE, CPU_FREE_LIST, BACK)

    def _pin(self, chunk: ChunkStatus) -> int:
        self.num_pinned += chunk.ref_cnt == 0
        chunk.ref_cnt += 1
        self._note(chunk.chunk_id, SHARE)
        return chunk.chunk_id

    def _release(self, chunk: ChunkStatus) -> None:
        chunk.ref_cnt -= 1
        self.num_pinned -= chunk.ref_cnt == 0
        self._note(chunk.chunk_id, UNSHARE)

    def _evict(self, lack: int, protected: set[OffloadKey]) -> list[OffloadKey] | None:
        """Evict as many chunks as are lacking, or none."""
        if (victims := self.policy.evict(max(lack, 0), protected)) is None:
            return None
        self.freed_ids += [chunk.chunk_id for _, chunk in victims]
        for _, chunk in victims:
            self._note(chunk.chunk_id, EVICT)
            self._note(chunk.chunk_id, FREE, CPU_FREE_LIST, BACK)
        evicted = [key for key, _ in victims]
        self._announce(evicted, True, False)
        return evicted

    # -- what others hear ------------------------------------------------------------------------

    def _note(self, chunk_id: int, kind: str, *more: str | int) -> None:
        """Tell a recording what happens to the blocks of a chunk."""
        if self.journal.recording:
            for block_id in self.blocks.of(chunk_id):
                self.journal.note((kind, block_id, *more))

    def state(self, gpu: State, jobs: Iterable[TransferJob]) -> State:
        """Add the tier, and the copies under way, to the present state of the GPU."""
        chunks, unused = self.policy.chunks.values(), range(self.num_used, self.num_chunks)
        free = (*unused, *self.freed_ids)
        return self.blocks.shown(gpu, self.cache_policy, chunks, free, jobs)

    def _announce(self, keys: list[OffloadKey], removed: bool, metadata_only: bool) -> None:
        if keys and self.enable_events:
            self.events.append(OffloadingEvent(keys, "CPU", removed, metadata_only))

    def take_events(self) -> list[OffloadingEvent]:
        """Return the events since the last call, without failed stores of chunks that are back."""
        there, events, self.events = self.policy.chunks, self.events, []
        for index, event in enumerate(events):
            if event.metadata_only:
                events[index] = replace(event, keys=[key for key in event.keys if key not in there])
        return [event for event in events if event.keys]

    def get_stats(self) -> dict[str, Any]:
        """Return how much is pinned now, and what has been asked for since the last call.

        ``usage`` is the share of the chunks that are being stored or loaded: in a full tier that
        nobody uses, it is 0.
        """
        size = max(self.num_chunks, 1)
        write, usage = self.num_pending / size, (self.num_pending + self.num_pinned) / size
        shares = {"usage": usage, "write": write, "read": max(usage - write, 0.0)}
        since = {"allocations": self.allocations, "skipped": self.skipped}
        self.allocations, self.skipped = [], 0
        return shares | since
