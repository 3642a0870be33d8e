"""One file beside the chapters keeps what a reader did; nothing leaves the machine.

It is JSON: section → key → entry. Each writer reads the file again before writing, so that two open
notebooks keep each other's entries. A damaged file counts as empty, and is set aside before a new
one takes its place.
"""

import json
import os
from pathlib import Path

from pagesim.files import replacing
from pagesim.files.jsonl import JsonObject
from pagesim.lesson.moved import EDITION, moved

NAME = "pagesim-progress.json"
LARGEST = 4_000_000  # bytes; a larger file is not a progress file
Sections = dict[str, JsonObject]


def path() -> Path:
    """The file's path: ``PAGESIM_PROGRESS``, or else in the folder of the chapters.

    That is the working directory, or its parent for notebooks in ``exercises``.
    """
    if given := os.environ.get("PAGESIM_PROGRESS"):
        return Path(given)
    here = Path.cwd()
    return (here.parent if here.name == "exercises" else here) / NAME


def read() -> Sections:
    """The whole file; one that is missing, damaged or of another form counts as empty."""
    try:
        return _load()
    except (OSError, ValueError):
        return {}


def problem() -> str:
    """What to do if the file exists and cannot be read, else nothing."""
    try:
        _load()
    except (OSError, ValueError) as error:
        return (
            f"The progress file cannot be read: {error}. "
            "Repair it before the next answer, which sets it aside and starts a new file."
        )
    return ""


def keep(section: str, key: str, value: JsonObject) -> None:
    """Write one entry, replacing an older one. OSError if the file cannot be written."""
    file = path()
    if file.exists() and not file.is_file():
        raise OSError(f"{file} is not a regular file")
    try:
        known = _load()
    except ValueError:
        file.replace(file.with_name(f"{file.name}.damaged"))
        known = {}
    known = EDITION | known
    known.setdefault(section, {})[key] = value
    text = json.dumps(known, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
    with replacing(file) as opened:
        opened.write(text.encode())


def _load() -> Sections:
    """The file, {} if there is none; ValueError if it is invalid, OSError if it is unreadable."""
    file = path()
    if not file.exists():
        return {}
    if not file.is_file() or file.stat().st_size > LARGEST:
        raise ValueError(f"{file} is not a regular file of at most {LARGEST:,} bytes")
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{file}: {' '.join(str(error).split())[:120]}") from None
    if not isinstance(found, dict) or not all(isinstance(s, dict) for s in found.values()):
        raise ValueError(f"{file}: it must be a JSON object of objects")
    return moved(found)
