"""What really happens to V1's scheduler with a second tier, told by its objects."""

from typing import Any

import pagesim
from pagesim.timeline import Timeline
from tests.explain.truth_v1 import Truth
from tests.timeline.random_calls.offload import OffloadRun


class WatchedOffloadRun(OffloadRun):
    """Random calls of a scheduler with a second tier, watched."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.truth = Truth(self.scheduler)
        tier = self.scheduler.connector.manager
        self._store = tier.prepare_store
        tier.prepare_store = self.store  # type: ignore[method-assign]
        self.refused: dict[Any, int] = {}
        self.stored: set[Any] = set()

    def known(self) -> dict[str, set[Any]]:
        """What occurred, with what is counted over the whole run."""
        return self.truth.known() | {"never stored": self.never_stored}

    def store(self, keys: Any, context: Any) -> Any:
        told = self._store(keys, context)
        if told is not None and told.keys_to_store:
            self.stored.add(context.req_id)
        elif told is None:
            self.refused[context.req_id] = len(keys)
        return told

    @property
    def never_stored(self) -> set[Any]:
        """Requests with more chunks than the tier, of which none was ever stored.

        Where a chunk is stored only the second time, this is no sign of a tier that is too small.
        """
        if self.offload.store_threshold > 1:
            return set()
        most = self.offload.num_chunks
        return {n for n, count in self.refused.items() if count > most and n not in self.stored}


def random_run(seed: int, steps: int = 200) -> tuple[Timeline, WatchedOffloadRun]:
    """A recorded run, and the truth about it."""
    source = WatchedOffloadRun(seed)
    with pagesim.record(source.subject) as run:
        source.steps(steps)
    return run, source
