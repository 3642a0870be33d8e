"""How v2 cuts a call: on a chip of so many seats, which is not needed to plan for it, and here."""

import numpy as np
import pytest
import torch

from pagesim.kernels.attention import configs
from pagesim.kernels.attention.partitions import wave_span
from tests.kernels import pages
from tests.kernels.cases import NAN, make_case

CONFIG = configs.Config(rows=16, tile=64, num_warps=4, num_stages=5)
SEATS = 264  # two programs on each of 132 multiprocessors


def cut(lengths: list[int], kv_heads: int = 8, partition_size: int = 512) -> tuple[int, int]:
    visible = np.array(lengths)
    span = wave_span(visible, kv_heads, SEATS, partition_size, CONFIG.tile)
    return -(-max(lengths) // span), span


@pytest.mark.parametrize("lengths", [[4096] * 64, [4096] * 256, [300]])
def test_a_full_chip_is_not_split_and_a_short_sequence_is_not_worth_it(lengths: list[int]) -> None:
    assert cut(lengths)[0] == 1


def test_one_long_sequence_is_split_until_a_wave_is_full() -> None:
    parts, span = cut([128 * 1024])
    assert parts * 8 <= SEATS
    assert parts * 8 > 0.9 * SEATS
    assert parts * span >= 128 * 1024


def test_partitions_are_whole_tiles_and_never_smaller_than_asked() -> None:
    for length in (513, 5000, 70000):
        for size in (64, 512, 1000):
            parts, span = cut([length, 7], partition_size=size)
            assert span % CONFIG.tile == 0
            assert span >= min(size, length)
            assert (parts - 1) * span < length <= parts * span


def test_one_long_among_many_short_is_split_for_its_own_sake() -> None:
    """Every seat has work, but the last program would run on alone."""
    assert cut([200] * 63 + [65536])[0] > 8


def test_configurations_fit_what_a_dot_takes() -> None:
    for chip in ("sm_80", "sm_90", "gfx942", "sm_120", "interpreted"):
        for head_dim in (1, 32, 80, 128, 256):
            for group in (1, 4, 71, 128):
                for size in (2, 4):
                    for make in (configs.decode_config, configs.prefill_config):
                        made = make(chip, head_dim, group, size)
                        assert made.rows >= max(16, group)
                        assert made.tile >= 16
                        assert made.rows & (made.rows - 1) == made.tile & (made.tile - 1) == 0


@pytest.mark.parametrize("kernel", ["v1", "v2", "v2 in 3"])
def test_empty_sequences_give_zeros_and_minus_infinity(kernel: str) -> None:
    case = make_case(pages.fragmented([0, 5, 0], block_size=4), kernel=kernel)
    answer = case.answer(v_scale=2.0, sliding_window=3, softcap=5.0)
    out = answer if kernel == "v1" else answer[0]
    assert (out[[0, 2]] == 0).all()
    assert kernel == "v1" or (answer[1][[0, 2]] == -torch.inf).all()
    assert out[1].isfinite().all()


@pytest.mark.parametrize("num_partitions", [1, 2, 5, 40])
def test_partitions_that_hold_nothing(num_partitions: int, monkeypatch) -> None:
    """What no partition wrote is NaN here; also more partitions than tokens, and odd sizes."""
    made = pages.fragmented([37, 0, 5], block_size=4)
    case = make_case(made, kernel="v2", heads=2, kv_heads=1)
    empty = torch.empty
    monkeypatch.setattr(torch, "empty", lambda *a, **k: empty(*a, **k).fill_(NAN))
    answer = case.answer(num_partitions=num_partitions)
    monkeypatch.undo()
    case.compare(answer)


@pytest.mark.parametrize("partition_size", [3, 16, 100, 4096])
def test_partition_sizes(partition_size: int) -> None:
    made = pages.fragmented([37, 60], block_size=8)
    case = make_case(made, kernel="v2", heads=2, kv_heads=1, window=50)
    case.check(partition_size=partition_size, sliding_window=50)


@pytest.mark.parametrize(
    ("keywords", "error", "message"),
    [
        ({"partition_size": 0}, ValueError, "partition_size = 0: .*at least 1"),
        ({"num_partitions": -2}, ValueError, "num_partitions = -2"),
        ({"num_partitions": 2**40}, ValueError, "num_partitions = 1099511627776: .*at most 65535"),
        ({"num_partitions": 2.0}, TypeError, r"num_partitions must be an int, got 2.0 \(float\)"),
        ({"partition_size": None}, TypeError, "partition_size must be an int"),
    ],
)
def test_partitions_that_are_refused(keywords, error, message) -> None:
    with pytest.raises(error, match=message):
        make_case(pages.fragmented([9], block_size=4), kernel="v2").answer(**keywords)
