"""What is kept of an exercise in the progress file."""

from dataclasses import asdict, dataclass, replace
from typing import Any

from pagesim.files.jsonl import Json
from pagesim.lesson import progress_file

SECTION = "exercises"


@dataclass(frozen=True)
class Entry:
    """How often it was tried, whether it was right once, and what help was taken."""

    tries: int = 0
    right: bool = False
    hints: int = 0
    solution: bool = False


def entries() -> dict[str, Entry]:
    """The entries by exercise; one that was changed by hand into another form is left out."""
    section = progress_file.read().get(SECTION, {})
    return {number: Entry(**kept) for number, kept in section.items() if _fits(kept)}


def _fits(kept: Json) -> bool:
    kinds = Entry.__annotations__
    return isinstance(kept, dict) and all(
        type(value) is kinds.get(name) and 0 <= value < 2**31 for name, value in kept.items()
    )


def keep(number: str, *, tried: bool = False, **changes: Any) -> None:
    """Change what is known of an exercise; a progress that cannot be kept is told in one line."""
    before = entries().get(number, Entry())
    changes |= {"tries": before.tries + tried, "right": before.right or changes.get("right", False)}
    try:
        progress_file.keep(SECTION, number, asdict(replace(before, **changes)))
    except OSError as error:
        print(f"Your progress is not saved: {error}")
