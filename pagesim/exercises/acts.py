"""What happens to sequences, as a list: exercises tell it, pagesim performs it.

    acts = [("arrive", 0, 6), ("fork", 0, 1), ("write", 0, 1), ("leave", 1)]

s0 arrives with a prompt of 6 tokens, s1 is forked from s0, s0 writes one token, s1 leaves. The
tokens of s0 are called 0, 1, 2, …, those of s1 100, 101, …; a fork keeps what it was born with.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from pagesim.errors import UsageError
from pagesim.player.describe import counted
from pagesim.story import Story, Writer

Act = tuple[Any, ...]
"""A word, the number of a sequence, and for most words one number more."""


def perform(acts: Iterable[Act], story: Story) -> dict[int, Writer]:
    """Perform the acts in ``story``; returns the remaining sequences by number.

    UsageError for an invalid act, or one that no sequence can perform at that moment.
    """
    here: dict[int, Writer] = {}
    for act in acts:
        act_once(act, story, here)
    return here


def act_once(act: Act, story: Story, here: dict[int, Writer]) -> list[tuple[int, int]]:
    """One act; returns the copies that come before its write."""
    match act:
        case "arrive", number, tokens:
            here[number] = story.arrive(_tokens(number, 0, tokens), name=number)
        case ("fork" | "write", number, _) | ("leave", number) if number not in here:
            raise UsageError(f"{act!r}: s{number} is not here")
        case "fork", number, child:
            here[child] = here[number].fork(name=child)
        case "write", number, tokens:
            writer = here[number]
            return writer.write(_tokens(number, len(writer.token_ids), tokens))
        case "leave", number:
            here.pop(number).leave()
        case _:
            acts = "('arrive', s, tokens), ('fork', s, child), ('write', s, tokens)"
            raise UsageError(f"{act!r:.80} is not an act: there are {acts} and ('leave', s)")
    return []


def _tokens(number: int, first: int, count: int) -> list[int]:
    return [100 * number + position for position in range(first, first + count)]


def in_words(acts: Sequence[Act]) -> str:
    """The acts in words."""
    return ", ".join(map(_in_words, acts)) or "nothing happens"


def _in_words(act: Act) -> str:
    what, number = act[0], act[1]
    if what == "leave":
        return f"s{number} leaves"
    if what == "fork":
        return f"s{act[2]} is forked from s{number}"
    does = "arrives with" if what == "arrive" else "writes"
    return f"s{number} {does} {counted(act[2], 'token')}"
