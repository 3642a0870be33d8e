"""`assert_matches_reference` must be able to say no."""

import pytest
import torch

from pagesim.kernels import assert_matches_reference
from pagesim.kernels.compare import TOLERANCE
from tests.kernels import pages
from tests.kernels.cases import make_case


@pytest.mark.parametrize("dtype", list(TOLERANCE), ids=str)
def test_an_error_just_above_the_bound_is_found_where_it_is(dtype: torch.dtype) -> None:
    case = make_case(pages.fragmented([3, 20], block_size=4), heads=4, dtype=dtype)
    case.v_cache[case.v_cache.isfinite()] *= 100  # the bound is relative to max|V|
    out = case.run()
    error = assert_matches_reference(out, *case.arguments)
    assert 0 <= error <= TOLERANCE[dtype]
    visible = case.v_cache.flatten(0, 1)[case.pages.slots(1)][:, 1]
    wrong = out.clone()
    wrong[1, 3, 7] += 2.5 * TOLERANCE[dtype] * visible.abs().max()
    with pytest.raises(AssertionError, match=r"sequence 1, head 3: error .* the bound for .* is"):
        assert_matches_reference(wrong, *case.arguments)


@pytest.mark.parametrize(
    ("length", "number", "message"),
    [(3, float(number), "head 2: .* is inf") for number in ("nan", "inf", "-inf")]
    + [(0, 1e-3, "head 2")],  # an empty sequence must give zeros
)
def test_a_wrong_number_is_found_where_it_is(length: int, number: float, message: str) -> None:
    case = make_case(pages.fragmented([length, 20], block_size=4), heads=4)
    out = case.run()
    out[0, 2, 5] = number
    with pytest.raises(AssertionError, match=f"sequence 0, {message}"):
        assert_matches_reference(out, *case.arguments)


def test_shape_and_dtype_of_the_output() -> None:
    case = make_case(pages.fragmented([3], block_size=4), heads=4)
    out = case.run()
    with pytest.raises(AssertionError, match=r"expected torch.float32 \[1, 4, 64\]"):
        assert_matches_reference(out[:, :2], *case.arguments)
    with pytest.raises(AssertionError, match=r"out is torch.float16"):
        assert_matches_reference(out.half(), *case.arguments)
