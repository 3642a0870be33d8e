"""From the pages of the layers to tensors and blocks: how V1 divides the memory of every rank.

A block has one id and one page in each layer of its group. If all layers are of one kind, there is
one group, with a tensor for each layer. Hybrid models have groups of equal size: layers at the same
place in their groups share a tensor, and a block belongs to one group at a time.

    2 full layers F, 4 sliding S       group 0: F0 F1    group 1: S0 S2    group 2: S1 S3
                                                |  |               |  |              |  |
    tensor 0, shared by F0, S0, S1   <----------+--|---------------+--|--------------+  |
    tensor 1, shared by F1, S2, S3   <-------------+------------------+-----------------+

Source: vLLM V1, ``vllm/v1/core/kv_cache_utils.py`` and ``kv_cache_interface.py``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pagesim.checks import check_int
from pagesim.errors import UsageError
from pagesim.sizing.kv_cache_spec import KVCacheSpec

DEFAULT_MAX_NUM_BATCHED_TOKENS = 2048
"""The default in vLLM's SchedulerConfig; the engine may choose another one for a large GPU."""


@dataclass(frozen=True, slots=True)
class KVCacheGroupSpec:
    """Layers of one kind that share a block table."""

    layer_names: tuple[str, ...]
    kv_cache_spec: KVCacheSpec


@dataclass(frozen=True, slots=True)
class KVCacheTensor:
    """A piece of memory of ``size`` bytes, and the layers (one per group) that share it."""

    size: int
    shared_by: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class KVCacheConfig:
    """The cache of one rank. ``num_blocks`` is the number vLLM logs, including the null block."""

    num_blocks: int
    kv_cache_tensors: tuple[KVCacheTensor, ...]
    kv_cache_groups: tuple[KVCacheGroupSpec, ...]

    @property
    def usable_blocks(self) -> int:
        """All but block 0, the null block, which stands for blocks that left a window."""
        return max(self.num_blocks - 1, 0)

    @property
    def num_tokens(self) -> int:
        """The tokens that the cache holds according to vLLM: each takes a slot in every group."""
        block_size = self.kv_cache_groups[0].kv_cache_spec.block_size
        return self.num_blocks // len(self.kv_cache_groups) * block_size

    def blocks_per_sequence(
        self, max_model_len: int, max_num_batched_tokens: int = DEFAULT_MAX_NUM_BATCHED_TOKENS
    ) -> int:
        """The most blocks that one sequence of ``max_model_len`` tokens holds in all groups."""
        check_int("max_model_len", max_model_len, 1)
        check_int("max_num_batched_tokens", max_num_batched_tokens, 1)
        return sum(
            group.kv_cache_spec.blocks_for(max_model_len, max_num_batched_tokens)
            for group in self.kv_cache_groups
        )

    def max_concurrency(
        self, max_model_len: int, max_num_batched_tokens: int = DEFAULT_MAX_NUM_BATCHED_TOKENS
    ) -> float:
        """How many sequences of ``max_model_len`` tokens fit at once, as vLLM logs it.

        ``max_num_batched_tokens``, the tokens of one step, matters only with sliding windows.
        """
        return self.num_blocks / self.blocks_per_sequence(max_model_len, max_num_batched_tokens)

    def max_concurrency_by_tokens(self, max_model_len: int) -> float:
        """The same as logged by older releases of vLLM: tokens / ``max_model_len``."""
        return self.num_tokens / check_int("max_model_len", max_model_len, 1)


def get_kv_cache_groups(specs: Mapping[str, KVCacheSpec]) -> list[KVCacheGroupSpec]:
    """Put the layers of a whole model into groups of equal size, each of one kind.

    A group has as many layers as the rarest kind. The layers of a kind are distributed over its
    groups in turn, so the last places of some groups may stay empty. (Newer releases of vLLM use
    the number of the most frequent kind if it is less than 1.5 times that of the rarest.)
    """
    kinds: dict[KVCacheSpec, list[str]] = {}
    for name, spec in specs.items():
        kinds.setdefault(spec, []).append(name)
    size = min(len(names) for names in kinds.values())
    groups = []
    for spec, names in kinds.items():
        count = -(-len(names) // size)
        groups += [KVCacheGroupSpec(tuple(names[i::count]), spec) for i in range(count)]
    return groups


def num_blocks_for(groups: Sequence[KVCacheGroupSpec], available_memory: int) -> int:
    """How many blocks fit into the memory of one rank, in bytes, given its part of the groups."""
    check_int("available_memory", available_memory, 0)
    pages = {group.kv_cache_spec.page_size_bytes for group in groups}
    if len(pages) > 1:
        raise UsageError(
            f"a block takes {sorted(pages)} bytes in a layer, depending on the group: these "
            "sizes must be equal"
        )
    return available_memory // pages.pop() // group_size(groups)


def group_size(groups: Sequence[KVCacheGroupSpec]) -> int:
    """The layers of the largest group: the pages of a block, one in each tensor."""
    return max(len(group.layer_names) for group in groups)


def get_kv_cache_config(groups: Sequence[KVCacheGroupSpec], num_blocks: int) -> KVCacheConfig:
    """The tensors of one rank: one for each place in a group, for the layers at that place."""
    check_int("num_blocks", num_blocks, 0)
    page = groups[0].kv_cache_spec.page_size_bytes
    tensors = [
        KVCacheTensor(
            page * num_blocks,
            tuple(group.layer_names[i] for group in groups if i < len(group.layer_names)),
        )
        for i in range(group_size(groups))
    ]
    return KVCacheConfig(num_blocks, tuple(tensors), tuple(groups))


def get_kv_cache_configs(
    specs: Sequence[Mapping[str, KVCacheSpec]],
    available_memory: Sequence[int],
    num_gpu_blocks_override: int | None = None,
) -> list[KVCacheConfig]:
    """The caches of all ranks of the pipeline, from each rank's layers and memory in bytes.

    The groups are those of the whole model, and every rank holds its own layers of them. All ranks
    get as many blocks as the one with the fewest, so a block id means the same everywhere. The
    override replaces that number, whatever the memory.
    """
    whole = {name: spec for rank in specs for name, spec in rank.items()}
    parts = [
        [
            KVCacheGroupSpec(tuple(n for n in g.layer_names if n in rank), g.kv_cache_spec)
            for g in get_kv_cache_groups(whole)
        ]
        for rank in specs
    ]
    if num_gpu_blocks_override is None:
        memories = zip(parts, available_memory, strict=True)
        blocks = min(num_blocks_for(groups, memory) for groups, memory in memories)
    else:
        blocks = check_int("num_gpu_blocks_override", num_gpu_blocks_override, 1)
    return [get_kv_cache_config(groups, blocks) for groups in parts]
