"""What groups of layers take in one pool, and the groups of a model.

`pagesim.v1.group_words` is how they are written.
"""

from collections.abc import Iterable, Sequence
from math import lcm

from pagesim.sizing.kv_cache_spec import (
    KVCacheSpec,
    MambaSpec,
)
from pagesim.sizing.model import ModelSpec
from pagesim.sizing.v1 import size_v1
from pagesim.v1.group_words import name_of

AMPLE = 1 << 50
"""Bytes in which any model's cache has blocks: its groups do not depend on them."""


def names_of(groups: Iterable[KVCacheSpec]) -> list[str]:
    """The groups by name; those that are alike are numbered."""
    names = [name_of(spec) for spec in groups]
    numbers = [names[: at + 1].count(name) for at, name in enumerate(names)]
    return [
        f"{name} ({number})" if names.count(name) > 1 else name
        for name, number in zip(names, numbers, strict=True)
    ]


def units_of(groups: Sequence[KVCacheSpec]) -> tuple[int, ...]:
    """What a token takes in each group, in places: a block of any group has as many of them.

    All blocks have equally many bytes. If they also have equally many tokens, a token takes one
    place in each group.
    """
    places = lcm(*(spec.block_size for spec in groups))
    return tuple(places // spec.block_size for spec in groups)


def places_per_slot(groups: Sequence[KVCacheSpec], layers: Sequence[int]) -> int:
    """What a slot, the room of a token in all layers that keep tokens, takes: places in a layer.

    If no layer keeps tokens, a slot is what a token takes where a state is divided among the tokens
    of its block.
    """
    each = list(zip(groups, units_of(groups), layers, strict=True))
    kept = sum(units * n for spec, units, n in each if not isinstance(spec, MambaSpec))
    return kept or sum(units * n for _, units, n in each)


def blocks_of(slots: int, groups: Sequence[KVCacheSpec], layers: Sequence[int]) -> int:
    """How many blocks so many slots are. A block has a page in as many layers as any group has."""
    places = lcm(*(spec.block_size for spec in groups))
    return slots * places_per_slot(groups, layers) // (max(layers) * places)


def groups_of(
    model: str | ModelSpec, block_size: int = 16
) -> tuple[tuple[KVCacheSpec, ...], tuple[int, ...]]:
    """The groups of a model's layers, and how many layers each of them has."""
    spec = ModelSpec.preset(model) if isinstance(model, str) else model
    found = size_v1(spec, AMPLE, block_size=block_size).high.kv_cache_groups
    return tuple(g.kv_cache_spec for g in found), tuple(len(g.layer_names) for g in found)
