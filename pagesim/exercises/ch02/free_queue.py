"""2.6: the same in vLLM V1, whose free list is a queue that remembers."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import Any

from pagesim.exercises.acts import count
from pagesim.exercises.exercise import Case, Exercise, Wrong
from pagesim.exercises.source import variant
from pagesim.story import Story
from pagesim.timeline.run import Timeline


def free_queue_after(num_blocks: int, ops: list[tuple[Any, ...]], block_size: int) -> list[int]:
    """The free queue of vLLM V1, front first, after these operations.

    ops: ("in", name, tokens): a prompt of so many tokens arrives; ("out", name): it leaves. At
    first blocks 1 to num_blocks - 1 are free, in this order. No two prompts have a block in common.
    """
    ### BEGIN SOLUTION
    free = list(range(1, num_blocks))
    tables: dict[str, tuple[list[int], int]] = {}
    for op in ops:
        name = op[1]
        if op[0] == "in":
            needed = -(-op[2] // block_size)
            tables[name] = free[:needed], op[2] // block_size
            free = free[needed:]
        else:
            table, full = tables.pop(name)
            free = table[full:] + free + table[:full][::-1]
    return free
    ### END SOLUTION


def cases(rng: random.Random, hidden: bool) -> Iterator[Case]:
    """One sequence, then two, then many."""
    num_blocks, size = (9, 3) if hidden else (6, 4)
    for tokens, tag in (
        (1, "a block that is not full"),
        (size, "a full block"),
        (2 * size, "two full blocks"),
        (size + 1, "a full block and another"),
        (2 * size + 1, "two full blocks and another"),
    ):
        arrives = ("in", "a", tokens)
        yield _case(num_blocks, [arrives], size, "nothing left yet")
        yield _case(num_blocks, [arrives, ("out", "a")], size, tag)
    for gone in ("ab", "ba"):
        ops = [("in", "a", size + 1), ("in", "b", size), *(("out", name) for name in gone)]
        yield _case(num_blocks, ops, size, "both leave")
        yield _case(num_blocks, [*ops, ("in", "c", 3 * size)], size, "one comes after")
    for _ in range(30):
        size = rng.choice((2, 3, 4))
        yield _case(16, _some(rng, size), size, "many")


def _some(rng: random.Random, block_size: int) -> list[Any]:
    ops: list[Any] = []
    here: list[str] = []
    for _ in range(8):
        while here and (len(here) == 3 or rng.random() < 0.4):
            ops.append(("out", here.pop(rng.randrange(len(here)))))
        here.append(rng.choice([name for name in "abcd" if name not in here]))
        ops.append(("in", here[-1], rng.randint(1, 5 * block_size)))
    return ops


def _case(num_blocks: int, ops: Sequence[Any], block_size: int, tag: str) -> Case:
    words = [
        f"{op[1]} arrives with {count(op[2], 'token')}" if op[0] == "in" else f"{op[1]} leaves"
        for op in ops
    ]
    told = f"{num_blocks} blocks of {block_size}; {', '.join(words)}"
    return Case((num_blocks, list(ops), block_size), told, tag)


def _tell(num_blocks: int, ops: Sequence[Any], block_size: int, *, record: bool) -> Story:
    story = Story(num_blocks, block_size=block_size, caching=True, record=record, engine="v1")
    here: dict[str, Any] = {}
    for number, op in enumerate(ops):
        if op[0] == "in":
            prompt = range(1000 * number, 1000 * number + op[2])
            here[op[1]] = story.arrive(prompt, name=op[1])
        else:
            here.pop(op[1]).leave()
    return story


def expected(num_blocks: int, ops: Sequence[Any], block_size: int) -> Any:
    """The queue of V1's block pool."""
    pool = _tell(num_blocks, ops, block_size, record=False).manager.block_pool
    return [block.block_id for block in pool.free_block_queue.get_all_free_blocks()]


def why(case: Case, yours: Any, right: Any) -> str:
    """The rule that the order breaks."""
    num_blocks, ops, block_size = case.args
    if 0 in yours:
        return "Block 0 is the null block: it is never free."
    if sorted(yours) != sorted(right):
        lost = sorted(set(right) ^ set(yours)) or "some block twice"
        return f"A block is free or in one table, never both; look at {lost}."
    if ops[-1][0] == "in":
        return "A prompt takes from the front of the queue, and the rest keeps its order."
    before = expected(num_blocks, ops[:-1], block_size)
    front = right[: right.index(before[0])] if before else []
    if front and yours[: len(front)] != front:
        return f"What holds no full block goes to the front: {front} comes first."
    return (
        "A full block is cached, and goes to the back of the queue, where it lasts longest. Within "
        f"a table the last one goes first, so that the end of a chain is taken before its "
        f"beginning: {right}."
    )


def play(case: Case) -> Timeline:
    """They come and go."""
    return _tell(*case.args, record=True).run


_LEAVE = "free = table[full:] + free + table[:full][::-1]"

EXERCISE = Exercise(
    number="2.6",
    title="The free queue of vLLM V1",
    stars=2,
    statement="""\
The bonus of 2.3: today's vLLM. V1 caches every full block, and has one queue instead of a stack
and an evictor. Write `free_queue_after(num_blocks, ops, block_size)`: the queue at the end, front
first. `ops` is a list of `("in", name, tokens)` and `("out", name)`.

* Block 0 is the null block and never free: at first the queue is 1 to `num_blocks - 1`.
* A prompt takes its blocks from the front.
* A table is given back from its last block to its first. Those that are not full go to the
  **front** of the queue, the full ones, which may be found again, to its **back**.

`free_queue_after(6, [("in", "a", 6), ("out", "a")], 4)` is `[2, 3, 4, 5, 1]`: block 2 was not full.
No prompt has a block in common with another one. Chapter 11 tells why V1 does it so.""",
    reference=free_queue_after,
    cases=cases,
    expected=expected,
    why=why,
    mistakes={
        "as_in_v0": Wrong(
            variant(free_queue_after, _LEAVE, "free = table[::-1] + free"),
            "What was freed last is taken first, as in V0.",
            "a full block",
        ),
        "all_to_the_back": Wrong(
            variant(free_queue_after, _LEAVE, "free = free + table[::-1]"),
            "It is a queue: what is freed goes to its end.",
            "a block that is not full",
        ),
        "first_to_last": Wrong(
            variant(free_queue_after, "table[:full][::-1]", "table[:full]"),
            "A table is given back in its own order.",
            "two full blocks",
        ),
        "block_0_is_free": Wrong(
            variant(free_queue_after, "range(1, num_blocks)", "range(num_blocks)"),
            "All blocks are free at first.",
            "nothing left yet",
        ),
        "a_partial_block_is_cached": Wrong(
            variant(free_queue_after, "op[2] // block_size\n", "needed\n"),
            "Every block of a prompt is cached.",
            "a block that is not full",
        ),
    },
    hints=(
        "What can be found again should last as long as possible: which end of the queue is that?",
        "A prompt of n tokens has n // block_size full blocks, at the beginning of its table.",
        "free = table[full:] reversed, then free, then table[:full] reversed.",
    ),
    vllm=(
        "vllm/v1/core/block_pool.py: BlockPool.free_blocks",
        "vllm/v1/core/kv_cache_utils.py: FreeKVCacheBlockQueue.prepend_n, append_n",
    ),
    release="0.33.0",
    play=play,
)
