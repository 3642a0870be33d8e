"""V1, vLLM's current engine: its cache in an amount of memory."""

from pagesim.sizing.amount import ByteRange
from pagesim.sizing.cache_size import CacheSize
from pagesim.sizing.dtypes import cache_dtype
from pagesim.sizing.layer_specs import get_kv_cache_spec
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
    """Return the size of V1's cache in ``memory`` bytes per GPU.

    The other arguments are vLLM's flags of the same names. UsageError or TypeError names the
    argument; not even one block fitting is such an error.
    """
    kept = cache_dtype(model, dtype, kv_cache_dtype)
    kv_heads = kv_heads_per_rank(model, tensor_parallel_size)
    specs = [
        get_kv_cache_spec(model, layers, block_size=block_size, num_kv_heads=kv_heads, dtype=kept)
        for layers in layers_per_rank(model.num_layers, pipeline_parallel_size, engine="v1")
    ]
    return CacheSize.of("v1", model, kept, specs, memory, num_gpu_blocks_override)
