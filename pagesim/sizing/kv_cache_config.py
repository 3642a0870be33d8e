"""From groups of layers to tensors and blocks: how V1 divides the memory of every rank.

A block has one id and one page in each layer of its group. If all layers are of one kind, there is
one group, with a piece of the memory for each layer. Hybrid models have groups of equal size:
layers at the same place in their groups share a piece, and a block belongs to one group at a time.

    2 full layers F, 4 sliding S       group 0: F0 F1    group 1: S0 S2    group 2: S1 S3
                                                |  |               |  |              |  |
    piece 0, shared by F0, S0, S1    <----------+--|---------------+--|--------------+  |
    piece 1, shared by F1, S2, S3    <-------------+------------------+-----------------+

Source: vLLM V1, ``vllm/v1/core/kv_cache_utils.py`` and ``kv_cache_interface.py``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pagesim.checks import check_int
from pagesim.sizing.kv_cache_groups import (
    KVCacheGroupSpec,
    bytes_per_block,
    get_kv_cache_groups,
)
from pagesim.sizing.kv_cache_spec import FullAttentionSpec, KVCacheSpec, MLAAttentionSpec

DEFAULT_MAX_NUM_BATCHED_TOKENS = 2048
"""The default in vLLM's SchedulerConfig; the engine may choose another one for a large GPU."""


@dataclass(frozen=True, slots=True)
class KVCacheTensor:
    """A piece of memory of ``size`` bytes, and the layers (one per group) that share it."""

    size: int
    shared_by: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class StridedTensor:
    """Where the pages of a group are in the one memory of a rank, as vLLM 0.33.0 describes it.

    The page of a block in the i-th of the ``layer_names`` begins at ``offset + i * layer_stride +
    id * block_stride``. The tensors of all groups begin at the same byte: they alias. (vLLM calls
    this a KVCacheTensor too.)
    """

    size: int
    layer_names: tuple[str, ...]
    layer_stride: int
    block_stride: int
    offset: int


@dataclass(frozen=True, slots=True)
class KVCacheConfig:
    """The cache of one rank. ``num_blocks`` is the number vLLM logs, including the null block."""

    num_blocks: int
    strided_tensors: tuple[StridedTensor, ...]
    kv_cache_groups: tuple[KVCacheGroupSpec, ...]

    @property
    def kv_cache_tensors(self) -> tuple[KVCacheTensor, ...]:
        """The pieces of the memory, in order; each belongs to one layer of every group."""
        sizes: dict[int, int] = {}
        sharing: dict[int, list[str]] = {}
        for tensor in self.strided_tensors:
            for place, name in enumerate(tensor.layer_names):
                start = tensor.offset + place * tensor.layer_stride
                sizes[start] = max(sizes.get(start, 0), tensor.layer_stride)
                sharing.setdefault(start, []).append(name)
        if not self.num_blocks:  # all pieces are empty, and begin at 0
            size = max(len(tensor.layer_names) for tensor in self.strided_tensors)
            names = [tensor.layer_names for tensor in self.strided_tensors]
            return tuple(
                KVCacheTensor(0, tuple(group[i] for group in names if i < len(group)))
                for i in range(size)
            )
        return tuple(KVCacheTensor(sizes[at], tuple(sharing[at])) for at in sorted(sizes))

    @property
    def bytes_per_block(self) -> int:
        """The bytes of a block on this rank: the pages of its largest group."""
        return bytes_per_block(self.kv_cache_groups)

    @property
    def usable_blocks(self) -> int:
        """All but block 0, the null block, which stands for blocks that left a window."""
        return max(self.num_blocks - 1, 0)

    @property
    def num_tokens(self) -> int:
        """The slots, if the cache is divided equally among the groups."""
        block_size = self.kv_cache_groups[0].kv_cache_spec.block_size
        return self.num_blocks // len(self.kv_cache_groups) * block_size

    def tokens_at(
        self, max_model_len: int, max_num_batched_tokens: int = DEFAULT_MAX_NUM_BATCHED_TOKENS
    ) -> int:
        """The "KV cache size" in tokens that vLLM logs: those of as many longest sequences as fit.

        For a single group of full attention these are its slots. (If ``max_model_len`` is no
        multiple of the block size, vLLM logs somewhat fewer.)
        """
        groups = self.kv_cache_groups
        specs = [spec for group in groups for _, spec in group.layer_specs()]
        if len(groups) == 1 and all(
            isinstance(spec, FullAttentionSpec | MLAAttentionSpec) for spec in specs
        ):
            return self.num_tokens
        return int(self.max_concurrency(max_model_len, max_num_batched_tokens) * max_model_len)

    def blocks_per_sequence(
        self, max_model_len: int, max_num_batched_tokens: int = DEFAULT_MAX_NUM_BATCHED_TOKENS
    ) -> int:
        """The most blocks that one sequence of ``max_model_len`` tokens holds in all groups."""
        return blocks_per_sequence(self.kv_cache_groups, max_model_len, max_num_batched_tokens)

    def max_concurrency(
        self, max_model_len: int, max_num_batched_tokens: int = DEFAULT_MAX_NUM_BATCHED_TOKENS
    ) -> float:
        """How many sequences of ``max_model_len`` tokens fit at once, as vLLM logs it.

        ``max_num_batched_tokens``, the tokens of one step, matters only with sliding windows and
        chunks. If steps are scheduled asynchronously, two are in flight: give the tokens of both.
        """
        return self.num_blocks / self.blocks_per_sequence(max_model_len, max_num_batched_tokens)

    def max_concurrency_by_tokens(self, max_model_len: int) -> float:
        """The same as logged by older releases of vLLM: tokens / ``max_model_len``."""
        return self.num_tokens / check_int("max_model_len", max_model_len, 1)


