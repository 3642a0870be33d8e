"""Which KV cache group shortens a hit of V1's scheduler, told by the groups while it runs."""

from collections import defaultdict
from typing import Any

import pagesim
from pagesim.timeline import Timeline
from tests.timeline.random_calls.groups import GroupsRun


class WatchedGroupsRun(GroupsRun):
    """Random calls of a scheduler with several groups; each of them is asked alone as well."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.facts: dict[str, set[Any]] = defaultdict(set)
        self.lost: dict[Any, int] = {}
        manager = self.scheduler.kv_cache_manager
        self.coordinator = manager.coordinator
        self._find, self._allocate = manager.get_computed_blocks, manager.allocate_slots
        manager.get_computed_blocks = self.find  # type: ignore[method-assign]
        manager.allocate_slots = self.allocate  # type: ignore[method-assign]

    def find(self, request: Any) -> Any:
        blocks, hit, boundary = self._find(request)
        self.lost[request.request_id] = 0
        if self.scheduler.cache_config.enable_prefix_caching:
            ids = self.coordinator.kinds[0]
            first = self.coordinator.single_type_managers[ids[0]]
            alone = first.find_longest_cache_hit(request.block_hashes, request.num_tokens - 1, ids)
            self.lost[request.request_id] = len(alone[0]) * first.block_size - hit
        return blocks, hit, boundary

    def allocate(self, request: Any, *more: Any, **options: Any) -> Any:
        told = self._allocate(request, *more, **options)
        if told is not None and self.lost.pop(request.request_id, 0):
            self.facts["groups"].add(request.request_id)
        return told


def random_run(seed: int, steps: int = 150) -> tuple[Timeline, WatchedGroupsRun]:
    """A recorded run, and the truth about it."""
    source = WatchedGroupsRun(seed)
    with pagesim.record(source.subject) as run:
        source.steps(steps)
    return run, source
