"""Checks of what a KV cache manager is asked to give room for, before anything has changed."""

from __future__ import annotations

from collections.abc import Sequence

from pagesim.checks import check_int
from pagesim.errors import UsageError
from pagesim.sizing.kv_cache_spec import KVCacheSpec
from pagesim.v1.block_pool import BlockPool
from pagesim.v1.kv_cache_utils import KVCacheBlock
from pagesim.v1.request import Request


def check_tokens_of(
    request: Request,
    num_new: int,
    num_new_computed: int,
    external: int,
    hits: Sequence[Sequence[KVCacheBlock]],
    groups: Sequence[KVCacheSpec],
    pool: BlockPool,
    has_table: bool,
) -> None:
    """TypeError, ValueError or UsageError for tokens that cannot be given room, or hits of others.

    vLLM believes that hits are what was found for this request.
    """
    check_int("num_new_tokens", num_new, 0)
    check_int("num_new_computed_tokens", num_new_computed, 0)
    check_int("num_external_computed_tokens", external, 0)
    name = f"request {request.request_id!r}"
    if num_new == num_new_computed == external == 0:
        raise ValueError(f"{name} must be given at least one token")
    for spec, blocks in zip(groups, hits, strict=True):
        if num_new_computed != len(blocks) * spec.block_size:
            raise UsageError(
                f"{num_new_computed} computed tokens do not fill the {len(blocks)} blocks "
                f"found for {name}: pass both as get_computed_blocks() returned them"
            )
        pool.check_own(block for block in blocks if not block.is_null)
    if has_table and any(hits):
        raise UsageError(f"{name} has a table: only a new one can begin with cached blocks")
