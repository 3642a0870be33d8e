"""All options of all attention kernels at once, against the float64 reference.

`make test` tries 10 shapes, `make nightly` 400 (PAGESIM_FUZZ sets the number).
"""

import os

import torch
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from pagesim.kernels import backend
from tests.kernels import pages
from tests.kernels.cases import FP8, KERNELS, make_case

EXAMPLES = int(os.environ.get("PAGESIM_FUZZ", "10"))
DTYPES = [torch.float32, torch.float16, torch.bfloat16]


@st.composite
def options(draw: st.DrawFn, heads: int, kv_heads: int, head_dim: int) -> dict[str, object]:
    def per_head(low: float, high: float) -> torch.Tensor:
        numbers = draw(st.lists(st.floats(low, high), min_size=kv_heads, max_size=kv_heads))
        return torch.tensor(numbers, dtype=torch.float32, device=backend.device())

    made: dict[str, object] = {
        # In units of 1/√D: a score's rounding error grows with the score, and the bound does not.
        "scale": draw(st.sampled_from([None, 1.5 / head_dim**0.5, -2 / head_dim**0.5])),
        "softcap": draw(st.sampled_from([0.0, 0.0, 2.0, 50.0])),
        "sliding_window": draw(st.sampled_from([0, 0, 1, 5, 17, 70])),
    }
    if draw(st.booleans()):
        made["alibi_slopes"] = torch.linspace(0.01, 1.0, heads, device=backend.device())
    if draw(st.booleans()):
        for_all = draw(st.booleans())
        made["k_scale"] = draw(st.sampled_from([0.5, 2.0])) if for_all else per_head(0.2, 3)
        made["v_scale"] = per_head(0.1, 9)
    return made


@settings(
    max_examples=EXAMPLES,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(data=st.data())
def test_all_options_at_once(data: st.DataObject) -> None:
    draw = data.draw
    kernel = draw(st.sampled_from([*KERNELS]), label="kernel")
    kv_heads = draw(st.sampled_from([1, 2, 3]), label="kv_heads")
    heads = kv_heads * draw(st.sampled_from([1, 2, 4, 5]), label="group")
    lengths = draw(st.lists(st.integers(0, 90), min_size=1, max_size=2), label="lengths")
    block_size = draw(st.sampled_from([8, 12, 16, 32, 64, 256]), label="block_size")
    head_dim = draw(st.sampled_from([8, 32, 64, 80, 96, 112, 120, 128, 256]), label="head_dim")
    dtype = draw(st.sampled_from(DTYPES), label="dtype")
    fp8 = draw(st.booleans(), label="fp8")
    keywords = draw(options(heads, kv_heads, head_dim), label="options")
    queries = [draw(st.integers(0, length), label="queries") for length in lengths]
    if kernel.startswith("v2"):
        keywords["num_partitions"] = draw(st.sampled_from([None, 1, 2, 7]), label="partitions")
        keywords["partition_size"] = draw(st.sampled_from([16, 50, 512]), label="size")
    event(kernel)
    made = pages.fragmented(lengths, block_size, seed=draw(st.integers(0, 9), label="seed"))
    sizes = {"queries": queries, "heads": heads, "kv_heads": kv_heads, "head_dim": head_dim}
    dtypes = {"dtype": dtype, "cache_dtype": FP8 if fp8 else dtype}
    window = keywords["sliding_window"]
    case = make_case(made, kernel=kernel, **sizes, **dtypes, window=window, seed=sum(lengths))
    case.check(**keywords)
