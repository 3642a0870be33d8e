"""A scheduler by hand: requests are added, and each step is one call.

What vLLM's ``LLMEngine`` does around its scheduler, without a model: it makes requests, gives each
of them its next token, and takes away those that are done::

    engine = pagesim.Engine("v1", gpu_blocks=4)
    engine.add("a", 9)  # a prompt of nine tokens, unlike any other
    engine.step()  # {'a': 9}
    engine.waiting, engine.running, engine.free

``engine.scheduler`` is the real scheduler, for all that an engine has no word for, and
``engine.run`` is the recorded run.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pagesim.errors import UsageError
from pagesim.journal.effects import check_pool_size
from pagesim.story.engine_v0 import V0Engine
from pagesim.story.engine_v1 import V1Engine
from pagesim.timeline.record import record as recording
from pagesim.timeline.run import Timeline

_ENGINES: dict[str, type[V0Engine] | type[V1Engine]] = {"v0": V0Engine, "v1": V1Engine}


class Engine:
    """Requests on one scheduler: V0's (release 0.6.4.post1) or V1's (0.33.0).

    Sizes are numbers of blocks, and of tokens per block. Block 0 of V1 is the null block, so it can
    use ``gpu_blocks`` - 1. ``cpu_blocks`` are for swapping in V0, and a second tier in V1.
    ``options`` are fields of the engine's own ``SchedulerConfig``, ``CacheConfig`` and
    ``OffloadingConfig``; those of size are roomy if you leave them out. A request generates the
    tokens 1,000,001, 1,000,002 and so on. ``record=False`` saves the time of recording, but the
    engine then has no ``run``.

    UsageError or TypeError names what an engine does not know.
    """

    def __init__(
        self,
        engine: str = "v1",
        gpu_blocks: int = 12,
        cpu_blocks: int = 0,
        block_size: int = 4,
        **options: Any,
    ) -> None:
        if engine not in _ENGINES:
            raise UsageError(f"engine must be 'v0' or 'v1', not {engine!r}")
        record = options.pop("record", True)
        if record and type(gpu_blocks) is int and type(cpu_blocks) is int:
            check_pool_size(gpu_blocks + cpu_blocks)  # before they are all made
        self._own = _ENGINES[engine](gpu_blocks, cpu_blocks, block_size, options)
        self.scheduler: Any = self._own.scheduler
        """The real `pagesim.Scheduler`, or `pagesim.v1.Scheduler`."""
        self.requests: dict[str, Any] = {}
        """All requests ever added, by name: V0's `SequenceGroup`, V1's `Request`."""
        self._words: dict[str, int] = {}
        self._unused = 10_000
        self._run: Timeline | None = None
        if record:
            self._recording = recording(self.scheduler)  # it ends with the engine
            self._run = self._recording.__enter__()

    @property
    def run(self) -> Timeline:
        """The run so far, to step through. UsageError if the engine is not recorded."""
        if self._run is None:
            raise UsageError("this engine is not recorded: make it with record=True")
        return self._run

    def add(
        self, name: str, prompt: int | str | Iterable[int], max_tokens: int = 16, **options: Any
    ) -> Any:
        """Add a request, and return it.

        A prompt is a number of tokens, which no other prompt has, or words, or token ids. It ends
        when it has ``max_tokens`` tokens of output. ``options`` are those of the engine's request,
        such as ``priority=1``.
        """
        if name in self.requests:
            raise UsageError(f"there is a request {name!r} already: each has a name of its own")
        tokens = self._tokens(prompt)
        self.requests[name] = self._own.add(name, tokens, max_tokens, options)
        if isinstance(prompt, str) and self._run is not None:
            self._run.annotate(tokens={token: word for word, token in self._words.items()})
        return self.requests[name]

    def _tokens(self, prompt: int | str | Iterable[int]) -> list[int]:
        if isinstance(prompt, str):
            words = prompt.split()
            return [self._words.setdefault(word, len(self._words)) for word in words]
        if isinstance(prompt, int):
            first, self._unused = self._unused, self._unused + max(prompt, 1)
            return list(range(first, first + prompt))
        return list(prompt)

    def step(self) -> dict[str, int]:
        """Take a step; returns how many tokens of each request it computes."""
        computed = self._own.step()
        if self._run is not None:
            for table, name in self._own.new_tables():
                self._run.label(table, name)
        return computed

    def steps(self, count: int) -> list[dict[str, int]]:
        """Take so many steps."""
        return [self.step() for _ in range(count)]

    def fork(self, name: str) -> None:
        """Let V0 copy a request's first sequence: both share its blocks. UsageError on V1."""
        self._own.fork(self._request(name))

    def abort(self, name: str) -> None:
        """A client goes away."""
        self._request(name)
        self._own.abort(name)

    def _request(self, name: str) -> Any:
        if name not in self.requests:
            raise UsageError(f"there is no request {name!r}; there are {', '.join(self.requests)}")
        return self.requests[name]

    @property
    def waiting(self) -> list[str]:
        """The names of those that wait, the head of the queue first."""
        return self._own.waiting()

    @property
    def running(self) -> list[str]:
        """The names of those that run, in the scheduler's order."""
        return self._own.running()

    @property
    def swapped(self) -> list[str]:
        """The names of those that are swapped out; V1 has none."""
        return self._own.swapped()

    @property
    def holding(self) -> list[str]:
        """The names of those whose blocks are being loaded from a second tier."""
        return self._own.holding()

    @property
    def free(self) -> int:
        """Free blocks on the GPU."""
        return self._own.free()

    def table(self, name: str) -> list[int]:
        """The block ids of a request, in the order of its tokens; empty if it holds none."""
        return next(iter(self.tables(name)), [])

    def tables(self, name: str) -> list[list[int]]:
        """The block tables of a request, one for each KV cache group; V0 has one group."""
        return self._own.tables(self._request(name))

    def status(self, name: str) -> str:
        """What its status is called in the engine, such as "RUNNING" or "PREEMPTED"."""
        return self._own.status(self._request(name))

    def preemptions(self, name: str | None = None) -> int:
        """How often a request was preempted; without a name, how often any was."""
        names = list(self.requests) if name is None else [name]
        for one in names:
            self._request(one)
        return sum(self._own.preemptions(self.requests[one]) for one in names)

    def __repr__(self) -> str:
        return f"<Engine: {len(self.waiting)} wait, {len(self.running)} run, {self.free} free>"
