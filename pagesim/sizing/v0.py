"""V0, the engine whose blocks this package gives out: the bytes of a block, and how many fit.

A block has a page in every layer, and its id is the same in all of them. A window saves no memory
here: V0 keeps the layers of a model alike.

Source: vLLM 0.6.4.post1, ``get_cache_block_size`` in ``vllm/worker/cache_engine.py`` and
``determine_num_available_blocks`` in ``vllm/worker/worker.py``. That release caches no latent
vectors; V0 releases that do count them once, as `MLAAttentionSpec` does.
"""

from __future__ import annotations

import math

from pagesim.checks import check_int
from pagesim.errors import UsageError
from pagesim.sizing.amount import ByteRange, as_byte_range
from pagesim.sizing.cache_size import CacheSize
from pagesim.sizing.dtypes import cache_dtype
from pagesim.sizing.kv_cache_config import KVCacheGroupSpec, get_kv_cache_config
from pagesim.sizing.kv_cache_spec import FullAttentionSpec, KVCacheSpec, MLAAttentionSpec
from pagesim.sizing.model import ModelSpec
from pagesim.sizing.ranks import kv_heads_per_rank, layers_per_rank


def v0_layer_spec(
    model: ModelSpec, *, block_size: int, num_kv_heads: int, dtype: str
) -> KVCacheSpec:
    """What every layer keeps of a block, windows or not."""
    check_int("block_size", block_size, 1)
    if model.is_mla:
        return MLAAttentionSpec(block_size, 1, model.latent_dim, dtype)
    return FullAttentionSpec(block_size, num_kv_heads, model.head_dim, dtype)


def cache_block_bytes(spec: KVCacheSpec, num_layers: int) -> int:
    """What one block takes in all layers of a rank."""
    return spec.page_size_bytes * check_int("num_layers", num_layers, 1)


def kv_cache_memory(total: ByteRange, gpu_memory_utilization: float, peak: ByteRange) -> ByteRange:
    """What a GPU has left for the cache: ``total * utilization - peak``, never below 0.

    ``total`` is the whole card, ``peak`` what weights and activations took when vLLM tried a step
    of the largest size. The product is rounded as vLLM rounds it, to the nearest double.
    """
    share = gpu_memory_utilization
    if isinstance(share, bool) or not isinstance(share, int | float):
        raise TypeError(f"gpu_memory_utilization must be a number, not {share!r}")
    if not 0 < share <= 1:
        raise UsageError(f"gpu_memory_utilization must be above 0 and at most 1, not {share}")
    low, high = total.low * share - peak.high, total.high * share - peak.low
    return ByteRange(max(math.floor(low), 0), max(math.floor(high), 0))


def num_gpu_blocks(kv_memory: int, block_bytes: int) -> int:
    """How many blocks fit; 0 when there is no memory left."""
    return max(kv_memory // check_int("block_bytes", block_bytes, 1), 0)


def size_v0(
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
    """V0's cache in ``memory`` bytes a GPU, from a whole card: `kv_cache_memory`.

    The other arguments are vLLM's flags of these names. UsageError or TypeError names the argument,
    also when not a single block fits.
    """
    amount = as_byte_range("memory", memory)
    kept = cache_dtype(model, dtype, kv_cache_dtype)
    spec = v0_layer_spec(
        model,
        block_size=block_size,
        num_kv_heads=kv_heads_per_rank(model, tensor_parallel_size),
        dtype=kept,
    )
    ranks = layers_per_rank(model.num_layers, pipeline_parallel_size, engine="v0")
    layers = max(ranks, key=len)
    groups = (KVCacheGroupSpec(tuple(f"layers.{layer}" for layer in layers), spec),)
    block_bytes = cache_block_bytes(spec, len(layers))
    blocks = [num_gpu_blocks(kv, block_bytes) for kv in (amount.low, amount.high)]
    if num_gpu_blocks_override is not None:
        blocks = [check_int("num_gpu_blocks_override", num_gpu_blocks_override, 1)] * 2
    low, high = (get_kv_cache_config(groups, number) for number in blocks)
    return CacheSize("v0", model, kept, len(layers), low, high).checked(amount)
