"""Token attention: a pool of single tokens, and a table of slots for every request.

LightLLM's answer to paging is a page of one token. Nothing is reserved and nothing is rounded, so a
slot is a token or it is free. What remains is to know when a newcomer fits: LightLLM forecasts the
peak of the batch from the length that each request may reach, and admits a request only if the pool
will never be too small. So no request is ever preempted.

Source: LightLLM, ``docs/TokenAttention.md`` and ``lightllm/server/router/req_queue.py`` (its first
releases; later ones can also pause requests). There the length a request may reach is the one its
user allows; here it is its true output, which is the best case of the rule. LightLLM looks for
adjacent slots first, which changes no sum, and is left out.
"""

from pagesim.checks import check_int
from pagesim.errors import UsageError
from pagesim.simulation.free_block_ids import FreeBlockIds
from pagesim.simulation.waste import Slots, usage
from pagesim.workload.request import Request


def peak_tokens(requests: list[tuple[int, int]]) -> int:
    """The most tokens ever held at once by requests of (tokens held, tokens to come).

    Usage peaks just before a request leaves. When the one with ``k`` tokens to come has them all,
    those with fewer to come have finished, and the others have grown by ``k``.
    """
    peak = staying = 0
    for size, (held, to_come) in enumerate(sorted(requests, key=lambda r: -r[1]), start=1):
        staying += held
        peak = max(peak, staying + size * to_come)
    return peak


class TokenPolicy:
    """Slots one by one. ``tables`` maps a request's id to its slots, in the order of its tokens."""

    def __init__(self, pool: int) -> None:
        self.pool = check_int("pool", pool, 1)
        self.tables: dict[str, list[int]] = {}
        self._final: dict[str, int] = {}
        self._free = FreeBlockIds(range(pool))

    def can_ever_admit(self, request: Request) -> bool:
        """Whether all its tokens fit; the last one is never stored."""
        return request.prompt_tokens + request.output_tokens - 1 <= self.pool

    def admit(self, request: Request) -> bool:
        """Take slots for the prompt, if the forecast says that they will always suffice."""
        newcomer = (request.prompt_tokens, request.output_tokens - 1)
        batch = [(len(held), self._final[name] - len(held)) for name, held in self.tables.items()]
        if peak_tokens([*batch, newcomer]) > self.pool:
            return False
        self.tables[request.request_id] = self._free.take(request.prompt_tokens)
        self._final[request.request_id] = request.prompt_tokens + request.output_tokens - 1
        return True

    def step(self) -> None:
        """One more slot for every table."""
        if len(self.tables) > len(self._free):
            raise UsageError(
                f"{len(self.tables)} requests need a slot, but only {len(self._free)} slots are "
                "free: a request continued after its last token; release it"
            )
        for table, slot in zip(
            self.tables.values(), self._free.take(len(self.tables)), strict=True
        ):
            table.append(slot)

    def release(self, request: Request) -> None:
        """All slots of a table are free again."""
        self._free.returned += self.tables.pop(request.request_id)
        del self._final[request.request_id]

    def held(self, request_id: str) -> list[int]:
        """The slots of a request, one for each token that is stored."""
        return self.tables.get(request_id, [])

    def why_refused(self, request: Request) -> str:
        """The result of the forecast."""
        return f"with it the pool of {self.pool} slots would be too small before one of them ends"

    def usage(self, head_waits: bool) -> Slots:
        """A slot is a token or it is free."""
        return usage(self.pool - len(self._free), len(self._free), head_waits)
