"""How a call that fails half way takes itself back.

While a :class:`UndoLog` is entered, every elementary change to the pools, tables and handles that
share it notes its inverse. If the call raises, the inverses run, last first, and all is as before.
"""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Any


class UndoLog:
    """The inverses of what the calls in progress have done so far; nests, costs nothing when idle.

    Why not ask first whether there is room: with prefix caching a call may need fewer blocks than
    it seems to, because a block that becomes full can turn out to be cached already and give its
    own id back half way.
    """

    __slots__ = ("_marks", "_steps", "active")

    def __init__(self) -> None:
        self.active = False
        self._steps: list[tuple[Callable[..., object], tuple[Any, ...]]] = []
        self._marks: list[int] = []

    def note(self, inverse: Callable[..., object], *args: Any) -> None:
        """Remember that ``inverse(*args)`` takes back what was just done. Only while active."""
        self._steps.append((inverse, args))

    def __enter__(self) -> UndoLog:
        self._marks.append(len(self._steps))
        self.active = True
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        mark = self._marks.pop()
        if exc_type is not None:
            self.active = False
            steps = self._steps
            while len(steps) > mark:
                inverse, args = steps.pop()
                inverse(*args)
        self.active = bool(self._marks)
        if not self.active:
            self._steps.clear()
