"""Numbers on their way into an fp8 cache: divided, clamped, rounded to nearest, ties to even."""

import numpy as np
import pytest
import torch

from pagesim.kernels import backend, reference, reshape_and_cache
from tests.kernels.cases import FP8
from tests.kernels.test_cache_write import slot_tensor


def codes(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.view(torch.uint8).cpu().int()


def write(x: torch.Tensor, **scales) -> tuple[torch.Tensor, torch.Tensor]:
    """x [T, Hkv, D] through a cache as K and as V; the codes stored."""
    x = x.to(backend.device())
    shape = (x.shape[0], 1, *x.shape[1:])
    caches = [torch.zeros(shape, dtype=FP8, device=x.device) for _ in "kv"]
    reshape_and_cache(x, x, *caches, slot_tensor(list(range(x.shape[0]))), **scales)
    return codes(caches[0][:, 0]), codes(caches[1][:, 0])


def torch_codes(x: torch.Tensor, scale: torch.Tensor | float = 1.0) -> torch.Tensor:
    """torch's own cast, after clamping: what is past 448 would become NaN there."""
    return codes((x.float() / scale).clamp(-448, 448).to(FP8))


def hard_numbers() -> torch.Tensor:
    """All e4m3 numbers, all halfway points between them, and a hair to either side."""
    numbers = torch.from_numpy(reference.FP8_NUMBERS).float()
    middle = (numbers[1:] + numbers[:-1]) / 2
    near = [torch.nextafter(middle, torch.tensor(end)) for end in (-torch.inf, torch.inf)]
    past = torch.tensor([449.0, 464.0, 480.0, 1e30, torch.inf, 1e-30, 2.0**-10, 2.0**-11])
    positive = torch.cat([numbers, middle, *near, past])
    return torch.cat([positive, -positive])


def test_every_number_and_every_tie() -> None:
    x = hard_numbers().reshape(9, 1, -1)
    for stored in write(x):
        assert torch.equal(stored, torch_codes(x))


def test_nan_stays_nan() -> None:
    x = torch.tensor([torch.nan, -torch.nan, 1.0, 2.0]).reshape(1, 1, 4)
    stored = write(x)[0].flatten()
    assert (stored[:2] % 128 == 127).all()
    assert torch.equal(stored[2:], torch_codes(x).flatten()[2:])


def test_scales_per_tensor_and_per_head() -> None:
    x = torch.randn(3, 3, 80, generator=torch.Generator().manual_seed(1)) * 5
    per_head = torch.tensor([0.01, 3.0, 0.7], device=backend.device())
    keys, values = write(x, k_scale=0.3, v_scale=per_head)
    assert torch.equal(keys, torch_codes(x, 0.3))
    assert torch.equal(values, torch_codes(x, per_head.cpu()[None, :, None]))
    assert (keys != values).any()


@pytest.mark.parametrize("scale", [3.0, 7.0, 11.0])
def test_dividing_is_no_multiplying_by_one_over(scale: float) -> None:
    """Halfway points times the scale are exact, and so is the way back; 1/3 is not."""
    x = hard_numbers().clamp(-448, 448).reshape(9, 1, -1) * scale
    assert torch.equal(write(x, k_scale=scale)[0], torch_codes(x, scale))


def test_skipped_tokens_and_other_slots_stay() -> None:
    caches = torch.full((2, 3, 2, 1, 8), 0x7F, dtype=torch.uint8, device=backend.device())
    x = torch.ones(2, 1, 8, device=backend.device())
    reshape_and_cache(x, x, *(cache.view(FP8) for cache in caches), slot_tensor([-1, 3]))
    stored = caches.flatten(1, 2)
    assert (stored[:, 3] == 0x38).all()
    assert (stored[:, [0, 1, 2, 4, 5]] == 0x7F).all()


def test_the_reference_is_torchs_cast() -> None:
    """Two implementations, neither of them a kernel."""
    x = hard_numbers().reshape(9, 1, -1)
    assert np.array_equal(reference.to_fp8(x.numpy()), torch_codes(x).numpy())
    every = torch.arange(256, dtype=torch.uint8)
    numbers = reference.from_fp8(every.numpy())
    assert np.array_equal(numbers, every.view(FP8).float().numpy(), equal_nan=True)


@pytest.mark.parametrize(
    ("scale", "message"),
    [
        (0.0, "k_scale is 0.0 for KV head 0: it must be a positive number"),
        (-1.0, "k_scale is -1.0"),
        (torch.tensor([1.0, torch.nan]), "k_scale is nan for KV head 1"),
        (torch.ones(3), "k_scale has 3 scales, but k_cache has 2"),
        (torch.inf, "k_scale = inf"),
    ],
)
def test_scales_that_are_refused(scale, message: str) -> None:
    if isinstance(scale, torch.Tensor):
        scale = scale.to(backend.device())
    with pytest.raises(ValueError, match=message):
        write(torch.ones(1, 2, 8), k_scale=scale)


def test_caches_that_are_refused() -> None:
    x = torch.ones(1, 1, 8, device=backend.device())
    plain = torch.zeros(1, 1, 1, 8, device=backend.device())
    with pytest.raises(ValueError, match="v_scale is given, but k_cache has dtype float32"):
        reshape_and_cache(x, x, plain, plain.clone(), slot_tensor([0]), v_scale=1.0)
    with pytest.raises(ValueError, match="v_cache has dtype float32, k_cache has float8_e4m3fn"):
        reshape_and_cache(x, x, plain.to(FP8), plain, slot_tensor([0]))
    with pytest.raises(ValueError, match="key has dtype float8_e4m3fn"):
        reshape_and_cache(x.to(FP8), x, plain.to(FP8), plain.to(FP8), slot_tensor([0]))
    assert not plain.any()
