"""Checks the values read from a file; an error names the line."""

from pagesim.files.jsonl import Json
from pagesim.journal.effects import Name, is_name, is_text, show

MAX_NUMBERS = 200_000_000
"""The most numbers and characters that a run may have."""


class TimelineError(ValueError):
    """The file is damaged or no timeline; the message names the file, the line and the reason."""


class Checked:
    """Each method returns its value if it is of the right kind, or raises a TimelineError.

    ``where`` is the line being read. ``num_blocks`` is set once the header's pools are known.
    """

    def __init__(self, where: str) -> None:
        self.where = where
        self.num_blocks = 0
        self._numbers = 0

    def error(self, problem: str) -> TimelineError:
        """An error about the line being read."""
        return TimelineError(f"{self.where}: {problem}")

    def count(self, numbers: int) -> None:
        """Count numbers or characters that are about to be kept in memory."""
        self._numbers += numbers
        if self._numbers > MAX_NUMBERS:
            raise self.error(f"the run is too large: over {MAX_NUMBERS} numbers and characters")

    def name(self, value: Json) -> Name:
        """The name of a table or a request."""
        if is_name(value):
            self.count(len(value) if isinstance(value, str) else 1)
            return value
        raise self.error(f"a name must be a number or a short string, not {show(value)}")

    def text(self, value: Json, name: str) -> str:
        """A non-empty string."""
        if not value or not is_text(value):
            raise self.error(f"{name} must be a non-empty string, not {show(value)}")
        self.count(len(value))
        return value

    def integer(self, value: Json, name: str, least: int = 0) -> int:
        """A 32-bit integer."""
        if type(value) is not int or not least <= value < 2**31:
            raise self.error(f"{name} must be an integer of at least {least}, not {show(value)}")
        return value

    def integers(self, value: Json, name: str) -> list[int]:
        """A list of 64-bit integers."""
        items = self.items(value, name)
        self.count(len(items))
        numbers = [item for item in items if type(item) is int and -(2**63) <= item < 2**63]
        if len(numbers) < len(items):
            raise self.error(f"{name} must be integers: {show(items)}")
        return numbers

    def block(self, value: Json) -> int:
        """The id of a block."""
        if type(value) is not int or not 0 <= value < self.num_blocks:
            raise self.error(f"there is no block {show(value)}: there are {self.num_blocks}")
        return value

    def blocks(self, value: Json, name: str) -> tuple[int, ...]:
        """A list of block ids."""
        return tuple(map(self.block, self.items(value, name)))

    def items(self, value: Json, name: str) -> list[Json]:
        """A list, whatever it holds."""
        if not isinstance(value, list):
            raise self.error(f"{name} must be a list, not {show(value)}")
        return value

    def pairs(self, value: Json, name: str) -> list[tuple[Json, Json]]:
        """A list of lists of two items."""
        items = self.items(value, name)
        pairs = [(pair[0], pair[1]) for pair in items if isinstance(pair, list) and len(pair) == 2]
        if len(pairs) < len(items):
            raise self.error(f"{name} must be pairs: {show(items)}")
        return pairs

    def parts(self, value: Json, name: str, *counts: int) -> list[Json]:
        """A list with one of these numbers of parts."""
        parts = self.items(value, name)
        if len(parts) not in counts:
            raise self.error(f"{name} must have {counts[0]} parts: {show(parts)}")
        return parts
