"""The iteration loop over a baseline's memory: first come, first served, an iteration at a time.

As in Orca, new requests are prefilled in the same iteration in which the others decode, and a
finished request leaves at once. No request overtakes the head of the queue or is preempted.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from pagesim.checks import check_int
from pagesim.errors import UsageError
from pagesim.simulation.baselines.policy import MemoryPolicy
from pagesim.simulation.cost_model import CostModel
from pagesim.simulation.engine import Told, untold
from pagesim.simulation.outcomes import Outcomes
from pagesim.simulation.waste import WasteLog
from pagesim.workload.request import Request

if TYPE_CHECKING:
    from pagesim.timeline import Timeline


class BaselineEngine:
    """Runs a workload through a memory policy; see :class:`pagesim.simulation.Engine`.

    At most ``max_num_seqs`` requests run at once, and at most ``max_num_batched_tokens`` tokens are
    prefilled in one iteration. A request is ignored if prompt and output are longer than
    ``max_model_len``, its prompt is longer than the budget, or the pool could never hold it.
    ``told`` is asked at the end what happened in memory, and ``timeline`` is its answer.
    """

    def __init__(
        self,
        policy: MemoryPolicy,
        max_model_len: int,
        max_num_seqs: int,
        max_num_batched_tokens: int,
        told: Callable[[], Timeline] | None = None,
    ) -> None:
        self.policy = policy
        self.timeline: Timeline | None = None
        self._told = told
        self._max_model_len = check_int("max_model_len", max_model_len, 1)
        self._max_num_seqs = check_int("max_num_seqs", max_num_seqs, 1)
        self._budget = check_int("max_num_batched_tokens", max_num_batched_tokens, 1)

    def run(
        self,
        requests: Sequence[Request],
        log: WasteLog,
        outcomes: Outcomes,
        cost_model: CostModel,
        progress: Told = untold,
    ) -> None:
        """Serve ``requests`` to the end. UsageError if the policy never admits one."""
        policy, num_requests = self.policy, len(requests)
        leaving: defaultdict[int, list[int]] = defaultdict(list)
        clock, head, iteration, batch, done = 0.0, 0, 0, 0, 0
        while batch or head < num_requests:
            policy.step()
            decoding, admitted, prefilled, head_waits = batch, [], 0, False
            while head < num_requests and requests[head].arrival_s <= clock:
                request = requests[head]
                if not self._can_ever_serve(request):
                    outcomes.ignore(head)
                    done += 1
                    progress(done)
                elif (
                    batch == self._max_num_seqs or request.prompt_tokens > self._budget - prefilled
                ):
                    break
                elif policy.admit(request):
                    batch += 1
                    prefilled += request.prompt_tokens
                    admitted.append(head)
                    # Admission gives the first token, so that the last one comes o - 1 later.
                    leaving[iteration + request.output_tokens - 1].append(head)
                    outcomes.schedule(head, clock)
                else:
                    head_waits = True
                    break
                head += 1
            if not batch:
                if head_waits:
                    raise UsageError(f"{policy!r} refuses {requests[head]} though nothing runs")
                if head < num_requests:
                    clock = requests[head].arrival_s
                    log.add(clock, 0, 0, 0, 0, 0)
                continue
            usage = policy.usage(head_waits)
            clock += cost_model.seconds(prefilled, decoding, usage[0] - prefilled)
            log.add(clock, *usage, batch)
            for row in admitted:
                outcomes.answer(row, clock)
            for row in leaving.pop(iteration, ()):
                policy.release(requests[row])
                outcomes.finish(row, clock)
                batch -= 1
                done += 1
                progress(done)
            iteration += 1
        if self._told is not None:
            self.timeline = self._told()

    def _can_ever_serve(self, request: Request) -> bool:
        return (
            request.total_tokens <= self._max_model_len
            and request.prompt_tokens <= self._budget
            and self.policy.can_ever_admit(request)
        )
