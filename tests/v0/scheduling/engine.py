"""The smallest engine that can drive a scheduler: it samples a token for everybody, each step."""

from collections.abc import Callable
from typing import Any

import pytest

import pagesim
from pagesim.v0.scheduler_outputs import SchedulerOutputs, SequenceGroupMetadata
from tests.v0.block.state import State, everything

Status = pagesim.SequenceStatus
CHUNKS_AND_SWAP = {"enable_chunked_prefill": True, "preemption_mode": "swap"}


class Engine:
    """A scheduler, and what vLLM's engine does around it.

    ``config`` takes the fields of both configs; what is left out is roomy.
    """

    def __init__(self, **config: Any) -> None:
        self.now = 0.0
        blocks = {"num_gpu_blocks": config.pop("gpu", 100), "num_cpu_blocks": config.pop("cpu", 0)}
        cache: dict[str, Any] = {"block_size": 4, **blocks}
        limits = {"max_num_batched_tokens": 64, "max_num_seqs": 8, "max_model_len": 64}
        for name, value in config.items():
            of_cache = name in pagesim.CacheConfig.__dataclass_fields__
            (cache if of_cache else limits)[name] = value
        self.block_size = cache["block_size"]
        configs = pagesim.SchedulerConfig(**limits), pagesim.CacheConfig(**cache)
        self.scheduler = pagesim.Scheduler(*configs, clock=lambda: self.now)
        self.groups: dict[str, pagesim.SequenceGroup] = {}
        self.metadata: list[SequenceGroupMetadata] = []

    def add(
        self,
        request_id: str,
        prompt: int | list[int],
        seq_id: int | None = None,
        priority: int = 0,
        arrival: float | None = None,
    ) -> Any:
        """A request with so many tokens, all different from other requests', or with these."""
        number = len(self.groups) if seq_id is None else seq_id
        tokens = [1000 * number + i for i in range(prompt)] if isinstance(prompt, int) else prompt
        seq = pagesim.Sequence(number, tokens, self.block_size)
        self.groups[request_id] = pagesim.SequenceGroup(
            request_id, [seq], self.now if arrival is None else arrival, priority=priority
        )
        self.scheduler.add_seq_group(self.groups[request_id])
        return self.groups[request_id]

    def fork(self, request_id: str, child_id: int, parent: int = 0) -> None:
        """A further sequence in a group, the way vLLM's engine once made them."""
        group = self.groups[request_id]
        child = group.seqs[parent].fork(child_id)
        group.add(child)
        self.scheduler.fork_seq(group.seqs[parent], child)

    def end(self, request_id: str, *seq_ids: int) -> None:
        """These members are done: each returns its blocks, and the group goes with its last."""
        group = self.groups[request_id]
        for seq_id in seq_ids:
            seq = group.seqs_dict[seq_id]
            seq.status = Status.FINISHED_STOPPED
            self.scheduler.free_seq(seq)
            if len(group.seqs) > 1:
                group.remove(seq_id)
        self.scheduler.free_finished_seq_groups()

    def step(self, finish: str = "", tokens: int = 1) -> SchedulerOutputs:
        """Schedule, compute, sample; the groups named in ``finish`` (one letter each) end."""
        self.now += 1
        self.metadata, out, _ = self.scheduler.schedule()
        for scheduled, meta in zip(out.scheduled_seq_groups, self.metadata, strict=True):
            group = scheduled.seq_group
            for seq in group.seqs:
                seq.data.update_num_computed_tokens(scheduled.token_chunk_size)
                if meta.do_sample:
                    for _ in range(tokens):
                        seq.append_token_id(7, {7: pagesim.Logprob(0.0)})
                    if group.request_id in finish:
                        seq.status = Status.FINISHED_LENGTH_CAPPED
                        self.scheduler.free_seq(seq)
        if finish:
            self.scheduler.free_finished_seq_groups()
        return out

    def refuses(
        self, error: type[Exception], message: str, step: Callable[[], Any] | None = None
    ) -> None:
        """A step, or another call, raises this, and leaves everything as it was."""
        before = self.everything()
        with pytest.raises(error, match=message):
            (step or self.step)()
        assert self.everything() == before

    def steps(self, count: int) -> SchedulerOutputs:
        """The last of so many steps."""
        return [self.step() for _ in range(count)][-1]

    @property
    def queues(self) -> tuple[str, str, str]:
        """Who waits, runs, is swapped out: one letter for each request."""
        s = self.scheduler
        names = ["".join(g.request_id for g in q) for q in (s.waiting, s.running, s.swapped)]
        return names[0], names[1], names[2]

    @property
    def free(self) -> tuple[int, int]:
        """Free blocks on the GPU and on the CPU."""
        manager = self.scheduler.block_manager
        return manager.get_num_free_gpu_blocks(), manager.get_num_free_cpu_blocks()

    def status(self, request_id: str) -> str:
        """What the first sequence of a request is."""
        return self.groups[request_id].first_seq.status.name

    def everything(self) -> State:
        """All that a failed call must leave as it was."""
        s = self.scheduler
        seqs = [seq for group in self.groups.values() for seq in group.seqs]
        return everything(s.block_manager, seqs=seqs) | {
            "queues": self.queues,
            "finished": list(s._finished_requests_ids),
            "preemptions": s.num_cumulative_preemption,
            "delay": repr(s._delay),
        }


def names(out: SchedulerOutputs) -> str:
    """Who takes part in a step, one letter for each request."""
    return "".join(scheduled.seq_group.request_id for scheduled in out.scheduled_seq_groups)
