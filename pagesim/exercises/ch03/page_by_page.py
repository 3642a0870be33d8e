"""# 3.2 Block by block ★★

One query attends to all tokens of a sequence, wherever their blocks are. Write
`page_by_page(q, k_cache, v_cache, table, length)`. The function returns the average of the `length`
values, weighted by the softmax of q · k / sqrt(head_dim), as a NumPy array `[head_dim]`.

`q` is `[head_dim]`, and the caches are `[num_blocks, block_size, head_dim]`. `table` is the block
table of the sequence; it may have more entries than its tokens need. A slot without a token of this
sequence holds NaN, or what another sequence has left there. Only `length` tells you where the
tokens end.

Go through the table one entry at a time, with the state `m`, `ell` and `acc` of exercise 3.1. You
can never read more than one block at once: a larger slice of a cache is an error.

Example: if the sequence has just one block, block 5, and the block is full, the result is
`softmax(k_cache[5] @ q / sqrt(head_dim)) @ v_cache[5]`.

## Hints
1. How many blocks of the sequence hold a token? How many tokens are in the last of them?
2. The block is `table[entry]`. In the last block, take only the slots that are filled:
   `k_cache[block, :filled]`.
3. Let `filled = min(block_size, length - entry * block_size)`. The update is that of exercise 3.1,
   with a block of scores instead of one score: `new_m = max(m, scores.max())`,
   `weights = np.exp(scores - new_m)`, and `acc = acc * rescale + weights @ values`, with the values
   of the block.

## Wrong answers
* page_for_block (a full page elsewhere): The keys of logical block i are in block i of the cache.
* whole_last_page (a partly filled page): A block can be read whole. What is not a token does no
  harm.
* no_tail (two pages): A sequence has length // block_size blocks.
* whole_table (a reserved block): Every block in the table holds tokens.
* acc_not_rescaled (two pages): The blocks can be added up as they are, because the division at the
  end puts the scale right.

## vLLM
* csrc/attention/attention_kernels.cuh: paged_attention_kernel, its loop over block_idx
* vllm/attention/ops/paged_attn.py: PagedAttention.forward_decode
"""

import math
from typing import Any

import numpy as np

from pagesim.cache import slots_of
from pagesim.exercises.case import Function
from pagesim.exercises.ch03.one_page import one_page
from pagesim.exercises.kit import Case, Cases, Random, Timeline, close, counted, has_nan, placed

same = close(1e-4, 1e-5)


def page_by_page(q: Any, k_cache: Any, v_cache: Any, table: list[int], length: int) -> Any:
    """Attention of one query over a sequence of `length` tokens, as an array [head_dim].

    q: [head_dim]; k_cache, v_cache: [num_blocks, block_size, head_dim], all NumPy. Slots that
    hold no token of the sequence are NaN or old. The table may have blocks that are reserved.
    """
    import numpy as np

    block_size = k_cache.shape[1]
    m, ell, acc = -math.inf, 0.0, np.zeros(len(q))
    ### BEGIN SOLUTION
    for page in range(math.ceil(length / block_size)):
        ### no_tail: for page in range(max(1, length // block_size)):
        ### whole_table: for page in range(len(table)):
        block = table[page]
        ### page_for_block: block = page
        filled = min(block_size, length - page * block_size)
        ### whole_last_page: filled = block_size
        ### whole_table: filled = min(block_size, max(1, length - page * block_size))
        scores = k_cache[block, :filled] @ q / math.sqrt(len(q))
        new_m = max(m, scores.max())
        weights, rescale = np.exp(scores - new_m), np.exp(m - new_m)
        ell = ell * rescale + weights.sum()
        acc = acc * rescale + weights @ v_cache[block, :filled]
        ### acc_not_rescaled: acc = acc + weights @ v_cache[block, :filled]
        m = new_m
    ### END SOLUTION
    return acc / ell


