"""What a worker of V1 does in a step: it follows the tables, writes what is new, and reads.

A kernel of attention reads what the step has written; one of states reads before, and writes the
state after the step's last token, and perhaps one more inside a chunk.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pagesim.cache import AttentionMetadata, build_v1_metadata
from pagesim.v1 import Request, Scheduler, SchedulerOutput
from tests.cache.contents import LAYERS, Bytes, Proof
from tests.cache.group_bytes import GroupBytes

Slots = NDArray[np.int64]


class Step(NamedTuple):
    """A step in flight: what was decided, its batch, and the slots of those who ended meanwhile."""

    output: SchedulerOutput
    batch: AttentionMetadata
    requests: dict[Any, Request]
    wasted: list[tuple[GroupBytes, Slots]]


class Worker(Proof):
    """Tables, bytes and comparison of a proof whose scheduler is V1's."""

    def __init__(self, scene: Any, seed: int, scheduler: Scheduler, block_size: int) -> None:
        manager = scheduler.kv_cache_manager
        places = max(spec.block_size for spec in manager.kv_cache_groups)
        super().__init__(scene, seed, self.make_bytes(scene, places), block_size)
        self.scheduler = scheduler
        self.groups = [
            GroupBytes(group_id, spec, self.bytes, places)
            for group_id, spec in enumerate(manager.kv_cache_groups)
        ]
        self.hash_size = manager.block_pool.hash_block_size
        self._hit_size = manager.coordinator.scheduler_block_size
        self.tables: dict[Any, list[list[int]]] = {}
        """As a worker has them: it is not told what falls out of a window, or which state goes."""

    def make_bytes(self, scene: Any, places: int) -> Bytes:
        """The pool, with so many words in a block."""
        return Bytes(places, scene.blocks)

    def build(self, output: SchedulerOutput) -> AttentionMetadata:
        """The step's batch; a test puts something wrong here."""
        return build_v1_metadata(output, self.scheduler)

    def _begin(self, output: SchedulerOutput, requests: dict[Any, Request]) -> Step:
        """Follow the tables, and find out what there is to compute."""
        self._follow(output)
        batch, counts = self.build(output), self.counts
        for group, its in zip(self.groups, batch.groups, strict=True):
            for name, table in zip(its.seq_ids, its.block_tables.tolist(), strict=True):
                known = self.tables[name][group.group_id]
                pairs = zip(table, known, strict=False)
                assert all(a == b for a, b in pairs if a >= 0), (table, known)
                assert set(table[len(known) :]) <= {-1}
                counts["null_entries"] += table[: len(known)].count(-1)
        wasted, computed = [], self._computed(output)
        for name in requests:
            if name not in batch.seq_ids:  # it has ended meanwhile
                span = computed[name], computed[name] + output.num_scheduled_tokens[name]
                for group, known in zip(self.groups, self.tables[name], strict=True):
                    wasted.append((group, group.slots(known, *span)))
        counts["wasted"] += sum(len(slots) for _, slots in wasted)
        counts["chunks"] += len(batch.seq_ids) - len(batch.sample_rows)
        counts["mixed_steps"] += batch.num_prefill_tokens > 0 < batch.num_decode_tokens
        return Step(output, batch, requests, wasted)

    def _follow(self, output: SchedulerOutput) -> None:
        counts, known = self.counts, output.scheduled_cached_reqs
        counts["preemptions"] += len(output.preempted_req_ids)
        for name in output.finished_req_ids:
            self.tables.pop(name, None)
        for new in output.scheduled_new_reqs:
            self.tables[new.req_id] = [list(ids) for ids in new.block_ids]
            counts["hit_blocks"] += new.num_computed_tokens // self._block_size
        rows = zip(known.req_ids, known.new_block_ids, known.num_computed_tokens, strict=True)
        for name, new_ids, computed in rows:
            if name in known.resumed_req_ids:
                self.tables[name] = [[] for _ in self.groups]
                counts["hit_again"] += computed // self._block_size
            for table, ids in zip(self.tables[name], new_ids or (), strict=False):
                table.extend(ids)

    def _computed(self, output: SchedulerOutput) -> dict[Any, int]:
        known = output.scheduled_cached_reqs
        new = {each.req_id: each.num_computed_tokens for each in output.scheduled_new_reqs}
        return new | dict(zip(known.req_ids, known.num_computed_tokens, strict=True))

    # -- the bytes ---------------------------------------------------------------------------------

    def _compute(self, step: Step) -> dict[Any, list[int]]:
        """Write what is new in a step, and compare all that its kernels read; its tokens."""
        batch, tokens = step.batch, {}
        for row, name in enumerate(batch.seq_ids):
            begin, end = batch.query_start_loc[row : row + 2]
            tokens[name] = step.requests[name].all_token_ids[: batch.context_lens[row]]
            tokens[name] += batch.input_tokens[begin:end].tolist()
        groups = list(zip(self.groups, batch.groups, strict=True))
        states = [(group, its) for group, its in groups if group.is_state]
        read = [self._read_states(group, its, tokens) for group, its in states]
        writers: dict[int, set[Any]] = {}
        for group, its in groups:
            self._write(group, its, tokens, writers)
        for group, slots in step.wasted:
            noise = [[self.random.getrandbits(63) for _ in slots] for _ in range(2 * LAYERS)]
            group.write(slots, np.array(noise, dtype=np.int64))
        for name, block in (each for its in read for each in its):
            assert writers.get(block, {name}) == {name}, f"block {block} is written while read"
        for group, its in groups:
            if not group.is_state:
                self._read_slots(group, its, tokens)
        return tokens

    def _write(
        self,
        group: GroupBytes,
        batch: AttentionMetadata,
        tokens: dict[Any, list[int]],
        writers: dict[int, set[Any]],
    ) -> None:
        for row, name in enumerate(batch.seq_ids):
            contents, first = self.contents.of(name, tokens[name]), int(batch.context_lens[row])
            begin, end = batch.query_start_loc[row : row + 2]
            slots = batch.slot_mapping[begin:end]
            if group.is_state:
                table, length = batch.block_tables[row].tolist(), contents.shape[1]
                sizes = self.hash_size, self._hit_size
                if found := group.checkpoint(table, first, length, *sizes):
                    position, slots = found
                    group.write(slots, contents[:, position - 1 : position])
                    writers.setdefault(int(slots[0]), set()).add(name)
                    self.counts["checkpoints"] += 1
                slots, first = group.slots(table, first, length), length - 1
            group.write(slots, contents[:, first:])
            for block in group.blocks(slots):
                writers.setdefault(block, set()).add(name)

    def _read_states(
        self, group: GroupBytes, batch: AttentionMetadata, tokens: dict[Any, list[int]]
    ) -> list[tuple[Any, int]]:
        """Compare the states that requests go on from; who reads which block."""
        read = []
        for row, name in enumerate(batch.seq_ids):
            if context := int(batch.context_lens[row]):
                table = batch.block_tables[row].tolist()
                contents, slots = (
                    self.contents.of(name, tokens[name])[:, :context],
                    group.slots(table, 0, context),
                )
                differs = group.differs(slots, contents[:, -1:])
                self._note(self._called(name, group), table, context, context - 1, differs)
                self.counts["states"] += 1
                read.append((name, int(slots[0])))
        return read

    def _read_slots(
        self, group: GroupBytes, batch: AttentionMetadata, tokens: dict[Any, list[int]]
    ) -> None:
        for row, name in enumerate(batch.seq_ids):
            table, contents = batch.block_tables[row].tolist(), self.contents.of(name, tokens[name])
            oldest, length = group.oldest(int(batch.context_lens[row])), contents.shape[1]
            differs = group.differs(group.slots(table, oldest, length), contents[:, oldest:])
            self._note(self._called(name, group), table, length, oldest, differs)

    def _called(self, name: Any, group: GroupBytes) -> str:
        return f"request {name}" + (f", group {group.group_id}" if len(self.groups) > 1 else "")
