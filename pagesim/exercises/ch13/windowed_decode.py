"""# 13.1 A sliding window ★★

In some models, such as Mistral 7B, a query sees only the last `window` keys, its own included. The
kernel of exercise 3.3 has been changed for this: it begins at the first block that has one of these
keys. One line is missing in `windowed_decode`. The line computes `seen`, a tile of `BLOCK` booleans
that says which positions of the block the query sees. The query belongs to the last token of the
sequence, at position `length - 1`.

With a window of 2 and a length of 3, the query sees positions 1 and 2. `window` may be larger than
the sequence. Slots of older tokens hold NaN, like slots without a token, so a key or value that is
not seen must not even be loaded.

## Hints
1. The window has two ends. What is the first position that the query sees, and what is the last?
2. The last position is `length - 1`. With a window of 2, the first is `length - 2`.
3. `seen = (position < length) & (position >= length - window)`. In Triton, comparisons of tiles are
   combined with `&`, each in parentheses.

## Wrong answers
* the_query_not_counted (an expired token in the page): With a window of w, a query sees w keys in
  addition to its own.
* one_too_few (an expired token in the page): The oldest key of the window is just outside it.
* scores_masked_only (an expired token in the page): A score of -inf is enough to leave a key out.
* only_the_window (a window longer than the sequence): Every position within the window has a token.

## vLLM
* vllm/attention/backends/flash_attn.py: FlashAttentionImpl, its sliding_window
* vllm/attention/ops/prefix_prefill.py: _fwd_kernel, its SLIDING_WINDOW
"""

from typing import Any

from pagesim.exercises.ch03 import decoding
from pagesim.exercises.ch03.decoding import Answer, Tables
from pagesim.exercises.kit import Case, Cases, Random, placed_together

oracle, same, play = decoding.oracle, decoding.same, placed_together


def cases(rng: Random, hidden: bool) -> Cases:
    """A window longer than the sequence, then one that ends in the middle of a page."""
    b = 8 if hidden else 4
    *table, other = rng.sample(range(8), 4) if hidden else [5, 0, 3, 7]
    yield Case(([table[:1]], [2], b, b), tag="a window longer than the sequence")
    yield Case(([table[:1]], [b - 1], b, 2), tag="an expired token in the page")
    yield Case(([table[:2]], [b + 2], b, b), tag="an expired token in the page")
    yield Case(([table[:2]], [2 * b], b, 1), tag="a window of one")
    yield Case(([table, [other]], [2 * b + 1, 2], b, b + 1), tag="two sequences")


def words(tables: Tables, lengths: list[int], block_size: int, window: int) -> str:
    return f"window {window}, tables {tables}, lengths {lengths}, blocks of {block_size} slots"


def call(kernel: Any, *case: Any) -> Answer:
    """Launch the student's kernel, which takes the window behind the scale."""
    return decoding.call(kernel, *case, case[-1])


def why(yours: Answer, right: Answer, lengths: list[int], window: int) -> str:
    seq = decoding.first_wrong(yours, right)
    last = lengths[seq] - 1
    sees = f"positions {max(0, last - window + 1)} to {last}"
    rule = f"The query of sequence {seq} is at position {last} and sees {window} keys, its own"
    read = f"But {yours['reads']}"
    seen = "But your output is not the average of their values" if decoding.FINE in read else read
    return f"{rule} included: {sees}. {seen}."
