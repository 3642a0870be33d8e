"""The traps, one by one, for every attention kernel; v1 alone is in `test_v1`."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from pagesim import kernels
from pagesim.kernels import backend
from pagesim.kernels.reference import gather_attention
from pagesim.kernels.runtime.fallback import to_numpy
from tests.kernels import pages
from tests.kernels.cases import FP8, KERNELS, NAN, Case, make_case

pytestmark = pytest.mark.ch03

NEW = [name for name in KERNELS if name != "v1"]
DTYPES = [torch.float32, torch.float16, torch.bfloat16]
each_kernel = pytest.mark.parametrize("kernel", NEW)


def small_case(kernel: str, dtype: torch.dtype = torch.float32, **keywords) -> Case:
    made = pages.fragmented([30, 0, 7], block_size=8)
    return make_case(made, kernel=kernel, heads=4, head_dim=32, dtype=dtype, **keywords)


def per_head(*values: float) -> torch.Tensor:
    return torch.tensor(values, device=backend.device())


@each_kernel
@pytest.mark.parametrize(
    ("dtype", "heads", "kv_heads"),
    [(torch.float32, 8, 2), (torch.float16, 2, 2), (torch.bfloat16, 5, 1)],
    ids=str,
)
def test_nan_everywhere_else(kernel: str, dtype: torch.dtype, heads: int, kv_heads: int) -> None:
    """0 · NaN is NaN: slots never written must not even be read. Lengths around a tile's 64."""
    made = pages.fragmented([130, 64, 1, 65], block_size=16)
    make_case(made, kernel=kernel, heads=heads, kv_heads=kv_heads, dtype=dtype).check()


@each_kernel
@pytest.mark.parametrize("make", ["forked", "swapped", "shared"])
def test_tables_that_share_and_move(kernel: str, make: str) -> None:
    made = {
        "forked": lambda: pages.forked(prompt=21, grown=6, block_size=8),
        "swapped": lambda: pages.swapped([23, 9, 14], block_size=4),
        "shared": lambda: pages.Pages([[3, 1], [1, 3]], [8, 8], block_size=4, num_blocks=5),
    }[make]()
    make_case(made, kernel=kernel, heads=4).check()


@each_kernel
@pytest.mark.parametrize("window", [1, 2, 8, 9, 33, 34, 35, 36, 1000])
def test_sliding_window_edges(kernel: str, window: int) -> None:
    """NaN just outside the window; all of V at the oldest key inside it."""
    length = 34
    made = pages.fragmented([length, 3], block_size=8)
    case = make_case(
        made, kernel=kernel, heads=2, kv_heads=1, head_dim=16, window=window, queries=[5, 2]
    )
    case.check(sliding_window=window)
    first_query = {"prefill": length - 5, "fused": length}.get(kernel, length - 1)
    oldest = max(0, first_query + 1 - window)
    if oldest == length:  # fused with a window of one sees its new token alone
        return
    rows = case.v_cache.flatten(0, 1)
    rows[rows.isfinite().all(-1)] = 0.0
    rows[made.slots(0, oldest)[0]] = 1.0
    for new in case.others.values():
        if new.is_floating_point():
            new[:] = 0.0
    answer = case.answer(sliding_window=window)
    assert (answer[0][0] > 0).all(), "the oldest key in the window was not seen"
    case.compare(answer, sliding_window=window)


@each_kernel
def test_windows_smaller_and_larger_than_a_tile(kernel: str) -> None:
    """A long query tile under a window has an edge at both ends, and tiles without any between."""
    made = pages.fragmented([260, 90], block_size=16)
    for window in (3, 70, 200):
        queries = [40, 90]
        case = make_case(made, kernel=kernel, heads=2, kv_heads=1, window=window, queries=queries)
        case.check(sliding_window=window)


@each_kernel
def test_blocks_behind_the_window_may_be_gone(kernel: str) -> None:
    made = pages.fragmented([34], block_size=8)
    case = make_case(made, kernel=kernel, window=8, queries=[2])
    gone = replace(made, tables=[[-1, 10**6, -7, *made.tables[0][3:]]])
    replace(case, pages=gone).check(sliding_window=8)


@pytest.mark.parametrize("kernel", ["v2", "v2 in 3"])
def test_empty_sequences_give_zeros_and_minus_infinity(kernel: str) -> None:
    case = make_case(pages.fragmented([0, 5, 0], block_size=4), kernel=kernel)
    out, lse = case.answer(v_scale=2.0, sliding_window=3, softcap=5.0)
    assert (out[[0, 2]] == 0).all()
    assert (lse[[0, 2]] == -torch.inf).all()
    assert out[1].isfinite().all()


