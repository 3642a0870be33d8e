"""The traps in memory, one by one, for every attention kernel."""

from dataclasses import replace

import pytest
import torch

from pagesim import kernels
from pagesim.kernels import backend
from tests.kernels import pages
from tests.kernels.attention.test_together import int32
from tests.kernels.cases import FP8, KERNELS, NAN, each_kernel, make_case, small_case, with_kernels


@pytest.mark.parametrize(
    ("kernel", "given"),
    with_kernels((torch.float32, 4, 2), (torch.float16, 2, 2), (torch.bfloat16, 5, 1)),
    ids=str,
)
def test_nan_everywhere_else(kernel: str, given: tuple[torch.dtype, int, int]) -> None:
    """0 · NaN is NaN: slots never written must not even be read. Lengths around a tile's 64."""
    dtype, heads, kv_heads = given
    made = pages.fragmented([130, 64, 1, 65], block_size=16)
    make_case(made, kernel=kernel, heads=heads, kv_heads=kv_heads, dtype=dtype).check()


@pytest.mark.parametrize(("kernel", "make"), with_kernels("forked", "swapped", "shared"))
def test_tables_that_share_and_move(kernel: str, make: str) -> None:
    made = {
        "forked": lambda: pages.forked(prompt=21, grown=6, block_size=8),
        "swapped": lambda: pages.swapped([23, 9, 14], block_size=4),
        "shared": lambda: pages.Pages([[3, 1], [1, 3]], [8, 8], block_size=4, num_blocks=5),
    }[make]()
    make_case(made, kernel=kernel, heads=4).check()


def test_fused_with_nothing_cached_returns_the_new_value() -> None:
    case = make_case(pages.fragmented([0, 5], block_size=4), kernel="fused", heads=4, kv_heads=2)
    out = case.run(v_scale=3.0, k_scale=7.0)
    torch.testing.assert_close(out[0], case.others["v_new"][0].repeat_interleave(2, dim=0))


@pytest.mark.parametrize(("kernel", "head_dim"), with_kernels(1, 16, 80, 96, 112, 120, 256))
def test_head_dims_between_nan_columns(kernel: str, head_dim: int, monkeypatch) -> None:
    """Everything lies in wider rows whose spare columns are NaN; the output's stay untouched."""
    made = pages.fragmented([70, 5], block_size=16)
    sizes = {"heads": 2, "kv_heads": 1, "head_dim": head_dim, "queries": [6, 2]}
    plain = make_case(made, kernel=kernel, dtype=torch.float16, **sizes)
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


@pytest.mark.parametrize(("kernel", "block_size"), with_kernels(1, 4, 8, 12, 32, 100, 128, 256))
def test_block_sizes(kernel: str, block_size: int) -> None:
    lengths = [2 * min(block_size, 64) + 1, block_size]
    made, queries = pages.fragmented(lengths, block_size), [min(9, lengths[0]), min(3, block_size)]
    make_case(made, kernel=kernel, heads=2, kv_heads=1, head_dim=16, queries=queries).check()


@pytest.mark.parametrize(
    ("kernel", "layout"), with_kernels("heads first", "rows last", "k and v side by side")
)
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
    assert case.run().shape == (0, 8, 64)
    if kernel != "v1":
        assert case.answer()[1].shape == (0, 8)
    nowhere = pages.Pages([[]], [0], block_size=4, num_blocks=0)
    if kernel in ("v1", "v2"):
        assert (make_case(nowhere, kernel=kernel).run() == 0).all()


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
    ("starts", "message"),
    [
        ([0, 3, 2], r"query_start_loc\[2\] = 2: sequence 1 would end before it starts, at 3"),
        ([1, 3, 5], r"query_start_loc runs from 1 to 5, expected 0 to 5"),
        ([0, 3, 6], r"query_start_loc runs from 0 to 6, expected 0 to 5"),
        ([0, 0, 5], r"seq_lens\[1\] = 4: sequence 1 has 5 queries"),
        ([0, 5], "query_start_loc has 2 entries, expected 3"),
    ],
)
def test_query_starts_that_are_refused(starts: list[int], message: str) -> None:
    case = make_case(pages.fragmented([9, 4], block_size=4), kernel="prefill", queries=[3, 2])
    if starts == [0, 3, 2]:
        case = replace(case, q=case.q[:2])
    case.others["query_start_loc"] = int32(starts)
    with pytest.raises(ValueError, match=message):
        case.answer()
