"""The CUDA layouts: element by element where vLLM's kernels look for it, and back bit for bit."""

import pytest
import torch

from pagesim.kernels import from_cuda_layout, to_cuda_layout
from tests.kernels.test_cache_write import bits, random_bits


@pytest.mark.parametrize(
    ("dtype", "x"),
    [(torch.float32, 4), (torch.float16, 8), (torch.bfloat16, 8), (torch.float8_e4m3fn, 16)],
    ids=str,
)
@pytest.mark.parametrize("head_dim", [80, 128])
def test_there_and_back(dtype: torch.dtype, x: int, head_dim: int) -> None:
    k_cache, v_cache = (random_bits((3, 4, 2, head_dim), dtype, seed) for seed in (0, 1))
    keys, values = to_cuda_layout(k_cache, v_cache)
    assert keys.shape == (3, 2, head_dim // x, 4, x)
    assert values.shape == (3, 2, head_dim, 4)
    assert keys.is_contiguous()
    assert values.is_contiguous()
    for made, original in zip(from_cuda_layout(keys, values), (k_cache, v_cache), strict=True):
        assert torch.equal(bits(made), bits(original))


def test_addresses_are_those_of_the_cuda_kernel() -> None:
    """K: block, head, d // x, token, d % x. V: block, head, d, token."""
    numbers = torch.arange(2 * 4 * 3 * 16.0).reshape(2, 4, 3, 16)
    keys, values = to_cuda_layout(numbers, numbers)
    for block, token, head, dim in ((0, 0, 0, 0), (1, 3, 2, 15), (1, 0, 1, 6), (0, 2, 2, 4)):
        at = ((((block * 3 + head) * 4 + dim // 4) * 4) + token) * 4 + dim % 4
        assert keys.flatten()[at] == numbers[block, token, head, dim]
        at = ((block * 3 + head) * 16 + dim) * 4 + token
        assert values.flatten()[at] == numbers[block, token, head, dim]


def test_what_is_refused() -> None:
    cache = torch.zeros(2, 4, 1, 12, dtype=torch.float16)
    with pytest.raises(ValueError, match="k_cache has head_dim 12, not a multiple of x = 8"):
        to_cuda_layout(cache, cache)
    with pytest.raises(ValueError, match=r"v_cache must have shape \[num_blocks, Hkv, D, block"):
        from_cuda_layout(torch.zeros(2, 1, 2, 4, 8), torch.zeros(2, 1, 16))
    with pytest.raises(TypeError, match=r"k_cache must be a torch.Tensor"):
        to_cuda_layout([1.0], cache)
