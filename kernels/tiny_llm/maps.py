"""The task of the tiny models: a map stands in the prompt, and is walked.

    a>k;m>.;k>c;c>m;?a   ->   kcm.

A fact `a>k;` says that the way leads from a to k; `m>.` that it ends at m. `?a` asks for the walk
from a. A fact takes four tokens, which is one page of block size 4, and every token of the answer
is looked up in one fact: an answer is right only if each page it needs holds what was written.

62 places and 4 signs are 66 tokens. The letters are only names: `encode` and `decode` also speak of
places in words ("cave > lake ;"). Token 0 is ">", which is never an answer, so that a model whose
pages are blank (all logits equal: the first wins) is never right by luck.
"""

from __future__ import annotations

import string
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

ARROW, END, ASK, STOP = range(4)
LETTERS = (*">;?.", *string.ascii_letters, *string.digits)
PLACES = """
arch bank barn bay beach bench bog bridge brook camp cape cave church cliff coast court creek
dam den dock dune farm fen field ford fort gate glen grove hall harbour heath hill hut inn
island lake lane marsh mill mine moor oak park pass peak pier pond port quay reef ridge river
road rock shore spring tower town vale well wood
"""
WORDS = (*">;?.", *PLACES.split())
NUM_TOKENS, NUM_PLACES = len(LETTERS), len(LETTERS) - 4


@dataclass(frozen=True, slots=True)
class Map:
    """Facts (from, to) in the order in which the prompt states them; starts: good first places.

    A place with several facts has several ways on. `to` is STOP where the way ends.
    """

    facts: tuple[tuple[int, int], ...]
    starts: tuple[int, ...]

    def ways(self, place: int) -> list[int]:
        """Return the places that a place leads to; STOP may be one of them."""
        return [to for source, to in self.facts if source == place]


def make_map(
    rng: np.random.Generator, num_facts: int, chains: int = 2, places: int = NUM_PLACES
) -> Map:
    """Draw a map of chains of random lengths: every place has one fact.

    starts has the first place of every chain. places is the number of the 62 places that may occur.
    """
    nodes = _places(rng, num_facts, places)
    cuts = np.sort(rng.choice(np.arange(1, num_facts), min(chains, num_facts) - 1, replace=False))
    parts = [part.tolist() for part in np.split(nodes, cuts)]
    facts = [pair for part in parts for pair in zip(part, [*part[1:], STOP], strict=True)]
    return Map(_shuffled(rng, facts), tuple(part[0] for part in parts))


def make_branching_map(rng: np.random.Generator, num_places: int, places: int = NUM_PLACES) -> Map:
    """Draw a map whose places lead to up to three others, without circles: every route ends.

    It has about one and a half times as many facts as places.
    """
    nodes = _places(rng, num_places, places).tolist()
    ends = int(rng.integers(1, 3))
    facts = []
    for i, place in enumerate(nodes):
        ahead = nodes[i + 1 : i + 6] if i < num_places - ends else [STOP]
        ways = rng.permutation(ahead)[: rng.integers(1, 4)]
        facts += [(place, int(way)) for way in ways]
    return Map(_shuffled(rng, facts), tuple(nodes[: max(1, num_places // 3)]))


def prompt(given: Map, start: int) -> list[int]:
    """Return the prompt: all facts and the question, 4 · facts + 2 tokens."""
    facts = [token for source, to in given.facts for token in (source, ARROW, to, END)]
    return [*facts, ASK, start]


def answer(given: Map, start: int) -> list[int]:
    """Return the route from a start, including STOP; the first fact of each place counts.

    ValueError for a place without a fact, and for facts that lead in a circle.
    """
    way = dict(reversed(given.facts))
    walk: list[int] = []
    place = start
    while place != STOP:
        if place not in way:
            raise ValueError(f"the map has no fact that leads on from {decode([place])!r}")
        if len(walk) == len(way):
            raise ValueError(
                f"the route from {decode([start])!r} never ends: the facts lead in a circle"
            )
        place = way[place]
        walk.append(place)
    return walk


def is_walk(given: Map, start: int, tokens: Sequence[int]) -> bool:
    """Whether these tokens lead from a start to STOP along facts of the map."""
    places = [start, *tokens]
    return places[-1] == STOP and set(pairwise(places)) <= set(given.facts)


def encode(text: str, words: bool = False) -> list[int]:
    """Return the ids of letters, or of words between blanks; ValueError names an unknown one."""
    ids = {name: token for token, name in enumerate(WORDS if words else LETTERS)}
    names = text.split() if words else "".join(text.split())
    for name in names:
        if name not in ids:
            raise ValueError(
                f"{name!r} is not a {'word' if words else 'letter'} of the maps; there are "
                f"{' '.join(ids)}"
            )
    return [ids[name] for name in names]


def decode(tokens: Iterable[int], words: bool = False) -> str:
    """Return the text of token ids, with blanks between words; ValueError for an unknown token."""
    tokens = list(tokens)
    for token in tokens:
        if not 0 <= token < NUM_TOKENS:
            raise ValueError(
                f"the maps have no token {token}: token ids go from 0 to {NUM_TOKENS - 1}"
            )
    return " ".join(WORDS[t] for t in tokens) if words else "".join(LETTERS[t] for t in tokens)


def _places(rng: np.random.Generator, number: int, places: int) -> np.ndarray:
    if not 1 <= number <= places <= NUM_PLACES:
        raise ValueError(
            f"a map cannot have {number} places out of {places}: there are {NUM_PLACES} in all"
        )
    return STOP + 1 + rng.permutation(places)[:number]


def _shuffled(
    rng: np.random.Generator, facts: list[tuple[int, int]]
) -> tuple[tuple[int, int], ...]:
    return tuple(facts[i] for i in rng.permutation(len(facts)))
