"""A stepped and a fast-forwarded server, side by side: all that they tell must be equal."""

from collections.abc import Iterator
from itertools import zip_longest
from typing import Any

from pagesim.simulation import Outcomes, Roofline
from pagesim.simulation.serving import steps
from pagesim.simulation.waste import WasteLog
from pagesim.workload import Request

COLUMNS = (
    *("first_scheduled", "first_token", "finished", "preemptions", "ignored", "hits", "refound"),
    "decodes",
)


class Side:
    """One of the two servers, and what it writes."""

    def __init__(self, make: Any, configs: tuple[Any, Any], requests: list[Request], pool: int):
        self.engine = make(*configs)
        self.log, self.outcomes = WasteLog(pool, self.engine.parts), Outcomes(requests)
        self.full = False
        self.steps = self._steps(requests)

    def _steps(self, requests: list[Request]) -> Iterator[None]:
        try:
            yield from steps(self.engine, requests, self.log, self.outcomes, Roofline())
        except RuntimeError as error:
            assert "no CPU swap space" in str(error)
            self.full = True


def play_both(
    makes: tuple[Any, Any], configs: tuple[Any, Any], requests: list[Request], pool: int, seed: Any
) -> tuple[Outcomes, int]:
    """Both servers side by side; returns the outcomes, and the steps with swapped requests."""
    stepped, fast = (Side(make, configs, requests, pool) for make in makes)
    swapped = 0
    for step, ends in enumerate(zip_longest(stepped.steps, fast.steps, fillvalue="over")):
        assert ends == (None, None), f"seed {seed}: one engine ends after {step} steps"
        assert stepped.engine.tables() == fast.engine.tables(), (seed, step)
        assert stepped.log.at(-1) == fast.log.at(-1), (seed, step)
        swapped += bool(getattr(stepped.engine.scheduler, "swapped", ()))
    assert stepped.full == fast.full, seed
    stepped.log.check()
    assert [stepped.log.at(i) for i in range(len(stepped.log))] == [
        fast.log.at(i) for i in range(len(fast.log))
    ]
    for column in COLUMNS if not stepped.full else ():
        found, expected = getattr(fast.outcomes, column), getattr(stepped.outcomes, column)
        assert bytes(found) == bytes(expected), (seed, column)
    assert stepped.full or stepped.outcomes.why == fast.outcomes.why, seed
    return stepped.outcomes, swapped
