"""The files of a class: who handed in what, and the cells in it that are to be run.

A folder is not trusted: a link, a pipe, a file too large, one that is not UTF-8, JSON or a
notebook has a reason in place of cells, and nothing of it is followed or run here.
"""

import ast
import contextlib
import json
import os
import re
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pagesim.exercises.exercise import Exercise
from pagesim.files.jsonl import Json, JsonObject

MAX_BYTES = 16 << 20
MAX_CODE = 160_000
"""Characters in all cells; a notebook's outputs may be longer."""
MAX_FILES = 60
"""Files of one student that are looked at."""
MAX_DEPTH = 4
ENDINGS = (".ipynb", ".py")

_NUMBER = re.compile(r"(\d{1,2})[._-](\d{1,2})$")
_CHAPTER = re.compile(r"ex(\d\d)(?!\d)", re.I)
_MAGIC = re.compile(r"^([ \t]*)[%!?].*$", re.M)


@dataclass(frozen=True)
class Handed:
    """One file of a student, or the reason why it cannot be graded."""

    student: str
    path: Path
    problem: str = ""


@dataclass(frozen=True)
class Cell:
    """A piece of code, and the numbers of the exercises that it says it solves."""

    text: str
    label: str
    solves: tuple[str, ...] = ()


def find(folder: Path) -> Iterator[Handed]:
    """What each student handed in: a file at the top, or the files of a folder of hers."""
    for entry in sorted(folder.iterdir()):
        if entry.name.startswith((".", "__")):
            continue
        if entry.is_symlink():
            yield Handed(entry.stem, entry, "a link, which is not followed")
        elif entry.is_dir():
            yield from _of_student(entry)
        elif entry.suffix in ENDINGS:
            yield Handed(entry.stem, entry)


def _of_student(folder: Path) -> Iterator[Handed]:
    found = 0
    for parent, folders, names in os.walk(folder):
        depth = len(Path(parent).relative_to(folder).parts)
        seen = [name for name in folders if not name.startswith((".", "__"))]
        folders[:] = sorted(seen) if depth < MAX_DEPTH else []
        links = [name for name in folders if (Path(parent) / name).is_symlink()]
        for name in sorted([*names, *links]):
            path = Path(parent) / name
            if name.startswith(".") or not (path.suffix in ENDINGS or path.is_symlink()):
                continue
            found += 1
            if found > MAX_FILES:
                yield Handed(folder.name, path, f"one of more than {MAX_FILES} files")
                return
            link = "a link, which is not followed" if path.is_symlink() else ""
            yield Handed(folder.name, path, link)
    if not found:
        yield Handed(folder.name, folder, "no notebook and no .py file in it")


def cells(path: Path) -> list[Cell]:
    """The code of a file in its order. ValueError says why there is none."""
    data = _bytes(path)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"not UTF-8 (byte {error.start})") from None
    if path.suffix == ".py":
        return _bounded([Cell(text, "the file")])
    try:
        notebook = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"not JSON, as a notebook is: {error}"[:200]) from None
    listed = notebook.get("cells") if isinstance(notebook, dict) else None
    if not isinstance(listed, list):
        raise ValueError("JSON, but not a notebook of format 4: it has no list of cells")
    found = [_cell(cell, place) for place, cell in enumerate(listed, 1) if _is_run(cell)]
    if not found:
        raise ValueError("a notebook without code")
    return [replace(cell, text=_without_magic(cell.text)) for cell in _bounded(found)]


def answered(listed: Sequence[Cell], path: Path, exercises: Sequence[Exercise]) -> list[Exercise]:
    """The exercises that a file answers: by a cell's number, or by the name of a function."""
    numbers = {number for cell in listed for number in cell.solves}
    names = {name for cell in listed for name in _defined(cell.text)}
    chapter = _CHAPTER.search(path.stem)
    here = [e for e in exercises if chapter is None or e.chapter == int(chapter[1])]
    return [e for e in exercises if e.number in numbers or (e in here and e.name in names)]


def _bounded(found: list[Cell]) -> list[Cell]:
    """Of no more code than can be parsed, searched and sent in a moment."""
    if sum(len(cell.text) for cell in found) > MAX_CODE:
        raise ValueError(f"more than {MAX_CODE} characters of code")
    return found


def _bytes(path: Path) -> bytes:
    """A regular file's bytes; nothing is waited for and no link followed."""
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        descriptor = os.open(path, flags | getattr(os, "O_BINARY", 0))
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise ValueError("not a regular file")
        with open(descriptor, "rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise ValueError(f"cannot be read: {error.strerror}") from None
    if len(data) > MAX_BYTES:
        raise ValueError(f"larger than {MAX_BYTES >> 20} MiB")
    return data


def _is_run(cell: Json) -> bool:
    """Code, but for the cells that only test (nbgrader's metadata says which)."""
    if not isinstance(cell, dict) or cell.get("cell_type") != "code":
        return False
    marks = _nbgrader(cell)
    return not (marks.get("grade") is True and marks.get("solution") is not True)


def _cell(cell: JsonObject, place: int) -> Cell:
    source = cell.get("source")
    if isinstance(source, list):
        source = "".join(line for line in source if isinstance(line, str))
    text = source if isinstance(source, str) else ""
    found = _NUMBER.search(str(_nbgrader(cell).get("grade_id", ""))[:80])
    numbers = (f"{int(found[1])}.{int(found[2])}",) if found else ()
    return Cell(text, f"cell {place}", numbers)


def _nbgrader(cell: JsonObject) -> JsonObject:
    metadata = cell.get("metadata")
    marks = metadata.get("nbgrader") if isinstance(metadata, dict) else None
    return marks if isinstance(marks, dict) else {}


def _without_magic(text: str) -> str:
    """Lines for IPython alone become `pass`, where the cell is no Python with them."""
    return text if parsed(text).body else _MAGIC.sub(r"\1pass", text)


def parsed(*texts: str) -> ast.Module:
    """The statements of all texts, but for those of a text that is no Python."""
    whole = ast.Module([], [])
    for text in texts:
        with contextlib.suppress(SyntaxError, ValueError, RecursionError, MemoryError):
            whole.body += ast.parse(text).body
    return whole


def _defined(text: str) -> set[str]:
    """The names that a text binds at its top: functions, and what is assigned."""
    names: set[str] = set()
    for statement in parsed(text).body:
        if isinstance(statement, ast.FunctionDef | ast.ClassDef):
            names.add(statement.name)
        elif isinstance(statement, ast.Assign):
            names |= {target.id for target in statement.targets if isinstance(target, ast.Name)}
        elif isinstance(statement, ast.ImportFrom):
            names |= {alias.asname or alias.name for alias in statement.names}
    return names
