"""Serves requests with a scheduler: the loop that an engine runs, without a model.

The tokens are made up, and copies to a second tier end when a model of the workers says so. Record
it to watch it::

    with pagesim.record(scheduler) as run:
        serve(scheduler, [a, b])
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from itertools import chain

from pagesim.checks import check_a, check_int, explained
from pagesim.journal.effects import Name
from pagesim.v1.offload.remote import ModelRunnerOutput
from pagesim.v1.offload.worker import OffloadingWorker, reported
from pagesim.v1.output import SchedulerOutput
from pagesim.v1.request import Request
from pagesim.v1.scheduler import Scheduler

Sample = Callable[[Request], int]


@explained
def serve(
    scheduler: Scheduler,
    requests: Iterable[Request] | Mapping[int, Iterable[Request]],
    worker: OffloadingWorker | None = None,
    *,
    sample: Sample | None = None,
    max_steps: int = 1_000,
) -> list[SchedulerOutput]:
    """Let requests arrive, and take steps until nothing is left to do; returns the steps.

    A mapping says before which step requests arrive, counted from 1. ``worker`` says when copies
    end, in steps, and which loads fail; by default they end in the step in which they begin, and
    none fails. ``sample`` gives the next token of a request; the default is the number of its
    tokens. If requests wait forever, it ends when nothing can happen any more, or after
    ``max_steps``.
    """
    check_a("scheduler", scheduler, Scheduler)
    worker, sample = worker or OffloadingWorker(), sample or (lambda its: its.num_tokens)
    check_a("worker", worker, OffloadingWorker)
    if not callable(sample):
        raise TypeError(f"sample must be a function of a request, not {sample!r}")
    check_int("max_steps", max_steps, 0)
    given = requests if isinstance(requests, Mapping) else {1: requests}
    arrivals = {check_int("a step", number, 1): list(new) for number, new in given.items()}
    for request in chain.from_iterable(arrivals.values()):
        check_a("a request", request, Request)
    loop = Loop(scheduler, worker, sample)
    for number in range(1, max_steps + 1):
        for request in arrivals.pop(number, ()):
            scheduler.add_request(request)
        if not (arrivals or scheduler.has_requests()):
            break
        if not loop.step() and not arrivals:
            break
    loop.end()
    return loop.steps


class Loop:
    """Steps of a scheduler; an asynchronous one decides the next before it knows the last."""

    def __init__(self, scheduler: Scheduler, worker: OffloadingWorker, sample: Sample) -> None:
        self.scheduler, self.worker, self.sample = scheduler, worker, sample
        self.steps: list[SchedulerOutput] = []
        self._num_late = int(scheduler.scheduler_config.async_scheduling)
        self._in_flight: deque[tuple[SchedulerOutput, list[Name]]] = deque()
        self._now = 0.0

    def step(self) -> bool:
        """Take a step; returns whether more can happen without new requests."""
        output = self.scheduler.schedule()
        self.steps.append(output)
        if (metadata := output.kv_connector_metadata) is not None:
            self._now = max(self._now + 1, self.worker.start(metadata, self._now + 1))
        requests = self.scheduler.requests
        tokens = output.num_scheduled_tokens
        sampling = [name for name in tokens if not requests[name].is_prefill_chunk]
        self._in_flight.append((output, sampling))
        has_ended = False
        while len(self._in_flight) > (self._num_late if tokens else 0):
            has_ended |= self._update()
        connector = self.scheduler.connector
        is_copying = connector is not None and connector.has_pending_push_work()
        return bool(tokens) or has_ended or is_copying

    def _update(self) -> bool:
        """The output of the oldest step; returns whether something has ended."""
        output, sampling = self._in_flight.popleft()
        requests, ended = self.scheduler.requests, self.worker.finish(self._now)
        tokens = {name: [self.sample(requests[name])] for name in sampling if name in requests}
        if tokens or ended or output.num_scheduled_tokens or output.kv_connector_metadata:
            report = ModelRunnerOutput(tokens, *reported(ended), self.worker.invalid(ended))
            self.scheduler.update_from_output(output, report)
        return bool(tokens or ended)

    def end(self) -> None:
        """Give the outputs that are left."""
        while self._in_flight:
            self._update()
