"""The operations of a recording of vLLM V1 with several KV cache groups.

They are those of one group, with a list for each group where one group has one list. A content goes
by its name and its group, and is counted in hashes: "r1.3@1" is a block of group 1 that ends with
the fourth hash of r1.
"""

from collections.abc import Sequence
from typing import Any

from pagesim import v1
from pagesim.files.jsonl import JsonObject
from pagesim.journal.effects import Name
from pagesim.replay.block_layer import Ids, Named
from pagesim.replay.record_vllm import ids_of
from pagesim.replay.v1 import KVCacheManagerPlayer, RequestsPlayer, V1Player, V1SchedulerPlayer
from pagesim.sizing.kinds import KINDS
from pagesim.sizing.kv_cache_spec import KVCacheSpec
from pagesim.v1.kv_cache_coordinator import Blocks

SPECS: dict[str, type[KVCacheSpec]] = {
    KINDS[spec]: spec for spec in (v1.FullAttentionSpec, v1.SlidingWindowSpec, v1.MambaSpec)
}


def with_specs(config: JsonObject) -> JsonObject:
    """A configuration whose groups are specs."""
    groups = [dict(group) for group in config["groups"]]
    return config | {"groups": [SPECS[group.pop("kind")](**group) for group in groups]}


def by_group(blocks: Blocks) -> list[list[int]]:
    """The ids of blocks, group by group."""
    return [ids_of(group) for group in blocks]


class GroupsPlayer(V1Player):
    """What the kinds have in common: lists for each group, and contents with their groups."""

    def start(self, config: JsonObject) -> None:
        super().start(config)
        self.block_size = config.get("cache", config)["hash_block_size"]

    def told(self, ids: Sequence[list[int]]) -> Ids:
        return list(ids)

    def contents(self, pool: v1.BlockPool) -> JsonObject:
        cached: dict[str, str] = {}
        extra: dict[str, list[str]] = {}
        holders: dict[bytes, list[int]] = {}
        for block in pool.blocks:
            if block.key is None:
                continue
            name = str(block.block_id)
            more = pool.cached_block_hashes_by_block.get(block.block_id, set())
            for key in (block.key, *more):
                holders.setdefault(key, []).append(block.block_id)
            cached[name] = self.label(block.key)
            if more:
                extra[name] = sorted(map(self.label, more))
        first = {
            self.label(key): pool.cached_block_hash_to_block.get_one_block(key)
            for key, ids in holders.items()
            if len(ids) > 1
        }
        found = {label: block.block_id for label, block in first.items() if block is not None}
        return {"cached": cached, "extra": extra, "first": found}

    def label(self, key: bytes) -> str:
        """A content and its group, by which a block is found."""
        block_hash, group_id = getattr(key, "block_hash", key), getattr(key, "group_id", 0)
        return f"{self.labels[block_hash]}@{group_id}"


class GroupsRequestsPlayer(GroupsPlayer, RequestsPlayer):
    """Requests without a scheduler; a step begins when the recording says so."""

    steps: Any
    """What is told that a step begins."""

    def op_step(self) -> None:
        self.steps.new_step_starts()


class CoordinatorPlayer(GroupsRequestsPlayer):
    """The tables of all groups alone; its pages are those of its pool."""

    def start(self, config: JsonObject) -> None:
        super().start(config)
        self.steps = self.tables = v1.get_kv_cache_coordinator(**with_specs(config))
        self.subject = self.tables.block_pool
        self.found: Named[Name, Any] = Named()

    def state(self) -> JsonObject:
        tables = {name: by_group(self.tables.get_blocks(name)) for name in self.requests}
        return {"tables": tables, **self.pool_state(self.tables.block_pool)}

    def op_class(self) -> str:
        return type(self.tables).__name__

    def op_find(self, request: str, max_length: int) -> JsonObject:
        hashes = self.requests[request].block_hashes
        blocks, num_tokens, uncached = self.tables.find_longest_cache_hit(hashes, max_length)
        self.found[request] = blocks, num_tokens
        return {"blocks": by_group(blocks), "num_tokens": num_tokens, "uncached": uncached}

    def op_needed(
        self,
        request: str,
        num_tokens: int,
        total_computed: int,
        local_computed: int,
        use_hit: bool,
        capped: bool,
        prefill_end: int,
    ) -> int:
        hits = self.found[request][0] if use_hit else self.tables.no_blocks
        computed = total_computed, local_computed
        return self.tables.get_num_blocks_to_allocate(
            request, num_tokens, hits, 0, *computed, num_tokens, capped, prefill_end
        )

    def op_adopt(self, request: str) -> None:
        self.tables.allocate_new_computed_blocks(request, *self.found.take(request))

    def op_allocate(self, request: str, num_tokens: int) -> list[list[int]]:
        return by_group(self.tables.allocate_new_blocks(request, num_tokens, num_tokens))

    def op_cache(self, request: str, num_tokens: int, boundary: int = 0) -> None:
        its = self.requests[request]
        its.shared_prefix_boundary = boundary
        self.tables.cache_blocks(its, num_tokens)

    def op_remove_skipped(self, request: str, num_tokens: int) -> None:
        self.tables.remove_skipped_blocks(request, num_tokens)

    def op_free(self, request: str) -> None:
        self.tables.free(request)
        del self.requests[request]


class GroupsManagerPlayer(GroupsRequestsPlayer, KVCacheManagerPlayer):
    """Requests on one KV cache manager."""

    def start(self, config: JsonObject) -> None:
        super().start(with_specs(config))
        self.steps = self.manager

    def op_computed(self, request: str) -> JsonObject:
        its = self.requests[request]
        blocks, num_tokens, its.shared_prefix_boundary = self.manager.get_computed_blocks(its)
        self.found[request] = blocks, num_tokens
        ids, boundary = self.told(blocks.get_block_ids()), its.shared_prefix_boundary
        return {"blocks": ids, "num_tokens": num_tokens, "boundary": boundary}


class GroupsSchedulerPlayer(GroupsPlayer, V1SchedulerPlayer):
    """Requests on one scheduler."""

    def start(self, config: JsonObject) -> None:
        super().start(config | {"cache": with_specs(config["cache"])})

    def row(self, request: v1.Request) -> list[Any]:
        return [*super().row(request), request.shared_prefix_boundary]
