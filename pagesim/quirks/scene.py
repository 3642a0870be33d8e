"""What a scene leaves behind: the recorded run, and what was found."""

from typing import Any

from pagesim.timeline.run import Timeline


class Scene:
    """The run, if the scene has one, and facts by name, as plain values."""

    def __init__(self, run: Timeline | None = None, /, **facts: Any) -> None:
        self.run = run
        self.facts = facts
