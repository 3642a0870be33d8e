"""With a second tier, too, no request of V1 reads a wrong byte; and what is broken is found."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import pytest

from pagesim.cache import cache_engine
from pagesim.v1 import CPUOffloadingManager, KVCacheManager, Request
from pagesim.v1.offload import connector
from pagesim.v1.offload.base import CachePolicy
from pagesim.v1.offload.connector import OffloadingConnector, RequestState
from pagesim.v1.offload.remote import RemoteKVs
from pagesim.v1.offload.worker import OffloadingWorker
from pagesim.v1.transfers import OffloadingConnectorMetadata, TransferJob
from tests.cache.byte_proof_v1_offload import HAPPENS, SCENES, TierRun, counts_of

STEPS = 60


def test_every_setting() -> None:
    """A run of all, because what is rare happens in some of them only."""
    runs = []
    for name, scene in SCENES.items():
        run = TierRun(scene).steps(STEPS)
        assert run.wrong == [], name
        assert run.counts["reads"] > 5000 and run.counts["finished"] > 5, name
        assert run.counts["stores"] > 3 and run.counts["chunks_read"] > 50, name
        run.end()
        runs.append(run)
    counts = counts_of(runs)
    assert all(counts[each] for each in HAPPENS), counts
    assert counts["stores"] > 500 and counts["loads"] > 50 and counts["flushes"] > 150
    assert min(counts[each] for each in ("evictions", "late", "early")) > 100


def test_with_the_function_that_swaps() -> None:
    from tests.cache.kernel_pools import KernelWorkerBytes

    class KernelRun(TierRun):
        pools = KernelWorkerBytes

    run = KernelRun(SCENES["two blocks, ARC, outputs"]).steps(80)
    assert run.wrong == []
    assert run.counts["loads"] > 2 and run.counts["stores"] > 40
    run.end()


# ---- what is broken is found ---------------------------------------------------------------------


def _changed(metadata: OffloadingConnectorMetadata, flushed: set[int]) -> Any:
    return replace(metadata, jobs_to_flush=flushed)


def _nothing_is_flushed(right: Any) -> Any:
    return lambda it, output: _changed(right(it, output), set())


def _all_is_begun_at_once(right: Any) -> Any:
    """A store copies what the step has not computed yet."""

    def start(worker: OffloadingWorker, metadata: Any, now: float) -> Any:
        return right(worker, _changed(metadata, set(metadata.store_jobs)), now)

    return start


def _freed_at_once(right: Any) -> Any:
    return lambda it, request: it.manager.free(request)


def _pairs_from_the_first_block(right: Any) -> Any:
    """A load does not skip what it should in its first chunk."""

    def pairs(job: TransferJob, width: int) -> list[tuple[int, int]]:
        found = right(job, width)
        chunks = job.src_spec.block_ids
        wide = [chunk * width + i for chunk in chunks for i in range(width)]
        return found if job.is_store else [(a, b) for a, (_, b) in zip(wide, found, strict=False)]

    return pairs


def _pairs_in_another_order(right: Any) -> Any:
    """The blocks of a chunk in reverse order, when it is stored."""

    def pairs(job: TransferJob, width: int) -> list[tuple[int, int]]:
        found = right(job, width)
        return [(a, b ^ 1) for a, b in found] if job.is_store else found

    return pairs


def _also_those_that_are_read(right: Any) -> Any:
    def idle(policy: CachePolicy, keys: Iterable[Any], protected: Any) -> Any:
        pairs = [(key, policy.chunks[key]) for key in keys if key not in protected]
        return iter([(key, chunk) for key, chunk in pairs if chunk.ref_cnt >= 0])

    return idle


def _found_while_stored(right: Any) -> Any:
    """A chunk that is being stored can be loaded."""

    def begin(manager: CPUOffloadingManager, key: Any, context: Any) -> int:
        chunk_id: int = right(manager, key, context)
        manager._end_store(key, manager.policy.chunks[key], True)
        return chunk_id

    return begin


def _cached_before_it_is_loaded(right: Any) -> Any:
    def allocate(manager: KVCacheManager, request: Request, *more: Any, **given: Any) -> Any:
        return right(manager, request, *more, **given | {"delay_cache_blocks": False})

    return allocate


def _of_its_first_block(right: Any) -> Any:
    """A chunk's key is the hash of its first block."""

    def grow(it: OffloadingConnector, state: RequestState) -> None:
        hashes, width = state.request.block_hashes, it.blocks_per_chunk
        for index in range(len(state.keys), len(hashes) // width):
            state.keys.append(hashes[index * width])
            state.context.set_offload_key_position(state.keys[-1], (index + 1) * it.chunk_size)

    return grow


def _tables_only_grow(right: Any) -> Any:
    """A request that comes back stores what its old table names."""

    def learn(it: OffloadingConnector, output: Any) -> None:
        before = {name: list(state.block_ids) for name, state in it._states.items()}
        right(it, output)
        for name in output.scheduled_cached_reqs.resumed_req_ids:
            it._states[name].block_ids[:0] = before[name] or [1]

    return learn


def _reset_without_a_flush(right: Any) -> Any:
    def reset(it: OffloadingConnector) -> None:
        right(it)
        it._flushed.clear()

    return reset


def _not_waited_for(right: Any) -> Any:
    """A step that computes with a load does not wait for it."""

    def start(worker: OffloadingWorker, metadata: Any, now: float) -> Any:
        for job in metadata.load_jobs.values():
            job.sync = False
        return right(worker, metadata, now)

    return start


Change = tuple[Any, str, Callable[[Any], Any]]
BROKEN: dict[str, tuple[str, Change]] = {
    "nothing is flushed": (
        "one block",
        (OffloadingConnector, "build_connector_meta", _nothing_is_flushed),
    ),
    "a store begins a step early": (
        "one block",
        (OffloadingWorker, "start", _all_is_begun_at_once),
    ),
    "nobody watches what is stored of a finished request": (
        "tiny tier, slow, outputs",
        (OffloadingConnector, "_watch", lambda _: lambda it, job: None),
    ),
    "blocks are freed though a step writes them": (
        "asynchronous, tight, evictions on the GPU",
        (RemoteKVs, "free", _freed_at_once),
    ),
    "a load that begins inside a chunk begins with its first block": (
        "two blocks, ARC, outputs",
        (cache_engine, "block_pairs", _pairs_from_the_first_block),
    ),
    "blocks of a chunk in another order": (
        "two blocks, ARC, outputs",
        (cache_engine, "block_pairs", _pairs_in_another_order),
    ),
    "a chunk evicted while it is read": (
        "tiny tier, slow, outputs",
        (CachePolicy, "idle", _also_those_that_are_read),
    ),
    "a chunk found while it is stored": (
        "one block",
        (CPUOffloadingManager, "_begin_store", _found_while_stored),
    ),
    "blocks freed while they are loaded": (
        "one block",
        (RemoteKVs, "is_loading", lambda _: lambda it, name, status: False),
    ),
    "blocks cached before they are loaded": (
        "one block",
        (KVCacheManager, "allocate_slots", _cached_before_it_is_loaded),
    ),
    "a key of a chunk's first block": (
        "two blocks, ARC, outputs",
        (OffloadingConnector, "_grow_keys", _of_its_first_block),
    ),
    "a table that outlives a preemption": (
        "one block",
        (OffloadingConnector, "_learn_tables", _tables_only_grow),
    ),
    "a failed load taken for a whole one": (
        "failed loads are computed",
        (RemoteKVs, "fail", lambda _: lambda it, waiting, invalid: []),
    ),
    "what an aborted request has not computed": (
        "small chunks, no reserve",
        (connector, "_num_kept", lambda _: lambda request: request.num_tokens),
    ),
    "a reset that does not wait for the copies under way": (
        "no caching on the GPU, slow, resets",
        (OffloadingConnector, "reset_cache", _reset_without_a_flush),
    ),
    "a step that does not wait for its loads": (
        "synchronous loads",
        (OffloadingWorker, "start", _not_waited_for),
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_broken(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    scene, (owner, field, make) = BROKEN[name]
    monkeypatch.setattr(owner, field, make(getattr(owner, field)))
    run = TierRun(SCENES[scene])
    with pytest.raises(AssertionError):  # the bytes, or before them a place
        while run.counts["steps"] < 1000:
            run.step()
            assert not run.wrong
