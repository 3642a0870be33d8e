"""What an amount of memory holds: the result of `size_v0` and `size_v1`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from pagesim.errors import UsageError
from pagesim.sizing.amount import GIB, ByteRange, as_byte_range
from pagesim.sizing.block_sizes import resolve_kv_cache_block_sizes
from pagesim.sizing.enough_memory import (
    NotEnoughMemoryError,
    check_enough_memory,
    estimated_max_model_len,
)
from pagesim.sizing.kv_cache_config import (
    DEFAULT_MAX_NUM_BATCHED_TOKENS,
    KVCacheConfig,
    get_kv_cache_configs,
)
from pagesim.sizing.kv_cache_groups import KVCacheGroupSpec, get_kv_cache_groups, group_size
from pagesim.sizing.kv_cache_spec import AttentionSpec, KVCacheSpec
from pagesim.sizing.mamba_block_size import AlignedBlockSize
from pagesim.sizing.model import ModelSpec


@dataclass(frozen=True, slots=True)
class CacheSize:
    """The cache of the rank that stores the most: it limits all ranks.

    A rounded amount of memory stands for a range: ``low`` and ``high`` are the caches at its two
    ends. They are equal if the amount is exact. Pairs below are (low, high). ``num_layers`` counts
    the layers of this rank that keep something. ``max_model_len`` is the longest sequence, if one
    is known, ``aligned`` says why a block beside states is as large as it is, and ``groups`` are
    those of the whole model: the rank has its part of each.
    """

    engine: str
    model: ModelSpec
    dtype: str
    num_layers: int
    low: KVCacheConfig
    high: KVCacheConfig
    max_model_len: int | None = None
    max_num_batched_tokens: int = DEFAULT_MAX_NUM_BATCHED_TOKENS
    async_scheduling: bool = False
    enable_prefix_caching: bool = True
    aligned: AlignedBlockSize | None = None
    groups: tuple[KVCacheGroupSpec, ...] = ()

    @classmethod
    def of(
        cls,
        engine: str,
        model: ModelSpec,
        dtype: str,
        specs: Sequence[Mapping[str, KVCacheSpec]],
        memory: ByteRange | int | str,
        num_gpu_blocks_override: int | None,
        *,
        disable_hybrid_kv_cache_manager: bool = False,
    ) -> "CacheSize":
        """Compute the size from the layers of each rank. UsageError if not a single block fits."""
        amount = as_byte_range("memory", memory)
        low, high = (
            get_kv_cache_configs(
                specs,
                [number] * len(specs),
                num_gpu_blocks_override,
                disable_hybrid_kv_cache_manager=disable_hybrid_kv_cache_manager,
            )
            for number in (amount.low, amount.high)
        )
        whole = {name: spec for rank in specs for name, spec in rank.items()}
        groups = get_kv_cache_groups(
            whole, disable_hybrid_kv_cache_manager=disable_hybrid_kv_cache_manager
        )
        layers = [(rank.bytes_per_block, len(specs[i])) for i, rank in enumerate(high)]
        fullest = layers.index(max(layers))
        size = cls(
            engine,
            model,
            dtype,
            len(specs[fullest]),
            low[fullest],
            high[fullest],
            model.max_model_len,
            groups=tuple(groups),
        )
        size._check_a_block(amount)
        return size

    def _check_a_block(self, memory: ByteRange) -> None:
        """UsageError if not a single block fits."""
        if not self.high.num_blocks:
            places = group_size(self.high.kv_cache_groups)
            raise UsageError(
                f"memory is {memory} bytes, but one block of {self.model.name} takes "
                f"{self.block_bytes:,} ({self.page_bytes:,} in each of {places} "
                "layers): not even one block fits"
            )

    def limited_to(self, max_model_len: int | None) -> "CacheSize":
        """The same size for sequences of at most so many tokens; -1: of as many as fit.

        NotEnoughMemoryError if no such sequence fits in the larger cache.
        """
        if max_model_len is None:
            return self
        groups, blocks = self.high.kv_cache_groups, self.high.num_blocks
        if max_model_len == -1:
            if self.model.max_model_len is None:
                raise UsageError(
                    f"max_model_len is -1, but the longest sequence of {self.model.name} is "
                    "unknown: give a number"
                )
            longest = self.longest_sequence(self.model.max_model_len)
            max_model_len = longest or self.model.max_model_len
        limited = replace(self, max_model_len=max_model_len)
        try:
            check_enough_memory(groups, blocks, max_model_len, self.max_in_flight_tokens)
        except NotEnoughMemoryError as error:
            error.size = limited
            raise
        return limited

    def longest_sequence(self, max_model_len: int) -> int:
        """The longest sequence of at most so many tokens with which vLLM starts; 0 if none."""
        usable, in_flight = self.high.usable_blocks, self.max_in_flight_tokens
        return estimated_max_model_len(self.high.kv_cache_groups, usable, max_model_len, in_flight)

    @property
    def max_in_flight_tokens(self) -> int:
        """The tokens of a step, or of two, if the next is scheduled while one is computed."""
        return self.max_num_batched_tokens * (2 if self.async_scheduling else 1)

    @property
    def block_sizes(self) -> tuple[int, int]:
        """The block size of the scheduler, at whose multiples hits end, and that of the hashes."""
        return resolve_kv_cache_block_sizes(
            self.groups, enable_prefix_caching=self.enable_prefix_caching
        )

    @property
    def attention_specs(self) -> list[AttentionSpec]:
        """The specs of the layers of the rank that keep keys and values."""
        every = (spec for group in self.high.kv_cache_groups for _, spec in group.layer_specs())
        return [spec for spec in every if isinstance(spec, AttentionSpec)]

    @property
    def block_size(self) -> int:
        """The tokens of a block in the first layer that keeps keys and values."""
        every = self.attention_specs
        return (every[0] if every else self.high.kv_cache_groups[0].kv_cache_spec).block_size

    @property
    def page_bytes(self) -> int:
        """The bytes of one block in one layer, which vLLM calls the page size."""
        return self.high.kv_cache_groups[0].layer_specs()[0][1].page_size_bytes

    @property
    def block_bytes(self) -> int:
        """The bytes of one block in all layers of its group; a single group has all layers."""
        return self.high.bytes_per_block

    @property
    def bytes_per_token(self) -> int:
        """The bytes of one token in all layers of the rank, while it is inside every window."""
        return sum(spec.real_page_size_bytes // spec.block_size for spec in self.attention_specs)

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
        """The tokens that the cache holds.

        With windows, chunks or states this depends on how long the sequences are: as in vLLM's log,
        they have ``max_model_len`` tokens.
        """
        length, step = self.max_model_len, self.max_in_flight_tokens
        if self.engine == "v0" or length is None:
            return self.low.num_tokens, self.high.num_tokens
        return self.low.tokens_at(length, step), self.high.tokens_at(length, step)

    @property
    def tensor_bytes(self) -> tuple[int, int]:
        """The bytes of each tensor; there are as many tensors as a group has layers."""
        return self.low.kv_cache_tensors[0].size, self.high.kv_cache_tensors[0].size

    def max_concurrency(
        self, max_model_len: int, max_num_batched_tokens: int | None = None
    ) -> float:
        """Return the number of sequences of ``max_model_len`` tokens that fit in the larger cache.

        The number is computed as the engine logs it: V0 divides tokens, V1 whole blocks. The tokens
        of a step are those of the size if none are given.
        """
        if self.engine == "v0":
            return self.high.max_concurrency_by_tokens(max_model_len)
        step = max_num_batched_tokens
        steps = 2 if self.async_scheduling else 1
        in_flight = self.max_in_flight_tokens if step is None else step * steps
        return self.high.max_concurrency(max_model_len, in_flight)

    def num_cpu_blocks(self, swap_space_gib: float) -> int:
        """Return the number of blocks in ``swap_space_gib`` GiB of CPU memory, for each GPU."""
        if isinstance(swap_space_gib, bool) or not isinstance(swap_space_gib, int | float):
            raise TypeError(f"swap_space must be a number of GiB, not {swap_space_gib!r}")
        if not 0 <= swap_space_gib <= 2**30:
            raise UsageError(
                f"swap_space must be a non-negative number of GiB, not {swap_space_gib}"
            )
        return int(swap_space_gib * GIB // self.block_bytes)
