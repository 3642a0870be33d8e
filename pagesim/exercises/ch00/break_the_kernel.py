"""0.3: a wrong block table that is noticed, and one that is not."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from pagesim.exercises.acts import count
from pagesim.exercises.exercise import Case, Exercise, Wrong
from pagesim.exercises.goal import Goal
from pagesim.exercises.source import variant
from pagesim.story import Story
from pagesim.timeline.run import Timeline

Tables = list[list[int]]
NAN, WRONG = "NaN", "wrong, and no NaN"


def two_wrong_tables(
    tables: list[list[int]], lengths: list[int], num_blocks: int, block_size: int
) -> tuple[list[list[int]], list[list[int]]]:
    """Two copies of tables, each with exactly one block id replaced by a wrong one.

    The first makes the kernel's answer NaN; the second makes it wrong without any NaN.
    """
    ### BEGIN SOLUTION
    used = {block for table in tables for block in table}
    unused = next(block for block in range(num_blocks) if block not in used)
    noticed = [list(table) for table in tables]
    noticed[0][0] = unused  # no slot of this block was ever written

    unnoticed = [list(table) for table in tables]
    page = (lengths[1] - 1) // block_size  # the last page of sequence 1
    unnoticed[1][page] = tables[0][0]  # a full block of sequence 0
    return noticed, unnoticed
    ### END SOLUTION


def cases(rng: random.Random, hidden: bool) -> Iterator[Case]:
    """Two sequences; the first fills at least one block."""
    shapes = [(6, 3), (5, 8)] if hidden else [(4, 2), (7, 4)]
    shapes += [(rng.randint(5, 12), rng.randint(1, 12)) for _ in range(2)]
    guests = [2, 2, 0, 8 - sum(-(-length // 4) for length in shapes[3])]  # to the last block
    for lengths, guest in zip(shapes, guests, strict=True):
        story = _tell(*lengths, guest)
        tables = [writer.block_ids for writer in story.writers]
        told = f"tables {tables}, lengths {list(lengths)}, 8 blocks of 4 slots"
        yield Case((tables, list(lengths), 8, 4), told, "two sequences")


def _tell(first: int, second: int, guest_blocks: int) -> Story:
    story = Story(gpu_blocks=8, block_size=4)
    guest = story.arrive([0] * 4 * guest_blocks) if guest_blocks else None
    story.arrive(range(first))
    story.arrive(range(100, 100 + second))
    if guest:
        guest.leave()
    return story


def _outcomes(answer: Any, *given: Any) -> list[str]:
    """Run the kernel through both tables, and say what came out."""
    noticed, unnoticed = answer
    return [_outcome(wrong, *given) for wrong in (noticed, unnoticed)]


def _outcome(
    wrong: Any, tables: Tables, lengths: list[int], num_blocks: int, block_size: int
) -> str:
    """What the kernel makes of these tables, the cache being filled through the right ones."""
    import torch

    from pagesim import kernels
    from pagesim.cache import pad_block_tables
    from pagesim.exercises.launching import decode_batch, quiet

    if [len(table) for table in wrong] != [len(table) for table in tables]:
        return f"tables of another shape: {wrong}"
    changed = sum(
        old != new
        for a, b in zip(tables, wrong, strict=True)
        for old, new in zip(a, b, strict=True)
    )
    if changed != 1:
        return f"{count(changed, 'id')} changed: {wrong}"
    batch = decode_batch(tables, lengths, num_blocks, block_size)
    seen = torch.tensor(pad_block_tables(wrong), device=batch["block_tables"].device)
    try:
        with quiet():
            out = kernels.paged_attention_v1(**batch | {"block_tables": seen})
    except ValueError as error:
        return f"refused: {error}"
    if out.isnan().any():
        return NAN
    try:
        kernels.assert_matches_reference(out, **batch)
    except AssertionError:
        return WRONG
    return "right: nothing reads that id"


def expected(tables: Tables, lengths: list[int], num_blocks: int, block_size: int) -> Goal:
    """What is to come out of the two runs."""
    given = (tables, lengths, num_blocks, block_size)
    return Goal(
        accepts=lambda yours: _outcomes(yours, *given) == [NAN, WRONG],
        like=[tables, tables],
        words=f"the kernel's answers: {NAN}; {WRONG}",
    )


def why(case: Case, yours: Any, right: Any) -> str:
    """What the id that was chosen leads to."""
    outcomes = _outcomes(yours, *case.args)
    which, got = ("first", outcomes[0]) if outcomes[0] != NAN else ("second", outcomes[1])
    if got.startswith("refused"):
        return f"The launcher looks at tables first, and refuses your {which} ones: {got[9:]}."
    if got == NAN:
        return (
            "Your second tables give NaN: the kernel read a slot without a token. To be wrong "
            "without a NaN, every slot that it reads must hold a token of one of the sequences."
        )
    if got == WRONG:
        return (
            "Your first tables give numbers, if wrong ones: every slot that the kernel read holds "
            "a token, and NaN needs an empty one."
        )
    if got.startswith("right"):
        return (
            f"Your {which} tables give the right answer: the kernel reads no further than the "
            "length, so it never followed the id you changed."
        )
    return f"Your {which} tables: {got}. Change one id in a copy, and leave their shape as it is."


def play(case: Case) -> Timeline:
    """How the tables came about."""
    tables, (first, second), *_ = case.args
    return _tell(first, second, tables[0][0]).run


EXERCISE = Exercise(
    number="0.3",
    title="Break the kernel on purpose",
    stars=1,
    statement="""\
