"""How many predictions came true: kept beside the notebooks, so that it survives a restart."""

from __future__ import annotations

from pagesim.lesson import progress_file

SECTION = "predictions"


class Score:
    """What the file says of the predictions, chapter by chapter."""

    def __init__(self) -> None:
        self.predictions = {
            name: entry
            for name, entry in progress_file.read().get(SECTION, {}).items()
            if isinstance(entry, dict)
        }

    @property
    def made(self) -> int:
        """Predictions that were made."""
        return len(self.predictions)

    @property
    def first(self) -> int:
        """Those that were right at the first try."""
        return sum(entry.get("first") is True for entry in self.predictions.values())

    @property
    def right(self) -> int:
        """Those whose last try was right."""
        return sum(entry.get("right") is True for entry in self.predictions.values())

    def __repr__(self) -> str:
        if not self.made:
            return "No prediction is made yet."
        return f"Predictions: {self.made} made, {self.first} right at first, {self.right} by now."


def score() -> Score:
    """How the predictions of this reader went, in all chapters."""
    return Score()


def keep(name: str, right: bool) -> str:
    """Keep a verdict; returns what to say when the file cannot be written."""
    before = Score().predictions.get(name, {})
    try:
        progress_file.keep(SECTION, name, {"first": before.get("first", right), "right": right})
    except OSError as error:
        return f" (The score is not kept: {error}.)"
    return ""
