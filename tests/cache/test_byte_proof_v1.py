"""No request of V1 ever reads a wrong byte, but in one setting; and what is broken is found."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from pagesim.cache import AttentionMetadata, build_v1_metadata
from pagesim.story import Engine
from pagesim.v1 import BlockPool, Request, Scheduler, SchedulerOutput, hash_block_tokens
from pagesim.v1 import request as requests
from pagesim.v1.kv_cache_manager import KVCacheManager
from pagesim.v1.single_type_kv_cache_manager import SlidingWindowManager
from tests.cache.byte_proof_v1 import BLOCK_SIZE, SCENES, STRUCK, Run
from tests.v1.scenes import found, text


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


def keep(owner: Any, name: str, make: Callable[[Any], Any]) -> tuple[Any, str, Any]:
    """A method made from the right one."""
    return owner, name, make(getattr(owner, name))


def _free_shared(pool: BlockPool, ordered: Any) -> None:
    blocks = [block for block in ordered if not block.is_null and block.ref_cnt]
    for block in blocks:
        block.ref_cnt = 0
    free = pool.free_block_queue.get_all_free_blocks()
    pool.free_block_queue.append_n([block for block in blocks if block not in free])


def _cache_what_is_in_flight(right: Any) -> Any:
    def cache(manager: KVCacheManager, request: Request, num_computed: int) -> None:
        right(manager, request, num_computed + 2 * BLOCK_SIZE)

    return cache


def _shifted(field: str) -> Callable[[SchedulerOutput, Scheduler], AttentionMetadata]:
    def build(output: SchedulerOutput, scheduler: Scheduler) -> AttentionMetadata:
        batch = build_v1_metadata(output, scheduler)
        return replace(batch, **{field: getattr(batch, field)[::-1].copy()})

    return build


PLAIN, WINDOW = SCENES["chunks, prefix caching"], SCENES["window"]
ASYNC, ASYNC_WINDOW = SCENES["asynchronous"], SCENES["asynchronous, window"]
BROKEN = {
    "a hash of the block alone": (
        PLAIN,
        (requests, "hash_block_tokens", lambda _, *more: hash_block_tokens(None, *more)),
    ),
    "a block freed while others own it": (PLAIN, (BlockPool, "free_blocks", _free_shared)),
    "a window one token too small": (
        WINDOW,
        keep(
            SlidingWindowManager,
            "get_num_skipped_tokens",
            lambda right: lambda it, n: right(it, n + BLOCK_SIZE),
        ),
    ),
    "a window that forgets the step in flight": (
        ASYNC_WINDOW,
        keep(
            KVCacheManager,
            "remove_skipped_blocks",
            lambda right: lambda it, name, n: right(it, name, n + BLOCK_SIZE),
        ),
    ),
    "a token cached before it is computed": (
        ASYNC,
        keep(KVCacheManager, "cache_blocks", _cache_what_is_in_flight),
    ),
    "slots in the wrong order": (PLAIN, _shifted("slot_mapping")),
    "tokens in the wrong order": (PLAIN, _shifted("input_tokens")),
    "tables in the wrong order": (PLAIN, _shifted("block_tables")),
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_broken(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    scene, broken = BROKEN[name]
    if isinstance(broken, tuple):
        monkeypatch.setattr(*broken)
    run = Run(scene)
    if not isinstance(broken, tuple):
        run.build = lambda output: broken(output, run.scheduler)  # type: ignore[method-assign]
    with pytest.raises(AssertionError):  # the bytes, or before them a table
        while run.counts["steps"] < 400:
            run.step()
            assert not run.wrong
