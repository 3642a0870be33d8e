"""No request of V1 ever reads a wrong byte, but in one setting; and what is broken is found."""

from dataclasses import replace
from typing import Any

import pytest

from pagesim.cache import AttentionMetadata, build_v1_metadata
from pagesim.story import Engine
from pagesim.v1 import BlockPool, SchedulerOutput
from pagesim.v1 import request as requests
from pagesim.v1.kv_cache_manager import KVCacheManager
from pagesim.v1.single_type_kv_cache_manager import SlidingWindowManager
from tests.cache.breaks import Breaks, assert_found
from tests.cache.byte_proof_v1 import BLOCK_SIZE, SCENES, STRUCK, Run
from tests.v1.scenes import found, text

breaks = Breaks()


@pytest.mark.parametrize("name", SCENES)
def test_every_setting(name: str) -> None:
    scene, run = SCENES[name], Run(SCENES[name]).steps(250)
    counts, is_async = run.counts, "async_scheduling" in scene.steps
    assert run.wrong == []
    assert counts["reads"] > 30_000 and counts["finished"] > 60 and counts["aborts"] > 1
    assert counts["preemptions"] > 4 and counts["mixed_steps"] > 60
    assert (counts["chunks"] > 10) == scene.steps.get("enable_chunked_prefill", True)
    assert (counts["hit_blocks"] > 80) == scene.caching
    assert (counts["hit_again"] > 5) == scene.caching
    assert (counts["null_entries"] > 1000) == (scene.window is not None)
    assert (counts["wasted"] > 10) == is_async
    assert (counts["resets"] > 2) == (scene.reset_chance > 0)
    run.end()


# ---- vLLM's way to wrong bytes -------------------------------------------------------------------


def test_a_prompt_aborted_half_way_leaves_only_blocks_that_are_computed() -> None:
    """V0 marks the whole prompt as computed after its first chunk; V1 caches what it schedules."""
    engine = Engine(max_num_batched_tokens=8)
    engine.add("a", text(16))
    engine.step()
    engine.abort("a")
    manager = engine.scheduler.kv_cache_manager
    assert (found(manager, text(16)), found(manager, text(32))) == (8, 8)


def test_priority_with_a_threshold_and_prefix_caching_reads_wrong_bytes() -> None:
    assert Run(STRUCK, seed=38).steps(70).wrong
    for field in ("policy", "long_prefill_token_threshold"):
        steps = {name: value for name, value in STRUCK.steps.items() if name != field}
        assert not Run(replace(STRUCK, steps=steps), seed=38).steps(200).wrong
    assert not Run(replace(STRUCK, caching=False), seed=38).steps(200).wrong


# ---- what is broken is found ---------------------------------------------------------------------


@breaks("chunks, prefix caching", requests, "hash_block_tokens")
def a_hash_of_the_block_alone(right: Any) -> Any:
    return lambda _, *more: right(None, *more)


@breaks("chunks, prefix caching", BlockPool, "free_blocks")
def a_block_freed_while_others_own_it(_: Any) -> Any:
    def free(pool: BlockPool, ordered: Any) -> None:
        blocks = [block for block in ordered if not block.is_null and block.ref_cnt]
        for block in blocks:
            block.ref_cnt = 0
        free = pool.free_block_queue.get_all_free_blocks()
        pool.free_block_queue.append_n([block for block in blocks if block not in free])

    return free


@breaks("window", SlidingWindowManager, "get_num_skipped_tokens")
def a_window_one_block_too_small(right: Any) -> Any:
    return lambda it, n: right(it, n + BLOCK_SIZE)


@breaks("asynchronous, window", KVCacheManager, "remove_skipped_blocks")
def a_window_that_forgets_the_step_in_flight(right: Any) -> Any:
    return lambda it, name, n: right(it, name, n + BLOCK_SIZE)


@breaks("asynchronous", KVCacheManager, "cache_blocks")
def a_token_cached_before_it_is_computed(right: Any) -> Any:
    return lambda it, request, num_computed: right(it, request, num_computed + 2 * BLOCK_SIZE)


@pytest.mark.parametrize("name", breaks.known)
def test_what_is_broken(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert_found(Run(SCENES[breaks.apply(name, monkeypatch)]))


@pytest.mark.parametrize("field", ["slot_mapping", "input_tokens", "block_tables"])
def test_a_batch_in_the_wrong_order(field: str) -> None:
    run = Run(SCENES["chunks, prefix caching"])

    def build(output: SchedulerOutput) -> AttentionMetadata:
        batch = build_v1_metadata(output, run.scheduler)
        return replace(batch, **{field: getattr(batch, field)[::-1].copy()})

    run.build = build  # type: ignore[method-assign]
    assert_found(run)
