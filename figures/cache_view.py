"""Whatever has pages as a `CacheView`: a manager, a scheduler, a state, a run or its file."""

from collections.abc import Iterable, Mapping
from os import PathLike
from typing import TypedDict

from pagesim.errors import UsageError
from pagesim.figures.sources import cannot, is_path, read
from pagesim.journal.effects import Name
from pagesim.journal.state import State
from pagesim.player.cache_view import CacheView
from pagesim.player.colors import places
from pagesim.simulation import Simulation
from pagesim.timeline import Timeline
from pagesim.timeline.record import Recordable

CACHES = (
    "a block manager, a scheduler, a Timeline, a State (run.at(i)), a Simulation with record=True, "
    "or the path of a timeline"
)

Cache = CacheView | State | Timeline | Simulation | Recordable | str | PathLike[str]


class Reading(TypedDict, total=False):
    """The keywords of `cache_view`, which every picture of a cache takes."""

    step: int
    names: Mapping[Name, str] | None
    order: Iterable[Name] | None


def framed_blocks(cache: CacheView, block_ids: Iterable[int] | None) -> frozenset[int]:
    """The blocks to highlight. UsageError for one that is in no pool."""
    ids, total = frozenset(block_ids or ()), cache.state.num_blocks
    for block_id in ids:
        if not 0 <= block_id < total:
            raise UsageError(f"highlight: block {block_id} is not in 0..{total - 1}")
    return ids


def cache_view(
    source: Cache,
    *,
    step: int = -1,
    names: Mapping[Name, str] | None = None,
    order: Iterable[Name] | None = None,
) -> CacheView:
    """Look at a cache: a manager or scheduler as it is, a state, or a run after ``step`` events.

    `names` gives sequences short labels (their id → the label), and their order; without it the id
    0 is ``s0`` and a string is its own label. Colours go by `order`, in which the sequences first
    appeared (a run knows its own), else by `names`, else by the tables. TypeError when `source` is
    not a cache, UsageError for a run without pages, two sequences with one label, or a step that
    does not exist.
    """
    if isinstance(source, CacheView):
        return source
    if is_path(source):
        found = read(source)
        if not isinstance(found, Timeline):
            raise UsageError(f"{source} holds no pages: record a run, and run.save() it")
        source = found
    if isinstance(source, Simulation):
        if source.timeline is None:
            raise UsageError(f"{source!r} recorded no pages: pass record=True to simulate")
        source = source.timeline
    words = dict[int, str]()
    if isinstance(source, Timeline):
        if not -len(source) - 1 <= step <= len(source):
            raise UsageError(f"step {step} is not in this run: it has the steps 0 to {len(source)}")
        order = source.sequences if order is None else order
        state, words = source.at(step), dict(source.notes.tokens or {})
    elif isinstance(source, State):
        state = source
    elif hasattr(source, "state"):
        state = source.state()
    else:
        raise cannot("a picture of pages", source, CACHES)
    return _named(state, words, dict(names or {}), order)


def _named(
    state: State, words: Mapping[int, str], names: Mapping[Name, str], order: Iterable[Name] | None
) -> CacheView:
    keys = [key for key in names if key in state.tables]
    keys += [key for key in state.tables if key not in names]
    placed = places([*(names if order is None else order), *state.tables])
    labels = {key: names.get(key, f"s{key}" if isinstance(key, int) else key) for key in keys}
    if len({*labels.values()}) < len(labels):
        raise UsageError(f"two sequences share a label: {list(labels.values())}")
    return CacheView(
        state,
        {label: state.tables[key] for key, label in labels.items()},
        {label: placed[key] for key, label in labels.items()},
        words,
    )
