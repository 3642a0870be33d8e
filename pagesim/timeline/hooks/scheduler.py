"""What a scheduler decides: who is admitted, preempted, brought back; comes after the other hooks.

A decision is one event: what it does to blocks and tables is told with it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pagesim.timeline.desk import RUNNING, SWAPPED, WAITING, Desk, Leaving
from pagesim.timeline.hooks import calls as _calls  # noqa: F401 (swap_in is wrapped again)
from pagesim.timeline.hooks.registry import hook, hook_again
from pagesim.timeline.tap import TAPS
from pagesim.v0.block_manager import SelfAttnBlockSpaceManager
from pagesim.v0.scheduler import Scheduler
from pagesim.v0.sequence import SequenceGroup, SequenceStatus


def desk_of(subject: Scheduler | SelfAttnBlockSpaceManager) -> Desk | None:
    """The recording of this scheduler, or of the one that has this manager; None without one."""
    tap = TAPS.get(subject._undo)
    return None if tap is None else tap.desk


# -- requests come and go ------------------------------------------------------------------------


@hook(Scheduler, "add_seq_group")
def _arrive(plain: Any) -> Any:
    def add_seq_group(self: Scheduler, seq_group: SequenceGroup) -> None:
        desk = desk_of(self)
        if desk is None:
            plain(self, seq_group)
            return

        def arrive() -> None:
            plain(self, seq_group)
            desk.enter(seq_group, WAITING)

        desk.decide("arrive", seq_group, arrive)

    return add_seq_group


@hook(Scheduler, "abort_seq_group")
def _abort(plain: Any) -> Any:
    def abort_seq_group(self: Scheduler, request_id: str | Iterable[str]) -> None:
        desk = desk_of(self)
        if desk is None:
            plain(self, request_id)
            return
        wanted = {request_id} if isinstance(request_id, str) else set(request_id)
        missing = wanted.copy()
        leaving: list[Leaving] = []
        for queue in (self.waiting, self.running, self.swapped):
            found = [group for group in queue if group.request_id in missing]
            missing.difference_update(group.request_id for group in found)
            leaving += [("abort", group, group.first_seq.seq_id) for group in found]
        desk.dismiss(leaving, plain, self, wanted)

    return abort_seq_group


@hook(Scheduler, "free_finished_seq_groups")
def _finish(plain: Any) -> Any:
    def free_finished_seq_groups(self: Scheduler) -> None:
        desk = desk_of(self)
        if desk is None:
            plain(self)
            return
        tables = self.block_manager.block_tables
        leaving: list[Leaving] = []
        for group in self.running:
            finished = [seq for seq in group.seqs if seq.status > SequenceStatus.SWAPPED]
            if group.first_seq in finished:
                leaving.append(("finish", group, group.first_seq.seq_id))
            elif members := [seq.seq_id for seq in finished if seq.seq_id in tables]:
                leaving.append(("free", group, members[0]))
        desk.dismiss(leaving, plain, self)

    return free_finished_seq_groups


# -- a step --------------------------------------------------------------------------------------


@hook(Scheduler, "schedule")
def _schedule(plain: Any) -> Any:
    def schedule(self: Scheduler) -> Any:
        desk = desk_of(self)
        return plain(self) if desk is None else desk.schedule(lambda: plain(self))

    return schedule


@hook(Scheduler, "_schedule")
def _decide(plain: Any) -> Any:
    def _schedule(self: Scheduler) -> Any:
        desk = desk_of(self)
        return plain(self) if desk is None else desk.all_or_nothing(lambda: plain(self))

    return _schedule


@hook(Scheduler, "_allocate_and_set_running")
def _admit(plain: Any) -> Any:
    def _allocate_and_set_running(self: Scheduler, seq_group: SequenceGroup) -> None:
        desk = desk_of(self)
        if desk is None:
            plain(self, seq_group)
            return

        def admit() -> None:
            plain(self, seq_group)
            desk.leave(seq_group)
            desk.enter(seq_group, RUNNING)

        desk.decide("admit", seq_group, admit)

    return _allocate_and_set_running


@hook(Scheduler, "_preempt")
def _preempt(plain: Any) -> Any:
    def _preempt(
        self: Scheduler, victim: SequenceGroup, swap_pairs: Any, *, by_priority: bool = False
    ) -> bool:
        desk = desk_of(self)
        if desk is None:
            return bool(plain(self, victim, swap_pairs, by_priority=by_priority))

        def preempt() -> bool:
            recompute: bool = plain(self, victim, swap_pairs, by_priority=by_priority)
            desk.leave(victim)
            if recompute or by_priority:
                desk.enter(victim, WAITING, 0)
            else:
                desk.enter(victim, SWAPPED)
            return recompute

        return bool(desk.decide("preempt", victim, preempt))

    return _preempt


@hook(Scheduler, "_ignore")
def _ignore(plain: Any) -> Any:
    def _ignore(self: Scheduler, seq_group: SequenceGroup, out: Any) -> None:
        desk = desk_of(self)
        if desk is None:
            plain(self, seq_group, out)
            return

        def ignore() -> None:
            plain(self, seq_group, out)
            desk.leave(seq_group)

        desk.decide("ignore", seq_group, ignore)

    return _ignore


@hook_again(SelfAttnBlockSpaceManager, "swap_in")
def _resume(call: Any) -> Any:
    """In a step it is the scheduler who brings a group back."""

    def swap_in(self: SelfAttnBlockSpaceManager, seq_group: SequenceGroup) -> Any:
        desk = desk_of(self)
        if desk is None or not desk.deciding:
            return call(self, seq_group)

        def resume() -> Any:
            moved = call(self, seq_group)
            desk.leave(seq_group)
            desk.enter(seq_group, RUNNING)
            return moved

        return desk.decide("resume", seq_group, resume)

    return swap_in
