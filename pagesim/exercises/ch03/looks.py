"""What a student's function is given in place of a list, to see how it looks at it."""

from collections.abc import Sequence
from typing import Any


class SecondLookError(LookupError):
    """What was asked for is gone, or too much at once."""


class OneByOne(Sequence[float]):
    """Elements that come one after the other: none can be read again after a later one."""

    def __init__(self, numbers: Sequence[float]) -> None:
        self._numbers, self._last = numbers, -1

    def __len__(self) -> int:
        return len(self._numbers)

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, slice):
            return [self[i] for i in range(len(self))[place]]
        number, place = self._numbers[place], range(len(self))[place]
        if place < self._last:
            problem = f"score {place} is read after score {self._last}"
            raise SecondLookError(f"{problem}, but the scores can be read only once, in order")
        self._last = place
        return number
