"""A story and its writers: their words and names, and what is recorded; the pages do the rest."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from pagesim.checks import check_token_ids
from pagesim.errors import NoFreeBlocksError, UsageError
from pagesim.journal.effects import Name, check_pool_size, is_name
from pagesim.story.pages_v0 import V0Pages
from pagesim.story.pages_v1 import V1Pages
from pagesim.timeline.record import record as recording
from pagesim.timeline.run import Timeline
from pagesim.v1.group_words import Groups

if TYPE_CHECKING:
    from pagesim.cache.attention_metadata import AttentionMetadata
    from pagesim.v0.sequence import SequenceGroup

Tokens = str | Iterable[int]
"""Words, each of which is a token, or token ids."""
Pairs = list[tuple[int, int]]
_ENGINES = ("v0", "v1")


class Story:
    """Sequences that write into the pages of one block manager.

    Sizes are numbers of blocks, and of slots per block. ``engine`` is "v0" (release 0.6.4.post1) or
    "v1" (0.33.0), whose block 0 is the null block: ``gpu_blocks`` - 1 can be used. A hybrid model
    of V1 has several KV cache ``groups``: each is "full", ("window", 128) for a sliding window of
    128 tokens, "state", ("state", 16) for a state that can be kept after every 16 tokens, or a spec
    such as ``pagesim.v1.SlidingWindowSpec(…)``; or all are a text, "full,window:128*5" (see
    :mod:`pagesim.v1.group_words`). ``record=False``
    saves the time of recording, but the story then has no ``run``. NoFreeBlocksError if no block is
    left; nothing has changed then.
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
        engine: str = "v0",
        groups: Groups | None = None,
    ) -> None:
        if engine not in _ENGINES:
            raise UsageError(f"engine must be 'v0' or 'v1', not {engine!r}")
        sizes = gpu_blocks, cpu_blocks, block_size, caching, watermark, sliding_window
        if groups is not None and engine == "v0":
            raise UsageError("V0 has one kind of memory: give groups with engine='v1'")
        if record and type(gpu_blocks) is int and type(cpu_blocks) is int:
            check_pool_size(gpu_blocks + cpu_blocks)  # before they are all made
        self._pages = V1Pages(*sizes, groups) if engine == "v1" else V0Pages(*sizes)
        self.manager: Any = self._pages.manager
        """What does the work: a `SelfAttnBlockSpaceManager`, or V1's `KVCacheManager`."""
        self.writers: list[Writer] = []
        """The present sequences in order of arrival."""
        self._words: dict[str, int] = {}
        self._next_id = 0
        self._run: Timeline | None = None
        if record:
            self._recording = recording(self.manager)  # it ends with the story
            self._run = self._recording.__enter__()

    @property
    def run(self) -> Timeline:
        """The run so far, to step through. UsageError if the story is not recorded."""
        if self._run is None:
            raise UsageError("this story is not recorded: make it with record=True")
        return self._run

    @property
    def words(self) -> dict[int, str]:
        """The words so far, mapped from their tokens."""
        return {token: word for word, token in self._words.items()}

    def arrive(self, prompt: Tokens, name: Name | None = None) -> Writer:
        """Let a new sequence with a prompt arrive; ``name`` is its id, or a label in the run."""
        seq_id = self._id_for(name)
        tokens, label = self._tokens(prompt), seq_id if name is None else name
        with self._naming(label, "arrive"):
            seq = self._pages.arrive(seq_id, tokens, label)
        return self._welcome(seq, seq_id, name)

    def batch(self) -> AttentionMetadata:
        """Return the next step of the model: the tokens of running sequences not yet computed.

        A sequence with one such token is a decode, one with more is a prefill; prefills come first.
        Afterwards these tokens count as computed. See `pagesim.cache.AttentionMetadata`.

        V1 counts a prefix as computed as soon as it has its blocks. If the bytes matter, therefore
        call this after every step in which a sequence arrives or writes.
        """
        running = [writer.seq for writer in self.writers if self._pages.is_running(writer.seq)]
        return self._pages.batch(running)

    @contextmanager
    def _naming(self, name: Name, what: str) -> Iterator[None]:
        """Say who found no free block, and where the run is: the pool knows neither."""
        try:
            yield
        except NoFreeBlocksError as error:
            who = f"s{name}" if isinstance(name, int) else repr(name)
            run = "" if self._run is None else "; the story's `run` shows what led to it"
            raise NoFreeBlocksError(f"{who} cannot {what}: {error}{run}") from None

    def _tokens(self, given: Tokens) -> list[int]:
        if not isinstance(given, str):
            return check_token_ids("tokens", given)
        words = given.split()
        ids = [self._words.setdefault(word, len(self._words)) for word in words]
        if self._run is not None:
            self._run.annotate(tokens=self.words)
        return ids

    def _id_for(self, name: Name | None) -> Any:
        """A number is an id; a text is one in V1, and in V0 labels an unused number."""
        if type(name) is int:
            return name
        if name is not None and not is_name(name):
            raise TypeError(f"a name must be a number or a short string, not {name!r:.80}")
        if name is not None and name in [writer.name for writer in self.writers]:
            raise UsageError(f"{name!r} is already in use: names must be unique")
        if name is not None and self._pages.takes_text_ids:
            return name
        while self._next_id in self._pages.tables:
            self._next_id += 1
        return self._next_id

    def _welcome(self, seq: Any, seq_id: Name, name: Name | None) -> Writer:
        writer = Writer(self, seq, seq_id if name is None else name)
        number = seq_id if isinstance(seq_id, int) else self._next_id  # V1 counts as V0 does
        self._next_id = max(self._next_id, number + 1)
        self.writers.append(writer)
        if self._run is not None and isinstance(seq_id, int) and isinstance(name, str):
            self._run.label(self._pages.tables[seq_id], name)
        return writer


