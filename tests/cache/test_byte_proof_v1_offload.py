"""With a second tier, too, no request of V1 reads a wrong byte; and what is broken is found."""

from collections.abc import Iterable
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
from tests.cache.breaks import Breaks, assert_found
from tests.cache.byte_proof_v1_offload import HAPPENS, SCENES, STRUCK, TierRun, counts_of

STEPS = 60
breaks = Breaks()


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


# ---- vLLM's way to wrong bytes -------------------------------------------------------------------


def test_what_priority_and_a_threshold_make_wrong_is_stored_as_well() -> None:
    """Wrong bytes that a request has read on the GPU are behind what it stores on the CPU."""
    wrong = TierRun(STRUCK, seed=34).steps(20).wrong
    on_the_cpu = ["chunks" in words for words in wrong]
    assert True in on_the_cpu and not on_the_cpu[0]
    steps = {name: value for name, value in STRUCK.steps.items() if name != "policy"}
    assert not TierRun(replace(STRUCK, steps=steps), seed=34).steps(100).wrong


# ---- what is broken is found ---------------------------------------------------------------------


def _changed(metadata: OffloadingConnectorMetadata, flushed: set[int]) -> Any:
    return replace(metadata, jobs_to_flush=flushed)


@breaks("one block", OffloadingConnector, "build_connector_meta")
def nothing_is_flushed(right: Any) -> Any:
    return lambda it, output: _changed(right(it, output), set())


@breaks("one block", OffloadingWorker, "start")
def all_is_begun_at_once(right: Any) -> Any:
    """A store copies what the step has not computed yet."""

    def start(worker: OffloadingWorker, metadata: Any, now: float) -> Any:
        return right(worker, _changed(metadata, set(metadata.store_jobs)), now)

    return start


@breaks("asynchronous, tight, evictions on the GPU", RemoteKVs, "free")
def freed_at_once(right: Any) -> Any:
    return lambda it, request: it.manager.free(request)


@breaks("two blocks, ARC, outputs", cache_engine, "block_pairs")
def pairs_from_the_first_block(right: Any) -> Any:
    """A load does not skip what it should in its first chunk."""

    def pairs(job: TransferJob, width: int) -> list[tuple[int, int]]:
        found = right(job, width)
        chunks = job.src_spec.block_ids
        wide = [chunk * width + i for chunk in chunks for i in range(width)]
        return found if job.is_store else [(a, b) for a, (_, b) in zip(wide, found, strict=False)]

    return pairs


@breaks("two blocks, ARC, outputs", cache_engine, "block_pairs")
def pairs_in_another_order(right: Any) -> Any:
    """The blocks of a chunk in reverse order, when it is stored."""

    def pairs(job: TransferJob, width: int) -> list[tuple[int, int]]:
        found = right(job, width)
        return [(a, b ^ 1) for a, b in found] if job.is_store else found

    return pairs


@breaks("tiny tier, slow, outputs", CachePolicy, "idle")
def also_those_that_are_read(right: Any) -> Any:
    def idle(policy: CachePolicy, keys: Iterable[Any], protected: Any) -> Any:
        pairs = [(key, policy.chunks[key]) for key in keys if key not in protected]
        return iter([(key, chunk) for key, chunk in pairs if chunk.ref_cnt >= 0])

    return idle


@breaks("one block", CPUOffloadingManager, "_begin_store")
def found_while_stored(right: Any) -> Any:
    """A chunk that is being stored can be loaded."""

    def begin(manager: CPUOffloadingManager, key: Any, context: Any) -> int:
        chunk_id: int = right(manager, key, context)
        manager._end_store(key, manager.policy.chunks[key], True)
        return chunk_id

    return begin


@breaks("one block", KVCacheManager, "allocate_slots")
def cached_before_it_is_loaded(right: Any) -> Any:
    def allocate(manager: KVCacheManager, request: Request, *more: Any, **given: Any) -> Any:
        return right(manager, request, *more, **given | {"delay_cache_blocks": False})

    return allocate


@breaks("two blocks, ARC, outputs", OffloadingConnector, "_grow_keys")
def of_its_first_block(right: Any) -> Any:
    """A chunk's key is the hash of its first block."""

    def grow(it: OffloadingConnector, state: RequestState) -> None:
        hashes, width = state.request.block_hashes, it.blocks_per_chunk
        for index in range(len(state.keys), len(hashes) // width):
            state.keys.append(hashes[index * width])
            state.context.set_offload_key_position(state.keys[-1], (index + 1) * it.chunk_size)

    return grow


@breaks("one block", OffloadingConnector, "_learn_tables")
def tables_only_grow(right: Any) -> Any:
    """A request that comes back stores what its old table names."""

    def learn(it: OffloadingConnector, output: Any) -> None:
        before = {name: list(state.block_ids) for name, state in it._states.items()}
        right(it, output)
        for name in output.scheduled_cached_reqs.resumed_req_ids:
            it._states[name].block_ids[:0] = before[name] or [1]

    return learn


@breaks("no caching on the GPU, slow, resets", OffloadingConnector, "reset_cache")
def reset_without_a_flush(right: Any) -> Any:
    def reset(it: OffloadingConnector) -> None:
        right(it)
        it._flushed.clear()

    return reset


@breaks("synchronous loads", OffloadingWorker, "start")
def not_waited_for(right: Any) -> Any:
    """A step that computes with a load does not wait for it."""

    def start(worker: OffloadingWorker, metadata: Any, now: float) -> Any:
        for job in metadata.load_jobs.values():
            job.sync = False
        return right(worker, metadata, now)

    return start


@breaks("tiny tier, slow, outputs", OffloadingConnector, "_watch")
def nobody_watches_what_is_stored_of_a_finished_request(_: Any) -> Any:
    return lambda it, job: None


@breaks("one block", RemoteKVs, "is_loading")
def blocks_freed_while_they_are_loaded(_: Any) -> Any:
    return lambda it, name, status: False


@breaks("failed loads are computed", RemoteKVs, "fail")
def a_failed_load_taken_for_a_whole_one(_: Any) -> Any:
    return lambda it, waiting, invalid: []


@breaks("small chunks, no reserve", connector, "_num_kept")
def what_an_aborted_request_has_not_computed(_: Any) -> Any:
    return lambda request: request.num_tokens


@pytest.mark.parametrize("name", breaks.known)
def test_what_is_broken(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert_found(TierRun(SCENES[breaks.apply(name, monkeypatch)]), 1000)
