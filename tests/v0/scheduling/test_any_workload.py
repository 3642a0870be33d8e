"""Whatever comes: budgets hold, nobody is lost, no block leaks, a failed step changes nothing."""

import random
from itertools import count
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

import pagesim
from tests.v0.scheduling.engine import Engine

Status = pagesim.SequenceStatus
SETTINGS = settings(max_examples=60, derandomize=True)
CONFIGS = st.fixed_dictionaries(
    {
        "gpu": st.integers(3, 14),
        "cpu": st.integers(0, 12),
        "block_size": st.sampled_from([1, 2, 4]),
        "watermark": st.sampled_from([0.0, 0.01, 0.2]),
        "max_num_batched_tokens": st.sampled_from([8, 16, 32]),
        "max_num_seqs": st.integers(1, 6),
        "max_model_len": st.sampled_from([12, 30]),
        "num_lookahead_slots": st.sampled_from([0, 0, 1, 5]),
        "enable_chunked_prefill": st.booleans(),
        "preemption_mode": st.sampled_from(["swap", "swap", "recompute", None]),
        "enable_prefix_caching": st.booleans(),
        "sliding_window": st.sampled_from([None, None, None, 3]),
        "policy": st.sampled_from(["fcfs", "priority"]),
        "delay_factor": st.sampled_from([0.0, 0.0, 2.0]),
    }
)


class Run:
    """One random workload on one scheduler, checked after every step."""

    def __init__(self, config: dict[str, Any], seed: int) -> None:
        if config["sliding_window"]:  # vLLM knows no window together with caching
            config = config | {"enable_prefix_caching": False}
        if not config["enable_chunked_prefill"]:  # and no step smaller than the longest prompt
            budget = max(config["max_num_batched_tokens"], config["max_model_len"])
            config = config | {"max_num_batched_tokens": budget}
        self.config, self.random = config, random.Random(seed)
        self.loses = config["policy"] == "priority" and config["preemption_mode"] == "swap"
        self.engine = Engine(**config)
        self.failures = self.preempted = self.next_id = 0
        self.children = count(1000)

    def step(self) -> None:
        e, r = self.engine, self.random
        if r.random() < 0.5 and len(e.scheduler.waiting) < 4:
            prompt = [r.choice([1, 2]) for _ in range(r.randint(1, 14))]
            name, priority = chr(97 + self.next_id), r.randint(0, 3)
            e.add(name, prompt, seq_id=self.next_id, priority=priority)
            self.next_id += 1
        running = [g for g in e.scheduler.running if not g.is_prefill()]
        if running and r.random() < 0.2 and len(running[-1].seqs) < 4:
            parent = r.randrange(len(running[-1].seqs))
            e.fork(running[-1].request_id, next(self.children), parent)
        if several := [group for group in running if len(group.seqs) > 1]:
            group = r.choice(several)
            members = r.sample(group.seqs, r.randrange(len(group.seqs)))
            e.end(group.request_id, *(seq.seq_id for seq in members if r.random() < 0.3))
        if r.random() < 0.05 and e.groups:
            e.scheduler.abort_seq_group(r.choice(list(e.groups)))
        finish = r.choice(e.queues[1]) if e.queues[1] and r.random() < 0.15 else ""
        before, order = e.everything(), [g.request_id for g in e.scheduler.running]
        try:
            out = e.step(finish, tokens=r.choice([1, 1, 1, 2]))
        except (RuntimeError, pagesim.UsageError, pagesim.NoFreeBlocksError) as error:
            self.failures += 1
            assert e.everything() == before, error
            assert not e.scheduler.journal.active
            victims = order or [g.request_id for g in e.scheduler.swapped] or list(e.queues[0])
            e.scheduler.abort_seq_group(victims[-1])
        else:
            self.preempted += out.preempted
            self.check(out)
        self.check_places()

    def check(self, out: Any) -> None:
        """The budgets, and that everybody who computes has a slot for every token."""
        config = self.engine.scheduler.scheduler_config
        groups = [scheduled.seq_group for scheduled in out.scheduled_seq_groups]
        assert len({group.request_id for group in groups}) == len(groups)
        assert len(groups) <= config.max_num_seqs
        assert out.num_batched_tokens <= config.max_num_batched_tokens
        assert all(scheduled.token_chunk_size > 0 for scheduled in out.scheduled_seq_groups)
        if all(len(group.seqs) == 1 for group in groups):
            assert out.num_batched_tokens == sum(
                s.token_chunk_size for s in out.scheduled_seq_groups
            )
        prompts = [meta.is_prompt for meta in self.engine.metadata]
        assert prompts == sorted(prompts, reverse=True)
        assert prompts.count(True) == out.num_prefill_groups
        for meta in self.engine.metadata:
            for seq_id, ids in meta.block_tables.items():
                seq = meta.seq_data[seq_id]
                assert len(ids) * self.engine.block_size >= seq.get_num_computed_tokens()

    def check_places(self) -> None:
        """Every group is in the queue that its status says, or done; no block is lost."""
        e = self.engine
        s, manager = e.scheduler, e.scheduler.block_manager
        queues = {Status.WAITING: s.waiting, Status.RUNNING: s.running, Status.SWAPPED: s.swapped}
        for group in e.groups.values():
            places = [status for status, queue in queues.items() if group in queue]
            status = group.first_seq.status
            if self.loses and places == [Status.WAITING] and status is Status.SWAPPED:
                continue  # where vLLM puts what priority swaps out
            assert places == ([status] if status in queues else []), group
        taken = {i for table in manager.block_tables.values() for i in table.physical_block_ids}
        if manager.sliding_window is None:
            total = self.config["gpu"] + self.config["cpu"]
            assert sum(e.free) + len(taken) == total


@SETTINGS
@given(CONFIGS, st.integers(0, 10**6))
def test_any_workload(config: dict[str, Any], seed: int) -> None:
    run = Run(config, seed)
    for _ in range(25):
        run.step()


def test_these_workloads_do_fail_and_preempt() -> None:
    """The test above would be worth little if steps never failed half way."""
    seen = {"failures": 0, "preempted": 0}
    base = {"watermark": 0.0, "max_num_batched_tokens": 16, "max_num_seqs": 6, "max_model_len": 30}
    base |= {"policy": "fcfs", "delay_factor": 0.0}
    for seed in range(20):
        config = base | {
            "gpu": 8,
            "cpu": 2 + seed % 4 * 2,
            "block_size": 2,
            "num_lookahead_slots": seed % 3,
        }
        config |= {"enable_chunked_prefill": seed % 2 == 0, "enable_prefix_caching": seed % 5 == 0}
        run = Run(config | {"preemption_mode": "swap", "sliding_window": None}, seed)
        for _ in range(25):
            run.step()
        seen["failures"] += run.failures
        seen["preempted"] += run.preempted
    assert seen["failures"] > 30
    assert seen["preempted"] > 20
