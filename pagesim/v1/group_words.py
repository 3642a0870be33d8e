"""KV cache groups in words: "full,window:1024*5" is one of full attention and five with windows.

A group is written KIND[:DETAIL][/BLOCK_SIZE][*COUNT]:

    full           full attention
    window:1024    a sliding window of 1024 tokens
    state          states, one after every block; mamba is another word for it
    mamba:none     states that prefix caching does not keep
    full/32        blocks of 32 tokens, whatever the block size of the others
    window:1024*5  five groups of this kind

In a list, a group may also be ("window", 1024), ("state", 16) for a state that can be kept after
every 16 tokens, or a spec: ["full", ("window", 1024)].
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from pagesim.checks import check_int
from pagesim.errors import UsageError
from pagesim.sizing.kv_cache_spec import (
    FullAttentionSpec,
    KVCacheSpec,
    MambaSpec,
    SlidingWindowSpec,
)

NOTATION = 'as in "full,window:1024*5": full, window:TOKENS or mamba, each with /BLOCK_SIZE or *N'
MOST = 64
"""The most groups: more layers than that are never alone in theirs."""

GroupWord = str | tuple[str, int] | KVCacheSpec
Groups = str | Iterable[GroupWord]
"""Groups as a user may give them."""

_GROUP = re.compile(
    r"(full|window|state|mamba)(?::(\w+))?(?:/(\d{1,9}))?(?:\*(\d{1,9}))?", re.ASCII
)


def parse_groups(
    groups: Groups, block_size: int = 16, caching: bool = True
) -> tuple[KVCacheSpec, ...]:
    """The specs of these groups, with blocks of ``block_size`` tokens unless they say otherwise.

    UsageError names the part that is no group. Without ``caching``, states that are kept for it are
    refused.
    """
    if isinstance(groups, KVCacheSpec) or not isinstance(groups, Iterable):
        raise UsageError(f"groups must be a list of groups, not {groups!r:.80}")
    is_text = isinstance(groups, str)
    found: list[KVCacheSpec] = []
    for index, part in enumerate(groups.split(",") if isinstance(groups, str) else groups):
        if isinstance(part, KVCacheSpec):
            found.append(part)
            continue
        name = f"{part.strip()!r:.80} in groups" if is_text else f"groups[{index}]"  # type: ignore[union-attr]
        if isinstance(part, str):
            spec, count = _of_text(name, part.strip().lower(), block_size, is_text)
        else:
            spec, count = _of_pair(name, part, block_size), 1
        if not 1 <= count <= MOST or len(found) + count > MOST:
            raise UsageError(f"groups must name 1 to {MOST} groups, not {groups!r:.80}")
        if not caching and isinstance(spec, MambaSpec) and spec.mamba_cache_mode == "align":
            raise UsageError(
                f"{name} is a state: without caching=True a request has one block for it, however "
                "long it is; give it as MambaSpec(block_size=…), with more tokens than any request"
            )
        found += [spec] * count
    return tuple(found)


def _of_text(name: str, part: str, block_size: int, is_text: bool) -> tuple[KVCacheSpec, int]:
    """A group, and how many of them."""
    if (found := _GROUP.fullmatch(part)) is None or (part == "window" and not is_text):
        if is_text:
            raise UsageError(f"{name} is no group: write them {NOTATION}")
        raise _no_group(name, part)
    kind, detail, size, count = found.groups()
    tokens = int(size or block_size)
    times = int(count or 1)
    if kind == "window" and detail is not None and detail.isdecimal():
        if len(detail) > 9:
            raise UsageError(f"{name}: a window has at most 9 digits")
        return SlidingWindowSpec(tokens, sliding_window=int(detail)), times
    if kind in ("state", "mamba") and detail in (None, "align", "none"):
        return MambaSpec(tokens, mamba_cache_mode=detail or "align"), times
    if kind == "full" and detail is None:
        return FullAttentionSpec(tokens), times
    states = 'states are kept ("mamba", "mamba:align") or not ("mamba:none")'
    wants = {
        "full": "full attention has no number behind a colon",
        "window": "a window has a number of tokens, as in window:1024",
    }
    raise UsageError(f"{name}: {wants.get(kind, states)}")


def _of_pair(name: str, word: GroupWord, block_size: int) -> KVCacheSpec:
    """A kind and a number."""
    kind, number = word if isinstance(word, tuple | list) and len(word) == 2 else (None, None)
    if kind == "window":
        tokens = check_int(f"the window of {name}", number, 1)
        return SlidingWindowSpec(block_size, sliding_window=tokens)
    if kind in ("state", "mamba"):
        tokens = check_int(f"the size of {name}", number, 1)
        return MambaSpec(tokens, mamba_cache_mode="align")
    raise _no_group(name, word)


def _no_group(name: str, word: GroupWord) -> UsageError:
    return UsageError(
        f'{name} must be "full", ("window", 128), "state", ("state", 16) or a spec, '
        f"not {word!r:.80}"
    )


def name_of(spec: KVCacheSpec) -> str:
    """A group in the notation of :func:`parse_groups`, without its block size."""
    if isinstance(spec, SlidingWindowSpec):
        return f"window:{spec.sliding_window}"
    if isinstance(spec, MambaSpec):
        return "mamba" if spec.mamba_cache_mode == "align" else "mamba:none"
    return "full"
