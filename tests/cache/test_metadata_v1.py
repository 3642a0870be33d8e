"""A step of V1 as a batch for attention kernels: one ragged batch, in which phases mix."""

import pytest
from syrupy.assertion import SnapshotAssertion

import pagesim
from pagesim.cache import AttentionMetadata, build_v1_metadata
from pagesim.story import Engine
from pagesim.v1 import RequestStatus
from tests.cache.test_attention_metadata import lists
from tests.rows import rows
from tests.v1.scenes import text


def begun(engine: Engine) -> AttentionMetadata:
    """The next step, not yet carried out."""
    return build_v1_metadata(engine.scheduler.schedule(), engine.scheduler)


def test_a_decode_a_chunk_and_two_prompts_in_one_step(snapshot: SnapshotAssertion) -> None:
    engine = Engine(gpu_blocks=16, max_num_batched_tokens=10, long_prefill_token_threshold=6)
    engine.add("writes", text(3, 100))
    engine.step()
    engine.add("long", text(9, 200))
    engine.add("short", text(5, 300))
    assert engine.step() == {"writes": 1, "long": 6, "short": 3}
    engine.add("last", text(4, 400))
    batch = begun(engine)
    # V1's order is writes, long, short, last: prefills come first all the same.
    assert rows(batch) == snapshot
    assert batch.sample_ids == batch.seq_ids


def test_the_last_token_of_a_prompt_alone_is_a_prefill() -> None:
    engine = Engine(max_num_batched_tokens=4)
    engine.add("a", 5)
    engine.step()
    batch = begun(engine)
    assert (batch.num_prefills, batch.num_decode_tokens, batch.sample_ids) == (1, 0, ["a"])


def test_an_empty_step() -> None:
    batch = begun(Engine())
    assert lists(batch, "slot_mapping", "sample_rows", "query_start_loc") == [[], [], [0]]
    assert (batch.seq_ids, batch.sample_ids, batch.max_seq_len) == ([], [], 0)


def test_a_step_ahead_needs_the_token_before_it() -> None:
    engine = Engine(async_scheduling=True)
    scheduler = engine.scheduler
    engine.add("a", 5)
    first = scheduler.schedule()
    assert build_v1_metadata(first, scheduler).sample_ids == ["a"]
    second = scheduler.schedule()
    with pytest.raises(pagesim.UsageError, match="token 5 of request 'a' has not been sampled"):
        build_v1_metadata(second, scheduler)
    scheduler.update_from_output(first, {"a": [77]})
    batch = build_v1_metadata(second, scheduler)
    assert lists(batch, "input_tokens", "input_positions", "sample_rows") == [[77], [5], [0]]
    assert (batch.num_prefills, batch.num_decode_tokens) == (0, 1)


def test_a_batch_is_built_in_time() -> None:
    engine = Engine(gpu_blocks=4)
    scheduler = engine.scheduler
    engine.add("a", 8)
    step = scheduler.schedule()
    scheduler.update_from_output(step, {"a": [1]})
    with pytest.raises(pagesim.UsageError, match="the step of request 'a' is over"):
        build_v1_metadata(step, scheduler)
    step = scheduler.schedule()
    scheduler.finish_requests("a", RequestStatus.FINISHED_ABORTED)
    assert build_v1_metadata(step, scheduler).seq_ids == []


def test_a_step_is_over_though_the_next_is_in_flight() -> None:
    engine = Engine(async_scheduling=True)
    scheduler = engine.scheduler
    engine.add("a", 5)
    first, _ = scheduler.schedule(), scheduler.schedule()
    scheduler.update_from_output(first, {"a": [77]})
    with pytest.raises(pagesim.UsageError, match="the step of request 'a' is over"):
        build_v1_metadata(first, scheduler)


def test_a_batch_whose_window_has_moved_on_by_one_block() -> None:
    story = pagesim.Story(gpu_blocks=8, block_size=4, engine="v1", sliding_window=5)
    story.arrive(text(8)).write([8])
    with pytest.raises(pagesim.UsageError, match="token 0, but that token has left the window"):
        story.batch()


def test_a_batch_whose_blocks_are_gone() -> None:
    engine = Engine(gpu_blocks=6)
    scheduler = engine.scheduler
    engine.add("a", 7)
    engine.add("b", 12)
    step = scheduler.schedule()
    scheduler.reset_prefix_cache(reset_running_requests=True)
    with pytest.raises(pagesim.UsageError, match="'a' has 0 blocks of 4 slots, too few for its 7"):
        build_v1_metadata(step, scheduler)
