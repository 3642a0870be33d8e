"""A request that waits forever is named, and one that does not is not."""

from typing import Any

import pytest

from pagesim.sizing.kv_cache_spec import KVCacheSpec
from pagesim.story import Engine
from pagesim.v1 import FullAttentionSpec, MambaSpec, Request, SlidingWindowSpec
from pagesim.v1.starvation import why_it_waits_forever

WHOLE = {"enable_chunked_prefill": False, "max_num_batched_tokens": 8, "max_model_len": 8}
CHUNK = {"scheduler_reserve_full_isl": False, "max_num_batched_tokens": 8}


@pytest.mark.parametrize(
    ("blocks", "prompt", "options", "steps", "why"),
    [
        (4, 13, {}, 0, "'a' needs 4 blocks for its 13 tokens, and the pool has 3"),
        (3, 6, {}, 4, "'a' needs 3 blocks for its 9 tokens, and the pool has 2"),
        (4, 14, CHUNK, 2, "'a' needs 4 blocks for its 14 tokens, and the pool has 3"),
        (12, 9, WHOLE, 0, "'a' computes 9 tokens at once, because chunked prefill is off, and a"),
    ],
)
def test_it_is_named_and_its_steps_are_empty(
    blocks: int, prompt: int, options: dict[str, Any], steps: int, why: str
) -> None:
    engine = Engine("v1", gpu_blocks=blocks, **options)
    engine.add("a", prompt, max_tokens=20)
    engine.steps(steps)
    assert f"request {why}" in str(why_it_waits_forever(engine.scheduler, engine.requests["a"]))
    assert engine.requests["a"].num_output_tokens == (3 if steps == 4 else 0)
    assert engine.scheduler.get_num_unfinished_requests() == 1
    assert engine.steps(5) == [{}] * 5


@pytest.mark.parametrize(
    ("blocks", "prompt", "options"),
    [
        (5, 13, {}),
        (8, 40, {"sliding_window": 5, "max_num_batched_tokens": 8}),
        (12, 8, WHOLE),
        (12, 1, {"max_model_len": 1}),
    ],
)
def test_it_is_not_named_and_it_ends(blocks: int, prompt: int, options: dict[str, Any]) -> None:
    engine = Engine("v1", gpu_blocks=blocks, **options)
    its: Request = engine.add("a", prompt, max_tokens=1)
    engine.add("z", 1, max_tokens=1)
    for _ in range(20):
        assert why_it_waits_forever(engine.scheduler, its) is None
        engine.step()
    assert its.is_finished() and not engine.scheduler.requests


def test_a_prompt_beyond_the_model_s_length_is_computed_up_to_there() -> None:
    """Its engine would refuse it. A threshold of the whole step lets it begin without chunks."""
    engine = Engine("v1", **WHOLE, long_prefill_token_threshold=8)
    engine.add("a", 9)
    engine.add("z", 1, max_tokens=1)
    assert why_it_waits_forever(engine.scheduler, engine.requests["a"]) is None
    assert engine.steps(3) == [{"a": 8}, {"z": 1}, {}]
    why = why_it_waits_forever(engine.scheduler, engine.requests["a"])
    assert why is not None and "max_model_len (8)" in why


LAYOUTS: dict[str, list[KVCacheSpec]] = {
    "full and a window": [FullAttentionSpec(4), SlidingWindowSpec(4, sliding_window=5)],
    "windows alone": [SlidingWindowSpec(4, sliding_window=w) for w in (3, 5)],
    "states": [FullAttentionSpec(4), MambaSpec(4, mamba_cache_mode="align")],
    "states alone": [MambaSpec(4, mamba_cache_mode="align")] * 2,
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_with_groups_it_is_named_where_it_never_ends(layout: str) -> None:
    """The smallest pool that serves a prompt is the smallest one in which nothing is named."""
    groups = LAYOUTS[layout]
    ends = []
    for num_blocks in range(2, 16):
        engine = Engine("v1", gpu_blocks=num_blocks, groups=groups, max_num_batched_tokens=8)
        its = engine.add("a", 14, max_tokens=1)
        words = why_it_waits_forever(engine.scheduler, its)
        needed = engine.scheduler.kv_cache_manager.coordinator.most_blocks_at_once(14)
        engine.steps(12)
        assert its.is_finished() == (words is None), num_blocks
        if words is not None:
            assert f"needs {needed} blocks for its 14 tokens" in words
        ends.append(its.is_finished())
    assert ends == sorted(ends) and set(ends) == {False, True}
