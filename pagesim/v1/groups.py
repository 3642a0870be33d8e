"""The KV cache groups of a cache, as a user may give them: one kind of layers, or several.

Source: vLLM 0.33.0, ``vllm/v1/core/kv_cache_utils.py`` and ``kv_cache_coordinator.py``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import gcd, lcm

from pagesim.checks import check_a, check_bool, check_int, explained
from pagesim.errors import UnsupportedError, UsageError
from pagesim.sizing.kv_cache_spec import (
    FullAttentionSpec,
    KVCacheSpec,
    MambaSpec,
    SlidingWindowSpec,
)


@explained
def cache_groups(
    block_size: int | None,
    sliding_window: int | None,
    groups: Iterable[KVCacheSpec] | None,
    hash_block_size: int | None,
) -> tuple[tuple[KVCacheSpec, ...], int]:
    """The groups' specs and the number of tokens per hash; UsageError unless they are given once.

    Without a ``hash_block_size`` it is the greatest common divisor of the groups' block sizes.
    """
    if isinstance(sliding_window, list | tuple | dict):
        raise UnsupportedError(
            f"sliding_window must be one number, for all layers, or None, not {sliding_window!r}: "
            "a hybrid model has several KV cache groups, so give it as groups"
        )
    if groups is None:
        return _one_group(block_size, sliding_window, hash_block_size)
    specs = tuple(groups)
    for group_id, spec in enumerate(specs):
        check_a(f"groups[{group_id}]", spec, KVCacheSpec)
    sizes = [spec.block_size for spec in specs]
    if sliding_window is not None or block_size not in (None, lcm(*sizes)):
        raise UsageError(
            "each of the groups has a block_size and a window of its own: leave out block_size and "
            "sliding_window"
        )
    if hash_block_size is not None:
        return specs, hash_block_size
    return specs, gcd(*sizes) or 1


def _one_group(
    block_size: int | None, sliding_window: int | None, hash_block_size: int | None
) -> tuple[tuple[KVCacheSpec, ...], int]:
    size = check_int("block_size", block_size, 1)
    if hash_block_size not in (None, size):
        raise UsageError(
            f"hash_block_size is {hash_block_size}, but the only group has blocks of {size} "
            "tokens: leave it out"
        )
    if sliding_window is None:
        return (FullAttentionSpec(size),), size
    return (SlidingWindowSpec(size, sliding_window=sliding_window),), size


@explained
def check_groups(
    groups: Iterable[KVCacheSpec],
    hash_block_size: int,
    enable_caching: bool,
    retention_interval: int | None,
) -> tuple[KVCacheSpec, ...]:
    """The groups' specs; TypeError or UsageError names the one that cannot be served, and why."""
    specs = tuple(groups)
    check_bool("enable_caching", enable_caching)
    check_int("hash_block_size", hash_block_size, 1)
    if enable_caching and not specs:
        raise UsageError("groups is empty: prefix caching needs a KV cache group")
    for group_id, spec in enumerate(specs):
        name = f"groups[{group_id}]"
        if type(spec) not in (FullAttentionSpec, SlidingWindowSpec, MambaSpec):
            raise UnsupportedError(
                f"{name} is a {type(spec).__name__}: only full attention, sliding windows and "
                "Mamba are served here"
            )
        if not enable_caching:
            continue
        if isinstance(spec, MambaSpec) and spec.mamba_cache_mode == "none":
            raise UsageError(
                f'{name} has mamba_cache_mode "none", which keeps no state to be found again: set '
                'it to "align", or turn prefix caching off'
            )
        if spec.block_size % hash_block_size:
            raise UsageError(
                f"{name} has blocks of {spec.block_size} tokens, which is not a multiple of "
                f"hash_block_size ({hash_block_size})"
            )
    _check_retention(specs, retention_interval)
    return specs


def _check_retention(specs: Sequence[KVCacheSpec], retention_interval: int | None) -> None:
    if retention_interval is None or check_int("retention_interval", retention_interval, 0) == 0:
        return
    if all(isinstance(spec, FullAttentionSpec) for spec in specs):
        raise UsageError(
            "retention_interval needs a sliding_window, because full attention keeps "
            f"everything: set it to 0 or None, not {retention_interval}"
        )
    if retention_interval % (size := lcm(*(spec.block_size for spec in specs))):
        raise UsageError(
            f"retention_interval must be a multiple of block_size ({size}), "
            f"not {retention_interval}"
        )
