"""Does every sequence always read its own bytes? A workload, and a model that can tell.

The model's key at a position is a hash of all tokens up to there; so is its value. A sequence that
forked or found a prefix in the cache must therefore find what *its own* history says, whoever wrote
it. Each step does what an engine does: move the blocks that the scheduler ordered, write the new
tokens' keys and values at their slots, then read every position that attention would read.

    python -m tests.cache.byte_proof [steps]      every scene, and its counts
"""

import sys
from dataclasses import dataclass
from itertools import count

from pagesim.cache import PAD_SLOT_ID, build_attention_metadata
from pagesim.v0.config import CacheConfig, SchedulerConfig
from pagesim.v0.scheduler import Scheduler
from pagesim.v0.scheduler_outputs import SchedulerOutputs, SequenceGroupMetadata
from pagesim.v0.sequence import Logprob, Sequence, SequenceGroup, SequenceStatus
from tests.cache.contents import Bytes, Proof, print_counts

BLOCK_SIZE = 4
MAX_LEN = 48


@dataclass(frozen=True, slots=True)
class Scene:
    """A scheduler's settings and the traffic it gets."""

    caching: bool = True
    chunked: bool = False
    mode: str = "swap"
    lookahead: int = 0
    window: int | None = None
    fork_chance: float = 0.05
    gpu_blocks: int = 40
    cpu_blocks: int = 200
    vocabulary: int = 2
    """Few words, so that strangers write the same."""


SCENES = {
    "swap, forks": Scene(caching=False),
    "swap, forks, prefix caching": Scene(),
    "swap, forks, prefix caching, lookahead": Scene(lookahead=3),
    "recompute, prefix caching": Scene(mode="recompute", fork_chance=0.0),
    "swap, forks, chunked prefill": Scene(caching=False, chunked=True),
    "recompute, lookahead": Scene(caching=False, mode="recompute", lookahead=3, fork_chance=0.0),
    "swap, forks, sliding window": Scene(caching=False, window=20),
}


