"""V0, the engine that this package simulates: its cache in an amount of memory.

A block has a page in every layer, and its id is the same in all of them. A window saves no memory
here, because V0 treats all layers of a model alike.

Source: vLLM 0.6.4.post1, ``get_cache_block_size`` in ``vllm/worker/cache_engine.py`` and
``determine_num_available_blocks`` in ``vllm/worker/worker.py``. That release caches no latent
vectors; later V0 releases count them once, as `MLAAttentionSpec` does.
"""

import math

from pagesim.errors import UsageError
from pagesim.sizing.amount import ByteRange
from pagesim.sizing.cache_size import CacheSize
from pagesim.sizing.dtypes import cache_dtype
from pagesim.sizing.kv_cache_spec import FullAttentionSpec, KVCacheSpec, MLAAttentionSpec
from pagesim.sizing.model import ModelSpec
from pagesim.sizing.ranks import kv_heads_per_rank, layers_per_rank


def kv_cache_memory(total: ByteRange, gpu_memory_utilization: float, peak: ByteRange) -> ByteRange:
    """The memory left for the cache on a GPU: ``total * utilization - peak``, never below 0.

    ``total`` is the whole GPU, ``peak`` what weights and activations took when vLLM profiled the
    largest step. The product is rounded as vLLM rounds it, to the nearest double.
    """
    share = gpu_memory_utilization
    if isinstance(share, bool) or not isinstance(share, int | float):
        raise TypeError(f"gpu_memory_utilization must be a number, not {share!r}")
    if not 0 < share <= 1:
        raise UsageError(f"gpu_memory_utilization must be above 0 and at most 1, not {share}")
    low, high = total.low * share - peak.high, total.high * share - peak.low
    return ByteRange(max(math.floor(low), 0), max(math.floor(high), 0))


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
    """Return the size of V0's cache in ``memory`` bytes per GPU.

    `kv_cache_memory` computes these bytes from a whole GPU. The other arguments are vLLM's flags of
    the same names. UsageError or TypeError names the argument; not even one block fitting is such
    an error.
    """
    if model.state_layers or model.layers_without_cache:
        raise UsageError(
            f"{model.name} has layers with a state, or layers that keep nothing: V0 does not store "
            "them in its cache. Size it for V1"
        )
    kept = cache_dtype(model, dtype, kv_cache_dtype)
    kv_heads = kv_heads_per_rank(model, tensor_parallel_size)
    spec: KVCacheSpec = FullAttentionSpec(block_size, kv_heads, model.head_dim, kept)
    if model.is_mla:
        spec = MLAAttentionSpec(block_size, 1, model.latent_dim, kept)
    ranks = layers_per_rank(model.num_layers, pipeline_parallel_size, engine="v0")
    specs = [{f"layers.{layer}": spec for layer in layers} for layers in ranks]
    return CacheSize.of("v0", model, kept, specs, memory, num_gpu_blocks_override)