class Writer:
    """One sequence of a story: ``story.arrive(…)`` or ``writer.fork()`` makes it."""

    def __init__(self, story: Story, seq: Any, name: Name) -> None:
        self.story, self._pages, self.name = story, story._pages, name
        self.seq = seq
        """What the manager takes: a `Sequence` of V0, or a `pagesim.v1.Request`."""
        self.num_cached_tokens = story._pages.num_cached(seq)
        """Leading tokens that need not be computed, because they were found in the cache."""

    @property
    def group(self) -> SequenceGroup:
        """The sequence and its forks. UsageError in V1, which has none."""
        return self._pages.group(self.seq)

    @property
    def block_ids(self) -> list[int]:
        """Its block table, in the first group if there are several; empty after it has left."""
        return next(iter(self.tables), [])

    @property
    def tables(self) -> tuple[list[int], ...]:
        """Its block tables, one for each KV cache group; none after it has left."""
        return self._pages.block_ids_by_group(self.seq) if self.is_here else ()

    @property
    def token_ids(self) -> list[int]:
        """Its prompt and what it has written."""
        return list(self._pages.token_ids(self.seq))

    @property
    def is_here(self) -> bool:
        """Whether it has not yet left."""
        return self in self.story.writers

    @property
    def num_uncomputed(self) -> int:
        """The number of tokens that no :meth:`Story.batch` has computed yet."""
        return self._pages.num_uncomputed(self.seq)

    def write(self, tokens: Tokens = (), *, lookahead: int = 0, at_once: bool = False) -> Pairs:
        """Write tokens: each in a separate step, or all ``at_once``.

        ``lookahead`` slots are reserved after them. Returns the copies that must be made first, as
        pairs (from, to); V1 makes none. UsageError unless the sequence is present and running.
        """
        self._check("write", running=True)
        ids = self.story._tokens(tokens)
        steps = [ids] if at_once or not ids else [[token] for token in ids]
        with self.story._naming(self.name, "write"):
            return [pair for step in steps for pair in self._pages.write(self.seq, step, lookahead)]

    def fork(self, name: Name | None = None) -> Writer:
        """A second sequence of the same request, with the same tokens in the same blocks."""
        self._check("fork", running=True)
        child_id = self.story._id_for(name)
        return self.story._welcome(self._pages.fork(self.seq, child_id), child_id, name)

    def swap_out(self) -> Pairs:
        """Move to the CPU with all forks of the request; returns what `CacheEngine` moves."""
        self._check("swap out", running=True)
        with self.story._naming(self.name, "swap out"):
            return self._pages.swap_out(self.seq)

    def swap_in(self) -> Pairs:
        """Move back to the GPU with all forks; returns what `CacheEngine` moves."""
        self._check("swap in", running=False)
        with self.story._naming(self.name, "swap in"):
            return self._pages.swap_in(self.seq)

    def leave(self) -> None:
        """Free the blocks."""
        self._check("leave")
        self._pages.leave(self.seq)
        self.story.writers.remove(self)

    def _check(self, what: str, running: bool | None = None) -> None:
        if not self.is_here:
            raise UsageError(f"{self.name!r} has left: it cannot {what}")
        its = self._pages.is_running(self.seq)
        if self._pages.swaps and running not in (None, its):
            raise UsageError(
                f"{self.name!r} is {'running' if its else 'on the CPU'}: it cannot {what}"
            )

    def __repr__(self) -> str:
        count = len(self.token_ids)
        ids = " and ".join(map(str, self.tables)) or "[]"
        return f"Writer({self.name!r}, {count} tokens in blocks {ids})"
