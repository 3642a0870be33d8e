"""Slots and padded tables, against the formula applied by hand and a table of the simulator's."""

from __future__ import annotations

import numpy as np
import pytest

import pagesim
from pagesim.cache import pad_block_tables, slots_of

pytestmark = pytest.mark.ch02


def test_slots_of_a_table_from_the_simulator() -> None:
    manager = pagesim.SelfAttnBlockSpaceManager(block_size=4, num_gpu_blocks=8, num_cpu_blocks=0)
    early, late = (pagesim.Sequence(i, list(range(6)), 4) for i in range(2))
    manager.allocate(pagesim.SequenceGroup("early", [early]))
    manager.free(early)
    manager.allocate(pagesim.SequenceGroup("late", [late]))
    assert manager.get_block_table(late) == [1, 0]
    slots = slots_of(manager.get_block_table(late), range(6), 4)
    assert slots.dtype == np.int64
    assert slots.tolist() == [4, 5, 6, 7, 0, 1]


def test_only_the_positions_asked_for_in_their_order() -> None:
    assert slots_of([7, 2, 5], [9, 0, 4], 4).tolist() == [21, 28, 8]
    assert slots_of([], [], 4).tolist() == []


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
