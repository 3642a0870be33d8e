"""Lets a scheduler decide one step, and says what it decided."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from pagesim.checks import check_int
from pagesim.decision import decision as words
from pagesim.decision.build import AnyScheduler, builder
from pagesim.decision.decision import Decision, Queues, victims
from pagesim.decision.reasons import reasons
from pagesim.decision.requests import Described, Requests, Tokens, described
from pagesim.decision.watch import watched
from pagesim.errors import NoFreeBlocksError, UsageError
from pagesim.journal.effects import Name, check_pool_size
from pagesim.timeline import record
from pagesim.timeline.run import Timeline
from pagesim.v0.scheduler import Scheduler

HOLDING = ("running", "swapped")
"""Who has blocks, and one token more than they hold."""


def what_if(
    blocks: int,
    *,
    running: Requests | None = None,
    waiting: Requests | None = None,
    swapped: Requests | None = None,
    cached: Requests | None = None,
    request: str | None = None,
    engine: str = "v1",
    block_size: int = 16,
    **options: Any,
) -> Decision:
    """Say what the next step decides in a pool of ``blocks`` blocks: V1's include the null block.

    ``running``, ``waiting`` and ``swapped`` (V0) are requests by name, front first. ``cached`` are
    requests that left before; the one that left last comes last, and their full blocks can be
    found. Each is a number of tokens, or a text such as "57 blocks,priority=1,prefix=old:160" (see
    `pagesim.decision.requests`); a running request's newest token has no slot yet. The decision is
    about ``request``, by default the first that waits. ``options`` are fields of the engine's
    `SchedulerConfig` and `CacheConfig`, such as ``watermark=0.01`` or ``policy="priority"``. If
    they are not given, a step may compute everything, and no request is too long for the model.

    The state is built in a real scheduler, and its ``schedule()`` decides. UsageError or TypeError
    names what cannot be built.
    """
    check_pool_size(check_int("blocks", blocks, 1))
    check_int("block_size", block_size, 1)
    parts = {"cached": cached, "swapped": swapped, "running": running, "waiting": waiting}
    all_of = {part: _described(its or {}, block_size, part) for part, its in parts.items()}
    count = sum(its.tokens for part in all_of.values() for its in part.values())
    longest = options.setdefault("max_model_len", max(count + 1, 2048))
    budget = options.setdefault("max_num_batched_tokens", max(count, longest))
    options.setdefault("max_num_seqs", min(budget, 256))
    made = builder(engine, {"num_gpu_blocks": blocks, "block_size": block_size, **options})
    tokens = Tokens()
    put = {"cached": made.leave, "swapped": made.swap, "running": made.run, "waiting": made.wait}
    for part, requests in all_of.items():
        for name, its in requests.items():
            put[part](name, its, tokens.of(name, its))
    return _decide(made.scheduler, request)


def _described(given: Requests, block_size: int, part: str) -> dict[str, Described]:
    """The requests of a part by name, with their sizes in tokens."""
    return {
        str(name): described(str(name), its).in_blocks(block_size, part in HOLDING)
        for name, its in given.items()
    }


def next_step(scheduler: Any, request: Name | None = None) -> Decision:
    """Say what the next ``schedule()`` of a scheduler will decide; the scheduler does not change.

    It is one of V0 or of V1, or something that has one, such as a `pagesim.Engine`. The decision is
    about ``request``, by default the first that waits. TypeError for anything else.
    """
    found = getattr(scheduler, "scheduler", scheduler)
    if not isinstance(found, AnyScheduler):
        raise TypeError(f"scheduler must be a Scheduler, or an Engine, not {scheduler!r}")
    return _decide(_copy(found), request)


def _copy(scheduler: AnyScheduler) -> AnyScheduler:
    """A copy that nobody records."""
    recorder = scheduler.journal.recorder
    copied = deepcopy(scheduler, {id(recorder): object()} if recorder is not None else None)
    copied.journal.listen(None)
    return copied


def _decide(scheduler: AnyScheduler, request: Name | None) -> Decision:
    before = _queues(scheduler)
    if request is None:
        request = next(iter(before["waiting"]), None)
    elif not any(request in queue for queue in before.values()):
        known = [name for queue in before.values() for name in queue]
        raise UsageError(f"there is no request {request!r}: there are {known}")
    error = output = None
    with watched(scheduler) as checks, record(scheduler) as run:
        if isinstance(scheduler, Scheduler):
            _label(scheduler, run)
        try:
            output = scheduler.schedule()
        except (RuntimeError, UsageError, NoFreeBlocksError) as stopped:
            error = str(stopped)
        if isinstance(scheduler, Scheduler):
            _label(scheduler, run)
    after = _queues(scheduler)
    verdict = words.FAILED if error else _verdict(request, before, after, output)
    why = () if error else reasons(scheduler, request, verdict, checks, before, after, output)
    engine = "v0" if isinstance(scheduler, Scheduler) else "v1"
    return Decision(
        engine, request, verdict, why, tuple(checks), victims(run), before, after, run, error
    )


def _queues(scheduler: AnyScheduler) -> dict[str, tuple[Name, ...]]:
    others = ["swapped"] if isinstance(scheduler, Scheduler) else []
    if not isinstance(scheduler, Scheduler) and scheduler.connector:
        others = ["kv_holding_waiting"]
    queues = {name: getattr(scheduler, name) for name in ["running", "waiting", *others]}
    return {name: tuple(each.request_id for each in queue) for name, queue in queues.items()}


def _label(scheduler: Scheduler, run: Timeline) -> None:
    """Call V0's tables by their requests, if these have one sequence."""
    tables = scheduler.block_manager.block_tables
    for queue in (scheduler.running, scheduler.waiting, scheduler.swapped):
        for group in queue:
            if len(group.seqs) == 1 and (table := tables.get(group.first_seq.seq_id)):
                run.label(table, group.request_id)


def _verdict(request: Name | None, before: Queues, after: Queues, output: Any) -> str:
    then = next((name for name in before if request in before[name]), None)
    now = next((name for name in after if request in after[name]), None)
    if now == "running":
        started = {"waiting": words.ADMITTED, "swapped": words.RETURNS}
        return started.get(str(then), words.RUNS)
    if request is None:
        return words.RUNS
    if now is None:
        return words.IGNORED
    if then == "running":
        return words.PREEMPTED
    return words.SWAPPED if now == "swapped" else words.WAITS
