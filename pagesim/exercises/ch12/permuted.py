"""12.2: a block table in another order."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import cache
from itertools import permutations
from typing import Any

from pagesim.exercises.acts import count
from pagesim.exercises.exercise import Case, Exercise, Wrong
from pagesim.exercises.source import variant

STATEMENT = """
A sequence has its keys and values in pages 0, 1, 2, …, in order, and the kernel computes attention
for its newest token. Now the entries of the block table are shuffled, and nothing else: entry i is
`order[i]`. Is the result the same? Write

```python
def same_result(order, num_tokens, block_size, window):
    return same
```

* `order`: the table, a permutation of the pages that hold the `num_tokens` tokens;
* `window`: None, or the number of last tokens that the newest one looks at, itself included.

The position of a token is inside its key: RoPE has turned it before it was stored. The kernel reads
the tokens `0` to `num_tokens - 1`, or the last `window` of them, through the table: token p in slot
`p % block_size` of page `order[p // block_size]`. A sum does not depend on the
order of its terms.

Example, with pages of 4 and no window: `same_result([1, 0], 8, 4, None)` is True: all eight tokens
are read, in another order. `same_result([1, 0], 7, 4, None)` is False: the kernel now reads a slot
of page 1 that holds no token, and misses one of page 0.
"""


def same_result(order: list[int], num_tokens: int, block_size: int, window: int | None) -> bool:
    """Whether attention through this table is what it is through the table 0, 1, 2, …"""
    ### BEGIN SOLUTION
    first = 0 if window is None else max(0, num_tokens - window)
    read = set()
    for token in range(first, num_tokens):
        read.add(order[token // block_size] * block_size + token % block_size)
    return read == set(range(first, num_tokens))
    ### END SOLUTION


def expected(order: list[int], num_tokens: int, block_size: int, window: int | None) -> bool:
    """Whether the reference's attention is the same through both tables."""
    return _attention(tuple(order), num_tokens, block_size, window)


@cache
def _attention(
    order: tuple[int, ...], num_tokens: int, block_size: int, window: int | None
) -> bool:
    import numpy as np

    from pagesim.kernels import reference

    rng = np.random.default_rng(0)
    q = rng.normal(size=(1, 1, 8))
    shape = len(order), block_size, 1, 8
    k, v = rng.normal(size=shape), rng.normal(size=shape)
    tables = np.array([range(len(order))]), np.array([order])
    results = [
        reference.gather_attention(
            q, k, v, table, np.array([num_tokens]), sliding_window=window or 0
        )
        for table in tables
    ]
    return bool(np.abs(results[0] - results[1]).max() < 1e-9)


def cases(rng: random.Random, hidden: bool) -> Iterator[Case]:
    """Two pages, then all orders of three, with a window and without."""
    size = 3 if hidden else 4
    yield _case([0, 1], 2 * size, size, None, "nothing is shuffled")
    yield _case([1, 0], 2 * size, size, None, "two full pages")
    yield _case([1, 0], 2 * size - 1, size, None, "the last page is not full")
    yield _case([1, 0, 2], 3 * size - 1, size, None, "the last page stays")
    yield _case([1, 0, 2], 3 * size, size, size, "the window is in a page that stays")
    yield _case([0, 2, 1], 3 * size, size, 2 * size, "the window is whole pages")
    yield _case([0, 2, 1], 3 * size, size, size + 1, "the window begins in a page")
    yield _case([0, 2, 1], 3 * size, size, 3 * size, "the window is wider than it all")
    for order in permutations(range(3)):
        for num_tokens in (3 * size, 3 * size - 1, 2 * size + 1):
            for window in (None, 1, size, size + 1, 2 * size, 2 * size + 1, 4 * size):
                yield _case(list(order), num_tokens, size, window, "three pages")
    for _ in range(20):
        pages, block = rng.randint(2, 6), rng.choice((1, 2, 5))
        order_ = rng.sample(range(pages), pages)
        tokens = pages * block - rng.randrange(block)
        yield _case(order_, tokens, block, rng.choice((None, None, rng.randint(1, tokens))), "more")


def _case(order: list[int], num_tokens: int, block_size: int, window: Any, tag: str) -> Case:
    seen = "no window" if window is None else f"a window of {window}"
    told = f"the table {order}, {count(num_tokens, 'token')}, pages of {block_size}, {seen}"
    return Case((order, num_tokens, block_size, window), told, tag)


def why(case: Case, yours: Any, right: Any) -> str:
    order, num_tokens, block_size, window = case.args
    first = 0 if window is None else max(0, num_tokens - window)
    slots = [order[p // block_size] * block_size + p % block_size for p in range(first, num_tokens)]
    if right:
        return "Every slot that was read is read again, in another order: the sum is the same."
    slot = next(slot for slot in slots if not first <= slot < num_tokens)
    page, offset = divmod(slot, block_size)
    what = "holds no token" if slot >= num_tokens else "is out of the window"
    return f"It reads slot {offset} of page {page}, which {what}."


EXERCISE = Exercise(
    number="12.2",
    title="Pages change places",
    stars=2,
    statement=STATEMENT,
    reference=same_result,
    cases=cases,
    expected=expected,
    why=why,
    mistakes={
        "order_matters": Wrong(
            lambda order, num_tokens, block_size, window: order == sorted(order),
            "The tokens come in another order, so the text is another one.",
            "two full pages",
        ),
        "never_matters": Wrong(
            lambda order, num_tokens, block_size, window: True,
            "Attention is a sum, so the table's order never matters.",
            "the last page is not full",
        ),
        "no_window": Wrong(
            variant(same_result, "0 if window is None else max(0, num_tokens - window)", "0"),
            "A window changes nothing about it.",
            "the window begins in a page",
        ),
        "only_full_pages": Wrong(
            lambda order, num_tokens, block_size, window: (
                order == sorted(order) or num_tokens % block_size == 0
            ),
            "As soon as a page is not full, no page may move.",
            "the last page stays",
        ),
    },
    hints=(
        "Which slots does the kernel read through the one table, and which through the other?",
        "Only the set of slots matters, since each is one term of a sum, and its position is in "
        "its key.",
        "Collect order[p // block_size] * block_size + p % block_size for every token p that is "
        "read, and compare with range(first, num_tokens).",
    ),
    vllm=(
        "vllm/attention/ops/paged_attn.py: PagedAttention.forward_decode",
        "csrc/attention/attention_kernels.cuh: paged_attention_kernel",
    ),
)
