"""How big is the cache: from a model and an amount of memory to blocks, tokens and concurrency.

    size = size_v1(ModelSpec.preset("qwen2-1.5b"), "38.48GiB")
    size.bytes_per_token, size.num_gpu_blocks       # 28672, and a range: the GiB were rounded

`size_v1` is vLLM's engine of today, `size_v0` that of 0.6.4.post1, whose blocks the rest of this
package gives out. The parts: `memory_amount` (what "38.48GiB" means), `dtypes`, `ranks` (several
GPUs), `kv_cache_spec` (a layer's page), `kv_cache_config` (V1's groups, tensors and blocks) and
`sizing_v0` (V0's formulas).
"""

from __future__ import annotations

from dataclasses import dataclass

from pagesim.cache import sizing_v0
from pagesim.cache.dtypes import cache_dtype
from pagesim.cache.kv_cache_config import (
    DEFAULT_MAX_NUM_BATCHED_TOKENS,
    KVCacheConfig,
    KVCacheGroupSpec,
    get_kv_cache_config,
    get_kv_cache_configs,
    group_size,
)
from pagesim.cache.kv_cache_spec import get_kv_cache_spec
from pagesim.cache.memory_amount import ByteRange, as_byte_range
from pagesim.cache.ranks import kv_heads_per_rank, layers_per_rank
from pagesim.checks import check_int
from pagesim.errors import UsageError
from pagesim.model_spec import ModelSpec


@dataclass(frozen=True, slots=True)
class CacheSize:
    """The answer, for the rank that has the most to keep: it decides for all of them.

    ``low`` and ``high`` are its caches with the least and the most memory that the amount can mean;
    they are equal when it is exact. Pairs below are in this order. ``num_layers`` is the rank's.
    """

    engine: str
    model: ModelSpec
    dtype: str
    num_layers: int
    low: KVCacheConfig
    high: KVCacheConfig

    @property
    def block_size(self) -> int:
        return self.high.kv_cache_groups[0].kv_cache_spec.block_size

    @property
    def page_bytes(self) -> int:
        """One block in one layer."""
        return self.high.kv_cache_groups[0].kv_cache_spec.page_size_bytes

    @property
    def block_bytes(self) -> int:
        """One block in all layers of its group, which are all layers unless there are several."""
        return self.page_bytes * group_size(self.high.kv_cache_groups)

    @property
    def bytes_per_token(self) -> int:
        """One token in all layers of the rank, inside of every window."""
        return self.page_bytes // self.block_size * self.num_layers

    @property
    def num_gpu_blocks(self) -> tuple[int, int]:
        return self.low.num_blocks, self.high.num_blocks

    @property
    def usable_blocks(self) -> tuple[int, int]:
        """What sequences can hold: V1 keeps block 0, its null block, to itself."""
        if self.engine == "v0":
            return self.num_gpu_blocks
        return self.low.usable_blocks, self.high.usable_blocks

    @property
    def tokens(self) -> tuple[int, int]:
        return self.low.num_tokens, self.high.num_tokens

    @property
    def tensor_bytes(self) -> tuple[int, int]:
        """Each of the tensors; there are as many as a group has layers."""
        return self.low.kv_cache_tensors[0].size, self.high.kv_cache_tensors[0].size

    def max_concurrency(
        self, max_model_len: int, max_num_batched_tokens: int = DEFAULT_MAX_NUM_BATCHED_TOKENS
    ) -> float:
        """How many sequences of ``max_model_len`` tokens fit at once, of the upper count.

        As the engine logs it: V0 divides tokens, V1 whole blocks.
        """
        if self.engine == "v0":
            return self.high.max_concurrency_by_tokens(max_model_len)
        return self.high.max_concurrency(max_model_len, max_num_batched_tokens)

    def num_cpu_blocks(self, swap_space_gib: float) -> int:
        """How many blocks fit into so many GiB of swap space."""
        return sizing_v0.num_cpu_blocks(swap_space_gib, self.block_bytes)


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
    return _checked(size, amount)


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
    """V0's cache in ``memory`` bytes a GPU, from a whole card: `sizing_v0.kv_cache_memory`.

    The other arguments are vLLM's flags of these names. UsageError or TypeError names the argument,
    also when not a single block fits.
    """
    amount = as_byte_range("memory", memory)
    kept = cache_dtype(model, dtype, kv_cache_dtype)
    spec = sizing_v0.v0_layer_spec(
        model,
        block_size=block_size,
        num_kv_heads=kv_heads_per_rank(model, tensor_parallel_size),
        dtype=kept,
    )
    ranks = layers_per_rank(model.num_layers, pipeline_parallel_size, engine="v0")
    layers = max(ranks, key=len)
    groups = (KVCacheGroupSpec(tuple(f"layers.{layer}" for layer in layers), spec),)
    block_bytes = sizing_v0.cache_block_bytes(spec, len(layers))
    blocks = [sizing_v0.num_gpu_blocks(kv, block_bytes) for kv in (amount.low, amount.high)]
    if num_gpu_blocks_override is not None:
        blocks = [check_int("num_gpu_blocks_override", num_gpu_blocks_override, 1)] * 2
    low, high = (get_kv_cache_config(groups, number) for number in blocks)
    return _checked(CacheSize("v0", model, kept, len(layers), low, high), amount)


def _checked(size: CacheSize, memory: ByteRange) -> CacheSize:
    if size.high.num_blocks:
        return size
    pages = group_size(size.high.kv_cache_groups)
    raise UsageError(
        f"memory is {memory} bytes, and one block of {size.model.name} takes {size.block_bytes:,} "
        f"({size.page_bytes:,} in each of {pages} layers): not one block fits"
    )
