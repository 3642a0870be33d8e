"""V1, vLLM's engine of today: a model and an amount of memory make a cache."""

from __future__ import annotations

from pagesim.sizing.amount import ByteRange, as_byte_range
from pagesim.sizing.cache_size import CacheSize
from pagesim.sizing.dtypes import cache_dtype
from pagesim.sizing.kv_cache_config import get_kv_cache_configs, group_size
from pagesim.sizing.kv_cache_spec import get_kv_cache_spec
from pagesim.sizing.model import ModelSpec
from pagesim.sizing.ranks import kv_heads_per_rank, layers_per_rank


def size_v1(
    model: ModelSpec,
    memory: ByteRange | int | str,
    *,
    block_size: int = 16,
    dtype: str = "auto",
    kv_cache_dtype: str = "auto",
    tensor_parallel_size: int = 1,
    pipeline_parallel_size: int = 1,
    num_gpu_blocks_override: int | None = None,
) -> CacheSize:
    """V1's cache in ``memory`` bytes a GPU; the other arguments are vLLM's flags of these names.

    UsageError or TypeError names the argument, also when not a single block fits.
    """
    amount = as_byte_range("memory", memory)
    kept = cache_dtype(model, dtype, kv_cache_dtype)
    kv_heads = kv_heads_per_rank(model, tensor_parallel_size)
    ranks = layers_per_rank(model.num_layers, pipeline_parallel_size, engine="v1")
    specs = [
        get_kv_cache_spec(model, layers, block_size=block_size, num_kv_heads=kv_heads, dtype=kept)
        for layers in ranks
    ]
    low, high = (
        get_kv_cache_configs(specs, [number] * len(ranks), num_gpu_blocks_override)
        for number in (amount.low, amount.high)
    )
    fullest = max(
        range(len(ranks)), key=lambda i: (group_size(high[i].kv_cache_groups), len(ranks[i]))
    )
    size = CacheSize("v1", model, kept, len(ranks[fullest]), low[fullest], high[fullest])
    return size.checked(amount)
