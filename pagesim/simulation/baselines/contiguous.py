"""Contiguous memory, reserved on admission: the three Orca baselines of the paper.

They differ in the length that a request asks for without knowing its output (section 6.1):

* "max": the longest that the model allows;
* "pow2": its prompt, and the output rounded up to a power of two (at most doubled);
* "oracle": its prompt and output, which no server can know.
"""

from collections.abc import Callable

from pagesim.checks import check_int
from pagesim.errors import UsageError
from pagesim.simulation.baselines.buddy import Allocator, BuddyAllocator, power_of_two_from
from pagesim.simulation.waste import Slots, usage
from pagesim.workload.request import Request

Sizing = Callable[[Request, int], int]
"""How many slots a request asks for, given the model's longest sequence."""


def ask_max(request: Request, max_model_len: int) -> int:
    """The longest sequence that the model allows."""
    return max_model_len


def ask_pow2(request: Request, max_model_len: int) -> int:
    """The prompt, and the next power of two that holds the output."""
    return min(request.prompt_tokens + power_of_two_from(request.output_tokens), max_model_len)


def ask_oracle(request: Request, max_model_len: int) -> int:
    """Exactly what the request will need."""
    return request.prompt_tokens + request.output_tokens


SIZINGS: dict[str, Sizing] = {"max": ask_max, "pow2": ask_pow2, "oracle": ask_oracle}
"""The baselines' names, and what they ask for."""


class ContiguousPolicy:
    """One contiguous stretch per request, from admission to the end.

    ``sizing`` says how much is asked for, ``allocator`` what is granted: buddies of at most the
    power of two above ``max_model_len``, unless another is given. What is granted beyond what was
    asked is external: no request can name it. ``rounding_is_internal`` counts it, wrongly, as
    internal, to show the result. UsageError if ``sizing`` is unknown.
    """

    def __init__(
        self,
        pool: int,
        max_model_len: int,
        sizing: str | Sizing = "max",
        allocator: Allocator | None = None,
        *,
        rounding_is_internal: bool = False,
    ) -> None:
        self.pool = check_int("pool", pool, 1)
        self._max_model_len = check_int("max_model_len", max_model_len, 1)
        if isinstance(sizing, str):
            if sizing not in SIZINGS:
                raise UsageError(f"sizing must be one of {', '.join(SIZINGS)}, not {sizing!r}")
            sizing = SIZINGS[sizing]
        self._sizing = sizing
        self._allocator = allocator or BuddyAllocator(pool, power_of_two_from(max_model_len))
        self._rounding_is_internal = rounding_is_internal
        self._held: dict[str, tuple[int, int, int]] = {}
        self._token = self._reserved = self._asked = self._granted = 0

    def can_ever_admit(self, request: Request) -> bool:
        """Whether the longest stretch of the empty pool would be long enough."""
        return self._sizing(request, self._max_model_len) <= self._allocator.largest

    def admit(self, request: Request) -> bool:
        """Reserve the whole stretch now; False if no free one is long enough."""
        asked = self._sizing(request, self._max_model_len)
        stretch = self._allocator.allocate(asked)
        if stretch is None:
            return False
        start, granted = stretch
        self._held[request.request_id] = start, asked, granted
        self._token += request.prompt_tokens
        self._reserved += request.output_tokens
        self._asked += asked
        self._granted += granted
        return True

    def step(self) -> None:
        """A reserved slot of every request becomes a token."""
        self._token += len(self._held)
        self._reserved -= len(self._held)

    def release(self, request: Request) -> None:
        """Free the stretch; the last token was sampled, and its slot never used."""
        start, asked, granted = self._held.pop(request.request_id)
        self._allocator.free(start)
        self._token -= request.prompt_tokens + request.output_tokens - 1
        self._reserved -= 1
        self._asked -= asked
        self._granted -= granted

    def held(self, request_id: str) -> range:
        """The slots of a request, from admission to its end."""
        start, _, granted = self._held.get(request_id, (0, 0, 0))
        return range(start, start + granted)

    def why_refused(self, request: Request) -> str:
        """What it asks for, and what is free."""
        asked, free = self._sizing(request, self._max_model_len), self.pool - self._granted
        row = f"{free} slots are free, but not in one row" if free else "no slot is free"
        return f"it asks for {asked} slots in a row because it may become that long; {row}"

    def usage(self, head_waits: bool) -> Slots:
        """What it was granted beyond what it asked is external, or wrongly internal."""
        held = self._granted if self._rounding_is_internal else self._asked
        return usage(
            held,
            self.pool - self._granted,
            head_waits,
            empty=held - self._token - self._reserved,
            reserved=self._reserved,
            beyond=self._granted - held,
        )
