"""The two helpers that every attention kernel leans on, number by number."""

import pytest
import torch

from pagesim.kernels import backend
from pagesim.kernels.attention import numerics
from pagesim.kernels.runtime import mode

triton, tl = mode.load_triton()


@triton.jit
def tanh_kernel(x_ptr, out_ptr, SIZE: tl.constexpr):  # noqa: N803
    index = tl.arange(0, SIZE)
    tl.store(out_ptr + index, numerics.tanh(tl.load(x_ptr + index)))


@triton.jit
def round_kernel(x_ptr, out_ptr, SIZE: tl.constexpr):  # noqa: N803
    index = tl.arange(0, SIZE)
    rounded = numerics.round_to(tl.load(x_ptr + index), out_ptr.dtype.element_ty)
    tl.store(out_ptr + index, rounded)


@pytest.fixture(autouse=True)
def need_triton() -> None:
    if backend.decide().mode == "reference":
        pytest.skip(f"device functions need triton: {backend.decide().reason}")


def test_tanh_is_right_to_a_few_units_at_every_size() -> None:
    sizes = torch.logspace(-30, 30, 2048)
    middle = torch.linspace(0.2, 0.4, 1024)  # where the series hands over
    x = torch.cat([sizes, middle, torch.linspace(0, 20, 1022), torch.tensor([0.0, torch.inf])])
    x = torch.cat([x, -x]).to(backend.device())
    out = torch.empty_like(x)
    tanh_kernel[(1,)](x, out, SIZE=x.numel())
    expected = torch.tanh(x.double())
    torch.testing.assert_close(out.double(), expected, rtol=1e-6, atol=0)
    assert (out.abs() <= 1).all()
    x[:] = float("nan")
    tanh_kernel[(1,)](x, out, SIZE=x.numel())
    assert out.isnan().all(), "a NaN in a key must not vanish under a softcap"


@pytest.mark.filterwarnings("ignore:overflow encountered in cast")  # float16 ends at 65504
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32], ids=str)
def test_rounding_is_torchs_rounding(dtype: torch.dtype) -> None:
    generator = torch.Generator().manual_seed(0)
    anything = torch.randint(-(2**31), 2**31, (2**15,), generator=generator).to(torch.int32)
    # NaNs whose bits, counted up, would wrap around to -0 or stop at infinity.
    anything[:3] = torch.tensor([0x7FFFFFFF, -1, 0x7F800001], dtype=torch.int32)
    ties = (torch.arange(2**14, dtype=torch.int32) << 18) | 0x8000  # half way between bfloat16s
    around = torch.cat([ties, ties ^ 0xFFFF]) ^ (1 << 16)
    x = torch.cat([anything, around]).view(torch.float32).to(backend.device())
    out = torch.empty_like(x, dtype=dtype)
    round_kernel[(1,)](x, out, SIZE=x.numel())
    torch.testing.assert_close(out, x.to(dtype), rtol=0, atol=0, equal_nan=True)
