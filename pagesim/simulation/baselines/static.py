"""Static batching: a batch of rows as long as the longest sequence, from its start to its end.

What serving looked like before iterations were scheduled: no request joins a batch that has begun,
and one that finishes early keeps its row until the last one is done.
"""

from pagesim.checks import check_int
from pagesim.simulation.waste import Slots, usage
from pagesim.workload.request import Request


class StaticPolicy:
    """As many rows of ``max_model_len`` slots as the pool has room for, all or nothing.

    A finished request's tokens are of no use, so its whole row counts as internal. Slots outside
    the batch (the rest of the pool, rows that it began without) are external while a request waits.
    """

    def __init__(self, pool: int, max_model_len: int) -> None:
        self.pool = check_int("pool", pool, 1)
        self._row = check_int("max_model_len", max_model_len, 1)
        self._rows = pool // max_model_len
        self._begun = False
        self._places: dict[str, range] = {}
        self._in_batch = self._running = self._token = self._reserved = 0

    def can_ever_admit(self, request: Request) -> bool:
        """Whether there is a row at all."""
        return self._rows > 0

    def admit(self, request: Request) -> bool:
        """Take a row of a batch that has not begun."""
        if self._begun or self._in_batch == self._rows:
            return False
        start = self._in_batch * self._row
        self._places[request.request_id] = range(start, start + self._row)
        self._in_batch += 1
        self._running += 1
        self._token += request.prompt_tokens
        self._reserved += request.output_tokens
        return True

    def step(self) -> None:
        """Each running request stores one more token; a batch with members has begun."""
        self._begun = self._in_batch > 0
        self._token += self._running
        self._reserved -= self._running

    def release(self, request: Request) -> None:
        """The row stays with the batch; the last one to finish ends it."""
        self._running -= 1
        self._token -= request.prompt_tokens + request.output_tokens - 1
        self._reserved -= 1
        if not self._running:
            self._in_batch, self._begun = 0, False
            self._places.clear()

    def held(self, request_id: str) -> range:
        """The row of a request, until its batch ends."""
        return self._places.get(request_id, range(0))

    def why_refused(self, request: Request) -> str:
        """Why it has to wait for the end of the batch."""
        if self._begun:
            return "the batch has begun: nothing joins it until all of it is done"
        return f"all {self._rows} rows of the batch are taken"

    def usage(self, head_waits: bool) -> Slots:
        """Rows of the batch are held, also those of requests that have finished."""
        held = self._in_batch * self._row
        empty, reserved = held - self._token - self._reserved, self._reserved
        return usage(held, self.pool - held, head_waits, empty=empty, reserved=reserved)
