"""One row of a request file: converts its columns, or says what is wrong and where."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from reprlib import Repr
from typing import Any

from pagesim.files.jsonl import JsonObject
from pagesim.workload.request import HASH_BLOCK_TOKENS, ChatTurn, hash_blocks

MAX_TOKENS = 10_000_000
"""The longest plausible prompt or answer: a longer one means that the file is damaged."""
MAX_ARRIVAL_S = 1e9
"""The latest plausible arrival, about 30 years after the first."""
MAX_WORD = 100
"""The longest plausible name for a kind of requests."""

_INT = re.compile(r"-?[0-9]{1,18}")
_FLOAT = re.compile(r"-?[0-9]{1,18}(\.[0-9]{0,30})?([eE][+-]?[0-9]{1,3})?")
_TIMESTAMP = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?([+-][0-9]{2}:[0-9]{2})?"
)
_SHORT = Repr()
_SHORT.maxstring = 60


class WorkloadError(ValueError):
    """The file is not a valid list of requests; the message names file, line, column and value."""


@dataclass(frozen=True, slots=True)
class Row:
    """The columns of a row and, for messages, its ``place``: file and line."""

    place: str
    columns: JsonObject

    def value(self, column: str) -> Any:
        """The value of a column. WorkloadError if it is missing."""
        try:
            return self.columns[column]
        except KeyError:
            raise WorkloadError(f"{self.place}: column {column} is missing") from None

    def tokens(self, column: str) -> int:
        """A number of tokens."""
        value = self.value(column)
        if type(value) is not int or not 1 <= value <= MAX_TOKENS:
            raise self.wrong(column, f"a whole number from 1 to {MAX_TOKENS:,}", value)
        return value

    def seconds(self, column: str, per_second: int = 1) -> float:
        """A time in seconds from the start; the column counts ``per_second`` units in a second."""
        value = self.value(column)
        if type(value) not in (int, float) or not 0 <= value <= MAX_ARRIVAL_S * per_second:
            limit = f"{MAX_ARRIVAL_S * per_second:,.0f}"
            raise self.wrong(column, f"a number from 0 to {limit}", value)
        return float(value) / per_second

    def timestamp(self, column: str) -> datetime:
        """A date and time, in UTC unless it names another offset."""
        value = self.value(column)
        if type(value) is str and _TIMESTAMP.fullmatch(value):
            try:
                moment = datetime.fromisoformat(value)
                return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
            except ValueError:  # a 13th month, a 25th hour
                pass
        raise self.wrong(column, "a time like 2023-11-16 18:15:46.6805900", value)

    def chat(self) -> ChatTurn:
        """Where the request stands in its chat: four columns."""
        parent, kind = self._whole("parent_chat_id", -1), self.value("type")
        if type(kind) is not str or not 1 <= len(kind) <= MAX_WORD:
            raise self.wrong("type", f"a word of 1 to {MAX_WORD} characters", kind)
        before = None if parent < 0 else parent
        return ChatTurn(self._whole("chat_id", 0), before, self._whole("turn", 1), kind)

    def _whole(self, column: str, minimum: int) -> int:
        value = self.value(column)
        if type(value) is not int or not minimum <= value < 2**63:
            raise self.wrong(column, f"a whole number from {minimum} up", value)
        return value

    def hash_ids(
        self, column: str, prompt_tokens: int, hash_block_tokens: int = HASH_BLOCK_TOKENS
    ) -> tuple[int, ...]:
        """The ids of the prompt's blocks of so many tokens."""
        ids, expected = self._ids(column), hash_blocks(prompt_tokens, hash_block_tokens)
        if len(ids) != expected:
            size = f"{expected} ids, one per {hash_block_tokens} of {prompt_tokens} tokens"
            raise self.wrong(column, f"{size} (there are {len(ids)})", ids)
        return tuple(ids)

    def token_ids(self, column: str, prompt_tokens: int | None) -> tuple[int, ...]:
        """The ids of the prompt's tokens: ``prompt_tokens`` of them, or any number if None."""
        ids = self._ids(column)
        if not ids or prompt_tokens not in (None, len(ids)):
            many = prompt_tokens or "1 or more"
            raise self.wrong(column, f"{many} ids, one per token (there are {len(ids)})", ids)
        return tuple(ids)

    def _ids(self, column: str) -> list[int]:
        ids = self.value(column)
        if type(ids) is not list or not all(type(i) is int and 0 <= i < 2**63 for i in ids):
            raise self.wrong(column, "ids from 0 up", ids)
        return ids

    def wrong(self, column: str, expected: str, value: Any) -> WorkloadError:
        """The error for a column with a wrong value."""
        shown = _SHORT.repr(value)
        return WorkloadError(f"{self.place}: column {column} must be {expected}, not {shown}")


def number(text: str) -> int | float | str:
    """The number in ``text``; any other text is returned unchanged."""
    text = text.strip()
    if _INT.fullmatch(text):
        return int(text)
    return float(text) if _FLOAT.fullmatch(text) else text
