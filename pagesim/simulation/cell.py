"""A cell of a sweep as a simulation, whose arguments can all be written as JSON."""

from typing import TYPE_CHECKING, Any

from pagesim.errors import UsageError
from pagesim.files.jsonl import JsonObject

if TYPE_CHECKING:
    from pagesim.workload import Workload


def simulate_cell(**cell: Any) -> JsonObject:
    """Run ``pagesim.simulate`` with the keywords of a cell and return the run's summary.

    ``workload`` is the path of a trace, or names a function of ``pagesim.workload`` with its
    keywords: ``{"name": "sharegpt_like", "n": 500, "seed": 0}``. Its keyword ``first`` takes only
    that number of requests. ``policy`` may be an engine: "paged" is V0, "v1" is V1. ``model``,
    ``gpu``, ``tp`` and ``kv_gib`` name a machine, as for `pagesim simulate`. Instead, ``pool`` may
    give a number of slots, or the keywords of ``Pool.for_model``: ``{"model": "opt-13b", "kv_gib":
    12}``. All other keywords are those of ``simulate``.
    """
    from pagesim.simulation import simulate
    from pagesim.simulation.machine import NAMES, Machine
    from pagesim.sizing import Pool

    if "workload" not in cell:
        raise UsageError("a cell needs a workload: a path, or a dict with a name and keywords")
    options = dict(cell)
    workload = _workload(options.pop("workload"))
    pool = options.pop("pool", None)
    if pool is not None:
        pool = Pool.for_model(**pool) if isinstance(pool, dict) else Pool(pool)
    machine = Machine.of(**{name: options.pop(name, None) for name in NAMES}, pool=pool)
    policy = options.pop("policy", "paged")
    means = {"progress": False} | machine.keywords(policy, options)
    return simulate(workload, policy=policy, **means).summary()


def _workload(given: str | JsonObject) -> "Workload":
    from pagesim import workload

    if isinstance(given, str):
        return workload.load(given)
    if not isinstance(given, dict) or not isinstance(given.get("name"), str):
        raise UsageError(f"workload must be a path or a dict with a name, not {given!r}")
    keywords = dict(given)
    name, first = keywords.pop("name"), keywords.pop("first", None)
    known = [one for one in workload.__all__ if one.islower() and one not in ("load", "stream")]
    if name not in known:
        raise UsageError(f"unknown workload {name!r}: there are {', '.join(known)}")
    stream: Workload = getattr(workload, name)(**keywords)
    return stream if first is None else stream.first(first)
