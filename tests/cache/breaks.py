"""What is broken on purpose, so that a proof of bytes must find it."""

from collections.abc import Callable
from typing import Any

import pytest

Make = Callable[[Any], Any]


class Breaks:
    """By name: the scene in which it shows, and what makes a method from the right one."""

    def __init__(self) -> None:
        self.known: dict[str, tuple[str, Any, str, Make]] = {}

    def __call__(self, scene: str, owner: Any, method: str) -> Callable[[Make], Make]:
        """A decorator; the function's name says what is broken."""

        def note(make: Make) -> Make:
            self.known[make.__name__] = scene, owner, method, make
            return make

        return note

    def apply(self, name: str, patch: pytest.MonkeyPatch) -> str:
        """Break it; the scene."""
        scene, owner, method, make = self.known[name]
        patch.setattr(owner, method, make(getattr(owner, method)))
        return scene


def assert_found(run: Any, longest: int = 400) -> None:
    """Within so many steps: by the bytes, or before them by a table or a place."""
    with pytest.raises(AssertionError):
        while run.counts["steps"] < longest:
            run.step()
            assert not run.wrong
