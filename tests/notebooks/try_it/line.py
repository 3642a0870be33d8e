"""A Try-it line: its words, and the changes of the source that it tells its reader to make."""

from __future__ import annotations

from dataclasses import dataclass, field

Changes = dict[str, dict[str, str]]


@dataclass(frozen=True, slots=True)
class Try:
    """A change to make in one section (or several, one after the other) of a chapter.

    ``changes``: cell id → text that stands there once → what is put in its place. ``then`` is run
    after the section. ``shows`` is a regular expression that must be found in what was printed.
    ``raises`` names the exception that the line is about.
    """

    sections: tuple[int, ...]
    changes: Changes = field(default_factory=dict)
    then: str = ""
    shows: str = ""
    raises: str = ""


Lines = dict[int, tuple[str, list[Try]]]
"""A chapter's lines by number: words of the line, and what it tells. A question to think about
tells nothing. Number 0 is a line in the middle of its chapter."""
