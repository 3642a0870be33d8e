"""One file beside the chapters keeps what a reader did; nothing leaves the machine.

It is JSON: section → key → what is known of it. Each writer reads it again before it writes, so
that two notebooks at once keep each other's entries.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from pagesim.files import replacing

NAME = "pagesim-progress.json"
LARGEST = 4_000_000  # bytes; a larger file is not ours


def path() -> Path:
    """Where it is: ``PAGESIM_PROGRESS``, else in the folder of the chapters.

    That is the working directory, or its parent where notebooks run in ``exercises``.
    """
    if given := os.environ.get("PAGESIM_PROGRESS"):
        return Path(given)
    here = Path.cwd()
    return (here.parent if here.name == "exercises" else here) / NAME


def read() -> dict[str, dict[str, Any]]:
    """The whole file; what is missing, damaged or of another form counts as empty."""
    try:
        file = path()
        if not file.is_file() or file.stat().st_size > LARGEST:
            return {}
        found = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    if not isinstance(found, dict):
        return {}
    return {name: section for name, section in found.items() if isinstance(section, dict)}


def keep(section: str, key: str, value: dict[str, Any]) -> None:
    """Write one entry, in the place of an older one. OSError if the file cannot be written."""
    known = read()
    known.setdefault(section, {})[key] = value
    text = json.dumps(known, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
    with replacing(path()) as file:
        file.write(text.encode())
