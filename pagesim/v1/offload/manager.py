"""The manager of the second tier: which chunks are on the CPU, who reads them, who goes.

It moves no bytes. Preparing a store gives its chunks a place; completing it lets them be loaded.

Source: vLLM 0.33.0, ``vllm/v1/kv_offload/cpu/manager.py``.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
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
    KeyList,
    KeySet,
    LookupResult,
    OffloadingEvent,
    OffloadKey,
    PrepareStoreOutput,
    ReqContext,
)
from pagesim.v1.offload.lru import LRUCachePolicy
from pagesim.v1.offload.shown import CPU_FREE_LIST, ChunkBlocks
from pagesim.v1.transfers import CPULoadStoreSpec, TransferJob

Policy = LRUCachePolicy | ARCCachePolicy
POLICIES: dict[str, type[Policy]] = {"lru": LRUCachePolicy, "arc": ARCCachePolicy}
Keys = Iterable[OffloadKey]


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
        self.policy = POLICIES[cache_policy](num_chunks)
        self.num_chunks, self.enable_events = num_chunks, enable_events
        self.store_threshold, self.max_tracker_size = store_threshold, max_tracker_size
        self.cache_policy = cache_policy
        self.journal, self.blocks = journal or Journal(), blocks or ChunkBlocks()
        self.counts: OrderedDict[OffloadKey, int] | None = None
        if store_threshold > 1:
            self.counts = OrderedDict()
        self.events: list[OffloadingEvent] = []
        self.allocations: list[int] = []
        self.skipped = 0
        self.num_used, self.freed_ids = 0, list[int]()
        self.reset_cache()

    def reset_cache(self) -> None:
        """Forget all chunks, even those in use, but not what was offered and announced."""
        chunks = self.policy.chunks.values()
        self.journal.note_all(self.blocks.forgotten, chunks, self.freed_ids, self.num_used)
        self.policy.clear()
        self.records: WeakKeyDictionary[ReqContext, AccessRecord] = WeakKeyDictionary()
        self.num_used = 0
        self.freed_ids = []

    def on_new_request(self, req_context: ReqContext) -> None:
        """A request arrives."""
        check_a("req_context", req_context, ReqContext)
        self.records[req_context] = AccessRecord()

    def _note(
        self, needed: Keys, reused: Keys, req_context: ReqContext, stored: Keys = ()
    ) -> AccessRecord:
        """Note what a request needs; UsageError if it has finished and needs something new.

        The policy hears first which of these are not there and will be ``stored``.
        """
        check_a("req_context", req_context, ReqContext)
        record = self.records.setdefault(req_context, AccessRecord())
        new = [key for key in dict.fromkeys(needed) if key not in record.keys]
        if new and record.finished:
            raise UsageError(
                f"request {req_context.req_id!r} has finished, so it cannot need chunk {new[0]!r}: "
                "make a ReqContext for each request"
            )
        if missed := [key for key in stored if key not in record.missed]:
            record.missed.update(missed)
            self.policy.on_store_miss(missed, req_context)
        if new:
            record.keys.update(dict.fromkeys(new))
            self.policy.on_request_access(new, req_context)
        record.reused.update(key for key in reused if key not in record.inserted)
        return record

    def on_request_finished(self, req_context: ReqContext) -> None:
        """A request ends, and the policy learns what it has needed, from its head to its tail."""
        record, ends = self._note((), (), req_context), req_context.positions
        if not record.finished:
            record.finished, keys = True, list(record.keys)
            if all(key in ends for key in keys):
                keys.sort(key=ends.__getitem__)
            inserted = record.inserted - record.reused
            self.policy.on_request_finished(keys, inserted, record.reused, req_context)

    @explained
    def lookup(self, key: OffloadKey, req_context: ReqContext) -> LookupResult:
        """Return whether a chunk can be loaded."""
        if (chunk := self.policy.get(key)) is None:
            return LookupResult.MISS
        return LookupResult.HIT_PENDING if chunk.ref_cnt < 0 else LookupResult.HIT

    @explained
    def touch(self, keys: Keys, req_context: ReqContext) -> None:
        """These chunks are used now."""
        touched = list(keys)
        hash((*touched,))  # a key that cannot be one is told before anything changes
        self.policy.touch(touched, req_context)

    @explained
    def prepare_load(self, keys: Keys, req_context: ReqContext) -> CPULoadStoreSpec:
        """Return where these chunks are; they stay there until the load is completed."""
        wanted = list(keys)
        for key in wanted:
            if (found := self.lookup(key, req_context)) is not LookupResult.HIT:
                raise AssertionError(
                    f"chunk {key!r} cannot be loaded, it is a {found.name}: load what lookup() "
                    "calls a HIT"
                )
        self._note(wanted, wanted, req_context)
        return CPULoadStoreSpec([self._pin(self.policy.chunks[key]) for key in wanted])

    @explained
    def complete_load(self, keys: Keys, req_context: ReqContext) -> None:
        """These chunks have been read."""
        loads = Counter(list(keys))
        for key, times in loads.items():
            chunk = self.policy.get(key)
            if chunk is None or chunk.ref_cnt < times:
                begun = 0 if chunk is None else max(chunk.ref_cnt, 0)
                raise AssertionError(
                    f"loads of chunk {key!r}: {begun} begun, {times} to be completed; call "
                    "prepare_load() first"
                )
        for key in loads.elements():
            self._release(self.policy.chunks[key])

    @explained
    def prepare_store(self, keys: Keys, req_context: ReqContext) -> PrepareStoreOutput | None:
        """Give these chunks a place, unless they have one; None if not all of them find room."""
        offered = list(keys)
        chunks = {key: self.policy.get(key) for key in offered}
        if len(chunks) < len(offered):
            twice = Counter(offered).most_common(1)[0][0]
            raise UsageError(f"chunk {twice!r} is offered twice: offer each key once")
        missing = [key for key, chunk in chunks.items() if chunk is None]
        counts = self.counts
        new = [k for k in missing if counts is None or counts.get(k, 0) + 1 >= self.store_threshold]
        ready = [key for key, chunk in chunks.items() if chunk and chunk.ref_cnt >= 0]
        needed = {*new, *ready}
        record = self._note([key for key in offered if key in needed], ready, req_context, new)
        self._count(offered)  # nothing has changed if the line above raises
        self.skipped += len(missing) - len(new)
        if new:
            self.allocations.append(len(new))
        num_free = self.num_chunks - len(self.policy.chunks)
        evicted = self._evict(max(len(new) - num_free, 0), chunks.keys())
        if evicted is None:
            return None
        record.inserted.update(new)
        ids = [self._begin_store(key, req_context) for key in new]
        return PrepareStoreOutput(new, CPULoadStoreSpec(ids), evicted)

    @explained
    def complete_store(self, keys: Keys, req_context: ReqContext, success: bool = True) -> None:
        """These chunks have been written, or could not be; those not being stored stay."""
        chunks = {key: self.policy.get(key) for key in keys}
        pending = {key: chunk for key, chunk in chunks.items() if chunk and chunk.ref_cnt < 0}
        for key, chunk in pending.items():
            self._end_store(key, chunk, success)
        self._announce(pending, not success, not success)

    def _count(self, offered: KeyList) -> None:
        """Count these offers; what was not offered for the longest time makes room."""
        if (counts := self.counts) is not None:
            known = [key for key in offered if key in counts]
            for key in known:
                counts[key] += 1
                counts.move_to_end(key)
            room = self.max_tracker_size - len(known)
            new = [key for key in offered if key not in counts][:room]
            while len(counts) + len(new) > self.max_tracker_size:
                counts.popitem(last=False)
            counts.update(dict.fromkeys(new, 1))

    # -- what happens to a chunk -----------------------------------------------------------------

    def _begin_store(self, key: OffloadKey, req_context: ReqContext) -> int:
        chunk_id = self.num_used if self.num_used < self.num_chunks else self.freed_ids.pop()
        self.num_used = max(self.num_used, chunk_id + 1)
        self.policy.insert(key, ChunkStatus(chunk_id), req_context)
        self._tell(chunk_id, TAKE, CPU_FREE_LIST)
        return chunk_id

    def _end_store(self, key: OffloadKey, chunk: ChunkStatus, success: bool) -> None:
        if success:
            self.policy.set_ref_cnt(chunk, 0)
            self._tell(chunk.chunk_id, COMPUTED)
            self._tell(chunk.chunk_id, CACHE)
        else:
            self.policy.remove(key)
            chunk.ref_cnt = 0
            self.freed_ids.append(chunk.chunk_id)
            self._tell(chunk.chunk_id, FREE, CPU_FREE_LIST, BACK)

    def _pin(self, chunk: ChunkStatus) -> int:
        self.policy.set_ref_cnt(chunk, chunk.ref_cnt + 1)
        self._tell(chunk.chunk_id, SHARE)
        return chunk.chunk_id

    def _release(self, chunk: ChunkStatus) -> None:
        self.policy.set_ref_cnt(chunk, chunk.ref_cnt - 1)
        self._tell(chunk.chunk_id, UNSHARE)

    def _evict(self, n: int, protected: KeySet) -> list[OffloadKey] | None:
        if (victims := self.policy.evict(n, protected)) is None:
            return None
        self.freed_ids += [chunk.chunk_id for _, chunk in victims]
        for _, chunk in victims:
            self._tell(chunk.chunk_id, EVICT)
            self._tell(chunk.chunk_id, FREE, CPU_FREE_LIST, BACK)
        evicted = [key for key, _ in victims]
        self._announce(evicted, True, False)
        return evicted

    # -- what others hear ------------------------------------------------------------------------

    def _tell(self, chunk_id: int, kind: str, *more: str | int) -> None:
        """Note what happens to the blocks of a chunk."""
        self.journal.note_all(self.blocks.rows, chunk_id, kind, *more)

    def state(self, gpu: State, jobs: Iterable[TransferJob]) -> State:
        """Add the tier, and the copies under way, to the present state of the GPU."""
        chunks, unused = self.policy.chunks.values(), range(self.num_used, self.num_chunks)
        free = (*unused, *self.freed_ids)
        return self.blocks.shown(gpu, self.cache_policy, chunks, free, jobs)

    def _announce(self, keys: Collection[OffloadKey], removed: bool, failed: bool) -> None:
        if keys and self.enable_events:
            self.events.append(OffloadingEvent([*keys], "CPU", removed, failed))

    def take_events(self) -> list[OffloadingEvent]:
        """Return the events since the last call, without failed stores of chunks that are back."""
        there, events, self.events = self.policy.chunks, self.events, []
        for failed in (event for event in events if event.metadata_only):
            failed.keys[:] = [key for key in failed.keys if key not in there]
        return [event for event in events if event.keys]

    def get_stats(self) -> dict[str, Any]:
        """Return the shares of the tier being written and read, and counts since the last call.

        Their sum is the ``usage``: a full tier that nobody uses has a usage of 0.
        """
        in_use = [chunk.ref_cnt for chunk in self.policy.chunks.values() if chunk.ref_cnt]
        size = max(self.num_chunks, 1)
        usage, write = len(in_use) / size, in_use.count(-1) / size
        shares = {"usage": usage, "write": write, "read": max(usage - write, 0.0)}
        counts = {"allocations": self.allocations, "skipped": self.skipped}
        self.allocations, self.skipped = [], 0
        return shares | counts
