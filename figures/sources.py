"""What a picture is drawn from: runs, their logs, and the files that hold either.

Every figure asks here, so that all accept the same things and give the same errors.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from os import PathLike, fspath
from pathlib import Path
from typing import Any, TypeGuard

from pagesim.errors import UsageError
from pagesim.files.jsonl import numbered_objects
from pagesim.simulation import Simulation, simulate
from pagesim.simulation.waste import CACHED_PARTS, PARTS, WasteLog, usage
from pagesim.studies.paper import Comparison
from pagesim.timeline import Timeline, load
from pagesim.workload import Workload
from pagesim.workload import load as load_workload

Means = Mapping[str, float]
Run = Simulation | Timeline | WasteLog | Means
Facts = Mapping[str, Any]
"""Plain data with names, of which the keys have been checked."""
Several = Sequence["Source"] | Facts
Source = Simulation | Timeline | WasteLog | Comparison | Workload | str | PathLike[str] | Several
"""What a picture of runs is drawn from: see `RUNS`."""
Plain = Facts | str | PathLike[str]
"""The same, or the JSON file that it is in."""
Serve = Callable[[Workload], Mapping[str, Run]]
"""What becomes of a trace of requests: runs by name."""

RUNS = (
    "a pagesim.Simulation, a Timeline, a WasteLog, its mean(), a Comparison of studies.paper, the "
    "path of a timeline, a trace of requests or what `pagesim simulate --json` printed, or several "
    "of them in a list or by name"
)


def is_path(source: object) -> TypeGuard[str | PathLike[str]]:
    """Whether it names a file."""
    return isinstance(source, str | PathLike)


def cannot(figure: str, source: object, wanted: str) -> TypeError:
    """The error for something that a figure does not draw, with the way out."""
    kind = type(source).__name__
    article = "an" if kind[0].lower() in "aeiou" else "a"
    return TypeError(f"{figure} cannot draw {article} {kind}: give {wanted}")


def report(figure: str, source: object, keys: Iterable[str], made_by: str) -> Facts:
    """Plain data with ``keys``: given as such, in a JSON file, or by ``as_dict()``.

    TypeError for anything else, UsageError for data that lack a key; both name what makes the data.
    """
    data = read(source) if is_path(source) else source
    if hasattr(data, "as_dict"):
        data = data.as_dict()
    if not isinstance(data, Mapping):
        raise cannot(figure, data, f"what {made_by} makes, or its JSON file")
    if missing := [key for key in keys if key not in data]:
        raise UsageError(
            f"{figure}: the data have no {', '.join(missing)}: use data from {made_by}"
        )
    return data


def read(path: str | PathLike[str]) -> Any:
    """What a file holds: a Timeline, a Workload, or the object of a JSON file.

    UsageError, with the line that is wrong, for any other; OSError if it cannot be opened.
    """
    name = fspath(path)
    if name.endswith(".json"):
        try:
            found = json.loads(Path(name).read_text(encoding="utf-8"))
        except (RecursionError, ValueError) as error:
            raise UsageError(f"{name}: not JSON: {error}") from error
        if not isinstance(found, dict):
            raise UsageError(f"{name}: must be a JSON object, not {found!s:.40}")
        return found
    if name.removesuffix(".gz").endswith(".jsonl"):
        for _, first in islice(numbered_objects(name, UsageError), 1):
            if str(first.get("format", "")).startswith("pagesim-timeline/"):
                return load(path)
    return load_workload(path)


def runs(figure: str, source: Source, serve: Serve) -> dict[str, Run]:
    """The runs of ``source`` by name: a single one, several in a list, or a mapping from names.

    A trace of requests is passed to ``serve``. TypeError, naming ``figure``, for what is not a run;
    UsageError when there is none, and for means that lack a part.
    """
    if isinstance(source, Comparison):
        source = source.ours
    if isinstance(source, Mapping) and not _is_means(source):
        several: list[tuple[str | None, Source]] = [
            (str(name), run) for name, run in source.items()
        ]
    elif isinstance(source, list | tuple):
        several = [(None, value) for value in source]
    else:
        several = [(None, source)]
    found: dict[str, Run] = {}
    for name, value in several:
        some = _runs_of(figure, value, serve)
        for own, run in some.items():
            called = own if name is None else name if len(some) == 1 else f"{name}, {own}"
            twins = sum(other.split(" (")[0] == called for other in found)
            found[f"{called} ({twins + 1})" if twins else called] = run
    if not found:
        raise UsageError(f"{figure}: there is no run to draw: give at least one")
    return found


def _runs_of(figure: str, source: Source, serve: Serve) -> Mapping[str, Run]:
    """The runs of one source: itself under its own name, or what a file holds."""
    if is_path(source):
        found, name = read(source), Path(source).name.split(".")[0]
        if isinstance(found, Mapping):
            return _printed(found, fspath(source))
        return {name: found} if isinstance(found, Timeline) else serve(found)
    if isinstance(source, Workload):
        return serve(source)
    if isinstance(source, Simulation):
        return {source.policy: source}
    if isinstance(source, Timeline):
        return {source.notes.title or "recorded run": source}
    if isinstance(source, WasteLog):
        return {"run": source}
    if isinstance(source, Mapping) and _is_means(source):
        missing = [name for name in (*PARTS, "batch") if name not in source]
        if missing:
            raise UsageError(f"the means have no {', '.join(missing)}: take WasteLog.mean()")
        return {"run": source}
    raise cannot(figure, source, RUNS)


def _is_means(source: Facts) -> TypeGuard[Means]:
    return bool(source) and all(isinstance(value, int | float) for value in source.values())


def _printed(found: Facts, path: str) -> dict[str, Run]:
    """What `pagesim simulate --json` or `pagesim waste --json` printed."""
    means = found.get("policies") or {found.get("policy", "run"): found.get("waste")}
    for row in means.values():
        if not isinstance(row, Mapping) or not {*PARTS, "batch"} <= row.keys():
            raise UsageError(
                f"{path}: there are no means in this file: write it with `pagesim simulate --json` "
                "or `pagesim waste --json`"
            )
    return dict(means)


def serve(policies: Iterable[str], options: Facts) -> Serve:
    """Simulate a trace under some policies, all requests waiting from the start.

    ``options`` are those of `pagesim.simulate`, and may override that.
    """
    given = {"saturated": True, "progress": False, **options}

    def served(workload: Workload) -> dict[str, Run]:
        return {policy: simulate(workload, policy=policy, **given) for policy in policies}

    return served


def log_of(run: Run) -> WasteLog:
    """Where the slots were, iteration after iteration. UsageError for means: they have no time."""
    if isinstance(run, Simulation):
        return run.waste
    if isinstance(run, Timeline):
        return _log_of_pages(run)
    if isinstance(run, WasteLog):
        return run
    raise UsageError("means have no iterations: give the run, its log, or its timeline")


def parts_of(rows: Iterable[Facts]) -> tuple[str, ...]:
    """The parts that any of these rows has, in the order in which they are stacked."""
    return CACHED_PARTS if any("cached" in row for row in rows) else PARTS


def means_of(run: Run) -> Means:
    """Percent of the pool for each part, and "batch", over the steady state."""
    return run if isinstance(run, Mapping) else log_of(run).mean()


def note_of(found: Mapping[str, Run]) -> list[str]:
    """What a picture says about runs that it simulated, or read from a timeline."""
    notes = []
    for run in found.values():
        if isinstance(run, Simulation):
            late = run.requests.num_ignored
            ignored = f", {late:,} of them too long and ignored" if late else ""
            source = run.workload.source
            of = "" if source == "given" else f" of {source}"
            notes.append(
                f"{len(run.workload):,} requests{of}{ignored}, in {run.pool.slots:,} slots."
            )
        elif isinstance(run, Timeline):
            notes.append("In a timeline an iteration is a step of the scheduler, or an event.")
    return list(dict.fromkeys(notes))


def _log_of_pages(run: Timeline) -> WasteLog:
    """A recorded run in slots of its first pool; time is counted in steps.

    A timeline knows neither what will be used later nor how much the head of the queue asks for:
    empty slots of a held block are internal, and external are only blocks on no table and no list.
    V1's null block is no part of the pool: as in a simulation, no request can hold it.
    """
    steps = run.find(kind="schedule") or range(len(run))
    start = run.at(0)
    is_v1 = start.null_block is not None  # from the start: V0 makes one where it needs it
    pool = set(range(next(iter(start.pools.values())))) - {start.null_block}
    log = WasteLog(len(pool) * start.block_size, CACHED_PARTS if is_v1 else PARTS)
    size = start.block_size
    for step, event in enumerate(steps, 1):
        state = run.at(event + 1)
        filled: dict[int, int] = {}
        for table in state.tables.values():
            for block, fill in zip(table.block_ids, table.fill, strict=True):
                if block in pool:
                    filled[block] = max(fill, filled.get(block, 0))
        unowned = [block for ids in state.lists.values() for block in ids if block in pool]
        held = len(filled) * size
        lost = (len(pool) - len(filled) - len(unowned)) * size
        cached = len(state.cached.intersection(unowned)) * size if is_v1 else 0
        batch = len(state.queues["running"]) if "running" in state.queues else len(state.tables)
        slots = usage(held, 0, False, empty=held - sum(filled.values()), beyond=lost)
        log.add(step, *slots, batch, cached)
    return log
