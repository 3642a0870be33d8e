"""The manager: what fits now, later or never, and the tables of sequences as they come and go."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from pagesim import (
    AllocStatus,
    Device,
    NoFreeBlocksError,
    SelfAttnBlockSpaceManager,
    SequenceStatus,
    UsageError,
)
from tests.v0.block.scenes import (
    KINDS,
    add_tokens,
    new_group,
    new_manager,
    new_seq,
    running,
    set_status,
)
from tests.v0.block.state import everything

pytestmark = pytest.mark.ch02

both_kinds = pytest.mark.parametrize("kind", KINDS)
OK, LATER, NEVER = AllocStatus.OK, AllocStatus.LATER, AllocStatus.NEVER


@both_kinds
@pytest.mark.parametrize(
    ("num_tokens", "empty", "busy"),
    [(4, OK, OK), (16, OK, LATER), (32, OK, LATER), (33, NEVER, NEVER)],
)
def test_admission_leaves_the_watermark_free(
    kind: str, num_tokens: int, empty: AllocStatus, busy: AllocStatus
) -> None:
    manager = SelfAttnBlockSpaceManager(4, 10, 0, 0.25, enable_caching=kind != "naive")
    assert manager.watermark_blocks == 2
    group = new_group(new_seq(9, num_tokens, 500))
    assert manager.can_allocate(group) is empty
    running(manager, 20)
    assert manager.can_allocate(group) is busy


@both_kinds
def test_admission_counts_lookahead_and_generated_tokens(kind: str) -> None:
    manager = new_manager(kind, gpu=2)
    group = new_group(new_seq(1, 7))
    assert [manager.can_allocate(group, slots) for slots in (0, 1, 2)] == [OK, OK, NEVER]
    add_tokens(group.seqs[0], 7, 8)
    assert manager.can_allocate(group) is NEVER


@both_kinds
def test_forking_a_parent_without_a_table_does_nothing(kind: str) -> None:
    manager = new_manager(kind)
    manager.fork(new_seq(1, 4), new_seq(2, 4))
    assert not manager.block_tables


def test_swapping_in_respects_the_watermark() -> None:
    manager = SelfAttnBlockSpaceManager(4, 10, 10, 0.2)
    group = running(manager, 24)
    manager.swap_out(group)
    set_status(group, SequenceStatus.SWAPPED)
    assert manager.can_swap_in(group, 0) is OK
    running(manager, 12, 2)
    assert manager.can_swap_in(group, 0) is LATER
    assert manager.can_swap_in(group, 24) is NEVER
    assert manager.can_swap_in(group, 16) is LATER


@both_kinds
def test_freeing_twice_and_freeing_strangers_is_silent(kind: str) -> None:
    manager = new_manager(kind)
    seq = running(manager, 6).seqs[0]
    manager.free(seq)
    before = everything(manager)
    manager.free(seq)
    manager.free(new_seq(77, 3))
    assert everything(manager) == before
    assert manager.get_num_free_gpu_blocks() == 24


@both_kinds
def test_q24_a_block_table_that_was_handed_out_is_a_copy(kind: str) -> None:
    """vLLM hands out the live list, which changes later."""
    manager = new_manager(kind)
    seq = running(manager, 4).seqs[0]
    ids = manager.get_block_table(seq)
    add_tokens(seq, 4)
    manager.append_slots(seq, 0)
    assert (ids, manager.get_block_table(seq)) == ([0], [0, 1])


def test_access_times_are_written_when_a_sequence_is_freed() -> None:
    manager = new_manager("prefix_caching")
    seqs = [running(manager, 8, seq_id, 50 * seq_id).seqs[0] for seq_id in (1, 2)]
    manager.access_all_blocks_in_seq(seqs[0], 3.0)
    gpu = manager.block_allocator.allocator_on(Device.GPU)
    assert {gpu.get_last_accessed(i) for i in range(4)} == {-1.0}
    for seq in seqs:
        manager.free(seq)
    assert [gpu.get_last_accessed(i) for i in range(4)] == [3.0, 3.0, -1.0, -1.0]


def test_computed_prefixes_leave_out_the_last_block_and_freeze_at_a_hole() -> None:
    manager = new_manager("prefix_caching")
    old = running(manager, 8)
    manager.mark_blocks_as_computed(old, 8)
    new = running(manager, 20, 2)
    assert manager.get_block_table(new.seqs[0]) == [0, 1, 2, 3, 4]
    assert manager.get_common_computed_block_ids(old.seqs) == [0]
    assert manager.get_common_computed_block_ids(new.seqs) == [0, 1]
    manager.mark_blocks_as_computed(new, 12)
    assert manager.get_common_computed_block_ids(new.seqs) == [0, 1]  # 2 and 3 are known too late
    assert manager.get_common_computed_block_ids([*old.seqs, *new.seqs]) == [0]
    assert manager.get_prefix_cache_hit_rate(Device.GPU) == 2 / 7


def test_computed_prefixes_grow_with_the_sequence() -> None:
    manager = new_manager("prefix_caching")
    group = running(manager, 8)
    manager.mark_blocks_as_computed(group, 8)
    assert manager.get_common_computed_block_ids(group.seqs) == [0]
    add_tokens(group.seqs[0], 8, 9, 10, 11, 12)
    manager.append_slots(group.seqs[0], 0)
    manager.mark_blocks_as_computed(group, 5)
    assert manager.get_common_computed_block_ids(group.seqs) == [0, 1, 2]


def test_without_a_cache_nothing_is_computed_for_others() -> None:
    manager = new_manager("naive")
    group = running(manager, 12)
    manager.access_all_blocks_in_seq(group.seqs[0], 1.0)
    manager.mark_blocks_as_computed(group, 12)
    assert manager.get_common_computed_block_ids(group.seqs) == []
    assert manager.get_prefix_cache_hit_rate(Device.GPU) == -1


@both_kinds
def test_a_window_counts_computed_tokens(kind: str) -> None:
    manager = new_manager(kind, sliding_window=5)
    assert manager.max_block_sliding_window == 3
    seq = running(manager, 24).seqs[0]
    seq.data.update_num_computed_tokens(24)
    add_tokens(seq, 24)
    manager.append_slots(seq, 0)
    assert manager.get_block_table(seq) == [6, 6, 6, 3, 4, 5, 9 - 2 if kind != "naive" else 2]
    manager.free(seq)
    assert manager.get_num_free_gpu_blocks() == 23


@both_kinds
def test_a_window_may_count_the_new_token_as_computed_already(kind: str) -> None:
    """As an engine does that books a step before it asks for the next one's slots."""
    manager = new_manager(kind, sliding_window=5)
    seq = running(manager, 10).seqs[0]
    seq.data.update_num_computed_tokens(10)
    for length in range(11, 40):
        add_tokens(seq, 1000 + length)
        seq.data.update_num_computed_tokens(1)
        manager.append_slots(seq, 0)
        table = manager.get_block_table(seq)
        dropped = max(0, length // 4 - 3)
        assert len(table) == -(-length // 4)
        assert len(set(table[:dropped])) == min(dropped, 1)
        assert len(set(table[dropped:])) == len(table) - dropped
    manager.free(seq)
    assert manager.get_num_free_gpu_blocks() == 23


BAD_SETTINGS: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"block_size": 0}, UsageError, "block_size.*0"),
    ({"block_size": "4"}, TypeError, "block_size.*'4'"),
    ({"num_gpu_blocks": -1}, UsageError, "num_gpu_blocks.*-1"),
    ({"num_cpu_blocks": 1.5}, TypeError, r"num_cpu_blocks.*1\.5"),
    ({"watermark": -0.1}, UsageError, r"watermark.*-0\.1"),
    ({"watermark": 1.01}, UsageError, r"watermark.*1\.01"),
    ({"watermark": math.nan}, UsageError, "watermark.*nan"),
    ({"watermark": "0.1"}, TypeError, "watermark.*'0.1'"),
    ({"sliding_window": 0}, UsageError, "sliding_window.*0"),
    ({"sliding_window": 4.0}, TypeError, r"sliding_window.*4\.0"),
    ({"enable_caching": 1}, TypeError, "enable_caching.*1"),
]


