"""3.2: one query over one sequence, page by page in NumPy."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from typing import Any

from pagesim.exercises.acts import count
from pagesim.exercises.ch03.looks import one_page
from pagesim.exercises.exercise import Case, Exercise, Wrong
from pagesim.exercises.source import variant
from pagesim.exercises.stage import placed
from pagesim.exercises.values import close, has_nan
from pagesim.timeline.run import Timeline

HEAD_DIM = 4


def page_by_page(q: Any, k_cache: Any, v_cache: Any, table: list[int], length: int) -> Any:
    """Attention of one query over a sequence of so many tokens; an array [head_dim].

    q: [head_dim]; k_cache, v_cache: [num_blocks, block_size, head_dim], all NumPy. Slots that
    hold no token of the sequence are NaN or old. The table may have blocks that are reserved.
    """
    import numpy as np

    block_size = k_cache.shape[1]
    m, ell, acc = -math.inf, 0.0, np.zeros(len(q))
    ### BEGIN SOLUTION
    for page in range(math.ceil(length / block_size)):
        block = table[page]
        filled = min(block_size, length - page * block_size)
        scores = k_cache[block, :filled] @ q / math.sqrt(len(q))
        new_m = max(m, scores.max())
        weights, rescale = np.exp(scores - new_m), np.exp(m - new_m)
        ell = ell * rescale + weights.sum()
        acc = acc * rescale + weights @ v_cache[block, :filled]
        m = new_m
    ### END SOLUTION
    return acc / ell


def cases(rng: random.Random, hidden: bool) -> Iterator[Case]:
    """A full page, a partly filled one, two, a reserved block; then random tables."""
    b = 3 if hidden else 4
    yield _case([0], b, b, "a full page in block 0")
    yield _case([2], b, b, "a full page elsewhere")
    yield _case([2], 1, b, "a partly filled page")
    yield _case([3, 1], b + 1, b, "two pages")
    yield _case([3, 1], 2 * b, b, "two pages")
    yield _case([3, 1, 0], b + 1, b, "a reserved block")
    yield _case([2], 1, b, "old numbers behind the tokens", old=True)
    yield _case([3, 1, 0], b + 1, b, "old numbers behind the tokens", old=True)
    yield _case([3, 1], 2 * b, b, "large scores", scale=2000)
    for _ in range(20):
        block_size = rng.choice((1, 2, 4, 8))
        table = rng.sample(range(8), rng.randint(1, 4))
        length = rng.randint(1, len(table) * block_size)
        yield _case(table, length, block_size, "a random table", old=rng.random() < 0.5)


def _case(
    table: list[int], length: int, block_size: int, tag: str, scale: int = 2, old: bool = False
) -> Case:
    told = f"table {table}, {count(length, 'token')}, {block_size} slots to a block"
    told += ", keys in the thousands" if scale > 1000 else ""
    told += ", old numbers in the other slots of the table" if old else ""
    return Case((table, length, block_size, scale, old), told, tag)


def _caches(table: list[int], length: int, block_size: int, scale: int, old: bool) -> Any:
    """q and the caches of eight blocks: a key and a value in each token's slot, NaN elsewhere.

    With ``old`` numbers the blocks of the table have no NaN: others left theirs there.
    """
    import numpy as np

    from pagesim.cache import slots_of

    rng = np.random.default_rng(seed=length)
    pages = np.full((2, 8 * block_size, HEAD_DIM), np.nan)
    if old:
        pages[:, slots_of(table, range(len(table) * block_size), block_size)] = scale
    slots = slots_of(table, range(length), block_size)
    pages[:, slots] = scale * rng.standard_normal((2, length, HEAD_DIM))
    return rng.standard_normal(HEAD_DIM), *pages.reshape(2, 8, block_size, HEAD_DIM)


def call(function: Callable[..., Any], case: Case) -> Any:
    """The student gets arrays."""
    table, length, *_ = case.args
    q, *caches = _caches(*case.args)
    return function(q, *map(one_page, caches), table, length)


def expected(table: list[int], length: int, block_size: int, scale: int, old: bool) -> Any:
    """`kernels.reference`: first all keys and values in one piece, then the textbook softmax."""
    import numpy as np

    from pagesim.kernels.reference import gather_attention

    q, k, v = _caches(table, length, block_size, scale, old)
    k, v = k[:, :, None], v[:, :, None]
    return gather_attention(q[None, None], k, v, np.array([table]), np.array([length]))[0, 0]


def why(case: Case, yours: Any, right: Any) -> str:
    """What was read that holds no token, or what was not read."""
    table, length, block_size, scale, old = case.args
    pages = -(-length // block_size)
    if has_nan(yours) and scale > 1000:
        return "With keys this large exp(score) overflows: subtract the largest score first."
    if has_nan(yours):
        if block_size * pages > length:
            return (
                f"Page {pages - 1} holds {count(length - block_size * (pages - 1), 'token')}; the "
                "slots behind them are NaN, and even a weight of 0 times NaN is NaN."
            )
        if len(table) > pages:
            return f"The tokens end in page {pages - 1}; the table's last block is only reserved."
        return f"The keys of page 0 are in block {table[0]}: the table says so, not the page."
    if old and len(table) * block_size > length:
        return (
            f"The tokens end in page {pages - 1} with slot {(length - 1) % block_size}: what lies "
            "behind them, NaN or not, belongs to no token of this sequence. Only length says so."
        )
    if pages > 1:
        return (
            f"All {pages} pages count, and each was weighed relative to the largest score so far: "
            "a larger one rescales ell and acc."
        )
    return f"{count(length, 'token')} of block {table[0]}, score q · k / sqrt(head_dim) each."


def play(case: Case) -> Timeline:
    """The sequence in its blocks."""
    return placed(*case.args[:3])


EXERCISE = Exercise(
    number="3.2",
    title="Page by page",
    stars=2,
    statement="""\
