"""The colour of a sequence: one rule for the player, the still picture and the figures.

Sequences take the colours in order of their first appearance. After ten the colours repeat, and a
pattern distinguishes the rounds.
"""

from collections.abc import Hashable, Iterable
from typing import TypeVar

from pagesim.files.jsonl import JsonObject

# Masataka Okabe and Kei Ito, "Color Universal Design", 2008. Black itself is reserved for ink.
OKABE_ITO = ("#56B4E9", "#E69F00", "#009E73", "#CC79A7", "#F0E442", "#D55E00", "#0072B2")
# Three more, each as far from all others as the nearest two of those seven, also for eyes that do
# not tell red from green. The three dark ones come last: on them, and only on them, text is white.
COLORS = (*OKABE_ITO[:6], "#AADD88", OKABE_ITO[6], "#8B5A2B", "#6F4FE8")
PATTERNS = ("", "x", "-", "\\", "+", "|")
"""The rounds: no pattern first, then only lines (dots would look like tokens)."""

K = TypeVar("K", bound=Hashable)


def places(names: Iterable[K]) -> dict[K, int]:
    """Name → its place in the order of first appearance, from 0."""
    return {name: place for place, name in enumerate(dict.fromkeys(names))}


def names_in(header: JsonObject, state: JsonObject) -> list[int | str]:
    """The sequences of a state in order of first appearance: the header's, then the rest."""
    return [*header.get("sequences", ()), *(table[0] for table in state["tables"])]


def color_of(place: int) -> str:
    """The colour at a place; it repeats after ten, hence the patterns and the labels."""
    return COLORS[place % len(COLORS)]


def pattern_of(place: int) -> str:
    """The pattern that distinguishes sequences of one colour: empty for the first ten."""
    return PATTERNS[place // len(COLORS) % len(PATTERNS)]
