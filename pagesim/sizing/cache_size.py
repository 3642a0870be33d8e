"""What an amount of memory holds: the answer of `size_v0` and `size_v1`."""

from __future__ import annotations

from dataclasses import dataclass

from pagesim.errors import UsageError
from pagesim.sizing.amount import GIB, ByteRange
from pagesim.sizing.kv_cache_config import (
    DEFAULT_MAX_NUM_BATCHED_TOKENS,
    KVCacheConfig,
    group_size,
)
from pagesim.sizing.model import ModelSpec


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
        """How many blocks fit into ``swap_space_gib`` GiB of the host's memory, for each GPU."""
        if isinstance(swap_space_gib, bool) or not isinstance(swap_space_gib, int | float):
            raise TypeError(f"swap_space must be a number of GiB, not {swap_space_gib!r}")
        if not 0 <= swap_space_gib <= 2**30:
            raise UsageError(
                f"swap_space must be a non-negative number of GiB, not {swap_space_gib}"
            )
        return int(swap_space_gib * GIB // self.block_bytes)

    def checked(self, memory: ByteRange) -> CacheSize:
        """The size itself, unless ``memory`` holds not a single block."""
        if self.high.num_blocks:
            return self
        pages = group_size(self.high.kv_cache_groups)
        raise UsageError(
            f"memory is {memory} bytes, and one block of {self.model.name} takes "
            f"{self.block_bytes:,} ({self.page_bytes:,} in each of {pages} layers): "
            "not one block fits"
        )
