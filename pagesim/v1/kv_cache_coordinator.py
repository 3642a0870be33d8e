"""The tables of all KV cache groups together: what one call to the manager means in each group.

    coordinator        caching   groups   a hit ends
    NoPrefixCache      no        any      nowhere
    Unitary            yes       one      where the group says
    Hybrid             yes       several  where all groups agree

Each call goes through the groups in the order of their ids, so a request's blocks come group by
group out of one pool.

Source: vLLM 0.33.0, ``vllm/v1/core/kv_cache_coordinator.py``.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from math import lcm

from pagesim.checks import check_int
from pagesim.journal.effects import LOOKUP, Name
from pagesim.sizing.kv_cache_spec import KVCacheSpec, MambaSpec, SlidingWindowSpec
from pagesim.v1.block_pool import BlockPool
from pagesim.v1.groups import check_groups
from pagesim.v1.kv_cache_metrics import KVCacheMetricsCollector
from pagesim.v1.kv_cache_utils import BlockHash, KVCacheBlock
from pagesim.v1.mamba_manager import AlignedMambaManager, MambaManager
from pagesim.v1.request import Request
from pagesim.v1.single_type_kv_cache_manager import (
    CoarseFullAttentionManager,
    FullAttentionManager,
    SingleTypeKVCacheManager,
    SlidingWindowManager,
)

Blocks = tuple[Sequence[KVCacheBlock], ...]
"""A list of blocks for each group."""


class KVCacheCoordinator:
    """The groups' tables on one pool; ``scheduler_block_size`` is where all their blocks end."""

    def __init__(self, block_pool: BlockPool, managers: Sequence[SingleTypeKVCacheManager]) -> None:
        self.block_pool = block_pool
        self.single_type_managers = tuple(managers)
        self.scheduler_block_size = lcm(*(each.block_size for each in managers))
        self.no_blocks: Blocks = tuple([] for _ in managers)
        self._only = managers[0] if len(managers) == 1 else None

    def find_longest_cache_hit(
        self, block_hashes: Sequence[BlockHash], max_cache_hit_length: int
    ) -> tuple[Blocks, int, int]:
        """The cached blocks that a request could begin with, and the number of their tokens.

        The third value is how many tokens more the group had that had most.
        """
        return self.no_blocks, 0, 0

    def get_num_blocks_to_allocate(
        self,
        request_id: Name,
        num_tokens: int,
        new_computed_blocks: Blocks,
        num_encoder_tokens: int,
        total_computed_tokens: int,
        num_local_computed_tokens: int,
        num_tokens_main_model: int,
        apply_admission_cap: bool = False,
        prefill_end: int = 0,
    ) -> int:
        """Free blocks that it takes in all groups to hold ``num_tokens`` tokens.

        There are no encoders and no connectors here, whose numbers are the fourth and the sixth.
        """
        if self._only is not None:
            return self._only.get_num_blocks_to_allocate(
                request_id,
                num_tokens,
                new_computed_blocks[0],
                total_computed_tokens,
                num_tokens_main_model,
                apply_admission_cap,
                prefill_end,
            )
        more = total_computed_tokens, num_tokens_main_model, apply_admission_cap, prefill_end
        needed = 0
        for manager, hits in zip(self.single_type_managers, new_computed_blocks, strict=True):
            needed += manager.get_num_blocks_to_allocate(request_id, num_tokens, hits, *more)
        return needed

    def most_blocks_at_once(self, num_tokens: int) -> int:
        """Blocks without which a request of ``num_tokens`` tokens can never be computed whole."""
        return sum(each.most_blocks_at_once(num_tokens) for each in self.single_type_managers)

    def has_tables(self, request_id: Name) -> bool:
        """Whether a request has begun its tables, even if they are empty."""
        return any(request_id in manager.num_cached_block for manager in self.single_type_managers)

    def allocate_new_computed_blocks(
        self,
        request_id: Name,
        new_computed_blocks: Blocks,
        num_local_computed_tokens: int,
        num_external_computed_tokens: int = 0,
    ) -> None:
        """Begin a request's tables with hits, unless it has tables."""
        if self.has_tables(request_id):
            return
        for manager, hits in zip(self.single_type_managers, new_computed_blocks, strict=True):
            manager.allocate_new_computed_blocks(request_id, hits, num_local_computed_tokens)

    def allocate_new_blocks(
        self, request_id: Name, num_tokens: int, num_tokens_main_model: int
    ) -> tuple[list[KVCacheBlock], ...]:
        """Make a request's tables long enough for ``num_tokens``; returns what was added."""
        return tuple(
            [
                manager.allocate_new_blocks(request_id, num_tokens, num_tokens_main_model)
                for manager in self.single_type_managers
            ]
        )

    def cache_blocks(self, request: Request, num_computed_tokens: int) -> None:
        """Make the full blocks of a request's first tokens findable."""
        for manager in self.single_type_managers:
            manager.cache_blocks(request, num_computed_tokens)

    def remove_skipped_blocks(
        self, request_id: Name, total_computed_tokens: int
    ) -> list[Sequence[int]]:
        """Free the blocks that the next token does not need; returns which entries, by group."""
        return [
            manager.remove_skipped_blocks(request_id, total_computed_tokens)
            for manager in self.single_type_managers
        ]

    def free(self, request_id: Name) -> None:
        """Free a request's blocks, group by group, each table last to first."""
        for manager in self.single_type_managers:
            self.block_pool.free_blocks(manager.pop_blocks_for_free(request_id))

    def pop_blocks_for_free(self, request_id: Name) -> list[KVCacheBlock]:
        """Forget a request's tables; returns their blocks in the order in which to free them."""
        return [
            block
            for manager in self.single_type_managers
            for block in manager.pop_blocks_for_free(request_id)
        ]

    def get_blocks(self, request_id: Name) -> Blocks:
        """A request's tables; empty ones for an unknown request."""
        return tuple(
            [manager.req_to_blocks.get(request_id, ()) for manager in self.single_type_managers]
        )

    def reset_prefix_cache(self) -> bool:
        """Forget all cached content, unless a block is owned."""
        return self.block_pool.reset_prefix_cache()

    def new_step_starts(self) -> None:
        """The scheduler begins to decide a step."""
        for manager in self.single_type_managers:
            manager.new_step_starts()