@pytest.mark.parametrize(("settings", "error", "shown"), BAD_SETTINGS)
def test_bad_settings(settings: dict[str, Any], error: type[Exception], shown: str) -> None:
    good: dict[str, Any] = {"block_size": 4, "num_gpu_blocks": 4, "num_cpu_blocks": 4}
    with pytest.raises(error, match=shown) as caught:
        SelfAttnBlockSpaceManager(**(good | settings))
    assert type(caught.value) is error


def refused(
    error: type[Exception], match: str, call: Callable[[], Any], manager: Any, *seqs: Any
) -> None:
    """``call`` raises this very error, and nothing has changed."""
    before = everything(manager, seqs=seqs)
    with pytest.raises(error, match=match) as caught:
        call()
    assert type(caught.value) is error
    assert everything(manager, seqs=seqs) == before


@both_kinds
@pytest.mark.parametrize(
    ("slots", "error", "shown"),
    [(-1, UsageError, "-1"), ("1", TypeError, "'1'"), (1.0, TypeError, "1.0")],
)
def test_bad_lookahead(kind: str, slots: Any, error: type[Exception], shown: str) -> None:
    manager = new_manager(kind)
    group, waiting = running(manager, 6), new_group(new_seq(2, 4))
    seq = group.seqs[0]
    add_tokens(seq, 6)
    for call in (
        lambda: manager.can_allocate(waiting, slots),
        lambda: manager.can_append_slots(group, slots),
        lambda: manager.append_slots(seq, slots),
        lambda: manager.can_swap_in(group, slots),
    ):
        refused(error, f"num_lookahead_slots.*{shown}", call, manager, seq)


