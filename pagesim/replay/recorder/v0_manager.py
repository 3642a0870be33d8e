"""vLLM V0's block manager, under a scheduler that is not recorded itself."""

from __future__ import annotations

from typing import Any

from pagesim.replay.recorder.common import TraceFile, numbers, refuse
from pagesim.replay.recorder.v0 import V0Recorder, refuse_request


class V0ManagerRecorder(V0Recorder):
    """Notes calls, and before each the tokens that its sequences have got in the meantime."""

    kind = "block_manager"
    methods = (
        "can_allocate",
        "allocate",
        "can_append_slots",
        "append_slots",
        "fork",
        "can_swap_out",
        "swap_out",
        "can_swap_in",
        "swap_in",
        "free",
        "access_all_blocks_in_seq",
        "get_common_computed_block_ids",
        "mark_blocks_as_computed",
    )

    def __init__(self, scheduler: Any, file: TraceFile) -> None:
        super().__init__(scheduler, file)
        self.subject = self.manager = scheduler.block_manager
        self.seqs: dict[int, tuple[Any, str]] = {}
        """The sequences by id, and the names of their groups."""
        self.lengths: dict[int, int] = {}

    def not_served(self) -> dict[str, Any]:
        window = self.scheduler.cache_config.sliding_window
        return {**super().not_served(), "a sliding window": window is not None}

    def config_of(self) -> dict[str, Any]:
        pools = super().config_of()["cache"]
        return {
            "block_size": pools["block_size"],
            "num_gpu_blocks": pools["num_gpu_blocks"],
            "num_cpu_blocks": pools["num_cpu_blocks"],
            "watermark": self.scheduler.block_manager.watermark,
            "enable_caching": pools["enable_prefix_caching"],
        }

    def state(self) -> dict[str, Any]:
        tables = {
            str(seq_id): list(self.manager.get_block_table(seq))
            for seq_id, (seq, _) in self.seqs.items()
            if seq_id in self.manager.block_tables
        }
        free = [self.manager.get_num_free_gpu_blocks(), self.manager.get_num_free_cpu_blocks()]
        return {"tables": tables, "free": free}

    def note(self, op: str, ret: Any = None, **args: Any) -> None:
        observed = {} if ret is None else {"ret": ret}
        self.file.write(op, args, dict(observed, state=self.state()))

    def meet(self, seq_group: Any) -> str:
        """Note what is new about a group; its name."""
        name = str(seq_group.request_id)
        for seq in seq_group.get_seqs():
            if seq.seq_id not in self.seqs:
                refuse_request(seq_group)
                self.seqs[seq.seq_id] = seq, name
                self.lengths[seq.seq_id] = seq.get_len()
                self.note(
                    "new_group", group=name, seqs=[seq.seq_id], prompt=numbers(seq.get_token_ids())
                )
            self.catch_up(seq)
        return name

    def catch_up(self, seq: Any) -> int:
        """Note the new tokens of a sequence; its id."""
        seq_id: int = seq.seq_id
        new = numbers(seq.get_token_ids()[self.lengths[seq_id] :])
        if new:
            self.lengths[seq_id] += len(new)
            self.note("append_tokens", seq=seq_id, tokens=new)
        return seq_id

    def call_can_allocate(self, original: Any, seq_group: Any, num_lookahead_slots: int = 0) -> Any:
        group, status = self.meet(seq_group), original(seq_group, num_lookahead_slots)
        self.note("can_allocate", status.name, group=group, lookahead=num_lookahead_slots)
        return status

    def call_allocate(self, original: Any, seq_group: Any) -> None:
        group = self.meet(seq_group)
        original(seq_group)
        self.note("allocate", group=group)

    def call_can_append_slots(
        self, original: Any, seq_group: Any, num_lookahead_slots: int = 0
    ) -> Any:
        group, can = self.meet(seq_group), original(seq_group, num_lookahead_slots)
        self.note("can_append_slots", bool(can), group=group, lookahead=num_lookahead_slots)
        return can

    def call_append_slots(self, original: Any, seq: Any, num_lookahead_slots: int = 0) -> Any:
        seq_id, copies = self.catch_up(seq), original(seq, num_lookahead_slots)
        pairs = [list(pair) for pair in copies]
        self.note("append_slots", pairs, seq=seq_id, lookahead=num_lookahead_slots)
        return copies

    def call_fork(self, original: Any, parent_seq: Any, child_seq: Any) -> None:
        refuse(f"sequence {parent_seq.seq_id} with", {"a fork": True})

    def call_can_swap_out(self, original: Any, seq_group: Any) -> Any:
        group, can = self.meet(seq_group), original(seq_group)
        self.note("can_swap_out", bool(can), group=group)
        return can

    def call_swap_out(self, original: Any, seq_group: Any) -> Any:
        return self._swap("swap_out", original, seq_group)

    def call_swap_in(self, original: Any, seq_group: Any) -> Any:
        return self._swap("swap_in", original, seq_group)

    def _swap(self, op: str, original: Any, seq_group: Any) -> Any:
        group, moved = self.meet(seq_group), original(seq_group)
        self.note(op, [list(pair) for pair in moved], group=group)
        return moved

    def call_can_swap_in(self, original: Any, seq_group: Any, num_lookahead_slots: int = 0) -> Any:
        group, status = self.meet(seq_group), original(seq_group, num_lookahead_slots)
        self.note("can_swap_in", status.name, group=group, lookahead=num_lookahead_slots)
        return status

    def call_free(self, original: Any, seq: Any) -> None:
        if seq.seq_id not in self.seqs:  # the engine frees what is finished once more
            original(seq)
            return
        seq_id, group = self.catch_up(seq), self.seqs[seq.seq_id][1]
        original(seq)
        if seq.is_finished():
            del self.seqs[seq_id]
            self.note("free", seq=seq_id)
        else:
            self.note("preempt", group=group)

    def call_access_all_blocks_in_seq(self, original: Any, seq: Any, now: float) -> None:
        seq_id = self.catch_up(seq)
        original(seq, now)
        self.note("access", seq=seq_id, now=now)

    def call_get_common_computed_block_ids(self, original: Any, seqs: Any) -> Any:
        ids, computed = [self.catch_up(seq) for seq in seqs], original(seqs)
        self.note("computed", list(computed), seqs=ids)
        return computed

    def call_mark_blocks_as_computed(
        self, original: Any, seq_group: Any, token_chunk_size: int
    ) -> None:
        group = self.meet(seq_group)
        original(seq_group, token_chunk_size)
        self.note("mark_computed", group=group, token_chunk_size=token_chunk_size)
