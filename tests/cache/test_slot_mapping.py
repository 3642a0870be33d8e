"""Slots and padded tables, against the formula applied by hand."""

import numpy as np
import pytest

import pagesim
from pagesim.cache import PAD_SLOT_ID, pad_block_tables, prompt_slots, slots_of


def test_only_the_positions_asked_for_in_their_order() -> None:
    assert slots_of([7, 2, 5], [9, 0, 4], 4).tolist() == [21, 28, 8]
    assert slots_of([], [], 4).tolist() == []
    assert slots_of([7], [0], 4).dtype == np.int64


@pytest.mark.parametrize("position", [-1, 8])
def test_a_position_outside_the_table(position: int) -> None:
    with pytest.raises(pagesim.UsageError, match=f"position {position} is not in the table"):
        slots_of([3, 1], [0, position], 4)


def test_large_ids_do_not_overflow() -> None:
    assert slots_of([2**31], [15], 16).tolist() == [2**35 + 15]


def test_padding() -> None:
    padded = pad_block_tables([[4, 2], [], [7]])
    assert padded.dtype == np.int32
    assert padded.tolist() == [[4, 2], [-1, -1], [7, -1]]
    assert pad_block_tables([]).shape == (0, 0)


def test_a_chunk_of_a_prompt() -> None:
    assert prompt_slots([5, 2], 3, 7, 4).tolist() == [23, 8, 9, 10]
    assert prompt_slots([5, 2], 4, 4, 4).tolist() == []


@pytest.mark.parametrize(
    ("context", "end", "skipped"),
    [
        (0, 10, 2),  # positions 0 and 1: position 10's query sees 3 to 10
        (0, 8, 0),
        (0, 3, 0),
        (2, 14, 2),  # 12 - 8 = 4, so 2 and 3 are skipped; 4 and 5 could be as well
        (6, 18, 0),  # 12 - 8 = 4 is before the chunk
    ],
)
def test_a_prompt_longer_than_the_window(context: int, end: int, skipped: int) -> None:
    table = [7, 6, 5, 4, 3]
    slots = prompt_slots(table, context, end, 4, sliding_window=8)
    whole = slots_of(table, range(context, end), 4)
    assert slots[:skipped].tolist() == [PAD_SLOT_ID] * skipped
    assert slots[skipped:].tolist() == whole[skipped:].tolist()


def test_a_chunk_that_cannot_be() -> None:
    with pytest.raises(pagesim.UsageError, match="seq_len must be at least 5, not 4"):
        prompt_slots([1, 2], 5, 4, 4)
    with pytest.raises(pagesim.UsageError, match="sliding_window must be at least 1, not 0"):
        prompt_slots([1, 2], 0, 4, 4, sliding_window=0)
