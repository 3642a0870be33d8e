"""What the stats lines of one engine add up to: a few numbers, however long the log is."""

from dataclasses import dataclass, field

from pagesim.explain.log_reading import seconds_between
from pagesim.explain.log_stats import Stats

FULL = 97.0
"""Percent from which the pool counts as full: the blocks of a step or two are left."""

PERIOD = {"v0": 5, "v1": 10}
"""Seconds between two lines, if they have no time."""

SILENT = 3
"""After so many periods without a line, the engine has computed nothing: V1 is silent then."""

MOST_LINES = 8
"""How many line numbers a finding names."""


@dataclass(slots=True)
class Spell:
    """Lines in which something was so, one after another; the longest spell is kept."""

    start: int = 0
    lines: int = 0
    seconds: int = 0
    waiting: int = 0
    usage: float = 0.0
    running: int = 0
    fetching: int = 0
    silent: bool = False
    tokens: float = 0.0
    full: bool = False

    def longer(self, line: int, seconds: int, stats: Stats) -> "Spell":
        """The spell with one more line."""
        new = Spell(self.start or line, self.lines + 1)
        new.seconds = self.seconds + (seconds if self.lines else 0)
        new.silent, new.full = self.silent, self.full or stats.usage >= FULL
        new.tokens = self.tokens + stats.prompt * (seconds or PERIOD[stats.version])
        new.waiting = max(self.waiting, stats.waiting + stats.swapped)
        new.usage, new.running, new.fetching = stats.usage, stats.running, stats.fetching
        return new


@dataclass(slots=True)
class Seen:
    """How often something was seen, and in which lines at first."""

    count: int = 0
    lines: list[int] = field(default_factory=list)

    def add(self, line: int, count: int = 1) -> None:
        """It was seen in this line, or in this line so many times."""
        self.count += count
        if len(self.lines) < MOST_LINES:
            self.lines.append(line)


KINDS = ("stuck", "blocked", "held", "crowded", "filling", "looping")
"""Nothing runs though something waits; the head of the queue does not fit beside those that run;
blocks are held though there is no request; prompts are computed and hardly an output grows; the
queue becomes shorter because prompts are computed; prompts are computed and no output grows."""


@dataclass(slots=True)
class EngineLog:
    """One engine: the last line, the extremes, and the spells of trouble."""

    number: int
    version: str = "v1"
    lines: int = 0
    first_line: int = 0
    last_line: int = 0
    last: Stats | None = None
    at: int | None = None
    max_running: int = 0
    full_running: int = 0
    """How many ran in the last line in which the pool was full."""
    max_waiting: int = 0
    max_usage: float = 0.0
    at_most: Seen = field(default_factory=Seen)
    """Lines with the most requests running while others wait and there is room."""
    at_usage: float = 0.0
    """The usage in the last of them."""
    preempted: Seen = field(default_factory=Seen)
    suspected: Seen = field(default_factory=Seen)
    """Lines after which, in a full pool, fewer run and more wait."""
    prompt_tokens: float = 0.0
    missed: Seen = field(default_factory=Seen)
    """Lines with a hit rate of 0 although prompts were computed."""
    max_hits: float | None = None
    last_hits: float | None = None
    last_external: float | None = None
    max_cpu_usage: float | None = None
    max_swapped: int = 0
    now: dict[str, Spell] = field(default_factory=dict)
    longest: dict[str, Spell] = field(default_factory=dict)

    def add(self, line: int, at: int | None, stats: Stats) -> None:
        """The next line of this engine, written at this time of day."""
        period = PERIOD[stats.version]
        passed = seconds_between(self.at, at, period) if self.last else 0
        if self.last and self.last.stuck and passed > SILENT * period:
            self._silence(passed)
        self.version, self.at = stats.version, at if at is not None else self.at
        self.lines += 1
        self.first_line, self.last_line = self.first_line or line, line
        self._extremes(line, stats, passed or period)
        for kind, is_so in zip(KINDS, self._spells(stats), strict=True):
            self._spell(kind, is_so, line, passed, stats)
        self.last = stats

    def _extremes(self, line: int, stats: Stats, passed: int) -> None:
        before = self.last
        if stats.waiting and stats.running and stats.usage < FULL:
            if stats.running > self.max_running:
                self.at_most = Seen()
            if stats.running >= self.max_running:
                self.at_most.add(line)
                self.at_usage = stats.usage
        elif stats.running > self.max_running:
            self.at_most = Seen()
        if stats.usage >= FULL:
            self.full_running = stats.running
        self.max_running = max(self.max_running, stats.running)
        self.max_waiting = max(self.max_waiting, stats.waiting)
        self.max_usage = max(self.max_usage, stats.usage)
        self.max_swapped = max(self.max_swapped, stats.swapped)
        self.prompt_tokens += stats.prompt * passed
        if stats.preemptions:
            self.preempted.add(line, stats.preemptions)
        if (
            before is not None
            and max(before.usage, stats.usage) >= FULL
            and stats.running < before.running
            and stats.waiting > before.waiting
        ):
            self.suspected.add(line, before.running - stats.running)
        if stats.hits is not None:
            self.hits(line, stats.hits, stats.prompt)
        if stats.external is not None:
            self.last_external = stats.external
        if stats.cpu_usage is not None:
            self.max_cpu_usage = max(stats.cpu_usage, self.max_cpu_usage or 0.0)

    def hits(self, line: int, rate: float, prompt: float | None = None) -> None:
        """A hit rate in percent; ``prompt`` is the throughput of prompts beside it."""
        prompt = prompt if prompt is not None else self.last.prompt if self.last else 0.0
        self.last_hits, self.max_hits = rate, max(rate, self.max_hits or 0.0)
        if not rate and prompt:
            self.missed.add(line)

    def _spells(self, stats: Stats) -> tuple[bool, ...]:
        waits = bool(stats.running and stats.waiting and stats.usage < FULL)
        return (
            stats.stuck and not stats.generation and not stats.prompt,
            waits and not stats.prompt and stats.running < self.max_running,
            stats.idle and stats.usage > 0 and not stats.generation and not stats.prompt,
            stats.running > 1 and stats.prompt > 0 and stats.generation < stats.running,
            waits and stats.prompt > 0 and (not self.last or stats.running > self.last.running),
            stats.prompt > 0 and not stats.generation and stats.running <= 1,
        )

    def _spell(self, kind: str, is_so: bool, line: int, passed: int, stats: Stats) -> None:
        if not is_so:
            self.now.pop(kind, None)
            return
        spell = self.now[kind] = self.now.get(kind, Spell()).longer(line, passed, stats)
        if spell.lines > self.longest.get(kind, Spell()).lines:
            self.longest[kind] = spell

    @property
    def stalled(self) -> Spell | None:
        """The longest time in which nothing ran: two lines, the last one, or one before silence."""
        spell = self.longest.get("stuck")
        return (
            spell if spell and (spell.lines > 1 or spell.silent or self.is_now("stuck")) else None
        )

    def _silence(self, passed: int) -> None:
        """Nothing ran in the last line, and until this one there was none."""
        assert self.last is not None
        spell = self.now.get("stuck") or Spell(self.last_line, 1, 0, self.last.waiting)
        spell.seconds += passed
        spell.silent = True
        if spell.seconds > self.longest.get("stuck", Spell()).seconds:
            self.longest["stuck"] = spell

    def is_now(self, kind: str) -> bool:
        """Whether the log ends with it."""
        return kind in self.now
