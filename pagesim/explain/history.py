"""What happened in a run, request by request and step by step: read once, from first to last.

Nothing here judges. A run of a manager or an allocator alone has no steps and no requests.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pagesim.explain.contents import Contents, Key
from pagesim.files.jsonl import Json
from pagesim.journal.effects import Name
from pagesim.journal.state import Group, State
from pagesim.timeline import Lookup


@dataclass(slots=True)
class Stay:
    """A time in which a request runs: from its admission to its preemption or end.

    ``event`` is the admission, ``end`` the event that ended it. ``num_tokens`` is what the request
    had when it was admitted, and ``found`` how many of them it did not compute. ``keys`` are the
    contents of its full blocks.
    """

    event: int
    num_tokens: int
    end: int | None = None
    how: str = ""
    """How it ended: the kind of that event; "" if it has not."""
    first: int | None = None
    """Its first position that was computed; None if none was."""
    computed: int = 0
    """The positions before this one were computed or found when it ended."""
    steps: int = 0
    """How many steps it took part in, of which so many ``sampled`` a token."""
    sampled: int = 0
    by: Name | None = None
    """For whom it was preempted: the request that then got blocks, or itself."""
    is_kept: bool = False
    """Whether its blocks were swapped out when it ended, so that nothing was lost."""
    is_lost: bool = False
    """Whether they were swapped out, and nobody will ask for them again."""
    keys: tuple[Key, ...] = ()
    tail: tuple[int, ...] = ()
    """The tokens behind its last full block."""
    looked_up: int = 0
    """The event that looked for its prefix: its admission, or the load before it."""
    hits: int = 0
    """How many tokens were found on the GPU."""
    lookups: tuple[Lookup, ...] = ()
    """What several KV cache groups were asked."""

    @property
    def found(self) -> int:
        return self.first or 0


@dataclass(slots=True)
class Life:
    """A request. ``prompt`` is its number of tokens when it arrived; None if it is not known.

    ``known`` is the number of its tokens by now, at least.
    """

    name: Name
    table: Name | None = None
    prompt: int | None = None
    arrived: int = 0
    known: int = 0
    high: int = 0
    """The positions before this one have been computed, or found, at some time."""
    twice: int = 0
    """How many tokens were computed again after a preemption."""
    stays: list[Stay] = field(default_factory=list)
    loads: list[tuple[int, int]] = field(default_factory=list)
    """The events that load it, and how many stays it had had by then."""
    defers: list[tuple[int, str]] = field(default_factory=list)
    """The events that passed it over, and what was being copied: "store", "load" or both."""
    stores: int = 0
    """How many copies to a second tier were made for it."""
    queued: list[tuple[int, int | None]] = field(default_factory=list)
    """When it waited: from the event that put it into a queue to the one that took it out."""
    end: int | None = None
    how: str = ""
    freed: int = 0
    """How many blocks became free when it ended."""
    is_loaded: bool = False
    """Whether it holds blocks that were loaded, and waits for the rest."""
    looked_up: int = 0
    lookups: tuple[Lookup, ...] = ()
    """What was looked up for it since it ran last."""

    def wait_at(self, event: int) -> int | None:
        """The number of its waits that this event is in; None if it does not wait then."""
        for number, (begin, end) in enumerate(self.queued):
            if begin <= event and (end is None or end > event):
                return number
        return None

    def stay_before(self, event: int) -> "Stay | None":
        """Its last stay that began before an event."""
        return next((stay for stay in reversed(self.stays) if stay.event < event), None)

    @property
    def preemptions(self) -> list[int]:
        """The events that preempted it."""
        return [stay.end for stay in self.stays if stay.how == "preempt" and stay.end is not None]


@dataclass(frozen=True, slots=True)
class Decision:
    """A decision of a step about a request."""

    kind: str
    request: Name
    event: int


HEADS = 64
"""How many of those that wait a step names: a queue may be as long as the run."""


@dataclass(slots=True)
class Step:
    """A step of a scheduler, with the queues as they are when it is decided.

    ``waiting`` are the first of those that wait, at most HEADS of them. ``aside`` are those who are
    swapped out, or wait and hold blocks. ``free`` is the number of blocks that can be taken then,
    ``free_before`` when the step began. ``budget`` is how many tokens it computes.
    """

    number: int
    event: int
    waiting: tuple[Name, ...]
    num_waiting: int
    num_running: int
    aside: tuple[Name, ...]
    scheduled: tuple[tuple[Name, int, bool], ...]
    free_before: int
    free: int
    decisions: tuple[Decision, ...]
    is_copying: bool = False
    failed: str = ""
    unfinished: frozenset[Name] = frozenset()
    """Those whose prompt goes on in a later step."""
    head: Name | None = None
    """The first that waits and was not passed over; maybe one of those aside."""
    head_tokens: int = 0
    """How many tokens it has, at least; 0 if it is not known."""
    head_hits: int | None = None
    """How many of its blocks could be found then; None if its tokens are not known."""
    head_shared: int = 0
    """How many of these had an owner, so that they cost nothing, or were its own."""
    aside_blocks: int = 0
    """How many blocks the first of those aside has."""

    @property
    def budget(self) -> int:
        return sum(tokens for _, tokens, _ in self.scheduled)

    def of(self, *kinds: str) -> list[Name]:
        """Whom the decisions of these kinds concern."""
        return [decision.request for decision in self.decisions if decision.kind in kinds]


@dataclass(frozen=True, slots=True)
class Reason:
    """Why ``request`` waits: ``need`` and ``free`` are blocks or, of the budget, tokens.

    It needs ``at_most`` so many if it is not known how many of them it would have found.
    """

    kind: str
    request: Name
    need: int = 0
    free: int = 0
    at_most: bool = False


@dataclass(slots=True)
class History:
    """A run: its steps, its requests, and what was cached when."""

    start: State
    settings: Mapping[str, Json]
    contents: Contents
    num_events: int = 0
    steps: list[Step] = field(default_factory=list)
    reasons: "list[Reason | None]" = field(default_factory=list)
    """Why the first that waited was not admitted, for each of the steps."""
    requests: dict[Name, Life] = field(default_factory=dict)
    most_copies: tuple[int, int] = (0, 0)
    """The most owned blocks whose content another owned block has too, and the event."""
    has_window: bool = False
    """Whether blocks are dropped behind a sliding window."""
    pinned: tuple[int, ...] = ()
    """Blocks that have an owner at the end, though no request and no copy has them."""
    lookups: list[tuple[int, Name, tuple[Lookup, ...]]] = field(default_factory=list)
    """What groups were asked for somebody whom no queue has."""
    misses: list[Any] | None = None
    """What each request missed first when it was admitted, once that has been asked."""
    numbers: list[int | None] = field(default_factory=list)
    """The step of each event."""

    @property
    def is_v1(self) -> bool:
        return "free queue" in self.start.lists

    @property
    def usable(self) -> int:
        """How many blocks requests can have at once: V1 keeps block 0 for itself."""
        return self.start.num_gpu_blocks - self.is_v1

    @property
    def groups(self) -> tuple[Group, ...]:
        return self.start.groups

    def number(self, name: str) -> int | None:
        """A setting that is a whole number, if the run has it."""
        value = self.settings.get(name)
        return value if type(value) is int else None

    def share(self, name: str) -> float:
        """A setting that is a fraction; 0 if the run does not have it."""
        value = self.settings.get(name)
        if isinstance(value, bool) or not isinstance(value, int | float):
            return 0.0
        return float(value) if 0 <= value <= 1 else 0.0

    def blocks(self, num_tokens: int) -> int | None:
        """How many blocks so many tokens need; None if that depends on windows or groups."""
        if self.groups or self.has_window:
            return None
        longest = self.number("max_model_len")
        tokens = min(num_tokens, longest) if longest and self.is_v1 else num_tokens
        return -(-tokens // self.start.block_size)

    @property
    def watermark(self) -> int:
        """How many blocks admission keeps free."""
        return int(self.share("watermark") * self.start.num_gpu_blocks)

    def step_of(self, event: int) -> int | None:
        """The number of the scheduler's step that an event belongs to."""
        return self.numbers[event] if 0 <= event < len(self.numbers) else None
