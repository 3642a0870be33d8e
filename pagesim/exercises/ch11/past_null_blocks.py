"""# 11.4 Find the bug: NaN from a window ★★

The kernel below computes attention for a decode step. One program reads the last `window` keys of
one sequence through the table of a window. Where the window has given a block back, the
entry of this table is 0, the null block. A kernel that was written for full attention returned NaN
here: nobody writes into the null block, and it holds NaN.

That kernel, `past_null_blocks`, had a mistake in two places. The code of both has been taken out,
and a comment in each gap says what it did. Write it again, so that the program reads only what its
query sees.

`q` and `out` are `[num_seqs, DIM]` and the caches are `[num_blocks, BLOCK, DIM]`, all float32.
`seen` is given: it says which positions of the block the query sees. The query belongs to the last
token of the sequence, at position `length - 1`, and `window` counts this token. The window may be
larger than the sequence. Slots without a token hold NaN, and so do slots of tokens that are no
longer seen.

Example: with blocks of 4, a table `[0, 0, 5]`, a length of 12 and a window of 4, the program reads
block 5 and nothing else.

## Hints
1. What is 0 times NaN? So a weight of 0 does not help, and a slot that is not seen must not even be
   loaded.
2. Masks alone do not help either. If no position of the first block is seen, `new_m` is -inf. What
   is -inf minus -inf? Begin with the first block that has a key which the query sees.
3. The query sees positions from `length - window` on. With a window of 4 and a length of 12, these
   are positions 8 to 11. So `first = tl.maximum(length - window, 0) // BLOCK`, and both loads get
   `mask=seen[:, None], other=0.0`.

## Wrong answers
* values_not_masked (slots without a token): A weight of 0 cancels any value.
* begins_at_0 (a null block): If a load is masked, a block of which nothing is seen does no harm.
* its_own_token_too (a null block): A query sees a whole window of keys besides its own.
* rounded_up (the window begins inside a block): The block in which the window begins is not needed.
* tokens_are_loaded (the window begins inside a block): A position below the length is a token, and
  tokens may be loaded.

## vLLM 0.33.0
* vllm/v1/attention/ops/triton_unified_attention.py: unified_attention, its window_size
"""

from pagesim.exercises.ch03 import decoding
from pagesim.exercises.ch03.decoding import Answer
from pagesim.exercises.ch13 import windowed_decode
from pagesim.exercises.kit import Case, Cases, Random, has_nan

oracle, same = decoding.oracle, decoding.same
call, words = windowed_decode.call, windowed_decode.words


def cases(rng: Random, hidden: bool) -> Cases:
    """A window longer than the sequence, then null blocks before the window."""
    b = 8 if hidden else 4
    one, two, three = rng.sample(range(1, 8), 3) if hidden else [5, 3, 6]
    yield Case(([[one]], [2], b, b), tag="slots without a token")
    yield Case(([[0, one]], [2 * b], b, b), tag="a null block")
    yield Case(([[one, two]], [b + 2], b, b), tag="the window begins inside a block")
    yield Case(([[0, 0, one]], [3 * b], b, 1), tag="a window of one")
    yield Case(([[0, one, two], [three]], [2 * b + 1, 2], b, b + 1), tag="two sequences")


def why(yours: Answer, right: Answer, lengths: list[int], block_size: int, window: int) -> str:
    if (read := yours["reads"]) != decoding.FINE:
        return f"{read[0].upper()}{read[1:]}."
    seq = decoding.first_wrong(yours, right)
    first = max(lengths[seq] - window, 0)
    sees = f"The query of sequence {seq} sees positions {first} to {lengths[seq] - 1}"
    if has_nan(yours["answers"][seq]):
        nothing = "If the loop begins with a block of which nothing is seen, new_m stays -inf"
        return f"{sees}. {nothing}, and -inf minus -inf is NaN."
    return f"{sees}. But your output is not the average of their values."