class KVCacheCoordinatorNoPrefixCache(KVCacheCoordinator):
    """Nothing is cached, so nothing is found; there may be no group at all."""

    def cache_blocks(self, request: Request, num_computed_tokens: int) -> None:
        """Cache nothing."""


class UnitaryKVCacheCoordinator(KVCacheCoordinator):
    """One group, whose manager is asked directly."""

    def __init__(self, block_pool: BlockPool, managers: Sequence[SingleTypeKVCacheManager]) -> None:
        super().__init__(block_pool, managers)
        self.cache_blocks = managers[0].cache_blocks  # type: ignore[assignment, method-assign]

    def find_longest_cache_hit(
        self, block_hashes: Sequence[BlockHash], max_cache_hit_length: int
    ) -> tuple[Blocks, int, int]:
        (manager,) = self.single_type_managers
        (found,) = manager.find_longest_cache_hit(block_hashes, max_cache_hit_length, (0,))
        return (found,), len(found) * manager.block_size, 0


class HybridKVCacheCoordinator(KVCacheCoordinator):
    """Several groups. A request can go on only from where each of them has what it needs."""

    def __init__(self, block_pool: BlockPool, managers: Sequence[SingleTypeKVCacheManager]) -> None:
        super().__init__(block_pool, managers)
        kinds: dict[KVCacheSpec, list[int]] = {}
        for manager in managers:
            kinds.setdefault(manager.kv_cache_spec, []).append(manager.kv_cache_group_id)
        self.kinds = sorted(
            kinds.values(), key=lambda ids: not isinstance(managers[ids[0]], FullAttentionManager)
        )
        """Ids of groups with equal specs, which are looked up together; full attention first."""
        first = managers[self.kinds[0][0]]
        self._settles_at_once = len(self.kinds) == 2 and isinstance(first, FullAttentionManager)
        """With full attention and one other kind, the other's hit is one for both."""

    def find_longest_cache_hit(
        self, block_hashes: Sequence[BlockHash], max_cache_hit_length: int
    ) -> tuple[Blocks, int, int]:
        """Ask kind after kind for a hit no longer than the last one's, until all agree.

        A prefix of a hit is a hit in full attention, which is asked only once, but not in a window
        and not for a state.
        """
        found: dict[int, list[KVCacheBlock]] = {}
        hit, longest = max_cache_hit_length, 0
        while True:
            candidate = hit
            for group_ids in self.kinds:
                manager = self.single_type_managers[group_ids[0]]
                is_full = isinstance(manager, FullAttentionManager)
                if is_full and group_ids[0] in found:
                    hit = min(hit, len(found[group_ids[0]]) * manager.block_size)
                    continue
                blocks = manager.find_longest_cache_hit(block_hashes, hit, group_ids)
                found.update(zip(group_ids, blocks, strict=True))
                asked, hit = hit, len(blocks[0]) * manager.block_size
                if self.block_pool.journal.active:
                    self.block_pool.journal.note((LOOKUP, tuple(group_ids), asked, hit))
                longest = max(longest, hit)
            if hit >= candidate or self._settles_at_once:
                break
        for manager in self.single_type_managers:
            if isinstance(manager, FullAttentionManager):
                group_id = manager.kv_cache_group_id
                found[group_id] = found[group_id][: hit // manager.block_size]
        blocks_by_group = tuple(found[i] for i in range(len(self.single_type_managers)))
        return blocks_by_group, hit, longest - hit

    def cache_blocks(self, request: Request, num_computed_tokens: int) -> None:
        """Cache what ends where a hit could end: at a multiple of all block sizes."""
        size = self.scheduler_block_size
        super().cache_blocks(request, num_computed_tokens // size * size)


def get_kv_cache_coordinator(
    groups: Iterable[KVCacheSpec],
    num_gpu_blocks: int,
    hash_block_size: int,
    max_model_len: int,
    enable_caching: bool = True,
    max_in_flight_tokens: int | None = None,
    retention_interval: int | None = 0,
    enable_kv_cache_events: bool = False,
    metrics_collector: KVCacheMetricsCollector | None = None,
) -> KVCacheCoordinator:
    """The coordinator of these groups, on a pool of its own. UsageError names what is wrong."""
    check_int("max_model_len", max_model_len, 1)
    if max_in_flight_tokens is not None:
        check_int("max_in_flight_tokens", max_in_flight_tokens, 1)
    specs = check_groups(groups, hash_block_size, enable_caching, retention_interval)
    observed = enable_kv_cache_events, metrics_collector
    pool = BlockPool(num_gpu_blocks, enable_caching, hash_block_size, *observed)
    size = lcm(*(spec.block_size for spec in specs))
    most_in_flight = max_in_flight_tokens or max_model_len
    pool.block_sizes = {group_id: spec.block_size for group_id, spec in enumerate(specs)}
    managers: list[SingleTypeKVCacheManager] = []
    for group_id, spec in enumerate(specs):
        kind: type[SingleTypeKVCacheManager] = FullAttentionManager
        most = sys.maxsize
        if isinstance(spec, SlidingWindowSpec):
            kind, most = SlidingWindowManager, spec.blocks_for(max_model_len, most_in_flight)
        elif isinstance(spec, MambaSpec):
            kind = AlignedMambaManager if spec.mamba_cache_mode == "align" else MambaManager
        elif spec.block_size > hash_block_size:
            kind = CoarseFullAttentionManager
        managers.append(kind(spec, pool, group_id, size, retention_interval, most))
    if not enable_caching:
        return KVCacheCoordinatorNoPrefixCache(pool, managers)
    if len(managers) == 1:
        return UnitaryKVCacheCoordinator(pool, managers)
    return HybridKVCacheCoordinator(pool, managers)
