"""How a user describes a request: a number of tokens, or of blocks, and what else matters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from sys import maxsize

from pagesim.checks import check_count
from pagesim.errors import UsageError
from pagesim.journal.effects import is_name, show

KEYS = ("computed", "prefix", "priority")
MOST = 10_000_000
"""Tokens of one request: they are all made."""

NOTATION = (
    "TOKENS, or such as '57 blocks', and then, after commas, any of priority=N, prefix=NAME:N (its "
    "first N tokens are those of NAME) and computed=N (so many of its tokens are computed)"
)


@dataclass(frozen=True, slots=True)
class Described:
    """A request: its tokens, with the newest one, whose slot the next step writes.

    ``blocks`` stands for the tokens that fill so many blocks. ``computed`` is None for all tokens
    but the newest. ``prefix`` says whose tokens it begins with, and how many.
    """

    tokens: int = 0
    blocks: int = 0
    computed: int | None = None
    priority: int = 0
    prefix: tuple[str, int] | None = None

    def in_blocks(self, block_size: int, is_running: bool) -> Described:
        """Its tokens as a number; a running request has one more than its blocks hold."""
        count = self.tokens or self.blocks * block_size + is_running
        if count > MOST:
            raise UsageError(f"{count} tokens are more than the {MOST} that a request may have")
        return replace(self, tokens=count)


def described(name: str, given: int | str) -> Described:
    """Read a description. UsageError or TypeError names the request and what is wrong with it."""
    if not is_name(name):
        raise UsageError(f"a request's name must be text that a file can hold, not {show(name)}")
    if type(given) is int:
        return Described(check_count(f"the tokens of {name!r}", given, 1))
    if not isinstance(given, str):
        raise TypeError(f"request {name!r} must be an int or a text, not {given!r}")
    size, *others = (part.strip() for part in given.split(","))
    number, _, unit = size.partition(" ")
    if unit.strip() not in ("", "token", "tokens", "block", "blocks"):
        raise _bad(name, given)
    how_many, in_blocks = _number(name, number), unit.strip().startswith("block")
    found = Described(blocks=how_many) if in_blocks else Described(how_many)
    for other in others:
        key, is_set, value = other.partition("=")
        if not is_set or key not in KEYS:
            raise _bad(name, given)
        if key == "prefix":
            whose, _, count = value.rpartition(":")
            found = replace(found, prefix=(whose, _number(name, count)))
        elif key == "priority":
            found = replace(found, priority=_number(name, value, -maxsize))
        else:
            found = replace(found, computed=_number(name, value))
    return found


def _number(name: str, text: str, least: int = 1) -> int:
    sign, digits = text[:1] == "-", text.replace(",", "").removeprefix("-")
    if not (digits.isascii() and digits.isdecimal()) or len(digits) > 18:
        raise UsageError(f"request {name!r}: {text!r} is not a whole number")
    number = -int(digits) if sign else int(digits)
    if number < least:
        raise UsageError(f"request {name!r}: {number} must be at least {least}")
    return number


def _bad(name: str, given: str) -> UsageError:
    return UsageError(f"request {name!r} must be {NOTATION}, not {given!r}")


class Tokens:
    """Makes the tokens of requests: each has a token of its own, which it repeats."""

    def __init__(self) -> None:
        self._made: dict[str, list[int]] = {}

    def of(self, name: str, its: Described) -> list[int]:
        """The tokens of a new request. UsageError for a name in use, or an unknown prefix."""
        if name in self._made:
            raise UsageError(f"two requests are called {name!r}: names must be unique")
        begin: list[int] = []
        if its.prefix is not None:
            whose, count = its.prefix
            if whose not in self._made:
                known = ", ".join(map(repr, self._made)) or "none"
                raise UsageError(
                    f"request {name!r} begins like {whose!r}, which must be described before it; "
                    f"so far: {known}"
                )
            begin = self._made[whose][: min(count, its.tokens)]
        own = len(self._made) + 1
        self._made[name] = begin + [own] * (its.tokens - len(begin))
        return self._made[name]


Requests = Mapping[str, int | str]
"""Requests by name, each as a number of tokens or a text."""
