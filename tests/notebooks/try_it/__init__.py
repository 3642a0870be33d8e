"""What the Try-it lines of the chapters tell their reader to do, one module a chapter.

What a line asks to write is written there as well.
"""

from importlib import import_module

from tests.notebooks.try_it.line import Lines, Try

__all__ = ["Lines", "Try", "lines_of"]


def lines_of(chapter: str) -> Lines:
    """The lines of a chapter by its file's name; chapter 0 has none."""
    if chapter.startswith("00"):
        return {}
    lines: Lines = import_module(f"tests.notebooks.try_it.chapter_{chapter[:2]}").LINES
    return lines
