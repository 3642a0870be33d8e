"""V0's three formulas: the bytes of a block, and how many blocks the GPU and the CPU hold.

A block has a page in every layer, and its id is the same in all of them. A window saves no memory
here: V0 keeps the layers of a model alike.

Source: vLLM 0.6.4.post1, ``get_cache_block_size`` in ``vllm/worker/cache_engine.py`` and
``determine_num_available_blocks`` in ``vllm/worker/worker.py``. That release caches no latent
vectors; V0 releases that do count them once, as `MLAAttentionSpec` does.
"""

from __future__ import annotations

import math

from pagesim.cache.kv_cache_spec import FullAttentionSpec, KVCacheSpec, MLAAttentionSpec
from pagesim.cache.memory_amount import ByteRange
from pagesim.checks import check_int
from pagesim.errors import UsageError
from pagesim.model_spec import ModelSpec

GIB = 2**30


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


def num_cpu_blocks(swap_space_gib: float, block_bytes: int) -> int:
    """How many blocks fit into ``swap_space_gib`` GiB of the host's memory, for each GPU."""
    if isinstance(swap_space_gib, bool) or not isinstance(swap_space_gib, int | float):
        raise TypeError(f"swap_space must be a number of GiB, not {swap_space_gib!r}")
    if not 0 <= swap_space_gib <= 2**30:
        raise UsageError(f"swap_space must be a number of GiB from 0 on, not {swap_space_gib}")
    return int(swap_space_gib * GIB // check_int("block_bytes", block_bytes, 1))
