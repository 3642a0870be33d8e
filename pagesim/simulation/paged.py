"""The paged policy: the real scheduler and block manager, every token stepped.

This is what vLLM's engine does around its scheduler: queue what arrives, schedule, append the
tokens that a model has sampled, or would have, and free what is finished.
"""

from collections import deque
from collections.abc import Collection, Iterable, Mapping
from contextlib import ExitStack
from itertools import islice

from pagesim.cache import AttentionMetadata, build_attention_metadata
from pagesim.errors import UsageError
from pagesim.simulation.paged_requests import (
    RequestTag,
    check_sampled,
    check_samples,
    prompt_of,
    why_never,
    why_stuck,
)
from pagesim.simulation.paged_slots import PagedSlots, computed_by
from pagesim.simulation.serving import Gauges, PagedServing, Step, costs
from pagesim.timeline import Timeline
from pagesim.timeline import record as recorded
from pagesim.v0.config import CacheConfig, SchedulerConfig
from pagesim.v0.scheduler import Scheduler
from pagesim.v0.scheduler_outputs import SchedulerOutputs, SequenceGroupMetadata
from pagesim.v0.sequence import Sequence, SequenceGroup, SequenceStatus
from pagesim.workload.request import Request

STOPPED = SequenceStatus.FINISHED_STOPPED
CAPPED = SequenceStatus.FINISHED_LENGTH_CAPPED


