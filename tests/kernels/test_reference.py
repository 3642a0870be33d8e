"""The references: each against the other, and both against numbers known beforehand."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pagesim.kernels import reference
from tests.kernels import pages

FINITE = st.floats(-1e4, 1e4, allow_nan=False)


@given(st.lists(FINITE, min_size=1, max_size=40))
def test_online_softmax_is_softmax(values: list[float]) -> None:
    weights = np.exp(np.array(values) - max(values))
    np.testing.assert_allclose(
        reference.online_softmax(values), weights / weights.sum(), rtol=1e-12, atol=1e-300
    )


def test_online_softmax_states_are_the_prefixes() -> None:
    states = list(reference.online_softmax_states([0.0, math.log(3), -1.0]))
    assert states[0] == (0.0, 1.0)
    assert states[1] == pytest.approx((math.log(3), 1 + 1 / 3))
    assert states[2] == pytest.approx((math.log(3), 1 + 1 / 3 + math.exp(-1) / 3))


def test_online_softmax_of_nothing_is_nothing() -> None:
    assert reference.online_softmax([]).shape == (0,)


OPTIONS = {
    "plain": {},
    "scale": {"scale": 0.3},
    "alibi": {"alibi_slopes": [0.5, 0.25, 0.125, 0.0625]},
    "window 1": {"sliding_window": 1},
    "window 5": {"sliding_window": 5},
    "softcap": {"softcap": 2.0},
    "scales": {"k_scale": 0.5, "v_scale": [3.0, 0.25]},
    "all": {
        "scale": 0.7,
        "alibi_slopes": [0.5, 0.25, 0.125, 0.0625],
        "sliding_window": 7,
        "softcap": 3.0,
        "k_scale": [2.0, 0.5],
        "v_scale": 1.5,
    },
}


def random_arguments(seed: int) -> tuple[np.ndarray, ...]:
    made = pages.fragmented([13, 0, 4, 1], block_size=4, seed=seed)
    rng = np.random.default_rng(seed)
    shape = (made.num_blocks, made.block_size, 2, 6)
    caches = rng.normal(size=(2, *shape))
    kept = np.zeros((made.num_blocks * made.block_size,), dtype=bool)
    kept[[slot for seq in range(4) for slot in made.slots(seq)]] = True
    caches[:, ~kept.reshape(shape[:2])] = np.nan
    q = rng.normal(size=(4, 4, 6))
    return q, *caches, made.block_tables().cpu().numpy(), made.seq_lens().cpu().numpy()


@pytest.mark.parametrize("name", OPTIONS)
@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 1000))
def test_the_two_attentions_agree(name: str, seed: int) -> None:
    arguments = random_arguments(seed)
    walked = reference.online_softmax_attention(*arguments, **OPTIONS[name])
    gathered = reference.gather_attention(*arguments, **OPTIONS[name])
    assert np.isfinite(walked).all()
    np.testing.assert_allclose(walked, gathered, rtol=1e-11, atol=1e-13)
    assert (walked[1] == 0).all()


@pytest.mark.parametrize("name", [name for name in OPTIONS if name != "plain"])
def test_every_option_changes_the_answer(name: str) -> None:
    arguments = random_arguments(0)
    plain = reference.gather_attention(*arguments)
    assert np.abs(reference.gather_attention(*arguments, **OPTIONS[name]) - plain).max() > 1e-3


@pytest.mark.parametrize(
    "attention", [reference.online_softmax_attention, reference.gather_attention]
)
class TestByHand:
    """Two keys in two pages, scores and answers computed on paper."""

    def arguments(self) -> list[np.ndarray]:
        k, v = np.full((2, 3, 1, 1, 1), np.nan)
        k[2, 0], k[0, 0] = math.log(2), math.log(6)  # position 0 lies in block 2, 1 in block 0
        v[2, 0], v[0, 0] = 1.0, 5.0
        return [np.ones((1, 1, 1)), k, v, np.array([[2, 0]]), np.array([2])]

    LOW, HIGH = (math.exp(math.tanh(2 * math.log(x))) for x in (2, 6))

    @pytest.mark.parametrize(
        ("options", "answer"),
        [
            ({}, (2 * 1 + 6 * 5) / 8),  # weights 2 : 6
            # The older key gets exp(-slope): weights 2/4 : 6.
            ({"alibi_slopes": [math.log(4)]}, (0.5 * 1 + 6 * 5) / 6.5),
            ({"sliding_window": 1}, 5.0),  # it sees the query alone
            # k_scale comes before softcap, and v_scale last.
            (
                {"k_scale": 2.0, "softcap": 1.0, "v_scale": 10.0},
                10 * (LOW * 1 + HIGH * 5) / (LOW + HIGH),
            ),
        ],
    )
    def test_options(self, attention, options: dict, answer: float) -> None:
        assert attention(*self.arguments(), **options).item() == pytest.approx(answer)

    def test_default_scale_is_one_over_root_of_head_dim(self, attention) -> None:
        q, k, v, tables, lens = self.arguments()
        wide = [np.repeat(array, 4, axis=-1) for array in (q, k, v)]
        # q·k is 4 times as large and √4 smaller: weights 2² : 6².
        out = attention(*wide, tables, lens)
        np.testing.assert_allclose(out, (4 * 1 + 36 * 5) / 40)


def test_reshape_and_cache_writes_slots_and_skips() -> None:
    key, value = np.arange(1.0, 4.0).reshape(3, 1, 1), np.arange(11.0, 14.0).reshape(3, 1, 1)
    k_cache, v_cache = np.zeros((2, 2, 2, 1, 1))
    reference.reshape_and_cache(key, value, k_cache, v_cache, np.array([3, -1, 0]))
    assert k_cache.ravel().tolist() == [3, 0, 0, 1]
    assert v_cache.ravel().tolist() == [13, 0, 0, 11]
