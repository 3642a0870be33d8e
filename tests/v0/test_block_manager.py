"""The manager: what it refuses. What it answers, the recordings and the state machine prove."""

import math
from functools import partial
from typing import Any

import pytest

from pagesim import SelfAttnBlockSpaceManager, SequenceStatus, UsageError
from tests.v0.block.scenes import (
    add_tokens,
    both_kinds,
    new_group,
    new_manager,
    new_seq,
    running,
    set_status,
)
from tests.v0.block.state import refused


@both_kinds
def test_forking_a_parent_without_a_table_does_nothing(kind: str) -> None:
    manager = new_manager(kind)
    manager.fork(new_seq(1, 4), new_seq(2, 4))
    assert not manager.block_tables


@both_kinds
def test_q24_a_block_table_that_was_handed_out_is_a_copy(kind: str) -> None:
    """vLLM hands out the live list, which changes later."""
    manager = new_manager(kind)
    seq = running(manager, 4).seqs[0]
    ids = manager.get_block_table(seq)
    add_tokens(seq, 4)
    manager.append_slots(seq, 0)
    assert (ids, manager.get_block_table(seq)) == ([0], [0, 1])


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