Two sequences are in the cache; `tables` has their block ids, `lengths` their tokens. Every slot
that holds no token is NaN. The checker runs `paged_attention_v1` through tables that you made
wrong. Write `two_wrong_tables(tables, lengths, num_blocks, block_size)`: it returns two copies of
`tables`, each with exactly one id changed.

1. With the first copy the kernel's answer must contain a NaN.
2. With the second copy the answer must be wrong, and must not contain a NaN.

Sequence 0 always fills at least one block. With tables `[[2], [3]]` and lengths `[4, 2]`, in blocks
of 4 slots, `([[0], [3]], [[2], [2]])` does it. Which of the two mistakes would you rather have in
production, and why?""",
    reference=two_wrong_tables,
    cases=cases,
    expected=expected,
    why=why,
    mistakes={
        "outside": Wrong(
            variant(two_wrong_tables, "noticed[0][0] = unused", "noticed[0][0] = num_blocks"),
            "An id that does not exist gives NaN.",
            "two sequences",
        ),
        "untouched_twice": Wrong(
            variant(two_wrong_tables, "= tables[0][0]  #", "= unused  #"),
            "A block that belongs to no sequence holds ordinary numbers.",
            "two sequences",
        ),
        "other_way_round": Wrong(
            variant(two_wrong_tables, "return noticed, unnoticed", "return unnoticed, noticed"),
            "Reading another sequence's token gives NaN.",
            "two sequences",
        ),
        "its_own_block": Wrong(
            variant(two_wrong_tables, "= tables[0][0]  #", "= tables[1][page]  #"),
            "A copy of the right table is a wrong table.",
            "two sequences",
        ),
    },
    hints=(
        "A NaN comes from a slot without a token. Where are such slots, and where are there none?",
        "For 1, name a block that is in neither table. For 2, name one whose slots all hold "
        "tokens, so that nothing but the answer tells.",
        "Block tables[0][0] is full, and sequence 1 has no right to it. Put it into sequence 1's "
        "table, at a page that is read: (lengths[1] - 1) // block_size is the last one.",
    ),
    vllm=(
        "csrc/attention/attention_kernels.cuh: paged_attention_kernel",
        "vllm/attention/ops/paged_attn.py: PagedAttention.forward_decode",
    ),
    play=play,
    seconds=30.0,
    needs_triton=True,
)
