"""Shuffles do what lanes do; shared memory notices who forgot a barrier."""

from contextlib import nullcontext

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pagesim.kernels.simt import RaceError
from pagesim.kernels.simt.machine import SharedMemory, halving, shuffle_xor, xor_reduce
from pagesim.kernels.simt.thread_block import ThreadBlock
from tests.kernels.simt.worlds import make_world

LANES = np.arange(64).reshape(2, 32)


def test_a_shuffle_brings_the_partner_of_the_same_warp() -> None:
    assert shuffle_xor(LANES, 1)[0, :4].tolist() == [1, 0, 3, 2]
    assert shuffle_xor(LANES, 16)[1, [0, 16]].tolist() == [48, 32]


def test_halving() -> None:
    assert halving(16) == [16, 8, 4, 2, 1]
    assert halving(16, 4) == [16, 8, 4]
    assert halving(0) == []


@given(size=st.sampled_from([1, 2, 4, 8, 16, 32]), seed=st.integers(0, 99))
def test_small_masks_add_up_neighbours_and_large_ones_what_is_left(size: int, seed: int) -> None:
    values = np.random.default_rng(seed).integers(0, 100, (4, 32))
    groups = values.reshape(4, -1, size)
    inside = xor_reduce(values, halving(size // 2), np.add)
    assert (inside == groups.sum(axis=2).repeat(size, axis=1)).all()
    # Every lane meets those with its own place in the other groups.
    across = xor_reduce(values, halving(16, size), np.maximum)
    assert (across.reshape(4, -1, size) == groups.max(axis=1)[:, None, :]).all()


class TestSharedMemory:
    def test_own_words_need_no_barrier(self) -> None:
        memory = SharedMemory(64)
        memory.store(LANES, LANES, LANES * 2)
        assert (memory.load(LANES, LANES) == LANES * 2).all()
        memory.store(LANES, LANES, LANES)

    def test_it_starts_as_nan(self) -> None:
        assert np.isnan(SharedMemory(3).words).all()

    def test_reading_what_another_wrote(self) -> None:
        memory = SharedMemory(64)
        memory.store(LANES, LANES, LANES)
        with pytest.raises(RaceError, match=r"thread 0 reads word 1 .* thread 1 wrote"):
            memory.load(LANES, LANES ^ 1)
        memory.barrier()
        assert (memory.load(LANES, LANES ^ 1) == (LANES ^ 1)).all()

    def test_writing_what_another_still_reads(self) -> None:
        memory = SharedMemory(2)
        memory.load(np.array([0, 3]), np.array([0, 1]))
        with pytest.raises(RaceError, match=r"thread 3 writes word 0 .* thread 0 read"):
            memory.store(np.array([3]), np.array([0]), np.array([1.0]))
        memory.load(np.array([1, 2]), np.array([1, 1]))
        with pytest.raises(RaceError, match="more than one other thread read"):
            memory.store(np.array([3]), np.array([1]), np.array([1.0]))

    def test_two_writers_in_one_instruction(self) -> None:
        with pytest.raises(RaceError, match=r"writes word 0 .* wrote"):
            SharedMemory(2).store(np.array([4, 5]), np.array([0, 0]), np.zeros(2))


def count_barriers(monkeypatch: pytest.MonkeyPatch, leave_out: int | None) -> int:
    """Run a small launch; one barrier, counted from 0, does not happen."""
    passed = 0
    real = ThreadBlock.barrier

    def barrier(self: ThreadBlock) -> None:
        nonlocal passed
        if passed != leave_out:
            real(self)
        passed += 1

    monkeypatch.setattr(ThreadBlock, "barrier", barrier)
    make_world([70], heads=1, kv_heads=1).run()
    return passed


def test_the_kernel_has_nine_barriers_with_four_warps(monkeypatch: pytest.MonkeyPatch) -> None:
    # q, maximum, sum, logits, before their space is used again, and two a level of the tree.
    assert count_barriers(monkeypatch, None) == 5 + 2 * 2


@pytest.mark.parametrize("left_out", range(9))
def test_only_the_last_can_be_left_out(monkeypatch: pytest.MonkeyPatch, left_out: int) -> None:
    nobody_follows = left_out == 8
    with nullcontext() if nobody_follows else pytest.raises(RaceError):
        assert count_barriers(monkeypatch, left_out) == 9
