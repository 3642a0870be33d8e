"""Folds the lines of a timeline file, so that a page which carries them stays small.

Thousands of lines differ in their numbers only. A line is kept as the number of its *shape* (its
text with marks where numbers stood) and the numbers, which go into columns of bytes; a number that
stood earlier in the line is not kept twice. The result is gzipped: about half of what the lines
themselves take. The player's script unfolds it; nothing else reads it.
"""

from __future__ import annotations

import gzip
import json
import re

NEW, LIST, AGAIN = "\x01", "\x02", "\x03"
"""Marks of a number, of a list of numbers, and (with a letter) of one that was there before."""

MAX_AGAIN = 64
# No leading zeros and at most 9 digits: these come back as they were, and fit into four bytes.
_NUMBER = r"(?<![\d.])(?:0|[1-9]\d{0,8})(?![\d.])"
_PART = re.compile(rf"\[({_NUMBER}(?:,{_NUMBER})*)\]|{_NUMBER}")


def pack(text: str) -> bytes:
    """The lines of ``text``, folded and gzipped; the same bytes each time.

    A text with control characters, which JSON has not, is gzipped as it is.
    """
    if re.search(r"[\x00-\x09\x0b-\x1f]", text):
        return gzip.compress(text.encode(), 9, mtime=0)
    shapes: dict[str, int] = {}
    columns: list[list[int]] = [[], [], [], []]
    lines, numbers, counts, items = columns
    for line in text.split("\n"):
        seen: dict[str, int] = {}

        def mark(match: re.Match[str], seen: dict[str, int] = seen) -> str:
            if match[1] is not None:
                values = [int(value) for value in match[1].split(",")]
                counts.append(len(values))
                items.extend(values)
                return LIST
            if seen.get(match[0], MAX_AGAIN) < MAX_AGAIN:
                return AGAIN + chr(48 + seen[match[0]])
            seen[match[0]] = len(seen)
            numbers.append(int(match[0]))
            return NEW

        shape = _PART.sub(mark, line)
        lines.append(shapes.setdefault(shape, len(shapes)))
    head = {"shapes": list(shapes), "columns": [len(column) for column in columns]}
    body = b"".join(_planes(column) for column in columns)
    return gzip.compress(json.dumps(head, ensure_ascii=False).encode() + b"\n" + body, 9, mtime=0)


def _planes(column: list[int]) -> bytes:
    """All lowest bytes, then all second ones, … : gzip finds more in bytes of one kind."""
    return b"".join(bytes(value >> shift & 255 for value in column) for shift in (0, 8, 16, 24))
