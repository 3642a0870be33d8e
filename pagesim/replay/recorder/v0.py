"""vLLM V0's scheduler."""

from __future__ import annotations

import sys
import time
from typing import Any

from pagesim.replay.recorder.common import NotServedError, Recorder, TraceFile, has, numbers, refuse


class FrozenClock:
    """A module `time` whose time() stands still, so that a step has one reading of the clock."""

    def __init__(self, now: float) -> None:
        self.time = lambda: now

    def __getattr__(self, name: str) -> Any:
        return getattr(time, name)


class V0Recorder(Recorder):
    """A step is noted when the next call begins: by then the engine has appended its tokens."""

    format = "pagesim-trace/1"
    methods: tuple[str, ...] = (
        "add_seq_group",
        "abort_seq_group",
        "fork_seq",
        "schedule",
        "get_and_reset_finished_requests_ids",
    )

    def __init__(self, scheduler: Any, file: TraceFile) -> None:
        super().__init__(scheduler, file)
        self.step: dict[str, Any] | None = None
        self.members: list[tuple[Any, int, bool]] = []
        """The sequences of the step: how long each was, and whether it samples."""
        self.finished: list[str] = []
        self.num_told = 0
        """Of the finished ids that the engine has not fetched yet, how many are noted."""

    def not_served(self) -> dict[str, Any]:
        scheduler, manager = self.scheduler, self.scheduler.block_manager
        config, kind = scheduler.scheduler_config, type(manager).__name__
        return {
            f"a {kind} in place of a SelfAttnBlockSpaceManager": kind
            != "SelfAttnBlockSpaceManager",
            "LoRA": scheduler.lora_config,
            "asynchronous output processing (make it with disable_async_output_proc=True)": has(
                scheduler, "use_async_output_proc"
            ),
            "multi-step scheduling": (has(config, "num_scheduler_steps") or 1) > 1,
            "a watermark other than 0.01": manager.watermark != 0.01,
            "blocks or requests from before the recording (record a new engine)": (
                scheduler.has_unfinished_seqs() or manager.block_tables or not self._is_new()
            ),
        }

    def _is_new(self) -> bool:
        """Whether no block was ever taken: the free lists of both devices are in order."""
        for allocator in self.scheduler.block_manager.block_allocator._allocators.values():
            plain = has(allocator, "_hashless_allocator") or allocator
            free = list(plain._free_block_indices)
            if free != sorted(allocator.all_block_ids):
                return False
        return True

    def config_of(self) -> dict[str, Any]:
        config, cache = self.scheduler.scheduler_config, self.scheduler.cache_config
        manager = self.scheduler.block_manager
        scheduler = {
            "max_num_batched_tokens": config.max_num_batched_tokens,
            "max_num_seqs": config.max_num_seqs,
            "max_model_len": config.max_model_len,
            "num_lookahead_slots": config.num_lookahead_slots,
            "enable_chunked_prefill": bool(config.chunked_prefill_enabled),
            "preemption_mode": config.preemption_mode,
            "policy": has(config, "policy") or "fcfs",
            "delay_factor": config.delay_factor,
        }
        pools = {
            "block_size": cache.block_size,
            "num_gpu_blocks": manager.num_total_gpu_blocks,
            "num_cpu_blocks": manager.num_total_cpu_blocks,
            "enable_prefix_caching": bool(cache.enable_prefix_caching),
        }
        if cache.sliding_window is not None:
            pools["sliding_window"] = cache.sliding_window
        return {"scheduler": scheduler, "cache": pools}

    def state(self) -> dict[str, Any]:
        manager = self.scheduler.block_manager
        state: dict[str, Any] = {
            "free": [manager.get_num_free_gpu_blocks(), manager.get_num_free_cpu_blocks()]
        }
        for queue in ("waiting", "running", "swapped"):
            state[queue] = [group.request_id for group in getattr(self.scheduler, queue)]
        return state

    def call_add_seq_group(self, original: Any, seq_group: Any) -> None:
        self.settle()
        refuse_request(seq_group)
        seqs = seq_group.get_seqs()
        args = {
            "request_id": seq_group.request_id,
            "seq_id": seqs[0].seq_id,
            "prompt": numbers(seqs[0].get_token_ids()),
            "arrival": seq_group.arrival_time,
        }
        if has(seq_group, "priority"):
            args["priority"] = seq_group.priority
        original(seq_group)
        self.file.write("add_request", args, {"state": self.state()})

    def call_abort_seq_group(self, original: Any, request_id: Any) -> None:
        self.settle()
        ids = {request_id} if isinstance(request_id, str) else set(request_id)
        queues = (self.scheduler.waiting, self.scheduler.running, self.scheduler.swapped)
        # vLLM frees them in the order of its queues; one by one, each has a state to note.
        for name in [g.request_id for queue in queues for g in queue if g.request_id in ids]:
            original(name)
            self.file.write("abort", {"request_id": name}, {"state": self.state()})

    def call_fork_seq(self, original: Any, parent_seq: Any, child_seq: Any) -> None:
        refuse(f"sequence {parent_seq.seq_id} with", {"a fork": True})

    def call_schedule(self, original: Any) -> Any:
        self.settle()
        module, now = sys.modules[type(self.scheduler).__module__], time.time()
        module.time, real = FrozenClock(now), module.time  # type: ignore[attr-defined]
        try:
            answer = original()
        finally:
            module.time = real  # type: ignore[attr-defined]
        metadata, out = answer[:2]
        caching = self.config["cache"]["enable_prefix_caching"]
        rows = []
        for meta, scheduled in zip(metadata, out.scheduled_seq_groups):
            tables = {str(seq_id): list(ids) for seq_id, ids in meta.block_tables.items()}
            row = {
                "request_id": meta.request_id,
                "is_prompt": meta.is_prompt,
                "do_sample": meta.do_sample,
                "token_chunk_size": scheduled.token_chunk_size,
                "block_tables": tables,
            }
            if caching:
                row["computed_block_nums"] = list(meta.computed_block_nums)
            rows.append(row)
            for seq in scheduled.seq_group.get_seqs():
                self.members.append((seq, seq.get_len(), meta.do_sample))
        self.step = {"now": now, "ret": {"scheduled": rows}}
        counts = ("num_prefill_groups", "num_batched_tokens", "preempted", "num_lookahead_slots")
        for name in (*counts, "running_queue_size"):
            self.step["ret"][name] = getattr(out, name)
        for name in ("blocks_to_swap_in", "blocks_to_swap_out", "blocks_to_copy"):
            self.step["ret"][name] = [list(pair) for pair in getattr(out, name)]
        self.step["ret"]["ignored"] = [group.request_id for group in out.ignored_seq_groups]
        self.step["ret"]["mid"] = self.state()
        return answer

    def call_get_and_reset_finished_requests_ids(self, original: Any) -> Any:
        ids = original()
        self.finished += ids[self.num_told :]
        self.num_told = 0
        return ids

    def settle(self) -> None:
        if self.step is None:
            return
        outputs, finish = {}, []
        for seq, length, samples in self.members:
            new = numbers(seq.get_token_ids()[length:])
            if samples and not new:
                raise NotServedError(
                    f"sequence {seq.seq_id} has no token yet, and the next call is here: what "
                    f"comes between a step and its output cannot be recorded"
                )
            if new:
                outputs[str(seq.seq_id)] = new
            if seq.is_finished():
                finish.append(seq.seq_id)
        waiting = self.scheduler._finished_requests_ids
        told = self.finished + list(waiting[self.num_told :])
        self.finished, self.num_told = [], len(waiting)
        ret = dict(self.step["ret"], finished_request_ids=told)
        args = {"now": self.step["now"], "outputs": outputs, "finish": finish}
        self.step, self.members = None, []
        self.file.write("step", args, {"ret": ret, "state": self.state()})


def refuse_request(seq_group: Any) -> None:
    """NotServedError for a request that a trace has no place for."""
    refuse(
        f"request {seq_group.request_id} with",
        {
            "LoRA": has(seq_group, "lora_request"),
            "a prompt adapter": has(seq_group, "prompt_adapter_request"),
            "encoder inputs": seq_group.is_encoder_decoder(),
            "multi-modal inputs": has(seq_group, "multi_modal_data"),
            "pooling": has(seq_group, "pooling_params"),
            "several sequences": len(seq_group.get_seqs()) != 1,
        },
    )
