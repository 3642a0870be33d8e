"""The KV cache groups of a story, in short words."""

from __future__ import annotations

from collections.abc import Iterable

from pagesim.checks import check_int
from pagesim.errors import UsageError
from pagesim.sizing.kv_cache_spec import (
    FullAttentionSpec,
    KVCacheSpec,
    MambaSpec,
    SlidingWindowSpec,
)

GroupWord = str | tuple[str, int] | KVCacheSpec
"""A group: "full", ("window", tokens), "state", ("state", tokens per state), or a spec."""


def specs_of(groups: Iterable[GroupWord], block_size: int, caching: bool) -> list[KVCacheSpec]:
    """The specs of these groups, with blocks of ``block_size`` tokens where none is given.

    UsageError names the group that is none.
    """
    if isinstance(groups, str | KVCacheSpec) or not isinstance(groups, Iterable):
        raise UsageError(f"groups must be a list of groups, not {groups!r:.80}")
    return [_spec(f"groups[{i}]", word, block_size, caching) for i, word in enumerate(groups)]


def _spec(name: str, word: GroupWord, block_size: int, caching: bool) -> KVCacheSpec:
    if isinstance(word, KVCacheSpec):
        return word
    kind, number = word if isinstance(word, tuple | list) and len(word) == 2 else (word, None)
    if kind == "full" and number is None:
        return FullAttentionSpec(block_size)
    if kind == "window" and number is not None:
        tokens = check_int(f"the window of {name}", number, 1)
        return SlidingWindowSpec(block_size, sliding_window=tokens)
    if kind == "state":
        if not caching:
            raise UsageError(
                f"{name} is a state: without caching=True a request has one block for it, however "
                "long it is; give it as MambaSpec(block_size=…), with more tokens than any request"
            )
        tokens = block_size if number is None else check_int(f"the size of {name}", number, 1)
        return MambaSpec(tokens, mamba_cache_mode="align")
    raise UsageError(
        f'{name} must be "full", ("window", 128), "state", ("state", 16) or a spec, '
        f"not {word!r:.80}"
    )
