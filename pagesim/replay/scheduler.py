"""The operations of a scheduler's recording; see `pagesim.replay.block_layer`."""

from collections.abc import Iterable

from pagesim.files.jsonl import JsonObject
from pagesim.replay.block_layer import Named, Player, pairs
from pagesim.v0.config import CacheConfig, SchedulerConfig
from pagesim.v0.scheduler import Scheduler
from pagesim.v0.scheduler_outputs import SchedulerOutputs, SequenceGroupMetadata
from pagesim.v0.sequence import Logprob, Sequence, SequenceGroup, SequenceStatus


class SchedulerPlayer(Player):
    """Requests on one scheduler, with an engine that finishes each step as vLLM's own does."""

    def start(self, config: JsonObject) -> None:
        scheduler, cache = SchedulerConfig(**config["scheduler"]), CacheConfig(**config["cache"])
        self.now = 0.0
        self.subject = self.scheduler = Scheduler(scheduler, cache, clock=lambda: self.now)
        self.groups = Named[str, SequenceGroup]()

    def state(self) -> JsonObject:
        scheduler, manager = self.scheduler, self.scheduler.block_manager
        return {
            "free": [manager.get_num_free_gpu_blocks(), manager.get_num_free_cpu_blocks()],
            "waiting": [group.request_id for group in scheduler.waiting],
            "running": [group.request_id for group in scheduler.running],
            "swapped": [group.request_id for group in scheduler.swapped],
        }

    def op_add_request(
        self, request_id: str, seq_id: int, prompt: list[int], arrival: float, priority: int = 0
    ) -> None:
        seq = Sequence(seq_id, prompt, self.config["cache"]["block_size"])
        group = SequenceGroup(request_id, [seq], arrival, priority=priority)
        self.groups[request_id] = group
        self.scheduler.add_seq_group(group)

    def op_fork(self, request_id: str, parent: int, child: int) -> None:
        group = self.groups[request_id]
        twin = group.seqs_dict[parent].fork(child)
        group.add(twin)
        self.scheduler.fork_seq(group.seqs_dict[parent], twin)

    def op_abort(self, request_id: str) -> None:
        self.scheduler.abort_seq_group(request_id)

    def op_step(self, now: float, outputs: dict[str, list[int]], finish: list[int]) -> JsonObject:
        self.now = now
        metadata, out, _ = self.scheduler.schedule()
        decided = self.decided(metadata, out) | {"mid": self.state()}
        for scheduled, meta in zip(out.scheduled_seq_groups, metadata, strict=True):
            for seq in scheduled.seq_group.seqs:
                seq.data.update_num_computed_tokens(scheduled.token_chunk_size)
                if meta.do_sample:
                    self.sampled(seq, outputs.get(str(seq.seq_id), ()), seq.seq_id in finish)
        if finish:
            self.scheduler.free_finished_seq_groups()
        finished = self.scheduler.get_and_reset_finished_requests_ids()
        return decided | {"finished_request_ids": finished}

    def sampled(self, seq: Sequence, tokens: Iterable[int], is_last: bool) -> None:
        """Give a sequence its new tokens; free it at once if these are its last."""
        for token in tokens:
            seq.append_token_id(token, {token: Logprob(0.0)})
        if is_last:
            seq.status = SequenceStatus.FINISHED_LENGTH_CAPPED
            self.scheduler.free_seq(seq)

    def decided(self, metadata: list[SequenceGroupMetadata], out: SchedulerOutputs) -> JsonObject:
        """The decisions of a step as a recording has them."""
        return {
            "scheduled": [self.described(meta) for meta in metadata],
            "num_prefill_groups": out.num_prefill_groups,
            "num_batched_tokens": out.num_batched_tokens,
            "preempted": out.preempted,
            "num_lookahead_slots": out.num_lookahead_slots,
            "running_queue_size": out.running_queue_size,
            "blocks_to_swap_in": pairs(out.blocks_to_swap_in),
            "blocks_to_swap_out": pairs(out.blocks_to_swap_out),
            "blocks_to_copy": pairs(out.blocks_to_copy),
            "ignored": [group.request_id for group in out.ignored_seq_groups],
        }

    def described(self, meta: SequenceGroupMetadata) -> JsonObject:
        """One group's metadata as a recording has it."""
        fields = {
            "request_id": meta.request_id,
            "is_prompt": meta.is_prompt,
            "do_sample": meta.do_sample,
            "token_chunk_size": meta.token_chunk_size,
            "block_tables": {str(seq_id): ids for seq_id, ids in meta.block_tables.items()},
        }
        if self.config["cache"]["enable_prefix_caching"]:
            fields["computed_block_nums"] = meta.computed_block_nums
        return fields
