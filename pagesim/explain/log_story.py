"""All that a log has told: what its start states, its engines, and its events."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from pagesim.errors import UsageError
from pagesim.explain.log_engine import EngineLog
from pagesim.explain.log_events import Event, count, transferred
from pagesim.explain.log_reading import clock, plain, seconds_between
from pagesim.explain.log_stats import BEGIN, HITS, stats_of
from pagesim.sizing.logged import room_of
from pagesim.sizing.room import Room
from pagesim.sizing.start_lines import Facts, start_facts

WORDS = (
    *("KV", "block", "max", "Maximum", "preempt", "memory", "Memory", "refix", "too long"),
    *("swap space", "parallel_size", "mmap file", "pageable", "unpinned"),
)
"""A line without any of these is passed over."""

_BYTES = tuple(word.encode() for word in WORDS)

MOST_ENGINES = 4096
MOST_OTHERS = 20_000
"""Lines that are neither stats nor passed over: after so many, a log says nothing new of a start,
and one that was made to be slow must end."""

REFUSAL = ("refused_max_model_len", "needed", "available", "estimated_max_model_len")


@dataclass(slots=True)
class LogStory:
    """What is kept of a log. ``at`` has the line of each fact, and ``sizes`` all pools it names."""

    lines: int = 0
    known: int = 0
    facts: Facts = field(default_factory=dict)
    at: dict[str, int] = field(default_factory=dict)
    sizes: set[int] = field(default_factory=set)
    engines: dict[int, EngineLog] = field(default_factory=dict)
    events: dict[str, Event] = field(default_factory=dict)
    moved: dict[str, float] = field(default_factory=dict)
    others: int = 0
    final: str | bytes = ""
    """The last line."""

    @property
    def version(self) -> str:
        """The engine: what its stats lines are of, else what its start says, else V1."""
        for engine in self.engines.values():
            return engine.version
        return str(self.facts.get("engine", "v1"))

    @property
    def room(self) -> Room | None:
        """The pool, if the log says how large it is."""
        try:
            return room_of(self.facts | {"engine": self.version})
        except UsageError:
            return None

    def silence(self, engine: EngineLog) -> int:
        """The seconds from the last line of an engine to that of the log; 0 if there is no time."""
        return seconds_between(engine.at, clock(plain(self.final)), 0)

    def number(self, name: str) -> int | None:
        """A fact that is a whole number above 0."""
        value = self.facts.get(name)
        return value if isinstance(value, int) and value > 0 and value is not True else None

    def add(self, line: str | bytes) -> None:
        """The next line."""
        self.lines, self.final = self.lines + 1, line
        for word in _BYTES if isinstance(line, bytes) else WORDS:
            if word in line:  # type: ignore[operator]
                break
        else:
            return
        text = plain(line)
        if BEGIN in text:
            self._stats(text)
        elif (hits := HITS.search(text)) is not None:
            self._hits(max(map(float, hits.groups())))
        elif self.others < MOST_OTHERS:
            self.others += 1
            self._other(text)

    def _stats(self, text: str) -> None:
        at = clock(text)
        for stats in stats_of(text):
            if stats.engine not in self.engines and len(self.engines) >= MOST_ENGINES:
                continue
            engine = self.engines.setdefault(stats.engine, EngineLog(stats.engine))
            engine.add(self.lines, at, stats)
            self.known += 1

    def _hits(self, rate: float) -> None:
        """V0 has a line of its own for the hit rates, after the one of its stats."""
        if (engine := self.engines.get(0)) is not None:
            engine.hits(self.lines, rate)
            self.known += 1

    def _other(self, text: str) -> None:
        facts = start_facts(text)
        if "tokens" in facts and "refused_max_model_len" not in facts:  # this start succeeded
            for name in REFUSAL:
                self.facts.pop(name, None)
        if isinstance(tokens := facts.get("tokens"), int) and len(self.sizes) < MOST_ENGINES:
            self.sizes.add(tokens)
        self.facts |= facts
        for name in facts:
            self.at.setdefault(name, self.lines)
        before = len(self.events), sum(event.count for event in self.events.values())
        count(self.events, self.lines, text)
        after = len(self.events), sum(event.count for event in self.events.values())
        self.known += bool(facts) or before != after
        for name, amount in transferred(text).items():
            self.moved[name] = self.moved.get(name, 0.0) + amount


def story_of(lines: Iterable[str | bytes]) -> LogStory:
    """Read a log, one line at a time."""
    story = LogStory()
    for line in lines:
        story.add(line)
    return story
