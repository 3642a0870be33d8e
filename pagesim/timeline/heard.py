"""What a router would have heard of a recorded run of V1: its KV events, out of what happened.

A run has which blocks are cached and evicted, and their tokens. This suffices where every full
block is cached, as in full attention, and in windows without a ``retention_interval``. A run does
not have the salts of requests, nor the blocks that a window leaves uncached: then a range of tokens
begins with its first cached block. It has no states either, and no hashes inside blocks.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pagesim.errors import UsageError
from pagesim.journal.effects import CACHE, EVICT, Name
from pagesim.journal.state import FULL, MAMBA, WINDOW, Group, State, name_parts, table_name
from pagesim.timeline.events import Event
from pagesim.timeline.run import Timeline
from pagesim.v1.kv_cache_utils import hash_block_tokens
from pagesim.v1.kv_events import AllBlocksCleared, BlockRemoved, BlockStored, KVCacheEvent

KINDS = {FULL: "full_attention", WINDOW: "sliding_window"}


def kv_events(
    run: Timeline, cache_salts: Mapping[Name, str] | None = None
) -> Iterator[tuple[int, list[KVCacheEvent]]]:
    """For each event of the run that a router hears of: its number, and what is heard.

    ``cache_salts`` are those of requests that have one. If there is only one KV cache group, the
    run does not say of which kind it is, and nor do the KV events. UsageError for a run of V0, or
    one that does not have what a KV event needs.
    """
    start = run.at(0)
    _check(start)
    reading = _Reading(start, cache_salts or {})
    for number, event in enumerate(run):
        for opened in event.opened:
            reading.hashes.pop(opened.table, None)
        is_reset = event.kind == "reset_prefix_cache"
        if is_reset or any(effect.kind in (CACHE, EVICT) for effect in event.effects):
            after = run.at(number + 1)
            if heard := reading.reset(after) if is_reset else reading.of(event, after):
                yield number, heard


def _check(start: State) -> None:
    if "free queue" not in start.lists:
        raise UsageError("only a run of vLLM V1 has KV events")
    if start.cached:
        raise UsageError(
            "the run begins with cached blocks, whose contents it does not have: record it from "
            "the beginning"
        )
    sizes = {group.block_size for group in start.groups}
    if len(sizes) > 1 or any(group.kind == MAMBA for group in start.groups):
        raise UsageError(
            "a run with states, or with blocks of several sizes, does not have the hashes inside "
            "its blocks: ask the engine for its KV events"
        )


class _Reading:
    """What is known so far: the hashes of each table, and what each cached block holds."""

    def __init__(self, start: State, salts: Mapping[Name, str]) -> None:
        self.groups, self.size, self.salts = start.groups, start.block_size, salts
        self.hashes: dict[Name, list[bytes]] = {}
        self._gpu = range(start.num_gpu_blocks)
        self._held: dict[int, tuple[bytes, int]] = {}

    def reset(self, now: State) -> list[KVCacheEvent]:
        """Nothing is cached any more, unless a block was owned."""
        if any(now.ref_counts[block] for block in self._gpu):
            return []
        self._held.clear()
        return [AllBlocksCleared()]

    def of(self, event: Event, after: State) -> list[KVCacheEvent]:
        """What is heard of an event; what a table caches at a time is told at once."""
        heard: list[KVCacheEvent] = []
        last: Name | None = None
        for effect in event.effects:
            if effect.kind not in (CACHE, EVICT) or effect.block not in self._gpu:
                continue
            if effect.kind == EVICT:
                block_hash, group_id = self._held.pop(effect.block)
                heard.append(BlockRemoved([block_hash], group_idx=group_id))
                continue
            name, index = _place(effect.block, event, after)
            stored = self._stored(name, index, after.tables[name].token_ids)
            self._held[effect.block] = stored.block_hashes[0], stored.group_idx or 0  # type: ignore[assignment]
            if name == last and isinstance(before := heard[-1], BlockStored):
                before.block_hashes.extend(stored.block_hashes)
                before.token_ids.extend(stored.token_ids)
                before.extra_keys.extend(stored.extra_keys)  # type: ignore[union-attr, arg-type]
            else:
                heard.append(stored)
            last = name
        return heard

    def _stored(self, name: Name, index: int, tokens: Sequence[int]) -> BlockStored:
        """Block number ``index`` of a table is stored."""
        parts = name_parts(name) if self.groups else None
        request, group_id = parts or (name, 0)
        salt, hashes, size = self.salts.get(request), self.hashes.setdefault(name, []), self.size
        while len(hashes) <= index:
            at = len(hashes) * size
            keys = (salt,) if salt and not at else None
            parent = hashes[-1] if hashes else None
            hashes.append(hash_block_tokens(parent, list(tokens[at : at + size]), keys))
        group = self.groups[group_id] if self.groups else Group("", size)
        return BlockStored(
            [hashes[index]],
            hashes[index - 1] if index else None,
            list(tokens[index * size : (index + 1) * size]),
            size,
            extra_keys=[(salt,) if salt and not index else None],
            group_idx=group_id,
            kv_cache_spec_kind=KINDS.get(group.kind),
            kv_cache_spec_sliding_window=group.sliding_window,
        )


def _place(block: int, event: Event, after: State) -> tuple[Name, int]:
    """The table that holds a block that has just been cached, and at which entry."""
    subject: Any = event.subject
    own = [subject, *(table_name(subject, group_id) for group_id in range(len(after.groups)))]
    for name in (*own, *after.tables):
        table = after.tables.get(name)
        if table is not None and block in table.block_ids:
            return name, table.block_ids.index(block)
    raise UsageError(
        f"block {block} is in no table when it is cached: record the manager or its scheduler, not "
        "the pool alone"
    )
