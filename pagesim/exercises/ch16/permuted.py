"""# 16.2 Pages change places ★★

The keys and values of a sequence are in pages 0, 1, 2, …, in order, and the kernel computes
attention for its newest token. Now the entries of the block table are shuffled, and nothing else
changes: entry i is `order[i]`. Is the output the same? Write

```python
def same_result(order, num_tokens, block_size, window):
    return same
```

* `order`: the table, a permutation of the pages that hold the `num_tokens` tokens;
* `window`: how many of the last tokens the newest token sees, itself included, or None if it sees
  all.

The position of a token is stored inside its key, because RoPE rotates the key before it is stored.
The kernel reads the tokens `0` to `num_tokens - 1`, or the last `window` of them, through the
table: token p is in slot `p % block_size` of page `order[p // block_size]`. A sum does not depend
on the order of its terms.

Example, with pages of 4 and no window: `same_result([1, 0], 8, 4, None)` is True, because all eight
tokens are read, just in another order. `same_result([1, 0], 7, 4, None)` is False: the kernel now
reads a slot of page 1 that holds no token, and it misses a token in page 0.

## Hints
1. Which slots does the kernel read through the first table, and which through the second?
2. Only the set of slots matters. Each slot is one term of a sum, and the position of its token is
   inside the key.
3. Collect `order[p // block_size] * block_size + p % block_size` for every token p that is read,
   from the first one in the window to the last. Compare the set with `range(first, num_tokens)`.

## Wrong answers
* order_matters (two full pages): The tokens come in another order, so the text is another one.
* never_matters (the last page is not full): Attention is a sum, so the order of the table never
  matters.
* no_window (the window begins in a page): A window makes no difference to what is read.
* only_full_pages (the last page stays): If one page is not full, no page may change its place.

## vLLM
* vllm/attention/ops/paged_attn.py: PagedAttention.forward_decode
* csrc/attention/attention_kernels.cuh: paged_attention_kernel
"""

from itertools import permutations, product

from pagesim.cache.slots import slot_numbers
from pagesim.exercises.attention import attention
from pagesim.exercises.kit import Case, Cases, Random, counted


def same_result(order: list[int], num_tokens: int, block_size: int, window: int | None) -> bool:
    """Whether attention through this table is what it is through the table 0, 1, 2, …"""
    ### BEGIN SOLUTION
    first = 0 if window is None else max(0, num_tokens - window)
    ### no_window: first = 0
    read = set()
    for token in range(first, num_tokens):
        read.add(order[token // block_size] * block_size + token % block_size)
    return read == set(range(first, num_tokens))
    ### order_matters: return order == sorted(order)
    ### never_matters: return True
    ### only_full_pages: return order == sorted(order) or num_tokens % block_size == 0
    ### END SOLUTION


def cases(rng: Random, hidden: bool) -> Cases:
    """Two pages, then all orders of three, with a window and without."""
    n = 3 if hidden else 4
    yield Case(([0, 1], 2 * n, n, None), tag="nothing is shuffled")
    yield Case(([1, 0], 2 * n, n, None), tag="two full pages")
    yield Case(([1, 0], 2 * n - 1, n, None), tag="the last page is not full")
    yield Case(([1, 0, 2], 3 * n - 1, n, None), tag="the last page stays")
    yield Case(([1, 0, 2], 3 * n, n, n), tag="the window is in a page that stays")
    yield Case(([0, 2, 1], 3 * n, n, 2 * n), tag="the window is whole pages")
    yield Case(([0, 2, 1], 3 * n, n, n + 1), tag="the window begins in a page")
    yield Case(([0, 2, 1], 3 * n, n, 3 * n), tag="the window is wider than it all")
    lengths, windows = (3 * n, 3 * n - 1, 2 * n + 1), (None, 1, n, n + 1, 2 * n, 2 * n + 1, 4 * n)
    for order, num_tokens, window in product(permutations(range(3)), lengths, windows):
        yield Case((list(order), num_tokens, n, window), tag="three pages")
    for _ in range(20):
        pages, block = rng.randint(2, 6), rng.choice((1, 2, 5))
        shuffled = rng.sample(range(pages), pages)
        num_tokens = pages * block - rng.randrange(block)
        window = rng.choice((None, None, rng.randint(1, num_tokens)))
        yield Case((shuffled, num_tokens, block, window), tag="more")


def words(order: list[int], num_tokens: int, block_size: int, window: int | None) -> str:
    seen = "no window" if window is None else f"a window of {window}"
    return f"the table {order}, {counted(num_tokens, 'token')}, pages of {block_size}, {seen}"


def oracle(order: list[int], num_tokens: int, block_size: int, window: int | None) -> bool:
    """Whether attention is the same through both tables; a slot has a score and a value."""
    rng = Random(0)
    scores = [rng.gauss() for _ in range(len(order) * block_size)]
    seen = range(num_tokens)[-(window or num_tokens) :]
    read = (slot_numbers(table, seen, block_size) for table in (range(len(order)), order))
    [one], [other] = (
        attention([scores[slot] for slot in slots], [[float(slot)] for slot in slots])
        for slots in read
    )
    return abs(one - other) < 1e-9


def why(right: bool, order: list[int], num_tokens: int, block_size: int, window: int | None) -> str:
    if right:
        return "The kernel reads the same slots, only in another order, so the sum is the same."
    first = 0 if window is None else max(0, num_tokens - window)
    slots = [order[p // block_size] * block_size + p % block_size for p in range(first, num_tokens)]
    slot = next(slot for slot in slots if not first <= slot < num_tokens)
    page, offset = divmod(slot, block_size)
    what = "holds no token" if slot >= num_tokens else "is outside the window"
    return f"The kernel now reads slot {offset} of page {page}, which {what}."
