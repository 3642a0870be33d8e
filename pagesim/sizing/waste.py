"""What groups waste: places that no layer fills, and the ends of pages that are too large.

Shares are of the bytes of a block in every group, as if all groups had equally many blocks.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from pagesim.sizing.kv_cache_groups import KVCacheGroupSpec, group_size
from pagesim.sizing.kv_cache_spec import (
    ChunkedLocalAttentionSpec,
    KVCacheSpec,
    MambaSpec,
    MLAAttentionSpec,
    SlidingWindowSpec,
    UniformTypeKVCacheSpecs,
)

EMPTY, PADDED = "empty places", "padded pages"


@dataclass(frozen=True, slots=True)
class Waste:
    """The share of the bytes that is lost, and in words to what."""

    name: str
    share: float
    words: str


def kind_of(spec: KVCacheSpec) -> str:
    """What the layers of a group keep: full, window, chunks, states, latent or mixed."""
    kinds: dict[type[KVCacheSpec], str] = {
        SlidingWindowSpec: "window",
        ChunkedLocalAttentionSpec: "chunks",
        MambaSpec: "states",
        MLAAttentionSpec: "latent",
        UniformTypeKVCacheSpecs: "mixed",
    }
    return kinds.get(type(spec), "full")


def words_of(spec: KVCacheSpec) -> str:
    """The same in words, with the length of the window or of the chunks."""
    if isinstance(spec, SlidingWindowSpec):
        return f"a window of {spec.sliding_window:,} tokens"
    if isinstance(spec, ChunkedLocalAttentionSpec):
        return f"chunks of {spec.attention_chunk_size:,} tokens"
    kinds = {"states": "states", "latent": "latent vectors", "mixed": "pages of several sizes"}
    words = kinds.get(kind_of(spec), "full attention")
    window = getattr(spec, "sliding_window", None)
    chunk = getattr(spec, "attention_chunk_size", None)
    if window is not None:
        return f"{words}, though some have a window of {window:,} tokens"
    return words if chunk is None else f"{words}, though some have chunks of {chunk:,} tokens"


def wasted(groups: Sequence[KVCacheGroupSpec]) -> list[Waste]:
    """What the groups of a rank waste, the empty places first; without any, an empty list."""
    size, found = group_size(groups), []
    places = len(groups) * size
    empty = places - sum(len(group.layer_names) for group in groups)
    if len(groups) > 1 and empty:
        found.append(Waste(EMPTY, empty / places, f"{empty} of {places} places"))
    for spec in dict.fromkeys(spec for group in groups for _, spec in group.layer_specs()):
        page, real = spec.page_size_bytes, spec.real_page_size_bytes
        if page == real:
            continue
        layers = sum(one == spec for group in groups for _, one in group.layer_specs())
        words = (
            f"{page - real:,} of {page:,} bytes in {counted(layers, 'layer')} with {words_of(spec)}"
        )
        found.append(Waste(PADDED, layers * (page - real) / (places * page), words))
    return found


def counted(count: int, name: str) -> str:
    """A number with a name, in the plural unless it is 1."""
    return f"{count:,} {name if count == 1 else name + 's'}"