def test_fused_with_nothing_cached_returns_the_new_value() -> None:
    case = make_case(pages.fragmented([0, 5], block_size=4), kernel="fused", heads=4, kv_heads=2)
    out = case.run(v_scale=3.0, k_scale=7.0)
    torch.testing.assert_close(out[0], case.others["v_new"][0].repeat_interleave(2, dim=0))


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


@each_kernel
@pytest.mark.parametrize("head_dim", [1, 80, 96, 112, 120, 256])
def test_head_dims_between_nan_columns(kernel: str, head_dim: int, monkeypatch) -> None:
    """Everything lies in wider rows whose spare columns are NaN; the output's stay untouched."""
    made = pages.fragmented([70, 5], block_size=16)
    plain = make_case(
        made,
        kernel=kernel,
        heads=2,
        kv_heads=1,
        head_dim=head_dim,
        dtype=torch.float16,
        queries=[6, 2],
    )
    spare = []

    def guarded(tensor: torch.Tensor, fill: float = NAN) -> torch.Tensor:
        wide = tensor.new_full((*tensor.shape[:-1], 300), fill)
        wide[..., :head_dim] = tensor
        spare.append((wide, fill))
        return wide[..., :head_dim]

    q, k_cache, v_cache = (guarded(tensor) for tensor in plain.arguments[:3])
    others = {
        name: guarded(tensor) if tensor.is_floating_point() else tensor
        for name, tensor in plain.others.items()
    }
    case = replace(plain, q=q, k_cache=k_cache, v_cache=v_cache, others=others)
    empty = torch.empty

    def output(shape, **keywords):
        made = empty(shape, **keywords)
        return guarded(made, 7.0) if tuple(shape) == tuple(q.shape) else made

    monkeypatch.setattr(torch, "empty", output)
    answer = case.answer()
    monkeypatch.undo()
    case.compare(answer)
    outputs = [wide for wide, fill in spare if fill == 7.0]
    assert all((wide[..., head_dim:] == 7.0).all() for wide in outputs)
    assert outputs or backend.decide().mode == "reference"  # NumPy makes its own


@each_kernel
@pytest.mark.parametrize("block_size", [8, 12, 32, 100, 128, 256])
def test_block_sizes(kernel: str, block_size: int) -> None:
    lengths = [2 * min(block_size, 64) + 1, block_size]
    made = pages.fragmented(lengths, block_size)
    make_case(made, kernel=kernel, heads=2, kv_heads=1, head_dim=16, queries=[9, 3]).check()


