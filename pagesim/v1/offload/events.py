"""What a router hears of the second tier, made of what its manager notes.

By default an event has a chunk's key alone, because the manager knows nothing else.

Source: vLLM 0.33.0, ``vllm/distributed/kv_transfer/kv_connector/v1/offloading/events.py``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from pagesim.v1.kv_cache_utils import BlockHash
from pagesim.v1.kv_events import BlockRemoved, BlockStored, KVCacheEvent
from pagesim.v1.offload.base import OffloadingEvent, OffloadKey
from pagesim.v1.request import Request


class ChunkEvents:
    """Events of the medium "CPU"; a ``self_describing`` one has the blocks and tokens."""

    def __init__(self, blocks_per_chunk: int, block_size: int, self_describing: bool) -> None:
        self.blocks_per_chunk = blocks_per_chunk
        self.block_size = block_size
        self.self_describing = self_describing
        self.known: dict[OffloadKey, BlockStored] = {}

    def learn(self, request: Request, key: OffloadKey, index: int) -> None:
        """The chunk of this key is a request's chunk number ``index``."""
        if self.self_describing and key not in self.known:
            hashes, size = request.block_hashes, self.block_size
            start, end = index * self.blocks_per_chunk, (index + 1) * self.blocks_per_chunk
            parent = hashes[start - 1] if start else None
            tokens = request.all_token_ids[start * size : end * size]
            self.known[key] = self._event(hashes[start:end], parent, tokens, size)

    def _event(
        self,
        hashes: Iterable[Any],
        parent: BlockHash | None = None,
        tokens: Sequence[int] = (),
        block_size: int = 0,
    ) -> BlockStored:
        kind = "full_attention" if self.self_describing else None
        what = parent, list(tokens), block_size
        return BlockStored([*hashes], *what, medium="CPU", group_idx=0, kv_cache_spec_kind=kind)

    def of(self, raw: Iterable[OffloadingEvent]) -> list[KVCacheEvent]:
        """What to publish for these; a store that failed was never announced."""
        events: list[KVCacheEvent] = []
        for each in raw:
            stored = [self.known.get(key) or self._event([key]) for key in each.keys]
            if not each.removed:
                events += stored
            elif not each.metadata_only:
                hashes = [block_hash for event in stored for block_hash in event.block_hashes]
                events.append(BlockRemoved(hashes, medium="CPU", group_idx=0))
            for key in each.keys if each.removed else ():
                self.known.pop(key, None)
        return events
