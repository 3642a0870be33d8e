"""Groups of layers in words: "full,window:1024*5" is one of full attention and five with windows.

A group is written KIND[:DETAIL][/BLOCK_SIZE][*COUNT]:

    full           full attention
    window:1024    a sliding window of 1024 tokens
    mamba          states; mamba:none keeps none of them for prefix caching
    full/32        blocks of 32 tokens, whatever the block size of the others
    window:1024*5  five groups of this kind
"""

import re
from collections.abc import Iterable, Sequence
from math import lcm

from pagesim.errors import UsageError
from pagesim.sizing.kv_cache_spec import (
    FullAttentionSpec,
    KVCacheSpec,
    MambaSpec,
    SlidingWindowSpec,
)
from pagesim.sizing.model import ModelSpec
from pagesim.sizing.v1 import size_v1

NOTATION = 'as in "full,window:1024*5": full, window:TOKENS or mamba, each with /BLOCK_SIZE or *N'
MOST = 64
"""The most groups: more layers than that are never alone in theirs."""

AMPLE = 1 << 50
"""Bytes in which any model's cache has blocks: its groups do not depend on them."""

_GROUP = re.compile(r"(full|window|mamba)(?::(\w+))?(?:/(\d{1,9}))?(?:\*(\d{1,9}))?", re.ASCII)


def parse_groups(text: str, block_size: int = 16) -> tuple[KVCacheSpec, ...]:
    """The groups that a text names. UsageError shows the part that names none."""
    groups: list[KVCacheSpec] = []
    for part in text.split(","):
        found = _GROUP.fullmatch(part.strip().lower())
        if found is None:
            raise UsageError(f"{part.strip()!r:.80} in groups is no group: write them {NOTATION}")
        kind, detail, size, count = found.groups()
        times = int(count or 1)
        if not 1 <= times <= MOST or len(groups) + times > MOST:
            raise UsageError(f"groups must name 1 to {MOST} groups, not {text!r:.80}")
        groups += [_group(kind, detail, int(size or block_size), part.strip())] * times
    return tuple(groups)


def _group(kind: str, detail: str | None, block_size: int, part: str) -> KVCacheSpec:
    if kind == "window" and detail is not None and detail.isdecimal():
        if len(detail) > 9:
            raise UsageError(f"{part!r:.80} in groups: a window has at most 9 digits")
        return SlidingWindowSpec(block_size, sliding_window=int(detail))
    if kind == "mamba" and detail in (None, "align", "none"):
        return MambaSpec(block_size, mamba_cache_mode=detail or "align")
    if kind == "full" and detail is None:
        return FullAttentionSpec(block_size)
    wants = {
        "full": "full attention has no number behind a colon",
        "window": "a window has a number of tokens, as in window:1024",
        "mamba": 'states are kept ("mamba", "mamba:align") or not ("mamba:none")',
    }
    raise UsageError(f"{part!r:.80} in groups: {wants[kind]}")


def name_of(spec: KVCacheSpec) -> str:
    """A group in the notation of :func:`parse_groups`, without its block size."""
    if isinstance(spec, SlidingWindowSpec):
        return f"window:{spec.sliding_window}"
    if isinstance(spec, MambaSpec):
        return "mamba" if spec.mamba_cache_mode == "align" else "mamba:none"
    return "full"


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
