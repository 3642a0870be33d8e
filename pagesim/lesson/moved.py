"""Where the predictions and exercises of the course's first edition are in the second.

The chapters have other numbers now, and a reader's progress file of before goes on counting: its
keys are moved when it is read, and the file says then which edition it follows.
"""

from pagesim.files.jsonl import JsonObject

EDITION: dict[str, JsonObject] = {"book": {"edition": 2}}
"""The section of a progress file that follows the chapters of today."""

CHAPTERS = {number: number for number in ("00", "01", "02", "03", "07")}
CHAPTERS |= {"04": "14", "05": "04", "06": "05", "08": "15"}
CHAPTERS |= {"09": "06", "10": "08", "11": "09", "12": "16"}
TODAY = {"a step ahead", "no phases", "pauses", "ragged"}
"""What chapter 11 asked about steps is in chapter 10 now; the rest of it in chapter 9."""

EXERCISES = {"2.6": "9.1", "3.4": "13.1", "11.4": "10.1"} | {
    f"11.{old}": f"9.{new}" for old, new in ((1, 2), (2, 3), (3, 4), (5, 5))
}
"""Exercises that did not go with their chapter, or not in its order."""


def prediction(name: str) -> str:
    """The name of a prediction today; one that is gone keeps a name that no chapter has."""
    chapter, _, asked = name.removeprefix("ch").partition(" ")
    if chapter == "11" and asked in TODAY:
        return f"ch10 {asked}"
    return f"ch{CHAPTERS[chapter]} {asked}" if chapter in CHAPTERS else name


def exercise(number: str) -> str:
    """The number of an exercise today."""
    chapter, _, place = number.partition(".")
    if number in EXERCISES:
        return EXERCISES[number]
    return f"{int(CHAPTERS[chapter.zfill(2)])}.{place}" if chapter.zfill(2) in CHAPTERS else number


def moved(sections: dict[str, JsonObject]) -> dict[str, JsonObject]:
    """A progress file as one of today's edition; one that is so already stays as it is."""
    if not sections or "book" in sections:
        return sections
    names = {"predictions": prediction, "exercises": exercise}
    return EDITION | {
        section: {names[section](key): kept for key, kept in entries.items()}
        if section in names
        else entries
        for section, entries in sections.items()
    }
