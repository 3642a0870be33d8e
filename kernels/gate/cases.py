"""The gate's cases: calls of launchers, on tensors whose contents do not matter."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch

from pagesim import kernels
from pagesim.kernels.bench import cases as bench_cases


@dataclass(frozen=True, slots=True)
class Case:
    """One call of a launcher: a line of the gate.

    fp8: it has an e4m3 cache. per_token: how many instructions the main loop may take for a token
    of the KV sequence, on the targets where they are counted.
    """

    kernel: str
    label: str
    call: Callable[[], torch.Tensor | None]
    fp8: bool = False
    per_token: float | None = None


def _attention(kernel: str, label: str, dtype: str = "bfloat16", **options: Any) -> Case:
    """An attention call; every option that names no tensor's shape goes to the launcher.

    heads, kv_heads, head_dim, block_size: the shapes; cache: the cache's dtype; scaled, alibi: with
    k_scale and v_scale, with alibi_slopes; apart: V lies otherwise than K.
    """
    shape = {"heads": 32, "kv_heads": 8, "head_dim": 128, "block_size": 16}
    heads, kv_heads, head_dim, block_size = (options.pop(n, shape[n]) for n in shape)
    cache_dtype = options.pop("cache", dtype)
    scaled, alibi, apart = (options.pop(name, False) for name in ("scaled", "alibi", "apart"))

    def call() -> None:
        q = torch.zeros(4, heads, head_dim, dtype=getattr(torch, dtype))
        size = (16, block_size, kv_heads, head_dim)
        cache = torch.zeros(size, dtype=getattr(torch, cache_dtype))
        values = cache.transpose(1, 2).contiguous().transpose(1, 2) if apart else cache.clone()
        tables = torch.zeros(4, 16, dtype=torch.int32)
        lens = torch.full((4,), 8 * block_size, dtype=torch.int32)
        new, more = [], []
        if kernel == "fused_decode":
            new = [torch.zeros(4, kv_heads, head_dim, dtype=q.dtype) for _ in ("k", "v")]
        if kernel == "paged_prefill":
            more = [torch.arange(5, dtype=torch.int32)]
        tensors: dict[str, torch.Tensor] = {}
        if scaled:
            tensors = {name: torch.ones(kv_heads) for name in ("k_scale", "v_scale")}
        if alibi:
            tensors["alibi_slopes"] = torch.ones(heads)
        launch = getattr(kernels, kernel)
        launch(q, *new, cache, values, tables, *more, lens, **tensors, **options)

    return Case(kernel, label, call, fp8="float8" in cache_dtype)


def _cache_write(label: str, dtype: str, head_dim: int, cache: str = "") -> Case:
    def call() -> None:
        key = torch.zeros(4, 8, head_dim, dtype=getattr(torch, dtype))
        pages = torch.zeros(4, 16, 8, head_dim, dtype=getattr(torch, cache or dtype))
        scales = {name: torch.ones(8) for name in ("k_scale", "v_scale")} if cache else {}
        slots = torch.arange(4)
        kernels.reshape_and_cache(key, key, pages, pages.clone(), slots, **scales)

    return Case("reshape_and_cache", label, call, fp8=bool(cache))


def _copy(label: str, dtype: str) -> Case:
    def call() -> None:
        caches = [torch.zeros(4, 16, 8, 128, dtype=getattr(torch, dtype)) for _ in range(4)]
        kernels.copy_blocks(caches[:2], caches[2:], torch.tensor([[0, 1]]))

    return Case("copy_blocks", label, call)


FP8 = "float8_e4m3fn"
EXTRAS: dict[str, Any] = {
    "alibi": True,
    "sliding_window": 64,
    "softcap": 30.0,
    "scaled": True,
}
CASES = (
    _cache_write("D128", "bfloat16", 128),
    _cache_write("D80", "float16", 80),
    _cache_write("D128 fp8", "bfloat16", 128, FP8),
    _attention("paged_attention_v1", "D128"),
    _attention("paged_attention_v1", "D80 fp16 MHA", "float16", head_dim=80, kv_heads=32),
    _attention("paged_attention_v1", "D128 fp8", cache=FP8, scaled=True),
    _attention("paged_attention_v1", "D128 all options", **EXTRAS),
    replace(_attention("paged_attention_v2", "D128", num_partitions=4), per_token=8.0),
    _attention("paged_attention_v2", "D128 V apart", num_partitions=4, apart=True),
    _attention(
        "paged_attention_v2", "D80 fp16 MHA", "float16", head_dim=80, kv_heads=32, num_partitions=1
    ),
    _attention("paged_attention_v2", "D256", head_dim=256, num_partitions=4),
    _attention("paged_attention_v2", "D128 fp8", cache=FP8, scaled=True, num_partitions=4),
    _attention(
        "paged_attention_v2", "D128 all options", num_partitions=4, return_lse=True, **EXTRAS
    ),
    _attention("paged_prefill", "D128"),
    _attention("paged_prefill", "D80 fp16 MHA", "float16", head_dim=80, kv_heads=32),
    _attention("paged_prefill", "D256", head_dim=256),
    _attention("paged_prefill", "D128 fp8", cache=FP8, scaled=True),
    _attention("paged_prefill", "D128 all options", **EXTRAS),
    _attention("fused_decode", "D128"),
    _attention("fused_decode", "D128 fp8", cache=FP8, scaled=True),
    _attention("fused_decode", "D128 all options", **EXTRAS),
    _copy("D128", "bfloat16"),
    Case("online_softmax", "1024", lambda: kernels.online_softmax(torch.zeros(4, 1024))),
    Case("read_stream", "1 MiB", lambda: bench_cases.read_stream(torch.zeros(2**18))),
)
