"""The same server for a cache of several groups: `paged_v1` with more than one table a request.

The pool is counted in places. All blocks have equally many bytes, whatever their group, and a block
has as many places as there are tokens up to where the blocks of all groups end. `groups.units_of`
says how many of them a token takes in each group. A state takes all places of its block.
"""

from array import array
from collections.abc import Iterable, Sequence
from math import nan

from pagesim.journal.effects import Name
from pagesim.simulation.groups import names_of, places_per_slot, units_of
from pagesim.simulation.paged_v1 import PagedV1Server
from pagesim.simulation.serving import Step, costs
from pagesim.simulation.waste import Slots, usage
from pagesim.sizing.kv_cache_spec import MambaSpec, SlidingWindowSpec
from pagesim.v1.config import CacheConfig, SchedulerConfig
from pagesim.v1.kv_cache_utils import KVCacheBlock
from pagesim.v1.mamba_manager import AlignedMambaManager
from pagesim.v1.request import Request as V1Request


class PagedV1GroupsServer(PagedV1Server):
    """`PagedV1Server` for groups; ``held`` has what each of them holds in every step."""

    def __init__(
        self,
        scheduler_config: SchedulerConfig,
        cache_config: CacheConfig,
        record: bool = False,
        layers: Sequence[int] = (),
    ) -> None:
        super().__init__(scheduler_config, cache_config, record)
        self._places = cache_config.block_size
        self._managers = self.scheduler.kv_cache_manager.coordinator.single_type_managers
        self._specs = self.scheduler.kv_cache_manager.kv_cache_groups
        self._units = units_of(self._specs)
        self.layers = tuple(layers) or (1,) * len(self._specs)
        """The layers of each group: the places of others are padding."""
        self._slot = places_per_slot(self._specs, self.layers)
        self.group_names = tuple(names_of(self._specs))
        self.held = array("q")
        """For each step, and in it for each group, its `waste_groups.GROUP_PARTS`."""
        self._lost: list[tuple[int, int]] = []
        """Rows admitted since the last step was told, and what only some groups had of them."""
        self._may_spin = True
        """A state's admission asks for one block, and its second chunk needs two."""

    @property
    def cached(self) -> int:
        return self.scheduler.kv_cache_manager.block_pool.num_cached_free_blocks * self._places

    def schedule(self, clock: float) -> Step | None:
        step = super().schedule(clock)
        lost, self._lost = self._lost, []
        return step and step._replace(lost=lost)

    def tables_of(self, group_id: int) -> dict[int, list[int]]:
        """Return copies of a group's block tables by row; :meth:`tables` has those of group 0."""
        tables = self._managers[group_id].req_to_blocks
        return {int(row): [block.block_id for block in table] for row, table in tables.items()}

    def _find_starving(self) -> dict[int, str]:
        """As with one group; if none is hopeless by its size, the head of the queue never ends."""
        found = super()._find_starving()
        if not found and self.scheduler.waiting:
            row = int(self.scheduler.waiting.peek_request().request_id)
            blocks = self.scheduler.cache_config.num_gpu_blocks - 1
            left = f"the pool has {blocks} blocks without the null block"
            found = {row: f"it is preempted over and over: {left}"}
        return found

    def _note_found(self, found: Iterable[tuple[Name, int]]) -> None:
        found, requests = list(found), self.scheduler.requests
        super()._note_found(found)
        for row, tokens in found:
            if boundary := requests[row].shared_prefix_boundary:
                self._lost.append((int(row), boundary - tokens))

    def _costs(self, parts: list[tuple[int, int, bool]]) -> tuple[int, int, int]:
        """What all layers read together, as so many tokens in each of them.

        A layer with a window reads at most its tokens, and one with states a whole state.
        """
        prompts = decodes = places = 0
        num_states = sum(start > 0 for start, *_ in parts)
        for spec, units, layers in zip(self._specs, self._units, self.layers, strict=True):
            if isinstance(spec, MambaSpec):
                places += num_states * self._places * layers
                prompts, decodes, _ = costs(parts)
            else:
                window = spec.sliding_window if isinstance(spec, SlidingWindowSpec) else None
                prompts, decodes, read = costs(parts, window)
                places += read * units * layers
        return prompts, decodes, round(places / self._slot)

    def _share_of_tokens(self) -> float:
        return nan  # the groups' blocks are not filled alike

    # -- where the places are --------------------------------------------------------------------

    def _usage(self) -> Slots:
        places, pool = self._places, self.scheduler.kv_cache_manager.block_pool
        free = pool.get_num_free_blocks() * places
        empty = 0
        for manager, spec, units in zip(self._managers, self._specs, self._units, strict=True):
            tables = manager.req_to_blocks
            of_running = [(r, tables.get(r.request_id, [])) for r in self.scheduler.running]
            blocks = set[KVCacheBlock]().union(*[table for _, table in of_running])
            held = (len(blocks) - (pool.null_block in blocks)) * places
            internal = behind = 0
            if not isinstance(spec, MambaSpec):
                size = spec.block_size
                internal = units * sum([-r.num_computed_tokens % size for r, _ in of_running])
            if isinstance(spec, SlidingWindowSpec):
                behind = units * self._num_behind(spec, of_running)
            self.held.extend((held - internal - behind, internal, behind))
            empty += internal
        return usage(self.pool - free, free - self.cached, self._head_waits(), empty=empty)

    def _num_behind(
        self, spec: SlidingWindowSpec, tables: list[tuple[V1Request, list[KVCacheBlock]]]
    ) -> int:
        """Tokens in blocks of a window that no request reads in this step.

        They are in the first blocks of a table. A block of several owners is behind as far as it
        is for the last of them.
        """
        scheduled, size = self._now[0].num_scheduled_tokens, spec.block_size
        seen: dict[KVCacheBlock, tuple[int, int]] = {}
        for request, table in tables:
            start = request.num_computed_tokens - scheduled.get(request.request_id, 0)
            skipped = max(start - spec.sliding_window + 1, 0)
            for index in range(min(skipped // size, len(table) - 1), -1, -1):
                block = table[index]
                if block.is_null:
                    break
                owners, least = seen.get(block, (0, size))
                seen[block] = owners + 1, min(least, skipped - index * size)
        return sum([n for block, (owners, n) in seen.items() if owners == block.ref_cnt])

    def _head_waits(self) -> bool:
        """Blocks are not what it lacks if it waits for a state that is being computed."""
        if not self.scheduler.waiting:
            return False
        head = self.scheduler.waiting.peek_request()
        hits, _, _ = self.scheduler.kv_cache_manager.get_computed_blocks(head)
        for manager, blocks in zip(self._managers, hits.blocks, strict=True):
            if not isinstance(manager, AlignedMambaManager) or not blocks:
                continue
            if blocks[-1].key in manager.cached_blocks_this_step:
                return False
        return super()._head_waits()
