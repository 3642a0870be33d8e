"""No request reads a wrong byte in any group, but in one setting; and what is broken is found."""

from typing import Any

import pytest

from pagesim.sizing.kv_cache_spec import MambaSpec
from pagesim.v1 import BlockPool, KVCacheManager
from pagesim.v1.mamba_manager import AlignedMambaManager
from pagesim.v1.single_type_kv_cache_manager import SingleTypeKVCacheManager, SlidingWindowManager
from tests.cache import worker_v1
from tests.cache.breaks import Breaks, assert_found
from tests.cache.byte_proof_v1_groups import KEPT, SCENES, STRUCK, Run

breaks = Breaks()


@pytest.mark.parametrize("name", SCENES)
def test_every_setting(name: str) -> None:
    scene, run = SCENES[name], Run(SCENES[name]).steps(60)
    assert run.wrong == []
    assert run.counts["reads"] > 600 and run.counts["finished"] > 4
    specs = scene.groups or ()
    assert (run.counts["states"] > 50) == any(isinstance(spec, MambaSpec) for spec in specs)
    assert (run.counts["checkpoints"] > 5) == (KEPT in specs)
    if not scene.caching:
        assert run.counts["hit_blocks"] == 0
    run.end()


def test_all_that_can_happen_happens() -> None:
    """In few steps not everywhere, but somewhere."""
    counts = Run(SCENES["full, state, asynchronous"]).steps(200).counts
    assert min(counts[each] for each in ("preemptions", "hit_again", "hit_blocks", "wasted")) > 5
    assert min(counts[each] for each in ("resets", "aborts")) > 0


# ---- vLLM's way to wrong bytes -------------------------------------------------------------------


def test_by_priority_a_chunk_that_stops_for_a_state_does_what_the_threshold_does() -> None:
    """A stop leaves budget behind a chunk, so the chunk's request may give way after all."""
    assert Run(STRUCK, seed=392).steps(104).wrong


# ---- what is broken is found ---------------------------------------------------------------------


@breaks("full, window", SlidingWindowManager, "remove_skipped_blocks")
def a_block_freed_too_early_in_one_group(right: Any) -> Any:
    def remove(manager: SingleTypeKVCacheManager, name: Any, computed: int) -> Any:
        return right(manager, name, computed + 4 * (manager.kv_cache_group_id == 1))

    return remove


@breaks("three windows", SlidingWindowManager, "_drop")
def the_wrong_entry_is_null(right: Any) -> Any:
    """The block in front of the ones that are dropped stays, and the first that is needed goes."""

    def drop(manager: Any, table: Any, start: int, end: int) -> Any:
        return right(manager, table, start + 1, end + 1)

    return drop


@breaks("full, state, checkpoints", AlignedMambaManager, "get_num_blocks_to_allocate")
def a_checkpoint_in_the_wrong_entry(right: Any) -> Any:
    def count(manager: AlignedMambaManager, request_id: Any, *more: Any) -> Any:
        needed = right(manager, request_id, *more)
        if request_id in manager.checkpoints:
            position, entry = manager.checkpoints[request_id]
            manager.checkpoints[request_id] = position, entry + 1
        return needed

    return count


@breaks("full, state", KVCacheManager, "allocate_slots")
def a_block_given_back_that_is_in_use(right: Any) -> Any:
    """Group 1 gives its last block back, which its table still names."""

    def allocate(manager: KVCacheManager, request: Any, *more: Any, **options: Any) -> Any:
        new = right(manager, request, *more, **options)
        table = manager.coordinator.single_type_managers[1].req_to_blocks.get(request.request_id)
        if new is not None and table and table[-1].ref_cnt == 1:
            manager.block_pool.free_blocks([table[-1]])
            table[-1].ref_cnt = 0
        return new

    return allocate


@breaks("pages 2:1", worker_v1.GroupBytes, "_words")
def slots_of_one_group_in_the_page_of_another(right: Any) -> Any:
    """Every group writes as if the page of a token were as small as group 0's."""

    def words(group: Any, slots: Any) -> Any:
        found, width = right(group, slots)
        return (found - found % 8 if group.group_id else found), width

    return words


@breaks("full, state", AlignedMambaManager, "remove_skipped_blocks")
def a_state_dropped_too_early(right: Any) -> Any:
    return a_block_freed_too_early_in_one_group(right)


@breaks("full, state", AlignedMambaManager, "_mark_fresh")
def a_state_hit_in_its_own_step(_: Any) -> Any:
    return lambda it, blocks: None


@breaks("full, window", BlockPool, "get_cached_block")
def a_key_without_its_group(right: Any) -> Any:
    return lambda it, key, ids=(0,), **given: right(
        it, key, [0 for _ in given.get("kv_cache_group_ids", ids)]
    )


@breaks("full, window", SlidingWindowManager, "get_num_skipped_tokens")
def a_window_off_by_one(right: Any) -> Any:
    return lambda it, n: right(it, n + 1)


@breaks("full, state", worker_v1.GroupBytes, "slots")
def a_state_that_is_not_written_at_the_end_of_its_tokens(right: Any) -> Any:
    return lambda it, t, b, e: right(it, t, b, e - (it.is_state and e > 4))


@pytest.mark.parametrize("name", breaks.known)
def test_what_is_broken(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert_found(Run(SCENES[breaks.apply(name, monkeypatch)]))
