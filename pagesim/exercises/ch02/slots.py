"""2.1: from a block table to the slots of a sequence's tokens."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import permutations
from typing import Any

from pagesim.exercises import replays
from pagesim.exercises.exercise import Case, Exercise, Wrong
from pagesim.exercises.source import variant
from pagesim.exercises.stage import placed
from pagesim.timeline.run import Timeline


def slots(table: list[int], num_tokens: int, block_size: int) -> list[int]:
    """The slot of each of the first num_tokens tokens, as a list of ints.

    table: the sequence's physical block ids, in the order of its logical blocks.
    """
    ### BEGIN SOLUTION
    result = []
    for position in range(num_tokens):
        block = table[position // block_size]
        result.append(block * block_size + position % block_size)
    return result
    ### END SOLUTION


def cases(rng: random.Random, hidden: bool) -> Iterator[Case]:
    """All tables over four blocks in small sizes, then some large ones."""
    sizes = (3, 5, 8, 32) if hidden else (1, 2, 4, 16)
    for block_size in sizes:
        for num_tokens in range(1, 2 * block_size + 2):
            for table in permutations(range(4), -(-num_tokens // block_size)):
                yield Case(
                    (list(table), num_tokens, block_size), tag=_tag(table, block_size, num_tokens)
                )
    for _ in range(20):
        block_size = rng.choice(sizes)
        scattered = rng.sample(range(100), rng.randint(1, 8))
        num_tokens = rng.randint(1, len(scattered) * block_size)
        yield Case((scattered, num_tokens, block_size), tag="large")


def _tag(table: tuple[int, ...], block_size: int, num_tokens: int) -> str:
    if num_tokens == 1:
        return "one token, not in block 0" if table[0] else "one token"
    return "two tokens in a block" if len(table) == 1 else "two blocks"


def expected(table: list[int], num_tokens: int, block_size: int) -> Any:
    """What the simulator's slot mapping says."""
    from pagesim.cache.slot_mapping import slots_of

    return slots_of(table, range(num_tokens), block_size).tolist()


def why(case: Case, yours: Any, right: Any) -> str:
    """The rule, at the first token whose slot is another."""
    table, num_tokens, block_size = case.args
    if len(yours) != num_tokens:
        return f"There are {num_tokens} tokens, so there are {num_tokens} slots."
    token = next(i for i, (a, b) in enumerate(zip(yours, right, strict=True)) if a != b)
    block, offset = divmod(token, block_size)
    return (
        f"Token {token} is in logical block {block} at offset {offset}; the table says that this "
        f"is physical block {table[block]}, so its slot is {table[block]} * {block_size} + "
        f"{offset} = {right[token]}."
    )


def play(case: Case) -> Timeline:
    """A sequence of this length arrives in the blocks of this table."""
    table, num_tokens, block_size = case.args
    return placed(table, num_tokens, block_size)


EXERCISE = Exercise(
    number="2.1",
    title="Slots",
    stars=1,
    statement="""\
A sequence has `num_tokens` tokens in blocks of `block_size` slots. Its block table lists the
physical id of each of its logical blocks. Write `slots(table, num_tokens, block_size)`: the slot
of each token, as a list of ints. The slots of the whole cache are numbered block after block.

`slots([7, 2], 3, 2)` is `[14, 15, 4]`.""",
    reference=slots,
    cases=cases,
    expected=expected,
    why=why,
    mistakes={
        "logical_for_physical": Wrong(
            variant(slots, "table[position // block_size]", "position // block_size"),
            "The first block of a sequence is block 0 of the cache.",
            "one token, not in block 0",
        ),
        "no_offset": Wrong(
            variant(slots, " + position % block_size", ""),
            "A token's slot is where its block begins.",
            "two tokens in a block",
        ),
        "swapped": Wrong(
            variant(
                variant(slots, "position // block_size", "position % block_size"),
                "block_size + position % block_size",
                "block_size + position // block_size",
            ),
            "The remainder chooses the block, and the quotient the place in it.",
            "two blocks",
        ),
        "sixteen": Wrong(
            variant(slots, "block * block_size", "block * 16"),
            "A block always has 16 slots.",
            "one token, not in block 0",
        ),
    },
    hints=(
        "Two numbers say where a token is: which of the sequence's blocks, and which slot in it.",
        "Token p is in logical block p // block_size. The table turns that into a physical id.",
        "table[p // block_size] * block_size + p % block_size, for each p below num_tokens.",
    ),
    vllm=("vllm/attention/backends/utils.py: compute_slot_mapping",),
    play=play,
    replay=replays.slots,
)
