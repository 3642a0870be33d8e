"""The serving loop: arrivals, the clock, the accounting and the outcomes, for every policy.

Policies differ in their :class:`Server`. All of them share these rules:

* Requests are served first come, first served; row ``i`` of the :class:`Outcomes` says what became
  of ``requests[i]``.
* The clock starts at 0. An iteration lasts ``cost_model.seconds(…)``; with nothing to run, the
  clock jumps to the next arrival.
* The :class:`WasteLog` gets one row for every iteration, with the time at its end, and one with
  batch 0 for every jump. The slots are counted as they are while the iteration runs: prompts that
  it prefills are tokens, and so is the token that each decoding request writes. (A request of ``p``
  prompt and ``o`` output tokens runs for ``o`` iterations and ends with ``p + o - 1`` cached
  tokens: the last one is sampled but never stored.)
* Free slots are external while the head of the queue waits because it does not fit, and free
  otherwise; a head that waits for a seat in the batch (``max_num_seqs``) makes nothing external.
* A request whose prompt and output together are longer than ``max_model_len`` is ignored, whatever
  the policy; so is one that this policy could never hold, even alone, except under V1, which lets
  it wait. A request that is neither finished nor ignored at the end is stuck: it waits forever, or
  behind one that does. No baseline has such requests.
* The batch is the number of requests that run and hold memory during the iteration. One that only
  waits while others are prefilled counts; one that is swapped out does not.
* Slots outside every block (if the pool is not a multiple of the block size) are external: no
  request can hold them. Those of V1's null block are not part of the pool that is divided.
* V1's cached blocks that no request holds are neither external nor free: they are cached.
* ``progress(n)`` gets the number of requests done (finished or ignored) whenever it has grown.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

from pagesim.simulation.collector import collector_paused
from pagesim.simulation.cost_model import CostModel
from pagesim.simulation.outcomes import Outcomes
from pagesim.simulation.waste import WasteLog
from pagesim.workload.request import Request

if TYPE_CHECKING:
    from pagesim.cache import AttentionMetadata
    from pagesim.cache.cache_engine import BlockMoves
    from pagesim.timeline import Timeline

Told = Callable[[int], None]
"""Called with how many requests are done, finished or ignored."""


def untold(done: int) -> None:
    """For runs without a progress display."""


def too_long(request: Request, max_model_len: int) -> str:
    """Why every policy ignores a request that is longer than the model allows."""
    return (
        f"its {request.prompt_tokens} prompt and {request.output_tokens} output tokens exceed "
        f"max_model_len = {max_model_len}"
    )


class Step(NamedTuple):
    """What a server has decided. Requests are named by their rows in the workload."""

    batch: int = 0
    """Requests that run and hold memory."""
    usage: tuple[int, int, int, int] | None = None
    """Slots: token, reserved, internal, external. None if nothing is computed or moved."""
    prefill: int = 0
    """Prompt tokens computed."""
    decodes: int = 0
    """Sequences that get one more token."""
    read: int = 0
    """Cached tokens that they read."""
    moved: int = 0
    """Slots swapped in or out."""
    scheduled: Iterable[int] = ()
    """Requests that compute at least part of their prompt."""
    preempted: Iterable[int] = ()
    ignored: Sequence[int] = ()
    found: Iterable[tuple[int, int]] = ()
    """Requests, and how many of their tokens the prefix cache spares them."""


class Server(Protocol):
    """A scheduler with its memory. Built for one run."""

    pool: int
    """Slots that it can use: whole blocks."""
    null_slots: int
    """Slots of V1's null block, which no request can hold: they are in no account."""
    parts: tuple[str, ...]
    """The kinds of slots that it counts: `PARTS`, or `CACHED_PARTS`."""

    @property
    def cached(self) -> int:
        """Slots of cached blocks that no request holds, if they are counted apart."""

    @property
    def blocked(self) -> bool:
        """Whether no request can continue, whatever arrives."""

    def add(self, row: int, request: Request) -> bool:
        """Queue a request that has arrived; False if it can never be served, and is not queued."""

    def schedule(self, clock: float) -> Step | None:
        """Decide the next iteration; None if there is nothing to do before the next arrival."""

    def commit(
        self, tokens: Mapping[int, int] | None = None
    ) -> tuple[Sequence[int], Sequence[int]]:
        """Complete the iteration; returns the rows that were prefilled, and those that finished.

        ``tokens`` are those that a model has sampled, by sequence id; without them every request
        gets tokens that no other request has.
        """

    def why_not(self, row: int) -> str:
        """Why a request was ignored, or is stuck after the last step, in words."""

    def tables(self) -> dict[int, list[int]]:
        """The block ids of every sequence that has any, by its id: copies."""

    def finish(self) -> Timeline | None:
        """The run is over: its timeline, if it was recorded."""


