"""Random things that happen to a scheduler."""

import contextlib
from typing import Any

import pagesim
from pagesim import SequenceStatus
from pagesim.errors import UsageError
from tests.timeline.random_calls.source import Source, rare


class SchedulerRun(Source):
    """A scheduler and its engine, one public call at a time; the seed says which policies.

    A step is ``schedule()``, then a call for each sequence that computed, then the end of those
    that are finished. Requests come, go and fork in between.
    """

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        chunked, caching, swap = (self.random.random() < 0.5 for _ in range(3))
        config = pagesim.SchedulerConfig(
            max(self.random.choice([16, 24]), 0 if chunked else 40),
            max_num_seqs=self.random.choice([2, 4, 9]),
            max_model_len=40,
            num_lookahead_slots=self.random.choice([0, 0, 2]),
            enable_chunked_prefill=chunked,
            preemption_mode="swap" if swap else None,
            policy=self.random.choice(["fcfs", "priority"]),
            delay_factor=self.random.choice([0.0, 2.0]),
        )
        cache = pagesim.CacheConfig(
            4, 10, self.random.choice([2, 16]), enable_prefix_caching=caching, watermark=0.0
        )
        self.now = 0.0
        self.subject = self.scheduler = pagesim.Scheduler(config, cache, clock=lambda: self.now)
        self.computing: list[tuple[pagesim.SequenceGroup, Any]] = []
        self.finished = self.stuck = False
        self._ids = 0

    def step(self) -> None:
        """One call; a `schedule()` that raises is a result like any other."""
        if self.random.random() < 0.2:
            self.random.choice([*[self.arrive] * 5, self.fork, self.fork, self.end, self.abort])()
        elif self.stuck and rare(self.random):
            self.stuck = False
            self.abort()
        elif self.computing:
            self.compute(*self.computing.pop(0))
        elif self.finished:
            self.finished = False
            self.scheduler.free_finished_seq_groups()
        else:
            self.schedule()

    def arrive(self) -> None:
        prefix = self.random.choice([[1, 2, 3, 4], [1, 2, 3, 4, 5, 6, 7, 8, 9], [7] * 13])
        prompt = prefix + [self.random.randrange(3) for _ in range(self.random.randrange(9))]
        if rare(self.random):
            prompt *= 3  # some of these are too long
        self._ids += 1
        name = self.random.choice([f"request {self._ids}", f"{self._ids}"])
        seq = pagesim.Sequence(self._ids, prompt, 4)
        priority = self.random.randrange(3)
        group = pagesim.SequenceGroup(name, [seq], self.now, priority=priority)
        self.scheduler.add_seq_group(group)

    def fork(self) -> None:
        groups = [g for g in self.scheduler.running if len(g.seqs) == 1 and not g.is_prefill()]
        if groups and not self.computing and not self.finished and rare(self.random):
            group = self.random.choice(groups)
            self._ids += 1
            child = group.first_seq.fork(self._ids)
            group.add(child)
            self.scheduler.fork_seq(group.first_seq, child)

    def end(self) -> None:
        """One member ends, and the others go on without it."""
        groups = [group for group in self.scheduler.running if len(group.seqs) > 1]
        if groups and not self.computing and not self.finished:
            group = self.random.choice(groups)
            seq = self.random.choice(group.seqs[1:])  # the first names the request
            seq.status = SequenceStatus.FINISHED_STOPPED
            self.scheduler.free_seq(seq)
            group.remove(seq.seq_id)

    def abort(self) -> None:
        queues = (self.scheduler.waiting, self.scheduler.running, self.scheduler.swapped)
        names = [group.request_id for queue in queues for group in queue]
        chosen = {*self.random.choices(names, k=self.random.randrange(1, 3))} if names else {"?"}
        self.computing = [pair for pair in self.computing if pair[0].request_id not in chosen]
        self.scheduler.abort_seq_group(chosen)

    def schedule(self) -> None:
        self.now += 1.0
        self.stuck = True
        with contextlib.suppress(pagesim.NoFreeBlocksError, RuntimeError, UsageError):
            metadata, outputs, _ = self.scheduler.schedule()
            groups = [scheduled.seq_group for scheduled in outputs.scheduled_seq_groups]
            self.computing = list(zip(groups, metadata, strict=True))
            self.stuck = False

    def compute(self, group: pagesim.SequenceGroup, metadata: Any) -> None:
        """What an engine does for a group once its tokens are there."""
        ends = self.random.random() < 0.06
        for seq in group.seqs:
            seq.data.update_num_computed_tokens(metadata.token_chunk_size)
            if metadata.do_sample:
                token = self.random.randrange(2)
                seq.append_token_id(token, {token: pagesim.Logprob(0.0)})
                if ends:
                    self.finished = True
                    seq.status = SequenceStatus.FINISHED_STOPPED
        if self.finished and rare(self.random):  # or free_finished_seq_groups does it
            for seq in group.get_finished_seqs():
                self.scheduler.free_seq(seq)
