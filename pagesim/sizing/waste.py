"""What groups waste: places that no layer fills, and the ends of pages that are too large.

Shares are of the bytes of a block in every group, as if all groups had equally many blocks.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from pagesim.sizing.kinds import words_of
from pagesim.sizing.kv_cache_groups import KVCacheGroupSpec, group_size

EMPTY, PADDED = "empty places", "padded pages"


@dataclass(frozen=True, slots=True)
class Waste:
    """The share of the bytes that is lost, and in words to what."""

    name: str
    share: float
    words: str


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
