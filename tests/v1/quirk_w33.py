"""w33, a surprise of release 0.33.0: a block that counts as computed, and never was.

An entry has a claim, what one would expect, what happens, why, and what to do; its scenario is a
function that yields each step: what it does, and the engine behind it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tests.v1.scenes import Engine, text


class Entry(NamedTuple):
    """A surprise in words. ``v0`` is what release 0.6.4.post1 does."""

    id: str
    claim: str
    expected: str
    happens: str
    why: str
    advice: str
    v0: str


W33 = Entry(
    id="w33",
    claim=(
        "priority, a long_prefill_token_threshold and prefix caching: a request that is preempted "
        "in the very step that gave it a chunk leaves blocks cached that were never computed"
    ),
    expected=(
        "A chunk that is struck from its step was never there: its blocks go back with nothing in "
        "them, and the request computes its tokens when it returns."
    ),
    happens=(
        "The block that the chunk would have filled stays in the cache. The request finds it when "
        "it returns, skips its tokens, and every request with this prompt reads slots that nobody "
        "wrote."
    ),
    why=(
        "allocate_slots caches the blocks of a chunk before anything computes them, since a step "
        "is carried out whole. Only here it is not: by priority the victim may stand before the "
        "request that needs a block, and is struck from the step. Its tokens and its budget are "
        "taken back, its blocks are freed, but what was said of their content stays. The threshold "
        "is what lets a running request have a chunk and leave budget for one behind it."
    ),
    advice=(
        "With policy='priority' leave long_prefill_token_threshold at 0, or switch prefix caching "
        "off. A scheduler that does both would have to forget the hashes of a struck chunk."
    ),
    v0="cannot happen: what is scheduled is not preempted in the same step",
)


def w33() -> Iterator[tuple[str, dict[str, int], Engine]]:
    """Each step: what it does, the tokens that it computes, and the engine behind it.

    7 blocks of 4 tokens, and a step of 8 tokens, at most 5 of them for one request of several.
    """
    engine = Engine(8, max_num_batched_tokens=8, policy="priority", long_prefill_token_threshold=5)
    engine.add("low", text(24), priority=1)
    yield "low, whose prompt has 24 tokens, is alone: it gets the whole step", engine.step(), engine
    engine.add("high", text(3, 100), priority=0, max_tokens=3)
    yield "high arrives with 3 tokens: low gets 5, high the rest", engine.step(), engine
    for what in (
        "low's tokens 13 to 17: the last two begin block 6. high fills its own block",
        "low is given 18 to 22 and the last block; block 6 is full now, so it is cached. Then high "
        "needs a block, and low is the victim: its chunk is struck",
        "high has ended. low returns and finds its blocks, 6 among them: tokens 18 and 19 count as "
        "computed",
    ):
        yield what, engine.step(), engine
