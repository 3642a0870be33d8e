"""Checks of what a block pool is asked to cache, before anything has changed.

vLLM believes that these blocks are full, that they are not cached yet, and that they have a hash.
"""

from __future__ import annotations

from collections.abc import Sequence

from pagesim.errors import UsageError
from pagesim.v1.kv_cache_utils import KVCacheBlock
from pagesim.v1.request import Request


def check_range(
    request: Request,
    start: int,
    end: int,
    table: Sequence[KVCacheBlock],
    mask: Sequence[bool] | None,
) -> None:
    """UsageError unless the table has these entries, and the mask, if there is one, as many."""
    if start < 0 or end > len(table):
        raise UsageError(
            f"blocks from {start} up to {end} cannot be cached: the table of request "
            f"{request.request_id!r} has {len(table)}"
        )
    if mask is not None and len(mask) < end - start:
        raise UsageError(
            f"block_mask has {len(mask)} entries: it must have one for each block from "
            f"{start} up to {end}"
        )


def check_not_cached(
    request: Request,
    chosen: Sequence[int],
    table: Sequence[KVCacheBlock],
    num_hashes: int,
    block_size: int,
) -> None:
    """UsageError unless each chosen entry of the table is a full block that is not cached yet."""
    seen = set()
    for index in chosen:
        block = table[index]
        covered = block.block_hash_num_tokens if block.key is not None else 0
        is_cached = covered >= (index + 1) * block_size
        if index >= num_hashes or is_cached or block in seen:
            why = "is not full" if index >= num_hashes else "is already cached"
            raise UsageError(
                f"block {block.block_id}, entry {index} of the table of request "
                f"{request.request_id!r}, {why}"
            )
        seen.add(block)


def hash_of_first(request: Request, num_tokens: int, hash_block_size: int) -> int:
    """Which hash of a request covers so many tokens. UsageError if none does."""
    index, inside = divmod(num_tokens, hash_block_size)
    if inside or not 0 < index <= len(request.block_hashes):
        raise UsageError(
            f"request {request.request_id!r} has no hash of its first {num_tokens} tokens"
        )
    return index - 1