@both_kinds
def test_calls_out_of_order(kind: str) -> None:
    manager = new_manager(kind)
    group, stranger = running(manager, 6), new_group(new_seq(9, 4))
    seq, strange_seq = group.seqs[0], stranger.seqs[0]
    strange_seq.status = SequenceStatus.RUNNING
    again = new_group(new_seq(5, 4), new_seq(1, 4))
    refused(UsageError, "'1' must be WAITING", lambda: manager.can_allocate(group), manager)
    refused(UsageError, "'1' must be WAITING", lambda: manager.allocate(group), manager)
    refused(UsageError, "sequence 1 already", lambda: manager.allocate(again), manager)
    refused(UsageError, "sequence 1 already", lambda: manager.fork(seq, seq), manager)
    for call in (
        lambda: manager.append_slots(strange_seq, 0),
        lambda: manager.can_append_slots(stranger, 0),
        lambda: manager.get_block_table(strange_seq),
        lambda: manager.can_swap_out(stranger),
        lambda: manager.swap_out(stranger),
        lambda: manager.swap_out(new_group(seq, strange_seq)),
        lambda: manager.get_common_computed_block_ids([seq, strange_seq]),
    ):
        refused(UsageError, "sequence 9 has no block table", call, manager, seq, strange_seq)
    if kind == "prefix_caching":
        access = lambda: manager.access_all_blocks_in_seq(strange_seq, 1.0)  # noqa: E731
        refused(UsageError, "sequence 9 has no block table", access, manager)
    for now, error in [("1", TypeError), (None, TypeError), (math.nan, UsageError)]:
        call = partial(manager.access_all_blocks_in_seq, seq, now)
        refused(error, f"now.*{now}", call, manager)


def test_asking_what_is_computed_on_the_gpu_of_a_sequence_that_is_not_there() -> None:
    manager = new_manager("prefix_caching")
    here, gone = running(manager, 12), running(manager, 12, 2, 100)
    manager.swap_out(gone)
    call = lambda: manager.get_common_computed_block_ids([*here.seqs, *gone.seqs])  # noqa: E731
    refused(UsageError, "does not belong", call, manager)
    manager.mark_blocks_as_computed(here, 12)
    assert manager.get_common_computed_block_ids(here.seqs) == [0, 1]


@both_kinds
def test_a_group_of_two_without_tokens_leaves_no_table_behind(kind: str) -> None:
    manager = new_manager(kind)
    group = new_group(new_seq(1, 0), new_seq(2, 0))
    refused(UsageError, "no blocks", lambda: manager.allocate(group), manager)


@both_kinds
def test_swapping_in_what_is_on_the_gpu(kind: str) -> None:
    manager = new_manager(kind)
    group = running(manager, 6)
    set_status(group, SequenceStatus.SWAPPED)
    refused(UsageError, "does not belong", lambda: manager.swap_in(group), manager)


# -- a failed call is undone rather than asked about first: a block can come back half-way ---------


def two_sharers(kind: str, num_free: int) -> tuple[SelfAttnBlockSpaceManager, Any]:
    """The forks share a partial and a reserved block, and will write both; a third has been there.

    The third sequence holds tokens 0 … 7; the forks hold 0 … 6 and a block for the tokens from 8.
    """
    manager = new_manager(kind)
    third, first = new_group(new_seq(3, 8)), new_group(new_seq(1, 7))
    for group in (third, first):
        manager.allocate(group)
        set_status(group, SequenceStatus.RUNNING)
    manager.append_slots(first.seqs[0], 2)
    second = new_group(first.seqs[0].fork(2))
    manager.fork(first.seqs[0], second.seqs[0])
    add_tokens(first.seqs[0], 7, 8)
    pool = manager.block_allocator.allocator_on(Device.GPU)
    while pool.get_num_free_blocks() > num_free:
        pool.allocate_mutable_block(None)
    return manager, first


def test_two_touched_blocks_fit_into_one_free_block() -> None:
    manager, group = two_sharers("prefix_caching", num_free=1)
    assert not manager.can_append_slots(group, 0)
    assert manager.block_tables[1].physical_block_ids == [0, 2, 3]
    # Token 7 moves block 2 to the free block 23; that is block 1 by content, so 23 is free again,
    # and token 8 moves block 3 there: the same destination twice, in this order (q39).
    assert manager.append_slots(group.seqs[0], 0) == [(2, 23), (3, 23)]
    assert manager.block_tables[1].physical_block_ids == [0, 1, 23]
    assert manager.block_tables[2].physical_block_ids == [0, 2, 3]
    assert manager.get_num_free_gpu_blocks() == 0


def test_without_a_cache_both_blocks_must_be_free() -> None:
    manager, group = two_sharers("naive", num_free=1)
    assert not manager.can_append_slots(group, 0)
    with pytest.raises(NoFreeBlocksError):
        manager.append_slots(group.seqs[0], 0)
    assert manager.block_tables[1].num_full_slots == 7


def test_with_none_free_even_the_first_copy_fails() -> None:
    manager, group = two_sharers("prefix_caching", num_free=0)
    with pytest.raises(NoFreeBlocksError):
        manager.append_slots(group.seqs[0], 0)
    assert manager.block_tables[1].physical_block_ids == [0, 2, 3]
