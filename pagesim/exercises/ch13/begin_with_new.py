"""# 13.2 Begin with the new token ★★

In a decode step, the kernel need not read the key and value of the newest token back from the
cache: the online softmax can begin with them. Fill the gap in `begin_with_new`. Compute there what
`m`, `ell` and `acc` are after the new token alone. The loop over the cached tokens comes after the
gap, and is given.

`q`, `k_new`, `v_new` and `out` are `[num_seqs, DIM]`, float32. `context_lens` counts only the
*cached* tokens, and it may be 0. All slots of the cache without a cached token hold NaN.

Example: if no token is cached, the output is the value of the new token, because its weight is 1.

## Hints
1. Before the loop, the softmax has seen one token. What is the largest score so far? What is the
   sum of the weights relative to it, and what is the weighted sum of the values?
2. The largest score is that of the new token, and its weight relative to itself is exp(0).
3. `m = tl.sum(query * new_key, axis=0) * scale`, `ell = 1.0` and `acc = new_value`.

## Wrong answers
* not_scaled (some cached tokens): The score of the new token needs no scale, because it comes
  first.
* weighs_nothing (nothing cached): The sum of the weights begins at 0, as sums do.
* value_left_out (nothing cached): All values are added in the loop.
* forgets_the_new_token (nothing cached): Before the loop, the softmax has seen nothing.

## vLLM
* vllm/attention/ops/paged_attn.py: PagedAttention.forward_decode, which writes the token first
* vllm/attention/ops/prefix_prefill.py: _fwd_kernel, whose second half takes new keys unwritten
"""

from typing import Any

import numpy as np

from pagesim.cache import pad_block_tables
from pagesim.exercises.ch03.decoding import Tables
from pagesim.exercises.kit import Case, Cases, Random, Timeline, close, parted, placed_together
from pagesim.exercises.launching import jitted

DIM, NUM_BLOCKS = 4, 8
Rows = list[list[float]]
same = close(1e-4, 1e-4)


def cases(rng: Random, hidden: bool) -> Cases:
    """No cached token, some, a full page, two sequences."""
    b = 8 if hidden else 4
    *table, other = rng.sample(range(8), 4) if hidden else [5, 0, 3, 7]
    yield Case(([table[:1]], [0], b), tag="nothing cached")
    yield Case(([table[:1]], [b - 1], b), tag="some cached tokens")
    yield Case(([table[:1]], [b], b), tag="a full page")
    yield Case(([table, [other]], [2 * b + 1, 0], b), tag="two sequences")


def arrays(tables: Tables, lengths: list[int], block_size: int) -> dict[str, Any]:
    """Queries, new tokens, and caches that are NaN but for the cached tokens."""
    rng = np.random.default_rng(sum(lengths) + block_size)
    q, k_new, v_new = rng.standard_normal((3, len(lengths), DIM)).astype(np.float32)
    k_cache, v_cache = np.full((2, NUM_BLOCKS, block_size, DIM), np.nan, dtype=np.float32)
    for table, length in zip(tables, lengths, strict=True):
        for position in range(length):
            at = table[position // block_size], position % block_size
            k_cache[at], v_cache[at] = rng.standard_normal((2, DIM))
    return {"q": 2 * q, "k_new": k_new, "v_new": v_new, "k_cache": k_cache, "v_cache": v_cache}


def call(kernel: Any, tables: Tables, lengths: list[int], block_size: int) -> Rows:
    """Launch the student's kernel, one program for each sequence."""
    import torch

    from pagesim import kernels

    numbers = arrays(tables, lengths, block_size)
    numbers |= {"tables": pad_block_tables(tables), "lengths": np.array(lengths, dtype=np.int32)}
    given = [torch.from_numpy(x).to(kernels.backend.device()) for x in numbers.values()]
    out = torch.full_like(given[0], float("nan"))
    sizes = {"TABLE": max(map(len, tables)), "BLOCK": block_size, "DIM": DIM}
    jitted(kernel)[(len(lengths),)](out, *given, DIM**-0.5, **sizes)
    return [[round(float(x), 4) for x in row] for row in out.cpu().numpy()]


def oracle(tables: Tables, lengths: list[int], block_size: int) -> Rows:
    """Textbook attention in float64 over the cached tokens and the new one."""
    numbers = arrays(tables, lengths, block_size).values()
    q, k_new, v_new, k_cache, v_cache = (array.astype(np.float64) for array in numbers)
    rows = []
    for i, (table, length) in enumerate(zip(tables, lengths, strict=True)):
        keys = np.vstack([k_cache[table].reshape(-1, DIM)[:length], k_new[i]])
        values = np.vstack([v_cache[table].reshape(-1, DIM)[:length], v_new[i]])
        weights = np.exp(keys @ q[i] * DIM**-0.5)
        rows.append([round(float(each), 4) for each in weights @ values / weights.sum()])
    return rows


def words(tables: Tables, lengths: list[int], block_size: int) -> str:
    return f"tables {tables}, cached tokens {lengths}, blocks of {block_size} slots"


def play(tables: Tables, lengths: list[int], block_size: int) -> Timeline:
    return placed_together(tables, [length + 1 for length in lengths], block_size)


def why(yours: Rows, right: Rows, lengths: list[int]) -> str:
    seq = parted(yours, right, same)
    if lengths[seq] == 0:
        return f"Sequence {seq} has no cached token, so its output is the value of the new one."
    counts = "The new one counts like the others, and its score is q · k_new · scale"
    return f"Sequence {seq} has {lengths[seq]} cached tokens and a new one. {counts}."
