"""Checks of what a KV cache manager is asked to give room for, before anything has changed."""

from __future__ import annotations

from collections.abc import Sequence

from pagesim.checks import check_int
from pagesim.errors import UsageError
from pagesim.v1.kv_cache_utils import KVCacheBlock
from pagesim.v1.request import Request
from pagesim.v1.table_notes import TableNotes

COUNTS = (
    *("num_new_tokens", "num_new_computed_tokens", "num_external_computed_tokens"),
    *("num_lookahead_tokens", "reserved_blocks"),
)


def check_asked(
    request: Request,
    counts: Sequence[int],
    hits: Sequence[Sequence[KVCacheBlock]],
    tables: TableNotes,
) -> None:
    """TypeError, ValueError or UsageError for tokens that cannot be given room, or hits of others.

    ``counts`` are of `COUNTS`. vLLM believes that hits are what was found for this request.
    """
    for argument, count in zip(COUNTS, counts, strict=True):
        check_int(argument, count, 0)
    name, computed = f"request {request.request_id!r}", counts[1]
    if not any(counts[:3]):
        raise ValueError(f"{name} must be given at least one token")
    for manager, blocks in zip(tables.coordinator.single_type_managers, hits, strict=True):
        if computed != len(blocks) * manager.block_size:
            raise UsageError(
                f"{computed} computed tokens do not fill the {len(blocks)} blocks "
                f"found for {name}: pass both as get_computed_blocks() returned them"
            )
        manager.block_pool.check_own(block for block in blocks if not block.is_null)
    if request.request_id in tables.owners and any(hits):
        raise UsageError(f"{name} has a table: only a new one can begin with cached blocks")
