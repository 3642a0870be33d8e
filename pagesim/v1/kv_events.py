"""What a router hears of a cache: which blocks are found from now on, no more, or none at all.

Source: vLLM 0.33.0, ``vllm/distributed/kv_events.py``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pagesim.sizing.kv_cache_spec import KVCacheSpec, MambaSpec, SlidingWindowSpec
from pagesim.v1.kv_cache_utils import BlockHash
from pagesim.v1.request import Request

MEDIUM_GPU = "GPU"

ExternalBlockHash = bytes | int
"""A hash as routers know it; vLLM sends 64 bits of it unless it is told to send all."""


@dataclass(frozen=True, slots=True)
class BlockStored:
    """Blocks are found from now on, or further copies of them, before they are computed.

    ``token_ids`` follow the parent, and include those of blocks that are not cached: there may be
    no hash at all. ``extra_keys`` has for each hash what it depends on beside tokens.
    """

    block_hashes: list[ExternalBlockHash]
    parent_block_hash: ExternalBlockHash | None
    token_ids: list[int]
    block_size: int
    lora_id: int | None = None
    medium: str | None = MEDIUM_GPU
    lora_name: str | None = None
    extra_keys: list[tuple[Any, ...] | None] | None = None
    group_idx: int | None = None
    kv_cache_spec_kind: str | None = None
    kv_cache_spec_sliding_window: int | None = None


@dataclass(frozen=True, slots=True)
class BlockRemoved:
    """One copy of each block is found no more; there may be others."""

    block_hashes: list[ExternalBlockHash]
    medium: str | None = MEDIUM_GPU
    group_idx: int | None = None


@dataclass(frozen=True, slots=True)
class AllBlocksCleared:
    """No block on the GPU is found any more."""


KVCacheEvent = BlockStored | BlockRemoved | AllBlocksCleared


def stored(
    request: Request,
    hashes: Sequence[BlockHash],
    chosen: Iterable[int],
    start: int,
    end: int,
    block_size: int,
    group_idx: int,
) -> BlockStored:
    """Of a request's blocks from ``start`` up to ``end``, the ``chosen`` ones are found."""
    salted = {0: (request.cache_salt,)} if request.cache_salt else {}
    return BlockStored(
        [hashes[index] for index in chosen],
        hashes[start - 1] if start else None,
        request.all_token_ids[start * block_size : end * block_size],
        block_size,
        extra_keys=[salted.get(index) for index in chosen] or None,
        group_idx=group_idx,
    )


def removed(key: BlockHash) -> BlockRemoved:
    """A block is found no more by this key."""
    return BlockRemoved([getattr(key, "block_hash", key)], group_idx=getattr(key, "group_id", 0))


def with_kind(event: KVCacheEvent, groups: Sequence[KVCacheSpec]) -> KVCacheEvent:
    """A pool's event with the kind of its group, if something is stored."""
    if not isinstance(event, BlockStored):
        return event
    spec, kind, window = groups[event.group_idx or 0], "full_attention", None
    if isinstance(spec, SlidingWindowSpec):
        kind, window = "sliding_window", spec.sliding_window
    elif isinstance(spec, MambaSpec):
        kind = "mamba"
    return replace(event, kv_cache_spec_kind=kind, kv_cache_spec_sliding_window=window)