OPTIONS = {
    "a negative scale": lambda: {"scale": -0.7},
    "softcap": lambda: {"softcap": 0.5},
    "alibi": lambda: {"alibi_slopes": per_head(0.5, 0.25, 0.125, 2.0)},
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


@each_kernel
@pytest.mark.parametrize("name", OPTIONS)
def test_every_option_counts(kernel: str, name: str) -> None:
    case, options = small_case(kernel), OPTIONS[name]()
    case.check(**options)
    with pytest.raises(AssertionError, match=r"(sequence|query token) \d+, head \d+"):
        case.compare(case.answer(), **options)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
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
    assert case.run()[0].isnan().all() or kernel == "prefill"
    assert case.run().isnan().any()


@each_kernel
@pytest.mark.parametrize(
    ("dtype", "softcap"),
    [(torch.float32, 0.0), (torch.float16, 0.0), (torch.bfloat16, 0.0), (torch.float32, 30.0)],
    ids=str,
)
def test_logits_of_ten_thousand(kernel: str, dtype: torch.dtype, softcap: float) -> None:
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


@each_kernel
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_no_more_than_three_times_the_error_of_plain_torch(kernel: str, dtype: torch.dtype) -> None:
    """FlashAttention's rule: the same formula in the same precision, without pages."""
    made = pages.fragmented([120, 64], block_size=16)
    case = make_case(made, kernel=kernel, heads=4, dtype=dtype, seed=5, queries=[1, 1])
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


@each_kernel
@pytest.mark.parametrize("layout", ["heads first", "rows last", "k and v side by side"])
def test_strides(kernel: str, layout: str) -> None:
    """Other orders in memory, the same answer: only head_dim must be contiguous."""
    plain = make_case(pages.fragmented([27, 12], block_size=8), kernel=kernel)
    k_cache, v_cache = plain.k_cache, plain.v_cache
    if layout == "heads first":
        k_cache = k_cache.transpose(1, 2).contiguous().transpose(1, 2)
    elif layout == "rows last":  # the K cache alone: its strides and V's must not be mixed up
        k_cache = k_cache.permute(1, 2, 0, 3).contiguous().permute(2, 0, 1, 3)
    else:
        both = torch.stack([k_cache, v_cache], dim=1)
        k_cache, v_cache = both[:, 0], both[:, 1]
    q = torch.stack([plain.q, plain.q * NAN], dim=1)[:, 0]
    others = {
        name: torch.stack([tensor, tensor * NAN], dim=1)[:, 0] if tensor.dim() == 3 else tensor
        for name, tensor in plain.others.items()
    }
    case = replace(plain, q=q, k_cache=k_cache, v_cache=v_cache, others=others)
    assert not (k_cache.is_contiguous() or q.is_contiguous())
    case.check()


@each_kernel
def test_inputs_stay_as_they_were(kernel: str) -> None:
    case = small_case(kernel)
    before = {name: tensor.clone() for name, tensor in case.named.items()}
    case.answer(sliding_window=3, k_scale=2.0)
    for name, tensor in case.named.items():
        torch.testing.assert_close(tensor, before[name], rtol=0, atol=0, equal_nan=True)


@each_kernel
def test_no_sequences(kernel: str) -> None:
    case = make_case(pages.Pages([], [], block_size=4, num_blocks=2), kernel=kernel)
    out, lse = case.answer()
    assert (out.shape, lse.shape) == ((0, 8, 64), (0, 8))


@each_kernel
def test_what_is_refused(kernel: str) -> None:
    case = make_case(pages.fragmented([9, 6], block_size=4), kernel=kernel, heads=4)
    run = getattr(kernels, KERNELS[kernel][0])
    lengths = "context_lens" if kernel == "fused" else "seq_lens"
    for name, index, value, message in [
        (lengths, (1,), 13, rf"too short for sequence 1: {lengths}\[1\] = 13 needs 4"),
        ("block_tables", (0, 2), 10**6, r"block_tables\[0, 2\] = 1000000: sequence 0 names"),
        ("block_tables", (1, 0), -1, r"block_tables\[1, 0\] = -1: sequence 1 names"),
        (lengths, (1,), -3, rf"{lengths}\[1\] = -3"),
    ]:
        arguments = case.named
        arguments[name] = arguments[name].clone()
        arguments[name][index] = value
        with pytest.raises(ValueError, match=message):
            run(**arguments)
    wrong = {**case.named, "v_cache": case.v_cache.to(FP8)}
    with pytest.raises(ValueError, match="v_cache has dtype float8_e4m3fn"):
        run(**wrong)
    for name, tensor in case.others.items():
        with pytest.raises(ValueError, match=f"{name} has"):
            run(**{**case.named, name: tensor[:1]})


@pytest.mark.parametrize(
    ("keywords", "error", "message"),
    [
        ({"partition_size": 0}, ValueError, "partition_size = 0: give at least 1"),
        ({"num_partitions": -2}, ValueError, "num_partitions = -2"),
        ({"num_partitions": 2**40}, ValueError, "num_partitions = 1099511627776: .*at most 65535"),
        ({"num_partitions": 2.0}, TypeError, r"num_partitions must be an int, got 2.0 \(float\)"),
        ({"partition_size": None}, TypeError, "partition_size must be an int"),
    ],
)
def test_partitions_that_are_refused(keywords, error, message) -> None:
    with pytest.raises(error, match=message):
        make_case(pages.fragmented([9], block_size=4), kernel="v2").answer(**keywords)


@pytest.mark.parametrize(
    ("starts", "message"),
    [
        ([0, 3, 2], r"query_start_loc\[2\] = 2: sequence 1 would end before it starts, at 3"),
        ([1, 3, 5], r"query_start_loc runs from 1 to 5, expected 0 to 5"),
        ([0, 3, 6], r"query_start_loc runs from 0 to 6, expected 0 to 5"),
        ([0, 0, 5], r"seq_lens\[1\] = 4: sequence 1 has 5 query tokens, which"),
        ([0, 5], "query_start_loc has 2 entries, expected 3"),
    ],
)
def test_query_starts_that_are_refused(starts: list[int], message: str) -> None:
    case = make_case(pages.fragmented([9, 4], block_size=4), kernel="prefill", queries=[3, 2])
    if starts == [0, 3, 2]:
        case = replace(case, q=case.q[:2])
    case.others["query_start_loc"] = torch.tensor(
        starts, dtype=torch.int32, device=backend.device()
    )
    with pytest.raises(ValueError, match=message):
        case.answer()
