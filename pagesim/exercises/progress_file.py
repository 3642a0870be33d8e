"""What was tried and what is right, in a file beside the notebooks; nothing leaves the machine.

A file that was edited by hand or is broken is told, and never written over.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from pagesim.errors import UsageError
from pagesim.files import replacing

NAME = "pagesim-progress.json"
EDITION = 1
MAX_BYTES = 2**20


@dataclass(frozen=True)
class Entry:
    """One exercise: how often it was tried, whether it was right once, what help was taken."""

    tries: int = 0
    right: bool = False
    hints: int = 0
    solution: bool = False


def read(path: Path) -> dict[str, Entry]:
    """The entries by exercise; none without a file. UsageError says what is wrong with the file."""
    if not path.exists():
        return {}
    if not path.is_file() or path.stat().st_size > MAX_BYTES:
        raise _broken(path, f"it is no file of at most {MAX_BYTES} bytes")
    try:
        said = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise _broken(path, f"it cannot be read ({' '.join(str(error).split())[:120]})") from None
    if not isinstance(said, dict) or said.get("edition") != EDITION:
        raise _broken(path, f'it must be an object with "edition": {EDITION}')
    entries = said.get("exercises")
    if not isinstance(entries, dict):
        raise _broken(path, '"exercises" must be an object')
    return {number: _entry(path, number, entry) for number, entry in entries.items()}


def _entry(path: Path, number: str, said: Any) -> Entry:
    if not isinstance(said, dict):
        raise _broken(path, f"the entry of {number!r:.40} must be an object, not {said!r:.40}")
    kinds = {name: type(value) for name, value in asdict(Entry()).items()}
    for name, value in said.items():
        if type(value) is not kinds.get(name) or not 0 <= value < 2**31:
            raise _broken(path, f"{name!r:.40} of {number!r:.40} cannot be {value!r:.40}")
    return Entry(**said)


def _broken(path: Path, problem: str) -> UsageError:
    return UsageError(f"{path}: {problem}: mend the file, or delete it and begin again")


def update(path: Path, number: str, *, tried: bool = False, **changes: Any) -> None:
    """Change the entry of one exercise, whole or not at all; errors as in :func:`read`, OSError."""
    entries = read(path)
    entry = entries.get(number, Entry())
    changes |= {"tries": entry.tries + tried, "right": entry.right or changes.get("right", False)}
    entries[number] = replace(entry, **changes)
    said = {"edition": EDITION, "exercises": {n: asdict(e) for n, e in sorted(entries.items())}}
    with replacing(path) as file:
        file.write((json.dumps(said, indent=1) + "\n").encode())


def beside() -> Path:
    """The file of the folder that we are in: a notebook's kernel starts in the notebook's own."""
    return Path(NAME)
