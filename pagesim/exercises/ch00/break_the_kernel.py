"""# 0.3 Break the kernel on purpose ★

The cache holds two sequences. `tables` has their block tables, and `lengths` has their numbers of
tokens. Every slot without a token holds NaN ("not a number"), and whatever is computed with a NaN
is NaN, too. `check` runs the attention kernel `paged_attention_v1`, but it gives the kernel block
tables that you have made wrong on purpose.

Write `two_wrong_tables(tables, lengths, num_blocks, block_size)`. The function returns two copies
of `tables`. In each copy, exactly one block id is changed.

1. With the first copy, the kernel's output must contain a NaN.
2. With the second copy, the output must be wrong but must not contain a NaN.

Sequence 0 always fills at least one block. Example: for the tables `[[2], [3]]` and the lengths
`[4, 2]`, in blocks of 4 slots, `([[0], [3]], [[2], [2]])` is right. Which mistake would you
rather have in production, the one with a NaN or the one without? And why?

## Hints
1. A NaN comes from a slot without a token. Which blocks have such slots, and which have none?
2. In the first copy, name a block that is in neither table. In the second copy, name a block whose
   slots all hold tokens, so that the output is wrong but has no NaN.
3. Block `tables[0][0]` is full, and sequence 1 must not read it. For the second copy, put the id of
   this block into the table of sequence 1. Choose an entry that the kernel reads: the last such
   entry is `(lengths[1] - 1) // block_size`.

## Wrong answers
* outside (two sequences): An id that does not exist gives NaN.
* untouched_twice (two sequences): A block that belongs to no sequence holds ordinary numbers.
* other_way_round (two sequences): Reading another sequence's token gives NaN.
* its_own_block (two sequences): A copy of the tables is enough, even if no id in it is different.

## vLLM
* csrc/attention/attention_kernels.cuh: paged_attention_kernel
* vllm/attention/ops/paged_attn.py: PagedAttention.forward_decode
"""

from typing import Any

from pagesim.cache import pad_block_tables
from pagesim.exercises.kit import Case, Cases, Goal, Random, Story, Timeline, counted
from pagesim.exercises.launching import decode_batch, quiet

Tables = list[list[int]]

NEEDS_TRITON = True
SECONDS = 30.0
NAN, WRONG = "NaN", "wrong, and no NaN"


def two_wrong_tables(
    tables: list[list[int]], lengths: list[int], num_blocks: int, block_size: int
) -> tuple[list[list[int]], list[list[int]]]:
    """Two copies of tables, each with exactly one block id replaced by a wrong one.

    The first makes the kernel's output NaN. The second makes it wrong without any NaN.
    """
    ### BEGIN SOLUTION
    used = {block for table in tables for block in table}
    unused = next(block for block in range(num_blocks) if block not in used)
    noticed = [list(table) for table in tables]
    noticed[0][0] = unused  # no slot of this block was ever written
    ### outside: noticed[0][0] = num_blocks  # no slot of this block was ever written

    unnoticed = [list(table) for table in tables]
    page = (lengths[1] - 1) // block_size  # the last page of sequence 1
    unnoticed[1][page] = tables[0][0]  # a full block of sequence 0
    ### untouched_twice: unnoticed[1][page] = unused  # a full block of sequence 0
    ### its_own_block: unnoticed[1][page] = tables[1][page]  # a full block of sequence 0
    return noticed, unnoticed
    ### other_way_round: return unnoticed, noticed
    ### END SOLUTION


def cases(rng: Random, hidden: bool) -> Cases:
    """Two sequences; the first fills at least one block."""
    shapes = [(6, 3), (5, 8)] if hidden else [(4, 2), (7, 4)]
    shapes += [(rng.randint(5, 12), rng.randint(1, 12)) for _ in range(2)]
    guests = [2, 2, 0, 8 - sum(-(-length // 4) for length in shapes[3])]  # to the last block
    for lengths, guest_blocks in zip(shapes, guests, strict=True):
        tables = [writer.block_ids for writer in story([*lengths], guest_blocks).writers]
        words = f"tables {tables}, lengths {[*lengths]}, 8 blocks of 4 slots"
        yield Case((tables, [*lengths], 8, 4), words, "two sequences")


def story(lengths: list[int], guest_blocks: int) -> Story:
    """Two sequences behind a guest who takes so many blocks and leaves."""
    story = Story(gpu_blocks=8, block_size=4)
    guest = story.arrive([0] * 4 * guest_blocks) if guest_blocks else None
    for number, length in enumerate(lengths):
        story.arrive(range(100 * number, 100 * number + length))
    if guest:
        guest.leave()
    return story


def play(tables: Tables, lengths: list[int]) -> Timeline:
    return story(lengths, tables[0][0]).run


def oracle(tables: Tables, *_: object) -> Goal:
    """What must come out of the two runs."""
    return Goal([tables, tables], f"the kernel's outputs: {NAN}; {WRONG}")


def outcome(which: str, wrong: Tables, tables: Tables, *batch: Any) -> str:
    """What the kernel makes of these tables, the cache being filled through the right ones."""
    from pagesim import kernels

    rule = "Change exactly one id, and keep the shape of the tables"
    if [len(table) for table in wrong] != [len(table) for table in tables]:
        return f"Your {which} tables: tables of another shape: {wrong}. {rule}."
    pairs = (pair for a, b in zip(tables, wrong, strict=True) for pair in zip(a, b, strict=True))
    if (changed := sum(old != new for old, new in pairs)) != 1:
        return f"Your {which} tables: {counted(changed, 'id')} changed: {wrong}. {rule}."
    given = decode_batch(tables, *batch)
    seen = given["block_tables"].new_tensor(pad_block_tables(wrong))
    try:
        with quiet():
            out = kernels.paged_attention_v1(**given | {"block_tables": seen})
    except ValueError as error:
        return f"The launcher checks the tables first. It refuses your {which} ones: {error}."
    if out.isnan().any():
        return NAN
    try:
        kernels.assert_matches_reference(out, **given)
    except AssertionError:
        return WRONG
    read = "the kernel stops at the length of a sequence, so it never used the id you changed"
    return f"Your {which} tables give the right output: {read}."


def why(yours: list[Tables], *given: Any) -> str:
    named = zip(("first", "second"), yours, strict=True)
    first, second = (outcome(which, wrong, *given) for which, wrong in named)
    if first == WRONG:
        read = "every slot that the kernel read holds a token"
        return f"Your first tables give no NaN: {read}, and NaN comes from a slot without one."
    if (first, second) == (NAN, NAN):
        rule = "let the kernel read only slots that hold a token, of whichever sequence"
        read = "Your second tables give NaN: the kernel read a slot without a token"
        return f"{read}. For an output that is wrong without a NaN, {rule}."
    return first if first != NAN else "" if second == WRONG else second
