"""An engine that can be stopped after every iteration, to look at it or to compare two of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence

from pagesim.simulation.collector import collector_paused
from pagesim.simulation.cost_model import CostModel
from pagesim.simulation.engine import Told, untold
from pagesim.simulation.outcomes import Outcomes
from pagesim.simulation.waste import WasteLog
from pagesim.workload.request import Request


class StepwiseEngine(ABC):
    """Both paged engines: :meth:`steps` does the work, :meth:`run` lets it go to its end."""

    @abstractmethod
    def steps(
        self,
        requests: Sequence[Request],
        log: WasteLog,
        outcomes: Outcomes,
        cost_model: CostModel,
        progress: Told = untold,
    ) -> Iterator[None]:
        """Serve ``requests``, and stop after each row of the log that is an iteration."""

    @abstractmethod
    def tables(self) -> dict[int, list[int]]:
        """The block ids of every sequence that has any, by its id: copies."""

    def run(
        self,
        requests: Sequence[Request],
        log: WasteLog,
        outcomes: Outcomes,
        cost_model: CostModel,
        progress: Told = untold,
    ) -> None:
        """Serve ``requests`` to the end. RuntimeError if swapping finds no room on the CPU."""
        with collector_paused():
            for _ in self.steps(requests, log, outcomes, cost_model, progress):
                pass