def blocks_per_sequence(
    groups: Sequence[KVCacheGroupSpec], max_model_len: int, max_in_flight_tokens: int
) -> int:
    """The most blocks that one sequence of ``max_model_len`` tokens holds in all groups."""
    check_int("max_model_len", max_model_len, 1)
    check_int("max_num_batched_tokens", max_in_flight_tokens, 1)
    specs = (group.kv_cache_spec for group in groups)
    return sum(spec.blocks_for(max_model_len, max_in_flight_tokens) for spec in specs)


def num_blocks_for(groups: Sequence[KVCacheGroupSpec], available_memory: int) -> int:
    """How many blocks fit into the memory of one rank, in bytes, given its part of the groups."""
    return check_int("available_memory", available_memory, 0) // bytes_per_block(groups)


def get_kv_cache_config(groups: Sequence[KVCacheGroupSpec], num_blocks: int) -> KVCacheConfig:
    """The tensors of one rank, given its part of the groups.

    A group has one tensor; if the pages of its layers differ, one for each kind of layer, behind
    the one before.
    """
    check_int("num_blocks", num_blocks, 0)
    whole, tensors = bytes_per_block(groups) * num_blocks, []
    for group in groups:
        kinds: dict[KVCacheSpec, list[str]] = {}
        for name, spec in group.layer_specs():
            kinds.setdefault(spec, []).append(name)
        offset = 0
        for spec, names in kinds.items():
            page, layers = spec.page_size_bytes, tuple(names)
            tensors.append(StridedTensor(whole, layers, page * num_blocks, page, offset))
            offset += page * num_blocks * len(names)
    return KVCacheConfig(num_blocks, tuple(tensors), tuple(groups))


def parts_of(
    groups: Sequence[KVCacheGroupSpec], ranks: Sequence[Mapping[str, KVCacheSpec]]
) -> list[list[KVCacheGroupSpec]]:
    """What each rank of the pipeline has of the groups, given the layers of each."""
    return [[group.part(layers) for group in groups] for layers in ranks]


def get_kv_cache_configs(
    specs: Sequence[Mapping[str, KVCacheSpec]],
    available_memory: Sequence[int],
    num_gpu_blocks_override: int | None = None,
    *,
    disable_hybrid_kv_cache_manager: bool = False,
) -> list[KVCacheConfig]:
    """The caches of all ranks of the pipeline, from each rank's layers and memory in bytes.

    The groups are those of the whole model, and every rank holds its own layers of them. All ranks
    get as many blocks as the one with the fewest, so a block id means the same everywhere. The
    override replaces that number, whatever the memory.
    """
    whole = {name: spec for rank in specs for name, spec in rank.items()}
    groups = get_kv_cache_groups(
        whole, disable_hybrid_kv_cache_manager=disable_hybrid_kv_cache_manager
    )
    parts = parts_of(groups, specs)
    if num_gpu_blocks_override is None:
        memories = zip(parts, available_memory, strict=True)
        blocks = min(
            num_blocks_for(part, memory) for part, memory in memories if bytes_per_block(part)
        )
    else:
        blocks = check_int("num_gpu_blocks_override", num_gpu_blocks_override, 1)
    return [get_kv_cache_config(part, blocks) for part in parts]