class PagedServer(PagedServing):
    """`pagesim.Scheduler` with its block manager; see :class:`pagesim.simulation.PagedServing`.

    ``samples`` of each request run in one group and share what the prompt fills, as vLLM's groups
    did before 0.6.4; such a group can be preempted only by swapping. A model, which brings its own
    tokens, forks instead: see :meth:`fork`.

    Cached blocks that no sequence uses count as free: they are evicted when blocks are needed.
    The blocks of the watermark are external while a request waits for them. ``record`` asks for a
    timeline.

    As in vLLM, a request that was swapped out during a chunked prefill never returns if the rest of
    its prompt exceeds the budget: in the end it is neither finished nor ignored.
    """

    can_fork = True

    def __init__(
        self,
        scheduler_config: SchedulerConfig,
        cache_config: CacheConfig,
        record: bool = False,
        samples: int = 1,
    ) -> None:
        self._samples = check_samples(samples, scheduler_config)
        self.scheduler = Scheduler(scheduler_config, cache_config, clock=lambda: self._clock)
        self.pool = cache_config.num_gpu_blocks * cache_config.block_size
        self._recording = ExitStack()
        self._timeline = self._recording.enter_context(recorded(self.scheduler)) if record else None
        self._clock = 0.0
        self._arrived: deque[tuple[RequestTag, Request]] = deque()
        """Requests that have arrived and are not yet in the scheduler's queue."""
        self._now: tuple[list[SequenceGroupMetadata], SchedulerOutputs]
        self._why_not: dict[int, str] = {}
        """By row: why a request was ignored."""
        self._slots = PagedSlots(self.scheduler, samples > 1)

    @property
    def blocked(self) -> bool:
        return bool(self.scheduler.waiting)

    def add(self, row: int, request: Request, samples: int | None = None) -> bool:
        """Queue a request, which may :meth:`fork` into ``samples``.

        UsageError for samples that could be preempted and never recomputed.
        """
        config, cache = self.scheduler.scheduler_config, self.scheduler.cache_config
        samples = self._samples if samples is None else check_samples(samples, config)
        if (reason := why_never(request, config, cache, samples)) is not None:
            self._why_not[row] = reason
            return False
        self._slots.shares |= samples > 1
        tag = RequestTag(row, request.total_tokens, -1 - row, samples)
        self._arrived.append((tag, request))
        return True

    def why_not(self, row: int) -> str:
        if row in self._why_not:
            return self._why_not[row]
        swapped, config = self.scheduler.swapped, self.scheduler.scheduler_config
        groups = [*swapped, *self.scheduler.waiting]
        rows = [group.sampling_params.row for group in groups]
        if row in rows[: len(swapped) or 1]:
            return why_stuck(groups[rows.index(row)], config)
        if groups and row in [*rows, *(tag.row for tag, _ in self._arrived)]:
            return f"it waits behind request {groups[0].request_id!r}"
        raise UsageError(f"request {row} is neither ignored nor stuck")

    def schedule(self, clock: float) -> Step | None:
        scheduler, self._clock = self.scheduler, clock
        self._queue()
        if not scheduler.has_unfinished_seqs():
            return None
        metadata, out, _ = scheduler.schedule()
        self._now = metadata, out
        preempted = [group.sampling_params.row for group in self._preempted(out)]
        config = scheduler.scheduler_config
        why = {g.sampling_params.row: why_stuck(g, config) for g in out.ignored_seq_groups}
        self._why_not |= why
        ignored = list(why)
        if out.is_empty():
            return Step(preempted=preempted, ignored=ignored) if preempted or ignored else None
        prefills = islice(out.scheduled_seq_groups, out.num_prefill_groups)
        cache = scheduler.cache_config
        parts, found = computed_by(metadata, cache.block_size)
        moved = len(out.blocks_to_swap_in) + len(out.blocks_to_swap_out)
        return Step(
            len(scheduler.running),
            self._slots.usage(metadata),
            *costs(parts, cache.sliding_window),
            moved * cache.block_size,
            [scheduled.seq_group.sampling_params.row for scheduled in prefills],
            preempted,
            ignored,
            found,
        )

    def batch(self) -> AttentionMetadata:
        return build_attention_metadata(self._now[0], self.scheduler.cache_config.block_size)

    @property
    def moves(self) -> SchedulerOutputs:
        return self._now[1]

    def fork(self, parent_id: int, child_id: int) -> None:
        """Let a new sequence continue from where a scheduled one is; they share its blocks.

        Call it between :meth:`schedule` and :meth:`commit`, where the child needs a token of its
        own. UsageError, with nothing changed, for a parent that samples no token in this step, an
        id that is taken, or more members than the ``samples`` that :meth:`add` was told.
        """
        group = self._sampling_group(parent_id)
        if child_id in self.scheduler.block_manager.block_tables:
            raise UsageError(f"sequence {parent_id} cannot fork: the id {child_id} is taken")
        if len(group.seqs) >= (most := group.sampling_params.samples):
            raise UsageError(
                f"sequence {parent_id} cannot fork: request {group.request_id!r} already has "
                f"{most} of {most} samples; add(…, samples={most + 1})"
            )
        self._fork(group, group.seqs_dict[parent_id], child_id)

    def drop(self, seq_id: int) -> None:
        """Take a member out of its group before :meth:`commit`; its own blocks are free at once.

        UsageError for the last member, which only `commit` ends, and as in :meth:`fork`.
        """
        group = self._sampling_group(seq_id)
        seq = group.seqs_dict[seq_id]
        group.remove(seq_id)
        self._free(seq, STOPPED)

    def commit(
        self, tokens: Mapping[int, int] | None = None, ended: Collection[int] = ()
    ) -> tuple[list[int], list[int]]:
        metadata, out = self._now
        if tokens is not None or ended:
            check_sampled(self._sampling(), tokens, ended)
        answered, finished = [], []
        for scheduled, meta in zip(out.scheduled_seq_groups, metadata, strict=True):
            group = scheduled.seq_group
            tag, seqs = group.sampling_params, group.seqs
            if meta.is_prompt and meta.do_sample:
                answered.append(tag.row)
                for i in range(1, self._samples) if tokens is None else ():
                    self._fork(group, seqs[0], seqs[0].seq_id + i)
            for seq in seqs:
                seq.data.update_num_computed_tokens(scheduled.token_chunk_size)
            if not meta.do_sample:
                continue
            for seq in seqs:
                token = self._token(seq, tag) if tokens is None else tokens[seq.seq_id]
                seq.data.token_ids.append(token)
            if len(seqs[0].data.token_ids) == tag.goal:
                for seq in seqs:
                    self._free(seq, CAPPED)
                finished.append(tag.row)
            elif ended and self._leave(group, ended):
                finished.append(tag.row)
        if finished:
            self.scheduler.free_finished_seq_groups()
            self.scheduler.get_and_reset_finished_requests_ids()
        return answered, finished

    def tables(self) -> dict[int, list[int]]:
        tables = self.scheduler.block_manager.block_tables
        return {row: table.physical_block_ids.copy() for row, table in tables.items()}

    def gauges(self) -> Gauges:
        """What the engine measures now, between two steps."""
        scheduler, manager = self.scheduler, self.scheduler.block_manager
        total, free = manager.num_total_gpu_blocks, manager.get_num_free_gpu_blocks()
        return Gauges(
            len(scheduler.running),
            len(scheduler.waiting) + len(self._arrived),
            len(scheduler.swapped),
            1.0 - free / total,
            self._slots.num_tokens() / self.pool,
        )

    def finish(self) -> Timeline | None:
        self._recording.close()
        return self._timeline

    # -- an iteration ----------------------------------------------------------------------------

    def _queue(self) -> None:
        """Move requests that have arrived to the scheduler's queue.

        A step admits ``max_num_seqs`` at most and does not look past the head of the queue, so no
        more of them, with all their tokens, need to be there. A timeline shows all of them.
        """
        scheduler = self.scheduler
        config, block_size = scheduler.scheduler_config, scheduler.cache_config.block_size
        needs_all = self._timeline is not None
        while self._arrived and (needs_all or len(scheduler.waiting) <= config.max_num_seqs):
            tag, request = self._arrived.popleft()
            seq = Sequence(tag.row * self._samples, prompt_of(request, tag.row), block_size)
            scheduler.add_seq_group(
                SequenceGroup(request.request_id, [seq], request.arrival_s, tag)
            )

    # -- members of a group ----------------------------------------------------------------------

    def _sampling(self) -> dict[int, SequenceGroup]:
        """The groups of the sequences that sample a token in this step, by sequence."""
        metadata, out = self._now
        pairs = zip(out.scheduled_seq_groups, metadata, strict=True)
        groups = [scheduled.seq_group for scheduled, meta in pairs if meta.do_sample]
        return {seq_id: group for group in groups for seq_id in group.seqs_dict}

    def _sampling_group(self, seq_id: int) -> SequenceGroup:
        if (group := self._sampling().get(seq_id)) is None:
            raise UsageError(f"sequence {seq_id} samples no token in this step")
        return group

    def _fork(self, group: SequenceGroup, parent: Sequence, child_id: int) -> None:
        child = parent.fork(child_id)
        group.add(child)
        self.scheduler.fork_seq(parent, child)

    def _leave(self, group: SequenceGroup, ended: Collection[int]) -> bool:
        """Free the members that end here; True if none goes on. The last to end stays in it."""
        leaving = [seq for seq in group.seqs if seq.seq_id in ended]
        for seq in leaving:
            self._free(seq, STOPPED)
            if len(group.seqs) > 1:
                group.remove(seq.seq_id)
        return group.is_finished()

    def _free(self, seq: Sequence, status: SequenceStatus) -> None:
        seq.status = status
        self.scheduler.free_seq(seq)

    def _token(self, seq: Sequence, tag: RequestTag) -> int:
        """The next token of a sequence: samples never produce equal tokens."""
        sample = seq.seq_id % self._samples
        return tag.token * self._samples - sample if sample else tag.token

    def _preempted(self, out: SchedulerOutputs) -> Iterable[SequenceGroup]:
        if not out.preempted:
            return ()
        if out.blocks_to_swap_out:
            swapped = self.scheduler.swapped
            return islice(swapped, len(swapped) - out.preempted, None)
        return islice(self.scheduler.waiting, out.preempted)
