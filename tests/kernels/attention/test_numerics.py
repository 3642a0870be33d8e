"""How well the attention kernels compute: options, fp8, large logits, rounding."""

import numpy as np
import pytest
import torch

from pagesim.kernels import backend
from pagesim.kernels.reference import gather_attention
from pagesim.kernels.runtime.fallback import to_numpy
from tests.kernels import pages
from tests.kernels.cases import FP8, each_kernel, make_case, small_case, with_kernels

DTYPES = [torch.float32, torch.float16, torch.bfloat16]


def per_head(*values: float) -> torch.Tensor:
    return torch.tensor(values, device=backend.device())


OPTIONS = {
    "a negative scale": lambda: {"scale": -0.7},
    "softcap": lambda: {"softcap": 0.5},
    "a wide softcap": lambda: {"softcap": 1000.0, "scale": 5.0},
    "alibi": lambda: {"alibi_slopes": per_head(0.5, 0.25, 0.125, 2.0)},
    "one scale for all heads": lambda: {"k_scale": 3.0, "v_scale": 0.25},
    "16-bit scales": lambda: {"k_scale": per_head(3.0, 0.5).bfloat16()},
    "k_scale per head": lambda: {"k_scale": per_head(3.0, 0.5)},
    "v_scale per head": lambda: {"v_scale": per_head(0.1, 7.0)},
    "all": lambda: {
        "scale": 0.4,
        "softcap": 2.0,
        "alibi_slopes": per_head(0.5, 0.25, 0.125, 2.0),
        "k_scale": per_head(3.0, 0.5),
        "v_scale": per_head(0.1, 7.0),
        "sliding_window": 13,
    },
}


@pytest.mark.parametrize(("kernel", "name"), with_kernels(*OPTIONS))
def test_every_option_counts(kernel: str, name: str) -> None:
    case, options = small_case(kernel), OPTIONS[name]()
    answer = case.answer(**options)
    case.compare(answer, **options)
    with pytest.raises(AssertionError, match=r"(sequence|query token) \d+, head \d+"):
        case.compare(answer)


@pytest.mark.parametrize(("kernel", "dtype"), with_kernels(*DTYPES), ids=str)
def test_fp8_caches(kernel: str, dtype: torch.dtype) -> None:
    """e4m3 numbers times their scales, for queries of every dtype; NaN poison as before."""
    case = small_case(kernel, dtype, cache_dtype=FP8)
    case.check(k_scale=per_head(3.0, 0.5), v_scale=per_head(0.1, 7.0))
    case.check(v_scale=4.0, softcap=3.0, sliding_window=9)


@each_kernel
@pytest.mark.filterwarnings("ignore:invalid value encountered")
def test_a_nan_in_an_fp8_cache_is_seen(kernel: str) -> None:
    """Otherwise the poison above would prove nothing: the interpreter itself reads 480."""
    case = small_case(kernel, cache_dtype=FP8)
    case.k_cache.view(torch.uint8).flatten(0, 1)[case.pages.slots(0)[3]] = 0x7F
    out = case.run()
    assert out[0].isnan().all() or kernel == "prefill"
    assert out.isnan().any()


@pytest.mark.parametrize(
    ("kernel", "given"),
    with_kernels(
        (torch.float32, 0.0), (torch.float16, 0.0), (torch.bfloat16, 0.0), (torch.float32, 30.0)
    ),
    ids=str,
)
def test_logits_of_ten_thousand(kernel: str, given: tuple[torch.dtype, float]) -> None:
    dtype, softcap = given
    case = small_case(kernel, dtype)
    case.q[:] = 0
    case.q[..., 0] = 128.0
    # 128 · 78 ≈ 1e4, exact in every dtype; half the keys have the other sign.
    case.k_cache[..., 0] = torch.where(case.k_cache[..., 0] < 0, -78.0, 78.0)
    if kernel == "fused":
        case.others["k_new"][..., 0] = -78.0
    for scale in (1.0, -1.0):
        case.check(scale=scale, softcap=softcap)


@each_kernel
def test_large_logits_keep_their_small_differences(kernel: str) -> None:
    """Scores are subtracted before they are scaled for exp2, in partitions too."""
    case = small_case(kernel)
    case.q[:] = 0
    case.q[..., 0] = 128.0
    steps = torch.arange(case.k_cache.shape[1], device=case.q.device) % 3 / 128
    case.k_cache[..., 0] = 78.0 + steps[None, :, None]
    if kernel == "fused":
        case.others["k_new"][..., 0] = 78.0
    case.check(scale=1.0)


@pytest.mark.parametrize(("kernel", "dtype"), with_kernels(*DTYPES), ids=str)
def test_no_more_than_three_times_the_error_of_plain_torch(kernel: str, dtype: torch.dtype) -> None:
    """FlashAttention's rule: the same formula in the same precision, without pages."""
    made = pages.fragmented([80, 64], block_size=16)
    case = make_case(made, kernel=kernel, heads=2, kv_heads=1, dtype=dtype, seed=5, queries=[1, 1])
    plain, expected = torch.empty_like(case.q, device="cpu"), []
    for seq in range(2):
        slots = torch.tensor(made.slots(seq))
        tokens = [cache.cpu().flatten(0, 1)[slots] for cache in (case.k_cache, case.v_cache)]
        if kernel == "fused":
            news = (case.others["k_new"][seq : seq + 1], case.others["v_new"][seq : seq + 1])
            tokens = [torch.cat([t, new.cpu()]) for t, new in zip(tokens, news, strict=True)]
        k, v = (token.repeat_interleave(2, dim=1) for token in tokens)
        scores = torch.einsum("hd,thd->ht", case.q[seq].cpu(), k) * 64**-0.5
        plain[seq] = torch.einsum("ht,thd->hd", torch.softmax(scores, dim=-1), v)
        k_page, v_page = (to_numpy(token)[None] for token in tokens)
        arrays = (to_numpy(case.q[seq : seq + 1]), k_page, v_page)
        length = len(tokens[0])
        expected.append(gather_attention(*arrays, torch.zeros(1, 1).int().numpy(), [length])[0])
    exact = torch.from_numpy(np.array(expected))
    kernel_error = (case.run().cpu().double() - exact).abs().max()
    assert kernel_error <= 3 * (plain.double() - exact).abs().max() + 1e-5
