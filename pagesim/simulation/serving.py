"""The serving loop: arrivals, the clock, the accounting and the outcomes, for every policy.

Policies differ in their :class:`Server`. All of them share these rules:

* Requests are served first come, first served; row ``i`` of the :class:`Outcomes` says what became
  of ``requests[i]``.
* The clock starts at 0. An iteration lasts ``cost_model.seconds(…)``; with nothing to run, the
  clock jumps to the next arrival. With a second tier, a step may wait for copies before it begins,
  and one that computes nothing lasts until the next copy ends; its batch is 0.
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

import gc
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

from pagesim.simulation.outcomes import Outcomes
from pagesim.simulation.waste import PARTS, Slots, WasteLog
from pagesim.sizing.cost_model import CostModel
from pagesim.workload.request import Request

if TYPE_CHECKING:
    from pagesim.cache import AttentionMetadata
    from pagesim.cache.cache_engine import BlockMoves
    from pagesim.timeline import Timeline
    from pagesim.v1.transfers import Copier

DoneCallback = Callable[[int], None]
"""Called with how many requests are done, finished or ignored."""


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
    usage: Slots | None = None
    """Where the slots are: see `waste.usage`. None if nothing is computed or moved."""
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
    lost: Iterable[tuple[int, int]] = ()
    """Requests, and how many tokens more only some groups of layers had."""
    begins: float | None = None
    """When it begins, if it may have to wait for copies; None: at once."""
    until: float | None = None
    """When the next copy ends, if it computes nothing: it lasts until then, or an arrival."""


def costs(
    parts: Iterable[tuple[int, int, bool]], sliding_window: int | None = None
) -> tuple[int, int, int]:
    """Prompt tokens and decodes that a step computes, and the cached tokens that it reads.

    ``parts``: for each sequence the positions from and to which it computes, and if it decodes.
    """
    window = sliding_window or sys.maxsize
    prompts = decodes = read = 0
    for start, end, is_decode in parts:
        if is_decode:
            decodes += 1
            read += end if end < window else window
        else:
            prompts += end - start
            read += min(start, window - 1)
    return prompts, decodes, read


class Gauges(NamedTuple):
    """What an engine measures after a step; fractions are of the blocks that it counts.

    ``slots`` is the fraction of their slots that hold a token; NaN where that is not one number, as
    ``swapped`` is where there is no swapping.
    """

    running: int
    waiting: int
    swapped: float
    usage: float
    slots: float


class Server(Protocol):
    """A scheduler and its memory, made for one run."""

    pool: int
    """Slots that it can use: whole blocks."""
    null_slots: int = 0
    """Slots of V1's null block, which no request can hold: they are in no account."""
    parts: tuple[str, ...] = PARTS
    """The kinds of slots that it counts: `PARTS`, or `CACHED_PARTS`."""

    @property
    def cached(self) -> int:
        """Slots in cached blocks that no request holds, if the server counts them separately."""
        return 0

    @property
    def blocked(self) -> bool:
        """Whether no request can continue, whatever arrives, because the queue's head is stuck."""
        return False

    def add(self, row: int, request: Request) -> bool:
        """Queue a request that has arrived; False if it can never be served, and is not queued."""

    def schedule(self, clock: float) -> Step | None:
        """Decide the next step; None if there is nothing to do before the next arrival."""

    def reach(self, clock: float) -> None:
        """The step ends at this time: told, before `commit`, if it says when it ``begins``."""
        return None

    def commit(
        self, tokens: Mapping[int, int] | None = None
    ) -> tuple[Sequence[int], Sequence[int]]:
        """Complete the step; returns the rows that were prefilled, and those that finished.

        ``tokens`` maps sequence ids to the tokens that a model has sampled; without it, every
        request gets tokens that no other request has.
        """

    def why_not(self, row: int) -> str:
        """Say in words why a request was ignored, or is stuck after the last step."""

    def tables(self) -> dict[int, list[int]]:
        """Return copies of the block tables by sequence id, without sequences that have no block.

        A request's only sequence has the request's row as its id. A server without pages has no
        tables.
        """
        return {}

    def finish(self) -> Timeline | None:
        """End the run; returns its timeline if it was recorded."""
        return None


