"""2.3: the free list after sequences came and went."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from itertools import permutations
from typing import Any

from pagesim.exercises.acts import count
from pagesim.exercises.exercise import Case, Exercise, Wrong
from pagesim.exercises.source import variant
from pagesim.story import Story
from pagesim.timeline.run import Timeline

Op = tuple[str, str] | tuple[str, str, int]


def free_list_after(num_blocks: int, ops: list[tuple[Any, ...]]) -> list[int]:
    """The free list, in the order in which blocks will be taken, after these operations.

    ops: ("in", name, blocks): a sequence arrives whose prompt needs so many blocks;
    ("out", name): it leaves. At first blocks 0 to num_blocks - 1 are free, in this order.
    """
    ### BEGIN SOLUTION
    free = list(range(num_blocks))
    tables: dict[str, list[int]] = {}
    for op in ops:
        name = op[1]
        if op[0] == "in":
            tables[name] = free[: op[2]]
            free = free[op[2] :]
        else:
            for block in tables.pop(name):
                free.insert(0, block)
    return free
    ### END SOLUTION


def cases(rng: random.Random, hidden: bool) -> Iterator[Case]:
    """One sequence, then two in both orders, then many at random."""
    num_blocks = 7 if hidden else 6
    for blocks in (1, 2, 3):
        arrives = ("in", "a", blocks)
        yield _case(num_blocks, [arrives], "nothing left yet")
        tag = "one block comes back" if blocks == 1 else "a table comes back"
        yield _case(num_blocks, [arrives, ("out", "a")], tag)
    for a, b in ((1, 1), (2, 1), (1, 2), (2, 2)):
        here = [("in", "a", a), ("in", "b", b)]
        for gone in ([("out", "a")], [("out", "b")]):
            yield _case(num_blocks, [*here, *gone], "one of two leaves")
        for order in permutations("ab"):
            gone = [("out", name) for name in order]
            yield _case(num_blocks, [*here, *gone], "both leave")
            again = [*here, *gone, ("in", "c", a + b)]
            yield _case(num_blocks, again, "one comes after")
    for _ in range(30):
        yield _case(16, _some(rng), "many")


def _some(rng: random.Random) -> list[Any]:
    ops: list[Any] = []
    here: dict[str, int] = {}
    for _ in range(8):
        while here and (len(here) == 3 or rng.random() < 0.4):
            gone = rng.choice(sorted(here))
            del here[gone]
            ops.append(("out", gone))
        name = rng.choice([name for name in "abcd" if name not in here])
        here[name] = rng.randint(1, 5)
        ops.append(("in", name, here[name]))
    return ops


def _case(num_blocks: int, ops: Sequence[Any], tag: str) -> Case:
    words = [
        f"{op[1]} arrives with {count(op[2], 'block')}" if op[0] == "in" else f"{op[1]} leaves"
        for op in ops
    ]
    return Case((num_blocks, list(ops)), f"{num_blocks} blocks; {', '.join(words)}", tag)


def _tell(num_blocks: int, ops: Sequence[Any], record: bool) -> Story:
    story = Story(gpu_blocks=num_blocks, block_size=4, record=record)
    here = {}
    for op in ops:
        if op[0] == "in":
            here[op[1]] = story.arrive(range(4 * op[2]), name=op[1])
        else:
            here.pop(op[1]).leave()
    return story


def expected(num_blocks: int, ops: Sequence[Any]) -> Any:
    """The free list of the block manager."""
    from pagesim.v0.block.interfaces import Device

    allocator = _tell(num_blocks, ops, record=False).manager.block_allocator
    return list(allocator.free_block_ids(Device.GPU))


def why(case: Case, yours: Any, right: Any) -> str:
    """The other orders that a free list could have, and the one that it has."""
    num_blocks, ops = case.args
    if sorted(yours) != sorted(right):
        lost = sorted(set(right) ^ set(yours)) or "some block twice"
        return f"A block is free or in one table, never both; look at {lost}."
    if ops[-1][0] == "in":
        return "A sequence takes from the front of the list, and the rest keeps its order."
    back = [block for block in right if block in _returned(num_blocks, ops)]
    if yours == sorted(right):
        return f"The list is never sorted: {back} came back to its front, the last one foremost."
    if yours[-len(back) :] == back[::-1]:
        return "A freed block goes to the FRONT of the list, to be taken again first."
    return (
        f"A table is given back from its first block on, each to the front of the list: what "
        f"was last in the table is first in the list, {back[0]} here."
    )


def _returned(num_blocks: int, ops: Sequence[Any]) -> set[int]:
    """The blocks that the last operation gave back."""
    before = expected(num_blocks, ops[:-1])
    return set(expected(num_blocks, ops)) - set(before)


def play(case: Case) -> Timeline:
    """They come and go."""
    num_blocks, ops = case.args
    return _tell(num_blocks, ops, record=True).run


_BACK = """for block in tables.pop(name):
                free.insert(0, block)"""

EXERCISE = Exercise(
    number="2.3",
    title="The free list",
    stars=2,
    statement="""\
Sequences arrive and leave. One that arrives takes the blocks that it needs from the free list; one
that leaves gives them back. Write `free_list_after(num_blocks, ops)`: the free list at the end, in
the order in which the blocks will be taken. `ops` is a list of `("in", name, blocks)` and
`("out", name)`; at first the blocks 0 to `num_blocks - 1` are free, in this order.

`free_list_after(6, [("in", "a", 2), ("out", "a")])` is `[1, 0, 2, 3, 4, 5]`. Section 3 has the
rule that makes it so.""",
    reference=free_list_after,
    cases=cases,
    expected=expected,
    why=why,
    mistakes={
        "first_in_first_out": Wrong(
            variant(free_list_after, "free.insert(0, block)", "free.append(block)"),
            "The block that has been free the longest is taken first.",
            "one block comes back",
        ),
        "sorted": Wrong(
            variant(free_list_after, "return free", "return sorted(free)"),
            "The free block with the lowest id is taken first.",
            "a table comes back",
        ),
        "as_a_run": Wrong(
            variant(free_list_after, _BACK, "free = tables.pop(name) + free"),
            "A table goes back in one piece, in its own order.",
            "a table comes back",
        ),
        "taken_from_the_end": Wrong(
            variant(
                variant(free_list_after, "= free[: op[2]]", "= free[-op[2] :]"),
                "free = free[op[2] :]",
                "free = free[: -op[2]]",
            ),
            "Blocks are taken from the end of the list.",
            "nothing left yet",
        ),
    },
    hints=(
        "Which block was given back last? It will be taken first.",
        "A table is given back from its first block to its last, and each block goes to the front "
        "of the list.",
        "On the way in, cut the blocks off the front of the list. On the way out, "
        "for block in table: free.insert(0, block).",
    ),
    vllm=(
        "vllm/core/block/naive_block.py: NaiveBlockAllocator._allocate_block_id, _free_block_id",
        "vllm/core/block/block_table.py: BlockTable.free",
    ),
    play=play,
)
