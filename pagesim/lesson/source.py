"""Shows kernels in chapters: the text and drawings of a module, and source, never a copy."""

import inspect
import re
from collections.abc import Callable
from html import escape
from itertools import groupby
from types import ModuleType
from typing import Any


class Drawing:
    """What a module's docstring explains and draws, as a notebook shows it."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        parts = groupby(self.text.split("\n\n"), key=lambda part: part.startswith(" "))
        shown = [_html(is_drawn, list(group)) for is_drawn, group in parts]
        return '<div class="drawing">' + "\n".join(shown) + "</div>"


def drawing(module: ModuleType) -> Drawing:
    """The docstring of a module, without the line that says where it is tested.

    Paragraphs stay paragraphs, and indented text stays as it is drawn.
    """
    parts = inspect.cleandoc(module.__doc__ or "").split("\n\n")
    return Drawing("\n\n".join(part for part in parts if not part.startswith("Tested in")))


def source(function: Callable[..., Any], begin: str = "", end: str = "") -> str:
    """The source of a function or a Triton kernel, from one line to another.

    ``begin`` and ``end`` are text in the first and the last line wanted; the default is all lines.
    ValueError if no line contains the text.
    """
    lines = inspect.getsource(getattr(function, "fn", function)).splitlines()
    first = _find(lines, begin, 0) if begin else 0
    last = _find(lines, end, first) if end else len(lines) - 1
    wanted = lines[first : last + 1]
    indent = len(wanted[0]) - len(wanted[0].lstrip())
    return "\n".join(line[indent:] if line[:indent].isspace() else line for line in wanted)


def _find(lines: list[str], text: str, start: int) -> int:
    for number, line in enumerate(lines[start:], start):
        if text in line:
            return number
    raise ValueError(f"no line contains {text!r}: {lines[0].strip()} has {len(lines)} lines")


def _html(is_drawn: bool, parts: list[str]) -> str:
    if is_drawn:
        return f"<pre>{escape(inspect.cleandoc(chr(10) + (chr(10) * 2).join(parts)))}</pre>"
    text = "\n".join(f"<p>{escape(' '.join(part.split()))}</p>" for part in parts)
    for mark, tag in ((r"\*\*(.+?)\*\*", "b"), (r"\*(\w[^*]*)\*", "i"), (r"`([^`]+)`", "code")):
        text = re.sub(mark, rf"<{tag}>\1</{tag}>", text)
    return text
