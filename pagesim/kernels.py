"""The Triton kernels of the course, their NumPy references, and the checks in front of them.

Importing this package chooses between compiled and interpreted (`kernels.backend`) **before** any
other module can import triton, which cannot switch afterwards. The import works without torch and
without triton. Without triton the kernels answer through `kernels.reference`; without torch, asking
for one raises an ImportError that names the missing extra.

Each kernel is a file: `cache_write`, `block_copy`, `softmax`, and four in `attention`, where
`groups` calls them with a table for each KV cache group; `pool` is the memory of all layers.
`runtime` decides how a call runs and checks its arguments. `xray` watches which slots a kernel
touches, `gate` compiles without a GPU, and `bench` measures with one. `simt` is vLLM's CUDA kernel,
thread by thread. `tiny_llm` is a language model on the pages.
"""

import contextlib
from importlib import import_module
from typing import Any

from pagesim import starting

__path__ = starting.beside(__file__)

from pagesim.kernels.runtime import mode

# Where each exported name lives. Modules load on first use: they need torch, this package does not.
_HOMES = {
    "GroupStep": "pagesim.kernels.attention.groups",
    "assert_matches_reference": "pagesim.kernels.compare",
    "copy_blocks": "pagesim.kernels.block_copy",
    "from_cuda_layout": "pagesim.kernels.layouts",
    "fused_decode": "pagesim.kernels.attention.fused_decode",
    "kv_pool": "pagesim.kernels.pool",
    "kv_pools": "pagesim.kernels.pool",
    "online_softmax": "pagesim.kernels.softmax",
    "paged_attention_groups": "pagesim.kernels.attention.groups",
    "paged_attention_v1": "pagesim.kernels.attention.v1",
    "paged_attention_v2": "pagesim.kernels.attention.v2",
    "paged_prefill": "pagesim.kernels.attention.prefill",
    "plan_decode": "pagesim.kernels.attention.plan",
    "plan_fused_decode": "pagesim.kernels.attention.plan",
    "plan_prefill": "pagesim.kernels.attention.plan",
    "plan_write": "pagesim.kernels.cache_write",
    "reshape_and_cache": "pagesim.kernels.cache_write",
    "side_by_side": "pagesim.kernels.rows",
    "swap_blocks": "pagesim.kernels.block_copy",
    "to_cuda_layout": "pagesim.kernels.layouts",
}
_WITHOUT_TORCH = ("backend", "reference", "simt")

__all__ = sorted([*_HOMES, *_WITHOUT_TORCH, "tiny_llm", "xray"])

# A triton imported the wrong way is reported when a kernel is asked for, not here: the references
# need no triton and must remain usable.
with contextlib.suppress(RuntimeError):
    mode.decide()


def __getattr__(name: str) -> Any:
    """Load an exported name on first use; see `_HOMES`."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}; it has {__all__}")
    if name not in _WITHOUT_TORCH:
        mode.require_torch(name)
    if name not in _HOMES:
        return import_module(f"pagesim.kernels.{name}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