class PagedServing(Server, Protocol):
    """A server whose sequences have block tables: a language model can run on it.

    A request's sequence has its row as id. A model's step is: :meth:`schedule`, carry out
    :attr:`moves`, compute :meth:`batch`, :meth:`commit` what was sampled.
    """

    can_fork: bool
    """Whether it has `fork`, `drop` and ``add(…, samples=…)``: see `PagedServer`."""

    @property
    def moves(self) -> BlockMoves:
        """The blocks to move before the step computes."""

    def batch(self) -> AttentionMetadata:
        """The step that :meth:`schedule` has just decided."""

    def commit(
        self, tokens: Mapping[int, int] | None = None, ended: Collection[int] = ()
    ) -> tuple[Sequence[int], Sequence[int]]:
        """See :meth:`Server.commit`. The sequences in ``ended`` leave after this token, at once.

        UsageError or TypeError, with nothing changed, unless every sequence that samples in this
        step has a token, and every one in ``ended`` samples.
        """


def steps(
    server: Server,
    requests: Sequence[Request],
    log: WasteLog,
    outcomes: Outcomes,
    cost_model: CostModel,
    progress: Told = untold,
) -> Iterator[None]:
    """Serve ``requests`` in order of arrival; pause after each iteration.

    RuntimeError if swapping finds no room on the CPU.
    """
    seconds, add, homeless = cost_model.seconds, log.add, log.pool - server.pool
    clock, next_row, done, told, num_requests = 0.0, 0, 0, 0, len(requests)
    while True:
        while next_row < num_requests and requests[next_row].arrival_s <= clock:
            if not server.add(next_row, requests[next_row]):
                outcomes.ignore(next_row, server.why_not(next_row))
                done += 1
            next_row += 1
        if done != told:
            progress(told := done)
        step = server.schedule(clock)
        if step is not None:
            for row in step.preempted:
                outcomes.preempt(row)
            for row in step.ignored:
                outcomes.ignore(row, server.why_not(row))
                done += 1
            for row, tokens in step.found:
                outcomes.find(row, tokens)
            if step.usage is not None:
                for row in step.scheduled:
                    outcomes.schedule(row, clock)
                clock += seconds(step.prefill, step.decodes, step.read, step.moved)
                token, reserved, internal, external = step.usage
                external += homeless
                add(clock, token, reserved, internal, external, step.batch, server.cached)
                if step.decodes:
                    outcomes.decodes.append(clock)
                answered, finished = server.commit()
                for row in answered:
                    outcomes.answer(row, clock)
                for row in finished:
                    outcomes.finish(row, clock)
                done += len(finished)
        if done != told:
            progress(told := done)
        if step is None:
            if next_row == num_requests or server.blocked:
                for row in outcomes.stuck():
                    late = "it arrives when no request can run any more"
                    outcomes.why[row] = server.why_not(row) if row < next_row else late
                return
            clock = requests[next_row].arrival_s
            add(clock, 0, 0, 0, homeless, 0, server.cached)
        elif step.usage is not None:
            yield


def serve(
    server: Server,
    requests: Sequence[Request],
    log: WasteLog,
    outcomes: Outcomes,
    cost_model: CostModel,
    progress: Told = untold,
) -> None:
    """Run :func:`steps` to the end."""
    with collector_paused():
        for _ in steps(server, requests, log, outcomes, cost_model, progress):
            pass
