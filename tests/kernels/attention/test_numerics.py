"""How well `paged_attention_v1` computes: scales, caps, large logits, rounding."""

from __future__ import annotations

import pytest
import torch

from pagesim.kernels import assert_matches_reference, backend
from pagesim.kernels.reference import gather_attention
from pagesim.kernels.runtime.fallback import to_numpy
from tests.kernels import pages
from tests.kernels.cases import Case, make_case

pytestmark = pytest.mark.ch03

DTYPES = [torch.float32, torch.float16, torch.bfloat16]


def small_case(dtype: torch.dtype = torch.float32, **keywords) -> Case:
    return make_case(
        pages.fragmented([30, 17], block_size=8), heads=4, head_dim=32, dtype=dtype, **keywords
    )


def per_head(*values: float, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.tensor(values, dtype=dtype, device=backend.device())


OPTIONS = {
    "scale": lambda: {"scale": 0.7},
    "a negative scale": lambda: {"scale": -0.7},
    "softcap": lambda: {"softcap": 0.5},
    "a wide softcap": lambda: {"softcap": 1000.0, "scale": 5.0},
    "alibi": lambda: {"alibi_slopes": per_head(0.5, 0.25, 0.125, 2.0)},
    "k_scale": lambda: {"k_scale": 3.0},
    "v_scale": lambda: {"v_scale": 0.25},
    "scales per head": lambda: {"k_scale": per_head(3.0, 0.5), "v_scale": per_head(0.1, 7.0)},
    "16-bit scales": lambda: {"k_scale": per_head(3.0, 0.5, dtype=torch.bfloat16)},
    "all": lambda: {
        "scale": 0.4,
        "softcap": 2.0,
        "alibi_slopes": per_head(0.5, 0.25, 0.125, 2.0),
        "k_scale": per_head(3.0, 0.5),
        "v_scale": per_head(0.1, 7.0),
        "sliding_window": 13,
    },
}


@pytest.mark.parametrize("name", OPTIONS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_option(name: str, dtype: torch.dtype) -> None:
    case, options = small_case(dtype), OPTIONS[name]()
    case.check(**options)
    with pytest.raises(AssertionError, match=r"sequence \d+, head \d+"):
        assert_matches_reference(case.run(), *case.arguments, **options)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("softcap", [0.0, 30.0])
def test_logits_of_ten_thousand(dtype: torch.dtype, sign: int, softcap: float) -> None:
    case = small_case(dtype)
    case.q[:] = 0
    case.q[..., 0] = sign * 128.0
    # 128 · 78 ≈ 1e4, exact in every dtype; half the keys have the other sign.
    case.k_cache[..., 0] = torch.where(case.k_cache[..., 0] < 0, -78.0, 78.0)
    case.check(scale=1.0, softcap=softcap)
    assert case.run(scale=1.0, softcap=softcap).isfinite().all()


def test_equal_logits_of_ten_thousand_share_the_weight() -> None:
    """Scores are subtracted before they are scaled for exp: large equal ones stay equal."""
    case = small_case()
    case.q[:] = 0
    case.q[..., 0] = 128.0
    steps = torch.arange(case.k_cache.shape[1], device=case.q.device) % 3 / 128
    case.k_cache[..., 0] = 78.0 + steps[None, :, None]
    case.check(scale=1.0)


@pytest.mark.parametrize("softcap", [1e-3, 1.0, 20.0, 1e6])
def test_softcap_is_tanh_at_every_size(softcap: float) -> None:
    case = small_case()
    case.q[:] = 0
    case.q[..., 0] = 1.0
    scores = softcap * torch.tensor([1e-4, 0.01, 0.25, 0.3, 0.35, 1.0, 4.0, 30.0])
    signs = torch.tensor([1.0, -1.0] * 4)
    # Keep exp's arguments moderate, so that an error in tanh is not lost under one huge weight.
    case.k_cache[..., 0] = (scores * signs).clamp(-20, 20).to(case.q.device)[None, :, None]
    case.check(scale=1.0, softcap=softcap)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_no_more_than_three_times_the_error_of_plain_torch(dtype: torch.dtype) -> None:
    """FlashAttention's rule: the same formula in the same precision, without pages."""
    made = pages.fragmented([120, 64], block_size=16)
    case = make_case(made, heads=4, kv_heads=2, dtype=dtype, seed=5)
    arguments = [to_numpy(tensor) for tensor in case.arguments]
    expected = torch.from_numpy(gather_attention(*arguments))
    kernel_error = (case.run().cpu().double() - expected).abs().max()
    plain = torch.empty_like(case.q, device="cpu")
    for seq in range(2):
        slots = torch.tensor(made.slots(seq))
        k, v = (
            cache.cpu().flatten(0, 1)[slots].repeat_interleave(2, dim=1)
            for cache in (case.k_cache, case.v_cache)
        )
        scores = torch.einsum("hd,thd->ht", case.q[seq].cpu(), k) * 64**-0.5
        plain[seq] = torch.einsum("ht,thd->hd", torch.softmax(scores, dim=-1), v)
    plain_error = (plain.double() - expected).abs().max()
    assert kernel_error <= 3 * plain_error + 1e-5


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_outputs_are_rounded_not_truncated(dtype: torch.dtype) -> None:
    """With one key the answer is its value · v_scale, rounded once, to nearest and ties to even."""
    made = pages.fragmented([1] * 4, block_size=1)
    case = make_case(made, heads=2, kv_heads=2, head_dim=256, dtype=dtype)
    for v_scale in (1.0, 1.0078125, 1.1, -3.3, 1e-3):
        values = torch.stack([case.v_cache[table[0], 0] for table in made.tables]).float()
        exact = (values * torch.tensor(v_scale, dtype=torch.float32)).to(dtype)
        torch.testing.assert_close(case.run(v_scale=v_scale), exact, rtol=0, atol=0)
