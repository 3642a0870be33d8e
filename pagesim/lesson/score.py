"""How many predictions and exercises were right, kept beside the notebooks across restarts."""

from pagesim.lesson import progress_file

SECTION = "predictions"


class Score:
    """What the progress file says about predictions and exercises."""

    def __init__(self) -> None:
        sections = progress_file.read()
        self.predictions, self.exercises = (
            {key: each for key, each in sections.get(name, {}).items() if isinstance(each, dict)}
            for name in (SECTION, "exercises")
        )

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

    @property
    def solved(self) -> int:
        """Exercises that have been right at least once."""
        return sum(entry.get("right") is True for entry in self.exercises.values())

    def __repr__(self) -> str:
        text = "No predictions yet."
        if self.made:
            text = f"Predictions: {self.made} made, {self.first} right at first, {self.right} now."
        if self.exercises:
            text += f"\nExercises: {len(self.exercises)} tried, {self.solved} solved."
        return text


def score() -> Score:
    """Return the reader's score of predictions and exercises, in all chapters."""
    return Score()


def keep(name: str, right: bool) -> str:
    """Keep a verdict; returns a remark if the file cannot be written."""
    before = Score().predictions.get(name, {})
    try:
        progress_file.keep(SECTION, name, {"first": before.get("first", right), "right": right})
    except OSError as error:
        return f" (The score was not saved: {error}.)"
    return ""
