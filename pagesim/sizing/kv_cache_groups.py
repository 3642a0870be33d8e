"""Which layers share a block table: V1's groups.

A block belongs to one group at a time, and its bytes serve whichever group has it. So a block of
every group must have the same number of bytes: the groups have equally many layers, and all layers
pages of one size. `unify` makes the pages equal; here the layers are distributed.

    2 full layers F, 4 sliding S       group 0: F0 F1    group 1: S0 S2    group 2: S1 S3

Source: vLLM V1, ``get_kv_cache_groups`` in ``vllm/v1/core/kv_cache_utils.py``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from pagesim.errors import UsageError
from pagesim.sizing.kv_cache_spec import FullAttentionSpec, KVCacheSpec, UniformTypeKVCacheSpecs
from pagesim.sizing.unify import (
    are_of_one_type,
    as_full_attention,
    merged,
    unify_hybrid_kv_cache_specs,
    unify_kv_cache_spec_page_size,
)

Specs = Mapping[str, KVCacheSpec]


@dataclass(frozen=True, slots=True)
class KVCacheGroupSpec:
    """Layers of one kind that share a block table."""

    layer_names: tuple[str, ...]
    kv_cache_spec: KVCacheSpec

    @property
    def bytes_per_block(self) -> int:
        """The bytes of a block in all layers of the group."""
        page = self.kv_cache_spec.page_size_bytes
        uniform = isinstance(self.kv_cache_spec, UniformTypeKVCacheSpecs)
        return page if uniform else page * len(self.layer_names)

    def layer_specs(self) -> list[tuple[str, KVCacheSpec]]:
        """Each layer with its own spec."""
        if isinstance(self.kv_cache_spec, UniformTypeKVCacheSpecs):
            return list(self.kv_cache_spec.kv_cache_specs)
        return [(name, self.kv_cache_spec) for name in self.layer_names]

    def part(self, layers: Specs) -> "KVCacheGroupSpec":
        """What a rank of the pipeline has of the group, given its own layers."""
        spec = self.kv_cache_spec
        if isinstance(spec, UniformTypeKVCacheSpecs):
            mine = tuple(one for one in spec.kv_cache_specs if one[0] in layers)
            spec = replace(spec, kv_cache_specs=mine)
        return KVCacheGroupSpec(tuple(name for name in self.layer_names if name in layers), spec)


@dataclass(frozen=True, slots=True)
class Padding:
    """Places in the groups of a kind that no layer fills: each wastes a page of every block.

    ``percent`` is what vLLM logs: the places relative to the layers of the kind.
    """

    spec: KVCacheSpec
    layers: int
    places: int

    @property
    def percent(self) -> float:
        return 100 * self.places / self.layers


def get_kv_cache_groups(
    specs: Specs, *, disable_hybrid_kv_cache_manager: bool = False
) -> list[KVCacheGroupSpec]:
    """Put the layers of a whole model into groups.

    There is one group if all layers have the same spec, or pages of different sizes but one type.
    Otherwise the pages are made equal, and each group has layers of one kind. Without the hybrid
    manager, windows and chunks count as full attention. UsageError if vLLM could not start.
    """
    check_layers(specs)
    if disable_hybrid_kv_cache_manager:
        specs = unify_hybrid_kv_cache_specs(specs)
    if (only := merged(specs.values())) is not None:
        return [KVCacheGroupSpec(tuple(specs), only)]
    if are_of_one_type(specs.values()):
        return [_uniform(specs)]
    if len({spec.page_size_bytes for spec in specs.values()}) > 1:
        equal = unify_kv_cache_spec_page_size(specs)
        if equal is None:
            return [_uniform(as_full_attention(specs))]
        specs = equal
    return _distributed(specs)


def _uniform(specs: Specs) -> KVCacheGroupSpec:
    """One group of layers whose pages differ."""
    size = next(iter(specs.values())).block_size
    spec = UniformTypeKVCacheSpecs(size, kv_cache_specs=tuple(specs.items()))
    return KVCacheGroupSpec(tuple(specs), spec)


def _distributed(specs: Specs) -> list[KVCacheGroupSpec]:
    """Groups of equal size, each of one kind, kind by kind.

    The size is the number of layers of the rarest kind, or that of the most frequent kind if this
    is less than 1.5 times as many. The layers of a kind are distributed over its groups in turn, so
    the last places of some groups may stay empty.
    """
    kinds: dict[KVCacheSpec, dict[str, KVCacheSpec]] = {}
    for name, spec in specs.items():
        forgetful = (
            replace(spec, sliding_window=None, attention_chunk_size=None)
            if isinstance(spec, FullAttentionSpec)
            else spec
        )
        kinds.setdefault(forgetful, {})[name] = spec
    counts = [len(layers) for layers in kinds.values()]
    size = max(counts) if 2 * max(counts) < 3 * min(counts) else min(counts)
    groups = []
    for kind, layers in kinds.items():
        spec, count = merged(layers.values()) or kind, -(-len(layers) // size)
        groups += [KVCacheGroupSpec(tuple(layers)[i::count], spec) for i in range(count)]
    return groups


def padding_of(groups: Sequence[KVCacheGroupSpec]) -> list[Padding]:
    """For each kind with empty places in its groups, how many there are."""
    size, found = group_size(groups), []
    for spec in dict.fromkeys(group.kv_cache_spec for group in groups):
        layers = [len(group.layer_names) for group in groups if group.kv_cache_spec == spec]
        if places := len(layers) * size - sum(layers):
            found.append(Padding(spec, sum(layers), places))
    return found


def group_size(groups: Sequence[KVCacheGroupSpec]) -> int:
    """The layers of the largest group: the pages of a block."""
    return max(len(group.layer_names) for group in groups)


def bytes_per_block(groups: Sequence[KVCacheGroupSpec]) -> int:
    """The bytes of a block, which must hold a page for every layer of the largest group."""
    return max(group.bytes_per_block for group in groups)


def check_layers(specs: Specs) -> None:
    """UsageError unless some layer keeps something."""
    if not specs:
        raise UsageError("no layer of the model keeps anything, so there is no cache to size")
