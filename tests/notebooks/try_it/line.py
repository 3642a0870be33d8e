"""A Try-it line: its words, and the changes of the source that it tells its reader to make."""

from dataclasses import dataclass, field

Changes = dict[str, dict[str, str]]


@dataclass(frozen=True, slots=True)
class Try:
    """A change to make in one section (or several, one after the other) of a chapter.

    ``changes``: cell id → text that stands there once → what is put in its place. ``then`` is run
    after the section. ``shows`` is a regular expression that must be found in what was printed.
    ``raises`` names the exception that the line is about.

    It is tried where the chapter has been run up to its first section, and again in the kernel of a
    whole chapter, where only the changed cell and those below it in ``sections`` are run. The last
    trial of a line is also left in its place while the whole chapter is run: then no prediction of
    another section may get another truth, but those in ``answers``, which follow from the change.
    """

    sections: tuple[int, ...]
    changes: Changes = field(default_factory=dict)
    then: str = ""
    shows: str = ""
    raises: str = ""
    answers: tuple[str, ...] = ()


Lines = dict[int, tuple[str, list[Try]]]
"""A chapter's lines by number: words of the line, and what it tells. A question to think about
tells nothing. Number 0 is a line in the middle of its chapter."""
