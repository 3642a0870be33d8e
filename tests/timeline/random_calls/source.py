"""Something under random load: each `step` makes about one public call.

`subject` is what is recorded, `live` what it looks like now, told by the objects themselves.
"""

import random
from typing import Any

from pagesim.timeline import State, Timeline


class Source:
    """Something under random load: `step` makes one public call, most of which succeed."""

    subject: Any

    def __init__(self, seed: int, subject: Any = None) -> None:
        self.random = random.Random(seed)
        self.subject = subject
        self.run: Timeline | None = None

    def live(self) -> State:
        return self.subject.state()

    def step(self) -> None:
        raise NotImplementedError

    def steps(self, count: int) -> None:
        for _ in range(count):
            self.step()


def rare(rng: random.Random) -> bool:
    return rng.random() < 0.25
