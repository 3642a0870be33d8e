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

_WORDS = {"arrive": 3, "fork": 3, "write": 3, "leave": 2}


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
    if not isinstance(act, list | tuple) or len(act) != _WORDS.get(act[0] if act else "", 0):
        acts = "('arrive', s, tokens), ('fork', s, child), ('write', s, tokens) and ('leave', s)"
        raise UsageError(f"{act!r:.80} is not an act: there are {acts}")
    what, number = act[0], act[1]
    if what == "arrive":
        here[number] = story.arrive(_tokens(number, 0, act[2]), name=number)
    elif number not in here:
        raise UsageError(f"{act!r}: s{number} is not here")
    elif what == "fork":
        here[act[2]] = here[number].fork(name=act[2])
    elif what == "write":
        writer = here[number]
        return writer.write(_tokens(number, len(writer.token_ids), act[2]))
    else:
        here.pop(number).leave()
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
