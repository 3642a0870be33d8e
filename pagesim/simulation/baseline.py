"""A baseline's memory as a server: first come, first served, one iteration at a time.

As in Orca, new requests are prefilled in the same iteration in which the others decode, and a
finished request leaves at once. No request overtakes the head of the queue or is preempted.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from pagesim.checks import check_int
from pagesim.errors import UsageError
from pagesim.simulation.baselines.policy import MemoryPolicy
from pagesim.simulation.serving import Server, Step, too_long
from pagesim.workload.request import Request

if TYPE_CHECKING:
    from pagesim.timeline import Timeline


class BaselineServer(Server):
    """Serves requests out of a memory policy; see :class:`pagesim.simulation.Server`.

    At most ``max_num_seqs`` requests run at once, and at most ``max_num_batched_tokens`` tokens are
    prefilled in one iteration. A request is ignored if prompt and output are longer than
    ``max_model_len``, its prompt is longer than the budget, or the pool could never hold it.
    ``timeline`` returns that of the memory at the end; ``arrive`` is told when a request comes.
    """

    def __init__(
        self,
        policy: MemoryPolicy,
        max_model_len: int,
        max_num_seqs: int,
        max_num_batched_tokens: int,
        timeline: Callable[[], Timeline] | None = None,
        arrive: Callable[[Request], None] | None = None,
    ) -> None:
        self.policy, self.pool = policy, policy.pool
        self._timeline, self._arrive = timeline, arrive
        self._max_model_len = check_int("max_model_len", max_model_len, 1)
        self._max_num_seqs = check_int("max_num_seqs", max_num_seqs, 1)
        self._budget = check_int("max_num_batched_tokens", max_num_batched_tokens, 1)
        self._waiting: deque[tuple[int, Request]] = deque()
        self._admitted: list[int] = []
        self._leaving: defaultdict[int, list[tuple[int, Request]]] = defaultdict(list)
        self._iteration = self._batch = 0
        self._why_not: dict[int, str] = {}

    def add(self, row: int, request: Request) -> bool:
        if self._arrive is not None:
            self._arrive(request)
        if request.total_tokens > self._max_model_len:
            self._why_not[row] = too_long(request, self._max_model_len)
        elif request.prompt_tokens > self._budget:
            self._why_not[row] = (
                f"its {request.prompt_tokens} prompt tokens exceed a step's {self._budget}"
            )
        elif not self.policy.can_ever_admit(request):
            self._why_not[row] = f"the {self.pool} slots of the pool could never hold it"
        else:
            self._waiting.append((row, request))
        return row not in self._why_not

    def schedule(self, clock: float) -> Step | None:
        """UsageError if the policy never admits the head of the queue."""
        policy, waiting, decoding = self.policy, self._waiting, self._batch
        if not (waiting or decoding):
            return None
        policy.step()
        self._admitted, prefilled, head_waits = [], 0, False
        while waiting and self._batch < self._max_num_seqs:
            row, request = waiting[0]
            if request.prompt_tokens > self._budget - prefilled:
                break
            if not policy.admit(request):
                head_waits = True
                break
            waiting.popleft()
            self._batch += 1
            prefilled += request.prompt_tokens
            self._admitted.append(row)
            # Admission gives the first token, so the last one comes o - 1 iterations later.
            self._leaving[self._iteration + request.output_tokens - 1].append((row, request))
        if not self._batch:
            raise UsageError(f"{policy!r} refuses {waiting[0][1]} though nothing runs")
        usage = policy.usage(head_waits)
        read = usage[0] - prefilled
        return Step(self._batch, usage, prefilled, decoding, read, scheduled=self._admitted)

    def commit(self, tokens: Mapping[int, int] | None = None) -> tuple[list[int], list[int]]:
        leaving = self._leaving.pop(self._iteration, ())
        for _, request in leaving:
            self.policy.release(request)
        self._batch -= len(leaving)
        self._iteration += 1
        return self._admitted, [row for row, _ in leaving]

    def why_not(self, row: int) -> str:
        return self._why_not[row]  # no request is ever stuck

    def finish(self) -> Timeline | None:
        return None if self._timeline is None else self._timeline()
