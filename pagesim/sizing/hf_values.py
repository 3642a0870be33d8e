"""Takes values out of a parsed config; UsageError names the key and the value."""

from pagesim.errors import UsageError
from pagesim.files.jsonl import Json, JsonObject

MAX_NUMBER = 2**31


def number(key: str, value: Json, most: int) -> int:
    """A whole number from 1 to ``most``."""
    if type(value) is not int or not 1 <= value <= most:
        raise UsageError(f"{key} must be a whole number from 1 to {most}, not {short(value)}")
    return value


def optional(text: JsonObject, keys: tuple[str, ...], most: int = MAX_NUMBER) -> int | None:
    """The value of the first key that is present and not null."""
    for key in keys:
        if text.get(key) is not None:
            return number(key, text[key], most)
    return None


def required(text: JsonObject, keys: tuple[str, ...], most: int = MAX_NUMBER) -> int:
    """The value of the first key that is present; UsageError if none is."""
    value = optional(text, keys, most)
    if value is None:
        raise UsageError(f"{keys[0]} is missing: add it to the file (or one of {keys[1:]})")
    return value


def short(value: Json) -> str:
    """A value as it is quoted in a message."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
