"""`online_softmax`: the running maximum and sum, over more numbers than one tile holds."""

import pytest
import torch

from pagesim.kernels import backend, online_softmax, softmax
from pagesim.kernels.compare import TOLERANCE


def check(x: torch.Tensor) -> torch.Tensor:
    out = online_softmax(x.to(backend.device())).cpu()
    expected = torch.softmax(x.double(), dim=-1)
    assert (out.shape, out.dtype) == (x.shape, x.dtype)
    bound = TOLERANCE[x.dtype]
    torch.testing.assert_close(out.double(), expected, rtol=bound, atol=1e-7, equal_nan=True)
    return out


@pytest.mark.parametrize("size", [1, 2, 7, 16, 17, 100])
@pytest.mark.parametrize("dtype", list(TOLERANCE), ids=str)
def test_any_length(size: int, dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(softmax, "_TILE", 16)
    check((torch.randn(3, size, generator=torch.Generator().manual_seed(size)) * 4).to(dtype))


def test_a_vector_the_real_tile_and_large_numbers_that_do_not_overflow() -> None:
    check(torch.linspace(-20, 20, 3000))
    check(torch.tensor([[1e4, 1e4 - 1, -1e4], [-1e4, -1e4, -1e4 - 2]]))


def test_a_maximum_that_rises_and_one_that_came_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(softmax, "_TILE", 4)
    rising = torch.arange(64.0)
    check(torch.stack([rising, rising.flip(0)]))


def test_minus_infinity_gets_no_weight(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also when a whole tile holds nothing else, at the front and in the middle."""
    monkeypatch.setattr(softmax, "_TILE", 4)
    x = torch.full((2, 16), -torch.inf)
    x[0, 9], x[1, 0], x[1, 15] = 3.0, 1.0, 2.0
    out = check(x)
    assert out[0, 9] == 1.0


@pytest.mark.filterwarnings("ignore:invalid value encountered")
def test_nothing_but_minus_infinity_has_no_weights() -> None:
    assert online_softmax(torch.full((4,), -torch.inf, device=backend.device())).isnan().all()


def test_strides_and_nothing() -> None:
    wide = torch.randn(3, 40, generator=torch.Generator().manual_seed(0))
    check(wide[:, 5:30])
    assert online_softmax(torch.zeros(0, device=backend.device())).shape == (0,)
    assert online_softmax(torch.zeros(2, 0, device=backend.device())).shape == (2, 0)


def test_what_is_refused() -> None:
    with pytest.raises(TypeError, match=r"x must be a torch.Tensor"):
        online_softmax([1.0, 2.0])
    with pytest.raises(ValueError, match=r"x must have shape \[N\] or \[R, N\], got \[1, 1, 2\]"):
        online_softmax(torch.zeros(1, 1, 2))
    with pytest.raises(ValueError, match="x has dtype int64"):
        online_softmax(torch.zeros(2, dtype=torch.int64))
    with pytest.raises(ValueError, match="x is not contiguous"):
        online_softmax(torch.zeros(4, 4)[:, ::2])