One query meets all keys and values of a sequence, wherever its blocks are. Write
`page_by_page(q, k_cache, v_cache, table, length)`: the average of the `length` values, weighted by
the softmax of q · k / sqrt(head_dim), as a NumPy array `[head_dim]`.

`q` is `[head_dim]`, the caches are `[num_blocks, block_size, head_dim]`; `table` has the physical
block of each page. Take one page after the other, with the state m, ell, acc of exercise 3.1, and
never hold more than one page: the caches give the numbers of one block at a time. The table may
have more blocks than the tokens need. A slot that holds no token of the sequence is NaN, or has an
old number: only `length` says where the tokens end.

If block 5 is all there is, and full, the answer is softmax(k_cache[5] @ q / sqrt(head_dim)) @
v_cache[5].""",
    reference=page_by_page,
    cases=cases,
    expected=expected,
    why=why,
    mistakes={
        "page_for_block": Wrong(
            variant(page_by_page, "block = table[page]", "block = page"),
            "Page i of a sequence is block i of the cache.",
            "a full page elsewhere",
        ),
        "whole_last_page": Wrong(
            variant(
                page_by_page,
                "filled = min(block_size, length - page * block_size)",
                "filled = block_size",
            ),
            "A page is read whole; what is not a token does no harm.",
            "a partly filled page",
        ),
        "no_tail": Wrong(
            variant(page_by_page, "math.ceil(length / block_size)", "max(1, length // block_size)"),
            "A sequence has length // block_size pages.",
            "two pages",
        ),
        "whole_table": Wrong(
            variant(
                variant(page_by_page, "math.ceil(length / block_size)", "len(table)"),
                "length - page * block_size)",
                "max(1, length - page * block_size))",
            ),
            "The table has exactly the blocks that hold tokens.",
            "a reserved block",
        ),
        "acc_not_rescaled": Wrong(
            variant(page_by_page, "acc * rescale + weights", "acc + weights"),
            "The pages are added up, and the division at the end makes up for it.",
            "two pages",
        ),
    },
    hints=(
        "How many pages have a token? How many tokens has the last of them?",
        "The block of a page is table[page]. In the last page take only the slots that are filled: "
        "k_cache[block, :filled].",
        "filled = min(block_size, length - page * block_size). The update is that of exercise 3.1 "
        "with a page of scores in the place of one: new_m = max(m, scores.max()), "
        "weights = np.exp(scores - new_m), acc = acc * rescale + weights @ values of the page.",
    ),
    vllm=(
        "csrc/attention/attention_kernels.cuh: paged_attention_kernel, its loop over block_idx",
        "vllm/attention/ops/paged_attn.py: PagedAttention.forward_decode",
    ),
    play=play,
    same=close(1e-4, 1e-5),  # float32 will do
    call=call,
)
