"""Orca (Max) in the player, in units of a chosen size: one row per request."""

from collections.abc import Sequence
from dataclasses import replace

from pagesim.checks import check_int
from pagesim.errors import UsageError
from pagesim.simulation.baselines.buddy import Allocator
from pagesim.simulation.baselines.contiguous import ContiguousPolicy
from pagesim.simulation.free_block_ids import FreeBlockIds
from pagesim.simulation.recorded import RecordedMemory
from pagesim.simulation.simulate import Simulation, simulate
from pagesim.workload.request import Request, Workload


def record_max(
    requests: Workload | Sequence[Request], *, pool: int, max_model_len: int, unit: int = 1
) -> Simulation:
    """`simulate(…, policy="max", saturated=True, record=True)` in units of a chosen size.

    ``pool``, ``max_model_len`` and ``unit`` are in slots; a block of the timeline is one unit. Rows
    are taken in order, except that the one freed last is taken first. UsageError unless pool and
    ``max_model_len`` are whole numbers of units.
    """
    check_int("unit", unit, 1)
    for name, slots in (("pool", pool), ("max_model_len", max_model_len)):
        if check_int(name, slots, 1) % unit:
            raise UsageError(f"{name} must be a whole number of {unit}-slot units, not {slots}")
    rows = ContiguousPolicy(pool, max_model_len, "max", RowAllocator(pool, max_model_len))
    memory = RecordedMemory(rows, requests, unit)
    for request in requests:
        memory.arrive(request)
    simulation = simulate(
        requests, policy=memory, max_model_len=max_model_len, saturated=True, progress=False
    )
    run = memory.finish()
    run.notes = replace(run.notes, clock=simulation.waste.ends())
    return replace(simulation, policy="max", timeline=run)


class RowAllocator(Allocator):
    """Rows of ``size`` slots, the one freed last first; what is left of the pool stays unused.

    Only whole rows are ever requested.
    """

    def __init__(self, pool: int, size: int) -> None:
        self._size = size
        self._free = FreeBlockIds(range(0, pool // size * size, size))
        self.largest = size if self._free else 0

    def allocate(self, size: int) -> tuple[int, int] | None:
        return (self._free.popleft(), self._size) if self._free else None

    def free(self, start: int) -> None:
        self._free.appendleft(start)
