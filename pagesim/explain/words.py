"""Words that all findings use."""

from collections.abc import Sequence

from pagesim.explain.history import Life
from pagesim.journal.effects import Name
from pagesim.player.describe import counted, name_text

__all__ = ["by_cost", "names", "number", "times", "who"]

MOST = 3
"""How many names a sentence has."""


def who(name: Name) -> str:
    """A request as the player calls it; a number alone is no name."""
    text = name_text(name)
    return f"request {text}" if text.isdecimal() else text


def names(requests: Sequence[Name], count: int | None = None) -> str:
    """'r1', 'r1 and r2', 'r1, r2, r3 and 4 more', or 'requests 1 and 2'.

    ``count`` is their number, if there are more than are named.
    """
    more = (len(requests) if count is None else count) - MOST
    shown = [name_text(name) for name in requests[:MOST]]
    if len(shown) < 2:
        return "".join(map(who, requests))
    text = " and ".join([", ".join(shown[:-1]), shown[-1]])
    if more > 0:
        text = f"{', '.join(shown)} and {more:,} more"
    return f"requests {text}" if all(name.isdecimal() for name in shown) else text


def times(count: int) -> str:
    """'once', 'twice', or '3 times'."""
    return {1: "once", 2: "twice"}.get(count, f"{count:,} times")


def number(count: int, noun: str) -> str:
    """'1 token', or '1,204 tokens'."""
    return counted(count, noun) if count < 1000 else f"{count:,} {noun}s"


def by_cost(lives: Sequence[Life]) -> list[Name]:
    """The names of these requests, those that computed most tokens twice first."""
    return [life.name for life in sorted(lives, key=lambda life: -life.twice)]
