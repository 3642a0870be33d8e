"""The run of a case beside that of the learner's answer, opened where the two part."""

from typing import Any

from pagesim.journal.state import State
from pagesim.timeline.pair import Compared, compare
from pagesim.timeline.run import Timeline

MOST_STEPS = 2_000
"""So many steps are looked through."""


def parting_step(right: Timeline, yours: Timeline) -> int | None:
    """The first step at which the two differ; None if none does, or if their pools are others."""
    if (right.at(0).pools, right.at(0).block_size) != (yours.at(0).pools, yours.at(0).block_size):
        return None
    # If they begin with other free lists, tables and queues alone are compared.
    lists = _seen(right.at(0), lists=True) == _seen(yours.at(0), lists=True)
    both = min(len(right), len(yours))
    for step in range(min(both, MOST_STEPS) + 1):
        if _seen(right.at(step), lists) != _seen(yours.at(step), lists):
            return step
        if step < both and right[step].scheduled != yours[step].scheduled:
            return step + 1
    return None if len(right) == len(yours) else min(both + 1, max(len(right), len(yours)))


def _seen(state: State, lists: bool) -> Any:
    tables = {str(name): table.block_ids for name, table in state.tables.items()}
    return tables, state.queues, (state.lists, state.cached) if lists else None


def beside(right: Timeline, shown: Timeline | Compared) -> Compared:
    """The two on one page, opened where they part, else at their ends."""
    if not isinstance(shown, Compared):
        titles = right.notes.title or "the right answer", shown.notes.title or "with your answer"
        shown = compare(right, shown, titles)
    step = parting_step(*shown.runs)
    for run in shown.runs:
        run.annotate(opens=len(run) if step is None else min(step, len(run)))
    return shown