def cases(rng: Random, hidden: bool) -> Cases:
    """A full page, a partly filled one, two, a reserved block; then random tables."""
    b = 3 if hidden else 4
    yield Case(([0], b, b, 2, False), tag="a full page in block 0")
    yield Case(([2], b, b, 2, False), tag="a full page elsewhere")
    yield Case(([2], 1, b, 2, False), tag="a partly filled page")
    yield Case(([3, 1], b + 1, b, 2, False), tag="two pages")
    yield Case(([3, 1], 2 * b, b, 2, False), tag="two pages")
    yield Case(([3, 1, 0], b + 1, b, 2, False), tag="a reserved block")
    yield Case(([2], 1, b, 2, True), tag="old numbers behind the tokens")
    yield Case(([3, 1, 0], b + 1, b, 2, True), tag="old numbers behind the tokens")
    yield Case(([3, 1], 2 * b, b, 2000, False), tag="large scores")
    for _ in range(20):
        b = rng.choice((1, 2, 4, 8))
        table = rng.sample(range(8), rng.randint(1, 4))
        length = rng.randint(1, len(table) * b)
        yield Case((table, length, b, 2, rng.random() < 0.5), tag="a random table")


def words(table: list[int], length: int, block_size: int, scale: int, old: bool) -> str:
    what = f"table {table}, {counted(length, 'token')}, {block_size} slots to a block"
    what += ", keys in the thousands" if scale > 1000 else ""
    return what + (", old elements in the other slots of the table" if old else "")


def caches(table: list[int], length: int, block_size: int, scale: int, old: bool) -> list[Any]:
    """q and the caches of eight blocks: a key and a value in each token's slot, NaN elsewhere.

    With ``old`` numbers the blocks of the table have no NaN: others left theirs there.
    """
    rng = np.random.default_rng(seed=length)
    pages = np.full((2, 8 * block_size, 4), np.nan)
    slots = slots_of(table, range(len(table) * block_size), block_size)
    pages[:, slots] = scale if old else np.nan
    pages[:, slots[:length]] = scale * rng.standard_normal((2, length, 4))
    return [rng.standard_normal(4), *pages.reshape(2, 8, block_size, 4)]


def call(function: Function, table: list[int], length: int, *more: Any) -> Any:
    q, k_cache, v_cache = caches(table, length, *more)
    return function(q, one_page(k_cache), one_page(v_cache), table, length)


def oracle(table: list[int], length: int, block_size: int, scale: int, old: bool) -> Any:
    """`kernels.reference`: first all keys and values in one piece, then the textbook softmax."""
    from pagesim.kernels.reference import gather_attention

    arrays = caches(table, length, block_size, scale, old)
    q, k, v = (array[..., None, :] for array in arrays)  # one head
    return gather_attention(q[None], k, v, np.array([table]), np.array([length]))[0, 0]


def why(yours: Any, table: list[int], length: int, block_size: int, scale: int, old: bool) -> str:
    pages = -(-length // block_size)
    filled = length - block_size * (pages - 1)
    if has_nan(yours):
        if scale > 1000:
            return "With keys this large, exp(score) overflows: subtract the largest score first."
        if filled < block_size:
            holds = f"Logical block {pages - 1} holds {counted(filled, 'token')}"
            return f"{holds}. Its other slots are NaN, and even 0 times NaN is NaN."
        if len(table) > pages:
            ends = f"The tokens end in logical block {pages - 1}"
            return f"{ends}. The block of the last entry is only reserved."
        return f"The keys of logical block 0 are in block {table[0]}, because table[0] says so."
    if old and len(table) * block_size > length:
        behind = "what is behind it belongs to no token of this sequence, even if it is not NaN"
        ends = f"The last token is in logical block {pages - 1} at offset {filled - 1}"
        return f"{ends}: {behind}. Use length."
    if pages > 1:
        rescale = "When a larger score comes, rescale both ell and acc"
        return f"Each of the {pages} blocks counts. {rescale}, which are relative to the old one."
    read = f"The sequence has {counted(length, 'token')}, all in block {table[0]}"
    return f"{read}, and the score of each is q · k / sqrt(head_dim)."


def play(table: list[int], length: int, block_size: int) -> Timeline:
    return placed(table, length, block_size)