class Run(Proof):
    """A scene that is stepped: traffic, scheduler, bytes and the comparison."""

    def __init__(self, scene: Scene, seed: int = 0, pools: type[Bytes] = Bytes) -> None:
        memory = pools(BLOCK_SIZE, scene.gpu_blocks, scene.cpu_blocks)
        super().__init__(scene, seed, memory, BLOCK_SIZE)
        cache = CacheConfig(
            BLOCK_SIZE,
            scene.gpu_blocks,
            scene.cpu_blocks,
            enable_prefix_caching=scene.caching,
            sliding_window=scene.window,
        )
        budget = SchedulerConfig(
            16 if scene.chunked else 64,
            8,
            64,
            num_lookahead_slots=scene.lookahead,
            enable_chunked_prefill=scene.chunked,
            preemption_mode=scene.mode,
        )
        self.scheduler = Scheduler(budget, cache, clock=lambda: float(self.counts["steps"]))
        self._ids = count(1)

    def step(self) -> None:
        """One step of the engine, and what the world does before the next."""
        self._arrive()
        metadata, outputs = self._schedule()
        self.move(outputs)
        self.compute(metadata)
        self._sample(metadata, outputs)
        self._fork()
        self._abort(stuck=not metadata)
        counts = self.counts
        counts["steps"] += 1
        counts["preemptions"] += outputs.preempted
        counts["blocks_swapped_in"] += len(outputs.blocks_to_swap_in)
        counts["blocks_swapped_out"] += len(outputs.blocks_to_swap_out)
        counts["blocks_copied"] += len(outputs.blocks_to_copy)

    def _schedule(self) -> tuple[list[SequenceGroupMetadata], SchedulerOutputs]:
        """Groups may stay on the CPU for ever (q18) until it is full: then one is aborted."""
        while True:
            try:
                return self.scheduler.schedule()[:2]
            except RuntimeError:
                self.scheduler.abort_seq_group(self.scheduler.swapped[0].request_id)
                self.counts["aborts"] += 1

    # -- the engine --------------------------------------------------------------------------------

    def move(self, outputs: SchedulerOutputs) -> None:
        """What the scheduler ordered; a test puts something wrong here."""
        self.bytes.engine.execute(outputs)

    def compute(self, metadata: list[SequenceGroupMetadata]) -> None:
        """Write the new keys and values, then look at every one that attention looks at."""
        batch = build_attention_metadata(metadata, BLOCK_SIZE, self.scene.window)
        data = {i: d for group in metadata for i, d in group.seq_data.items()}
        tables = {i: t for group in metadata for i, t in group.block_tables.items()}
        read = []
        for row, seq_id in enumerate(batch.seq_ids):
            context, end = int(batch.context_lens[row]), int(batch.seq_lens[row])
            contents = self.contents.of(seq_id, data[seq_id].token_ids)[:, :end]
            begin, stop = batch.query_start_loc[row : row + 2]
            slots = batch.slot_mapping[begin:stop]
            kept = slots != PAD_SLOT_ID
            self.bytes.write(slots[kept], contents[:, context:][:, kept])
            self.counts["slots_skipped"] += int((~kept).sum())
            # With a window a prompt's queries take its keys from the model, not from the cache.
            if self.scene.window is None or row >= batch.num_prefills:
                read.append((seq_id, context, contents))
            skipped = context - data[seq_id].get_num_computed_tokens()
            self.counts["prefix_hit_blocks"] += skipped // BLOCK_SIZE
        for seq_id, context, contents in read:
            self._compare(f"sequence {seq_id}", tables[seq_id], context, contents)

    # -- the world ---------------------------------------------------------------------------------

    def _arrive(self) -> None:
        while len(self.scheduler.waiting) < 2 and self.random.random() < 0.5:
            seq_id = next(self._ids)
            prompt = self.random.choice(self.openings) + self._words(self.random.randint(1, 8))
            sequence = Sequence(seq_id, prompt, BLOCK_SIZE)
            self.scheduler.add_seq_group(SequenceGroup(str(seq_id), [sequence]))
            self.counts["requests"] += 1

    def _sample(self, metadata: list[SequenceGroupMetadata], outputs: SchedulerOutputs) -> None:
        for group, scheduled in zip(metadata, outputs.scheduled_seq_groups, strict=True):
            seqs = scheduled.seq_group.seqs
            finished = self.random.random() < 0.03
            for seq in seqs:
                seq.data.update_num_computed_tokens(scheduled.token_chunk_size)
                if group.do_sample:
                    token = self._words(1)[0]
                    seq.append_token_id(token, {token: Logprob(0.0)})
                    finished |= seq.get_len() >= MAX_LEN
            if group.do_sample and finished:
                for seq in seqs:
                    seq.status = SequenceStatus.FINISHED_STOPPED
                self.counts["finished"] += 1
        self.scheduler.free_finished_seq_groups()

    def _fork(self) -> None:
        for group in self.scheduler.running:
            if len(group.seqs) > 1 or group.is_prefill():
                continue
            if self.random.random() < self.scene.fork_chance:
                (parent,) = group.seqs
                child = parent.fork(next(self._ids))
                group.add(child)
                self.scheduler.fork_seq(parent, child)
                self.counts["forks"] += 1

    def _abort(self, stuck: bool) -> None:
        """Now and then somebody leaves; so does one whom vLLM's scheduler never lets on (q18)."""
        self._idle = self._idle + 1 if stuck and self.scheduler.has_unfinished_seqs() else 0
        queues = (self.scheduler.swapped, self.scheduler.running, self.scheduler.waiting)
        groups = [group for queue in queues for group in queue]
        if groups and (self._idle > 3 or self.random.random() < 0.01):
            victim = groups[0] if self._idle > 3 else self.random.choice(groups)
            self.scheduler.abort_seq_group(victim.request_id)
            self.counts["aborts"] += 1


if __name__ == "__main__":
    sys.exit(print_counts(SCENES, Run, int(sys.argv[1]) if len(sys.argv) > 1 else 2000))
