"""`with pagesim.record(manager) as run:` — everything that happens in the block is in the run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pagesim.effects import Name
from pagesim.timeline import hooks
from pagesim.timeline.capture import capture
from pagesim.timeline.desk import Desk
from pagesim.timeline.log import Log
from pagesim.timeline.run import Timeline
from pagesim.timeline.tap import TAPS, Tap
from pagesim.v0.block.block_table import BlockTable
from pagesim.v0.block.cpu_gpu_block_allocator import CpuGpuBlockAllocator
from pagesim.v0.block.pool_allocator import PoolAllocator
from pagesim.v0.block_manager import SelfAttnBlockSpaceManager
from pagesim.v0.scheduler import Scheduler


@contextmanager
def record(
    subject: Scheduler | SelfAttnBlockSpaceManager | CpuGpuBlockAllocator | PoolAllocator,
) -> Iterator[Timeline]:
    """Record what happens to the pages of a manager, or of an allocator and the tables on it.

    Of a scheduler its decisions are recorded, too: each call of ``schedule()`` is a step of the
    run, and every state has the queues.

    The run can be looked at while it is recorded, and keeps what it has when the block is left by
    an exception. Recorders nest: two on one allocator see the same events, each its own part.
    Recording knows of one thread. An allocator of one device that belongs to a pair is recorded
    together with the other. TypeError for anything else than these; a token beyond 64 bits is a
    UsageError while somebody records.
    """
    scheduler = subject if isinstance(subject, Scheduler) else None
    if isinstance(subject, Scheduler):
        subject = subject.block_manager
    if isinstance(subject, SelfAttnBlockSpaceManager):
        allocator: CpuGpuBlockAllocator | PoolAllocator = subject.block_allocator
        tables: dict[Name, BlockTable] = dict(subject.block_tables.items())
    elif isinstance(subject, CpuGpuBlockAllocator | PoolAllocator):
        pair = subject.pair if isinstance(subject, PoolAllocator) else None
        allocator, tables = pair or subject, {}
    else:
        raise TypeError(f"record a scheduler, a block manager or an allocator, not {subject!r}")
    tap = TAPS.get(allocator.undo)
    if tap is None:
        tap = Tap(Log(capture(allocator, tables, scheduler)), tables)
        if not TAPS:
            hooks.install()
        TAPS[allocator.undo] = tap
        if scheduler is not None:
            tap.desk = Desk(tap, scheduler)
            tap.desk.know()
    else:
        tap.include(tables, capture(allocator, tables).tables)
        if scheduler is not None and tap.desk is None:
            tap.desk = Desk(tap, scheduler)
            tap.desk.join()
    if isinstance(subject, SelfAttnBlockSpaceManager):
        tap.managers.add(subject)
    tap.listeners += 1
    run = Timeline(tap.log, start=len(tap.log), tap=tap)
    try:
        yield run
    finally:
        run._stop, run._tap = len(tap.log), None
        tap.listeners -= 1
        if not tap.listeners:
            del TAPS[allocator.undo]
            if not TAPS:
                hooks.uninstall()
