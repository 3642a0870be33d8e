"""What a scene leaves behind: the recorded run, and what was found."""

from collections.abc import Callable
from typing import Any

from pagesim.timeline.run import Timeline


class Scene:
    """The run, if the scene has one, and facts by name, as plain values."""

    def __init__(self, run: Timeline | None = None, /, **facts: Any) -> None:
        self.run = run
        self.facts = facts


def error_of(call: Callable[..., object], *args: Any) -> str:
    """What kind of error a call ends with, such as "NoFreeBlocksError"; "none" if it works."""
    try:
        call(*args)
    except Exception as error:
        return type(error).__name__
    return "none"
