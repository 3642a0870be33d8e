"""5.2: the append of one token, with copy-on-write."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from pagesim.exercises.acts import Act, act_once, told
from pagesim.exercises.exercise import Case, Exercise, Wrong
from pagesim.exercises.source import variant
from pagesim.story import Story
from pagesim.timeline.run import Timeline

NUM_BLOCKS = 40


def append(
    tables: dict[int, list[int]], refs: dict[int, int], free: list[int], length: int, who: int,
    block_size: int,
) -> list[tuple[int, int]]:  # fmt: skip
    """Find a place for one token of sequence `who`, and return the copies (from, to) to make first.

    tables: the block ids of each sequence; refs: the owners of each block in use; free: the free
    list. All three are to be changed. length: the sequence's tokens before this one.
    """
    ### BEGIN SOLUTION
    table = tables[who]
    if length % block_size == 0:
        block = free.pop(0)
        refs[block] = 1
        table.append(block)
        return []
    last = table[-1]
    if refs[last] == 1:
        return []
    refs[last] -= 1
    block = free.pop(0)
    refs[block] = 1
    table[-1] = block
    return [(last, block)]
    ### END SOLUTION


def cases(rng: random.Random, hidden: bool) -> Iterator[Case]:
    """All stories of up to four acts behind the first, shortest first; then longer ones."""
    block_size = 3 if hidden else 2
    for num_acts in range(1, 5):
        for prompt in range(1, block_size + 2):
            yield from _all([("arrive", 0, prompt)], [0], num_acts, block_size)
    for _ in range(30):
        acts, here = [("arrive", 0, rng.randint(1, 6))], [0]
        for _ in range(rng.randint(5, 9)):
            who = rng.choice(here)
            if len(here) < 4 and rng.random() < 0.4:
                acts.append(("fork", who, len(here)))
                here.append(len(here))
            else:
                acts.append(("write", who, 1))
        yield _case([*acts, ("write", rng.choice(here), 1)], rng.choice((2, 3, 4)), "a long story")


def _all(acts: list[Act], here: list[int], left: int, block_size: int) -> Iterator[Case]:
    """Every continuation by so many forks and writes, of which the last is a write."""
    for who in here:
        if left == 1:
            yield _case([*acts, ("write", who, 1)], block_size)
            continue
        yield from _all([*acts, ("write", who, 1)], here, left - 1, block_size)
        if len(here) < 3:
            child = len(here)
            yield from _all([*acts, ("fork", who, child)], [*here, child], left - 1, block_size)


def _case(acts: Sequence[Act], block_size: int, tag: str = "") -> Case:
    if not tag:
        forks = sum(act[0] == "fork" for act in acts)
        writes = sum(act[0] == "write" for act in acts)
        full = acts[0][2] % block_size == 0
        if not forks:
            tag = "a new block" if full else "alone"
        elif writes > 1:
            tag = "several writes"
        elif full:
            tag = "a full block is shared"
        elif acts[0][2] > block_size:
            tag = "a full block and a partial one are shared"
        else:
            tag = "a partial block is shared"
    return Case((list(acts), block_size), f"blocks of {block_size}; {told(acts)}", tag)


def call(function: Callable[..., Any], case: Case) -> Any:
    """Let the student's function do all the writes; what is there after the last one."""
    acts, block_size = case.args
    first = -(-acts[0][2] // block_size)
    tables, lengths = {0: list(range(first))}, {0: acts[0][2]}
    refs, free = dict.fromkeys(range(first), 1), list(range(first, NUM_BLOCKS))
    made: Any = []
    for what, who, number in acts[1:]:
        if what == "fork":
            tables[number], lengths[number] = list(tables[who]), lengths[who]
            for block in tables[who]:
                refs[block] += 1
            continue
        made = function(tables, refs, free, lengths[who], who, block_size)
        lengths[who] += 1
    owned = {block: number for block, number in refs.items() if number}
    return copy.deepcopy({"copies": made, "tables": tables, "refs": owned, "free": free[:4]})


def _tell(acts: Sequence[Act], block_size: int) -> tuple[Story, list[tuple[int, int]], Any]:
    story = Story(gpu_blocks=NUM_BLOCKS, block_size=block_size)
    here: dict[int, Any] = {}
    made: list[tuple[int, int]] = []
    for act in acts:
        made = act_once(act, story, here)
    return story, made, here


def expected(acts: Sequence[Act], block_size: int) -> Any:
    """What the block manager has after the same acts."""
    story, made, here = _tell(acts, block_size)
    now = story.run.at(-1)
    return {
        "copies": [tuple(pair) for pair in made],
        "tables": {number: writer.block_ids for number, writer in here.items()},
        "refs": {block: number for block, number in now.ref_counts.items() if number},
        "free": list(now.free_gpu[:4]),
    }


def why(case: Case, yours: Any, right: Any) -> str:
    """Which of the four rules was broken in the last write."""
    who, block_size = case.args[0][-1][1], case.args[1]
    copies, truth = yours["copies"], right["copies"]
    if not isinstance(copies, list) or not all(isinstance(pair, list) for pair in copies):
        return "What is returned is a list of pairs: [(from, to)] for one copy, [] for none."
    if len(copies) < len(truth):
        old, new = truth[0]
        return (
            f"Block {old} has other owners: s{who} must not write there, but into a copy of it, "
            f"block {new}."
        )
    if len(copies) > len(truth):
        if truth:
            return "Only the last block is written, so only the last block is copied."
        return (
            f"s{who} is the only owner of the block, or takes a new one: there is nothing to copy."
        )
    if yours["tables"] != right["tables"]:
        return _of_tables(yours["tables"], right["tables"], who, block_size)
    if [tuple(pair) for pair in copies] != truth:
        return f"The copy is {truth[0]}: from the block that is shared into the new one."
    if yours["refs"] != right["refs"]:
        blocks = sorted({*yours["refs"], *right["refs"]})
        block = next(b for b in blocks if yours["refs"].get(b) != right["refs"].get(b))
        return (
            f"Block {block} is in {right['refs'].get(block, 0)} of the tables, and its count must "
            "say so: a sequence that moves away, or comes, changes it by one."
        )
    return "A block is taken from the front of the free list."


def _of_tables(yours: Any, right: Any, who: int, block_size: int) -> str:
    mine, truth = yours.get(who, []), right[who]
    if len(mine) < len(truth):
        return (
            f"Every block of s{who} is full, {block_size} tokens each: the token needs a new block "
            f"at the end of its table, block {truth[-1]}."
        )
    if len(mine) > len(truth):
        return (
            f"The last block of s{who} has room for the token, so its table stays as long as it "
            "was: a block is taken when a token needs it, not before."
        )
    if mine != truth:
        return (
            f"The table of s{who} is {truth} then: its last block is where the token is, and a new "
            "block is the first of the free list."
        )
    return f"Only the table of s{who} changes: the others stay where they are."


def play(case: Case) -> Timeline:
    """The story as vLLM has it."""
    return _tell(*case.args)[0].run


_MOVE = """    refs[last] -= 1
    block = free.pop(0)
    refs[block] = 1
    table[-1] = block
    return [(last, block)]"""

_MOVE_ALL = """    made = []
    for place, last in enumerate(table):
        if refs[last] > 1:
            refs[last] -= 1
            block = free.pop(0)
            refs[block] = 1
            table[place] = block
            made.append((last, block))
    return made"""

EXERCISE = Exercise(
    number="5.2",
    title="Copy-on-write",
    stars=2,
    statement="""\
Write `append(tables, refs, free, length, who, block_size)`: it finds a place for the next token of
sequence `who` and returns the copies, a list of pairs (from, to), that must be made before the
token is written; `[]` if there are none. It changes what it is given:

* `tables`: the block table of each sequence, `{0: [0, 1], 1: [0, 1]}`;
* `refs`: the number of tables that each block is in, `{0: 2, 1: 2}`;
* `free`: the free list, taken from its front.

`length` counts the tokens of `who` before this one. With the tables and counts above, `free` =
`[2, 3]`, a length of 7 and blocks of 4, `s0` writes into a copy: the answer is `[(1, 2)]`, and then
`tables[0]` is `[0, 2]`, `refs` `{0: 2, 1: 1, 2: 1}` and `free` `[3]`. The checker tells a story of
forks and writes, in which your function does all the writes, and looks at what is there at the end.
Forks are done by the checker. No block becomes free in these stories.""",
    reference=append,
    cases=cases,
    expected=expected,
    why=why,
    mistakes={
        "never_copies": Wrong(
            variant(append, "if refs[last] == 1:", "if refs[last] > 0:"),
            "There is room in the last block, so the token goes there.",
            "a partial block is shared",
        ),
        "copies_every_shared_block": Wrong(
            variant(append, _MOVE, _MOVE_ALL),
            "A writer needs all of its blocks for itself.",
            "a full block and a partial one are shared",
        ),
        "forgets_the_count": Wrong(
            variant(append, "    refs[last] -= 1\n", ""),
            "The old block stays as it was, so nothing changes for it.",
            "a partial block is shared",
        ),
        "copies_although_alone": Wrong(
            variant(append, "if refs[last] == 1:", "if refs[last] == 0:"),
            "A partly filled block is copied before it is written.",
            "alone",
        ),
        "copies_a_full_block": Wrong(
            variant(
                append,
                "length % block_size == 0:",
                "length % block_size == 0 and refs[table[-1]] == 1:",
            ),
            "A shared last block is copied, full or not.",
            "a full block is shared",
        ),
    },
    hints=(
        "There are three cases: the last block is full; it has room and one owner; it has room and "
        "several.",
        "Full: take a block and append it. One owner: nothing to do. Several: take a block, put it "
        "in the place of the old one, and return the pair.",
        "When a writer moves, the old block has one owner fewer and the new one has one: "
        "refs[old] -= 1, refs[new] = 1, table[-1] = new, return [(old, new)].",
    ),
    vllm=(
        "vllm/core/block/naive_block.py: NaiveBlockAllocator.cow_block_if_not_appendable",
        "vllm/core/block/block_table.py: BlockTable.append_token_ids",
        "vllm/core/block/common.py: CopyOnWriteTracker",
    ),
    play=play,
    call=call,
)
