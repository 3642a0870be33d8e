"""Listens to what a scheduler asks its block manager in one step, and to what it is told.

The number of blocks needed comes from the call in which the engine counts it. What is free is read
at that moment. Whether it fits is what the engine said.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from pagesim import v1
from pagesim.decision.build import AnyScheduler
from pagesim.journal.effects import Name
from pagesim.v0.block.interfaces import Device
from pagesim.v0.block_manager import AllocStatus
from pagesim.v0.scheduler import Scheduler
from pagesim.v0.sequence import SequenceGroup, SequenceStatus

ADMIT, GROW, SWAP_IN, SWAP_OUT = "admission", "growth", "swap in", "swap out"


@dataclass(frozen=True, slots=True)
class Check:
    """The engine compared the blocks that a request needs with those that it may take.

    ``fits`` is what the engine said. ``never`` is V0's third answer: the whole pool, of ``free``
    blocks, is too small. ``found`` are tokens that the prefix cache has. Of their blocks,
    ``idle`` are held by no request: whoever takes one makes the pool smaller, so they count.
    """

    request: Name
    kind: str
    needs: int
    free: int
    watermark: int
    fits: bool
    never: bool = False
    found: int = 0
    idle: int = 0

    @property
    def holds(self) -> bool:
        """Whether the inequality is true."""
        return self.needs <= self.free - self.watermark

    def __str__(self) -> str:
        where = "the whole pool has" if self.never else "free"
        if self.kind == SWAP_OUT:
            where = "free on the CPU"
        left = f"{where} {self.free:,}"
        if self.kind in (ADMIT, SWAP_IN) or self.watermark:
            left += f" - watermark {self.watermark:,} = {self.free - self.watermark:,}"
        said = "yes" if self.fits else "never" if self.never else "no"
        cached = f" of which {self.idle:,} are cached" if self.idle else ""
        hits = f"{cached} ({self.found:,} of its tokens are found)" if self.found else ""
        blocks = f"{self.needs:,} block{'' if self.needs == 1 else 's'}"
        return f"{self.request} needs {blocks}{hits}; {left}: {said}"


@contextmanager
def watched(scheduler: AnyScheduler) -> Iterator[list[Check]]:
    """A list to which each comparison of this scheduler is appended."""
    checks: list[Check] = []
    is_v0 = isinstance(scheduler, Scheduler)
    undo = _watch_v0(scheduler, checks) if is_v0 else _watch_v1(scheduler, checks)
    try:
        yield checks
    finally:
        for owner, name in undo:
            delattr(owner, name)


def _watch_v1(scheduler: Any, checks: list[Check]) -> list[tuple[Any, str]]:
    manager = scheduler.kv_cache_manager
    coordinator, pool = manager.coordinator, manager.block_pool
    count, allocate = coordinator.get_num_blocks_to_allocate, manager.allocate_slots
    counted: list[tuple[int, int]] = []

    def get_num_blocks_to_allocate(*args: Any, **more: Any) -> int:
        counted.append((count(*args, **more), pool.get_num_free_blocks()))
        return counted[-1][0]

    def allocate_slots(request: v1.Request, *args: Any, **more: Any) -> Any:
        counted.clear()
        hits = args[2].blocks if len(args) > 2 and args[2] is not None else ()
        idle = sum(not (hit.ref_cnt or hit.is_null) for group in hits for hit in group)
        is_running = request.status is v1.RequestStatus.RUNNING
        blocks = allocate(request, *args, **more)
        kept = 0 if is_running or not more.get("has_scheduled_reqs") else manager.watermark_blocks
        if loading := more.get("reserved_blocks", 0):  # they do not count for the whole prompt
            first = int(more.get("full_sequence_must_fit", False))
            counted[first:] = [(needs, free - loading) for needs, free in counted[first:]]
        # Of the whole prompt and of the step, the one that is refused, or else that needs more.
        needs, free = counted[-1] if blocks is None else max(counted)
        kind, found = GROW if is_running else ADMIT, args[1] if len(args) > 1 else 0
        name, fits = request.request_id, blocks is not None
        checks.append(Check(name, kind, needs, free, kept, fits, found=found, idle=idle))
        return blocks

    coordinator.get_num_blocks_to_allocate = get_num_blocks_to_allocate
    manager.allocate_slots = allocate_slots
    return [(coordinator, "get_num_blocks_to_allocate"), (manager, "allocate_slots")]


def _watch_v0(scheduler: Any, checks: list[Check]) -> list[tuple[Any, str]]:
    manager = scheduler.block_manager
    _watch_room(manager, checks)
    _watch_swaps(manager, checks)
    names = ("can_allocate", "can_append_slots", "_num_blocks_to_swap", "_can_swap")
    return [(manager, name) for name in names]


def _watch_room(manager: Any, checks: list[Check]) -> None:
    can_allocate, can_append_slots = manager.can_allocate, manager.can_append_slots
    kept, total = manager.watermark_blocks, manager.num_total_gpu_blocks

    def allocate(group: SequenceGroup, lookahead: int = 0) -> AllocStatus:
        free, needs = manager.get_num_free_gpu_blocks(), manager.num_required_blocks(group)
        status: AllocStatus = can_allocate(group, lookahead)
        never = status is AllocStatus.NEVER
        left, fits = total if never else free, status is AllocStatus.OK
        checks.append(Check(group.request_id, ADMIT, needs, left, kept, fits, never))
        return status

    def append_slots(group: SequenceGroup, lookahead: int) -> bool:
        free, needs = manager.get_num_free_gpu_blocks(), 0
        for seq in group.get_seqs(SequenceStatus.RUNNING):
            table = manager.block_tables[seq.seq_id]
            unseen = table.get_unseen_token_ids(seq.get_token_ids())
            needs += table.get_num_blocks_touched_by_append_slots(unseen, lookahead)
        fits = can_append_slots(group, lookahead)
        checks.append(Check(group.request_id, GROW, needs, free, 0, fits))
        return bool(fits)

    manager.can_allocate, manager.can_append_slots = allocate, append_slots


def _watch_swaps(manager: Any, checks: list[Check]) -> None:
    count_swapped, can_swap, counted = manager._num_blocks_to_swap, manager._can_swap, [0]

    def num_blocks_to_swap(*args: Any) -> int:
        counted[0] = count_swapped(*args)
        return counted[0]

    def swap(
        group: SequenceGroup, device: Device, status: SequenceStatus, lookahead: int, watermark: int
    ) -> AllocStatus:
        allocator = manager.block_allocator
        free = allocator.get_num_free_blocks(device)
        found: AllocStatus = can_swap(group, device, status, lookahead, watermark)
        never = found is AllocStatus.NEVER
        left = allocator.get_num_total_blocks(device) if never else free
        kind = SWAP_OUT if status is SequenceStatus.RUNNING else SWAP_IN
        fits, kept_free = found is AllocStatus.OK, 0 if never else watermark
        checks.append(Check(group.request_id, kind, counted[0], left, kept_free, fits, never))
        return found

    manager._num_blocks_to_swap, manager._can_swap = num_blocks_to_swap, swap