class PagedServing(Server, Protocol):
    """A server whose sequences have block tables, so that a language model can run on it.

    A request's sequence has the request's row as its id. One step of a model has four parts: call
    :meth:`schedule`, carry out :attr:`moves`, compute :meth:`batch`, and :meth:`commit` the sampled
    tokens.
    """

    can_fork: bool
    """Whether it has `fork`, `drop` and ``add(…, samples=…)``: see `PagedServer`."""

    @property
    def moves(self) -> BlockMoves:
        """The blocks to move before the step computes."""

    def copy_with(self, copy: Copier) -> None:
        """Call ``copy`` when a copy of a second tier begins: it moves the bytes."""
        return None

    def batch(self) -> AttentionMetadata:
        """The step that :meth:`schedule` has just decided."""

    def commit(
        self, tokens: Mapping[int, int] | None = None, ended: Collection[int] = ()
    ) -> tuple[Sequence[int], Sequence[int]]:
        """Do what :meth:`Server.commit` does; sequences in ``ended`` leave right after this token.

        UsageError or TypeError, with nothing changed, if a sequence that samples in this step has
        no token, or if one in ``ended`` does not sample.
        """


def steps(
    server: Server,
    requests: Sequence[Request],
    log: WasteLog,
    outcomes: Outcomes,
    cost_model: CostModel,
    progress: DoneCallback | None = None,
) -> Iterator[None]:
    """Serve ``requests``; pause after each iteration. RuntimeError: no room to swap on the CPU."""
    seconds, homeless = cost_model.seconds, log.pool - server.pool
    clock, next_row, done, reported, num_requests = 0.0, 0, 0, 0, len(requests)
    while True:
        while next_row < num_requests and requests[next_row].arrival_s <= clock:
            if not server.add(next_row, requests[next_row]):
                outcomes.ignore(next_row, server.why_not(next_row))
                done += 1
            next_row += 1
        if done != reported and progress is not None:
            progress(reported := done)
        step = server.schedule(clock)
        if step is not None:
            done += _write_down(step, server, outcomes, clock)
            if step.usage is not None:
                following = requests[next_row : next_row + 1]
                clock = _end_of(step, server, clock, seconds, following)
                token, reserved, internal, external = step.usage
                external += homeless
                log.add(clock, token, reserved, internal, external, step.batch, server.cached)
                done += _complete(step, server, outcomes, clock)
        if done != reported and progress is not None:
            progress(reported := done)
        if step is None:
            if next_row == num_requests or server.blocked:
                _give_up(server, outcomes, next_row)
                return
            clock = requests[next_row].arrival_s
            log.add(clock, 0, 0, 0, homeless, 0, server.cached)
        elif step.usage is not None:
            yield


def _end_of(
    step: Step,
    server: Server,
    clock: float,
    seconds: Callable[..., float],
    following: Sequence[Request],
) -> float:
    """When a step ends, which may wait for copies, before it computes or instead."""
    if step.begins is None:
        return clock + seconds(step.prefill, step.decodes, step.read, step.moved)
    clock = max(clock, step.begins)
    if step.until is None:
        clock += seconds(step.prefill, step.decodes, step.read, step.moved)
    else:
        clock = max(clock, min([step.until, *(request.arrival_s for request in following)]))
    server.reach(clock)
    return clock


def _give_up(server: Server, outcomes: Outcomes, next_row: int) -> None:
    """Say of each request that has not ended why it never will."""
    late = "it arrives when no request can run any more"
    for row in outcomes.stuck():
        outcomes.why[row] = server.why_not(row) if row < next_row else late


def _write_down(step: Step, server: Server, outcomes: Outcomes, clock: float) -> int:
    """What a step has decided; returns how many requests it ignores."""
    for row in step.scheduled:
        outcomes.schedule(row, clock)
    for row in step.preempted:
        outcomes.preempt(row)
    for row in step.ignored:
        outcomes.ignore(row, server.why_not(row))
    for row, tokens in step.found:
        outcomes.find(row, tokens)
    for row, tokens in step.lost:
        outcomes.lose(row, tokens)
    return len(step.ignored)


def _complete(step: Step, server: Server, outcomes: Outcomes, clock: float) -> int:
    """An iteration ends; returns how many requests finish."""
    if step.decodes:
        outcomes.decodes.append(clock)
    answered, finished = server.commit()
    for row in answered:
        outcomes.answer(row, clock)
    for row in finished:
        outcomes.finish(row, clock)
    return len(finished)


def serve(
    server: Server,
    requests: Sequence[Request],
    log: WasteLog,
    outcomes: Outcomes,
    cost_model: CostModel,
    progress: DoneCallback | None = None,
    after: Callable[[], None] | None = None,
) -> None:
    """Run :func:`steps` to the end, without Python's cyclic garbage collector; ``after`` each step.

    A step creates a thousand short-lived objects and no reference cycles. The collector scans them
    repeatedly and finds nothing, which took about a third of the time of a stepped run.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        for _ in steps(server, requests, log, outcomes, cost_model, progress):
            if after is not None:
                after()
    finally:
        if was_on:
            gc.enable()
