"""What an amount of memory holds: the result of `size_v0` and `size_v1`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pagesim.errors import UsageError
from pagesim.sizing.amount import GIB, ByteRange, as_byte_range
from pagesim.sizing.kv_cache_config import (
    DEFAULT_MAX_NUM_BATCHED_TOKENS,
    KVCacheConfig,
    get_kv_cache_configs,
)
from pagesim.sizing.kv_cache_groups import group_size
from pagesim.sizing.kv_cache_spec import KVCacheSpec
from pagesim.sizing.model import ModelSpec


@dataclass(frozen=True, slots=True)
class CacheSize:
    """The cache of the rank that stores the most: it limits all ranks.

    A rounded amount of memory stands for a range: ``low`` and ``high`` are the caches at its two
    ends. They are equal if the amount is exact. Pairs below are (low, high). ``num_layers`` counts
    the layers of this rank.
    """

    engine: str
    model: ModelSpec
    dtype: str
    num_layers: int
    low: KVCacheConfig
    high: KVCacheConfig

    @classmethod
    def of(
        cls,
        engine: str,
        model: ModelSpec,
        dtype: str,
        specs: Sequence[Mapping[str, KVCacheSpec]],
        memory: ByteRange | int | str,
        num_gpu_blocks_override: int | None,
    ) -> "CacheSize":
        """Compute the size from the layers of each rank. UsageError if not a single block fits."""
        amount = as_byte_range("memory", memory)
        low, high = (
            get_kv_cache_configs(specs, [number] * len(specs), num_gpu_blocks_override)
            for number in (amount.low, amount.high)
        )
        layers = [(group_size(rank.kv_cache_groups), len(specs[i])) for i, rank in enumerate(high)]
        fullest = layers.index(max(layers))
        size = cls(engine, model, dtype, len(specs[fullest]), low[fullest], high[fullest])
        if not size.high.num_blocks:
            raise UsageError(
                f"memory is {amount} bytes, but one block of {model.name} takes "
                f"{size.block_bytes:,} ({size.page_bytes:,} in each of {layers[fullest][0]} "
                "layers): not even one block fits"
            )
        return size

    @property
    def block_size(self) -> int:
        return self.high.kv_cache_groups[0].kv_cache_spec.block_size

    @property
    def page_bytes(self) -> int:
        """The bytes of one block in one layer, which vLLM calls the page size."""
        return self.high.kv_cache_groups[0].kv_cache_spec.page_size_bytes

    @property
    def block_bytes(self) -> int:
        """The bytes of one block in all layers of its group; a single group has all layers."""
        return self.page_bytes * group_size(self.high.kv_cache_groups)

    @property
    def bytes_per_token(self) -> int:
        """The bytes of one token in all layers of the rank, while it is inside every window."""
        return self.page_bytes // self.block_size * self.num_layers

    @property
    def num_gpu_blocks(self) -> tuple[int, int]:
        return self.low.num_blocks, self.high.num_blocks

    @property
    def usable_blocks(self) -> tuple[int, int]:
        """The number of blocks that sequences can hold: V1 keeps block 0 as its null block."""
        if self.engine == "v0":
            return self.num_gpu_blocks
        return self.low.usable_blocks, self.high.usable_blocks

    @property
    def tokens(self) -> tuple[int, int]:
        return self.low.num_tokens, self.high.num_tokens

    @property
    def tensor_bytes(self) -> tuple[int, int]:
        """The bytes of each tensor; there are as many tensors as a group has layers."""
        return self.low.kv_cache_tensors[0].size, self.high.kv_cache_tensors[0].size

    def max_concurrency(
        self, max_model_len: int, max_num_batched_tokens: int = DEFAULT_MAX_NUM_BATCHED_TOKENS
    ) -> float:
        """Return the number of sequences of ``max_model_len`` tokens that fit in the larger cache.

        The number is computed as the engine logs it: V0 divides tokens, V1 whole blocks.
        """
        if self.engine == "v0":
            return self.high.max_concurrency_by_tokens(max_model_len)
        return self.high.max_concurrency(max_model_len, max_num_batched_tokens)

    def num_cpu_blocks(self, swap_space_gib: float) -> int:
        """Return the number of blocks in ``swap_space_gib`` GiB of CPU memory, for each GPU."""
        if isinstance(swap_space_gib, bool) or not isinstance(swap_space_gib, int | float):
            raise TypeError(f"swap_space must be a number of GiB, not {swap_space_gib!r}")
        if not 0 <= swap_space_gib <= 2**30:
            raise UsageError(
                f"swap_space must be a non-negative number of GiB, not {swap_space_gib}"
            )
        return int(swap_space_gib * GIB // self.block_bytes)
