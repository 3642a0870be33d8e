"""The simplest interface: prompts arrive, words are written, sequences fork, swap and leave.

vLLM's block manager requires a ``Sequence`` in a ``SequenceGroup``, a status that its caller sets,
and a ``Logprob`` for each token. A story takes care of these, and records what happens::

    story = pagesim.Story(gpu_blocks=12, block_size=4)
    alice = story.arrive("Alice was beginning to get", name="alice")
    alice.write("very tired")
    twin = alice.fork()
    twin.write("bored")  # the last block is shared: it is copied first
    alice.leave()
    story.run  # what happened, step by step

``story.manager`` is the real block manager, for every call that a story has no method for.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from pagesim.checks import check_token_ids
from pagesim.errors import UsageError
from pagesim.journal.effects import Name, is_name
from pagesim.timeline.record import record as recording
from pagesim.timeline.run import Timeline
from pagesim.v0.block_manager import SelfAttnBlockSpaceManager
from pagesim.v0.scheduler_outputs import SequenceGroupMetadata
from pagesim.v0.sequence import Logprob, Sequence, SequenceGroup, SequenceStatus

if TYPE_CHECKING:
    from pagesim.cache.attention_metadata import AttentionMetadata

RUNNING, SWAPPED = SequenceStatus.RUNNING, SequenceStatus.SWAPPED
Tokens = str | Iterable[int]
"""Words, each of which is a token, or token ids."""


class Story:
    """Sequences that write into the pages of one block manager.

    Sizes are numbers of blocks, and of slots per block. ``record=False`` saves the time of
    recording; then there is no ``run``. Errors are the manager's: NoFreeBlocksError if no block is
    left, in which case nothing has changed.
    """

    def __init__(
        self,
        gpu_blocks: int = 12,
        cpu_blocks: int = 0,
        block_size: int = 4,
        *,
        caching: bool = False,
        watermark: float = 0.0,
        sliding_window: int | None = None,
        record: bool = True,
    ) -> None:
        self.manager = SelfAttnBlockSpaceManager(
            block_size, gpu_blocks, cpu_blocks, watermark, sliding_window, enable_caching=caching
        )
        """The block manager that does the work."""
        self.writers: list[Writer] = []
        """The present sequences in order of arrival."""
        self._words: dict[str, int] = {}
        self._next_id = 0
        self._now = 0.0
        self._run: Timeline | None = None
        if record:
            self._recording = recording(self.manager)  # it ends with the story
            self._run = self._recording.__enter__()

    @property
    def run(self) -> Timeline:
        """What has happened so far, step by step. UsageError if the story is not recorded."""
        if self._run is None:
            raise UsageError("this story is not recorded: it was made with record=False")
        return self._run

    @property
    def words(self) -> dict[int, str]:
        """The words so far, by their tokens."""
        return {token: word for word, token in self._words.items()}

    def arrive(self, prompt: Tokens, name: Name | None = None) -> Writer:
        """A new sequence with a prompt. Its ``name`` is its id, or a label in the run."""
        seq_id = name if isinstance(name, int) else self._free_id(name)
        seq = Sequence(seq_id, self._tokens(prompt), self.manager.block_size)
        group = SequenceGroup(f"{seq_id if name is None else name}", [seq])
        self.manager.allocate(group)
        seq.status = RUNNING
        return self._welcome(Writer(self, seq, group, seq_id if name is None else name))

    def batch(self) -> AttentionMetadata:
        """The next step of the model: the tokens of running sequences not computed so far.

        A sequence with one such token decodes, one with more prefills; prefills come first.
        Afterwards these tokens count as computed. See `pagesim.cache.AttentionMetadata`.
        """
        from pagesim.cache.metadata_v0 import build_attention_metadata

        running = [writer for writer in self.writers if writer.seq.status is RUNNING]
        parts = [writer.metadata() for writer in running if writer.num_uncomputed]
        parts.sort(key=lambda part: not part.is_prompt)
        batch = build_attention_metadata(parts, self.manager.block_size)
        self._now += 1.0
        for writer in running:
            writer.seq.data.update_num_computed_tokens(writer.num_uncomputed)
            self.manager.access_all_blocks_in_seq(writer.seq, self._now)
        for writer in running[:1]:  # one call marks the blocks of all
            self.manager.mark_blocks_as_computed(writer.group, 1)
        return batch

    def _tokens(self, given: Tokens) -> list[int]:
        if not isinstance(given, str):
            return check_token_ids("tokens", given)
        words = given.split()
        ids = [self._words.setdefault(word, len(self._words)) for word in words]
        if self._run is not None:
            self._run.annotate(tokens=self.words)
        return ids

    def _free_id(self, name: object = None) -> int:
        """An unused id; its label, if any, must not be in use either."""
        if name is not None and not is_name(name):
            raise TypeError(f"a name must be a number or a short string, not {name!r:.80}")
        if name is not None and name in [writer.name for writer in self.writers]:
            raise UsageError(f"{name!r} is already in use: names must be unique")
        while self._next_id in self.manager.block_tables:
            self._next_id += 1
        return self._next_id

    def _welcome(self, writer: Writer) -> Writer:
        self._next_id = max(self._next_id, writer.seq.seq_id + 1)
        self.writers.append(writer)
        if self._run is not None and isinstance(writer.name, str):
            self._run.label(self.manager.block_tables[writer.seq.seq_id], writer.name)
        return writer


class Writer:
    """One sequence of a story: ``story.arrive(…)`` or ``writer.fork()`` makes it."""

    def __init__(self, story: Story, seq: Sequence, group: SequenceGroup, name: Name) -> None:
        self.story, self.seq, self.group, self.name = story, seq, group, name

    @property
    def block_ids(self) -> list[int]:
        """Its block table; empty after it has left."""
        tables = self.story.manager.block_tables
        return list(tables[self.seq.seq_id].physical_block_ids) if self.is_here else []

    @property
    def token_ids(self) -> list[int]:
        """Its prompt and what it has written."""
        return list(self.seq.get_token_ids())

    @property
    def is_here(self) -> bool:
        """Whether it has not yet left."""
        return self in self.story.writers

    @property
    def num_uncomputed(self) -> int:
        """The number of tokens that no :meth:`Story.batch` has computed yet."""
        return self.seq.data.get_num_uncomputed_tokens()

    def write(
        self, tokens: Tokens = (), *, lookahead: int = 0, at_once: bool = False
    ) -> list[tuple[int, int]]:
        """Write tokens: each in a separate step, or all ``at_once``.

        ``lookahead`` slots are reserved after them. Returns the copies that must be made first, as
        pairs (from, to). UsageError unless the sequence is present and running.
        """
        self._check("write", RUNNING)
        ids = self.story._tokens(tokens)
        steps = [ids] if at_once or not ids else [[token] for token in ids]
        return [pair for step in steps for pair in self._append(step, lookahead)]

    def _append(self, ids: list[int], lookahead: int) -> list[tuple[int, int]]:
        length = self.seq.get_len()
        try:
            for token in ids:
                self.seq.append_token_id(token, {token: Logprob(0.0)})
            return self.story.manager.append_slots(self.seq, lookahead)
        except BaseException:
            del self.seq.data.token_ids[length:]
            raise

    def fork(self, name: Name | None = None) -> Writer:
        """A second sequence of the same request, with the same tokens in the same blocks."""
        self._check("fork", RUNNING)
        story = self.story
        child = self.seq.fork(name if isinstance(name, int) else story._free_id(name))
        story.manager.fork(self.seq, child)
        self.group.add(child)
        return story._welcome(
            Writer(story, child, self.group, child.seq_id if name is None else name)
        )

    def swap_out(self) -> list[tuple[int, int]]:
        """Move to the CPU with all forks of the request; returns what `CacheEngine` moves."""
        self._check("swap out", RUNNING)
        return self._move(self.story.manager.swap_out(self.group), SWAPPED)

    def swap_in(self) -> list[tuple[int, int]]:
        """Move back to the GPU with all forks; returns what `CacheEngine` moves."""
        self._check("swap in", SWAPPED)
        return self._move(self.story.manager.swap_in(self.group), RUNNING)

    def _move(self, pairs: list[tuple[int, int]], status: SequenceStatus) -> list[tuple[int, int]]:
        for seq in self.group.seqs:
            seq.status = status
        return pairs

    def leave(self) -> None:
        """Free the blocks."""
        self._check("leave")
        self.story.manager.free(self.seq)
        self.seq.status = SequenceStatus.FINISHED_STOPPED
        self.story.writers.remove(self)
        if len(self.group.seqs) > 1:
            self.group.remove(self.seq.seq_id)

    def metadata(self) -> SequenceGroupMetadata:
        """Its part of the next step, as a scheduler would describe it."""
        seq, manager = self.seq, self.story.manager
        is_prompt = self.num_uncomputed > 1 or not seq.get_num_computed_tokens()
        return SequenceGroupMetadata(
            request_id=self.group.request_id,
            is_prompt=is_prompt,
            seq_data={seq.seq_id: seq.data},
            sampling_params=None,
            block_tables={seq.seq_id: self.block_ids},
            do_sample=True,
            token_chunk_size=self.num_uncomputed,
            computed_block_nums=manager.get_common_computed_block_ids([seq]) if is_prompt else [],
        )

    def _check(self, what: str, status: SequenceStatus | None = None) -> None:
        if not self.is_here:
            raise UsageError(f"{self.name!r} has left: it cannot {what}")
        if status is not None and self.seq.status is not status:
            where = "on the CPU" if self.seq.status is SWAPPED else "running"
            raise UsageError(f"{self.name!r} is {where}: it cannot {what}")

    def __repr__(self) -> str:
        return f"Writer({self.name!r}, {self.seq.get_len()} tokens in blocks {self.block_ids})"
