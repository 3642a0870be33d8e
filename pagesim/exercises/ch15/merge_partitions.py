"""# 15.2 The reduction kernel ★★★

`paged_attention_v2` cuts a sequence into partitions. The program of a partition divides by its own
sum, so its output is a proper attention output. The program also returns one number, the
**log-sum-exp** of its scores, to base 2:

lse = log2 Σ exp(score)

A second, small kernel merges the outputs. The weight of partition i is 2^lse[i] ÷ Σ 2^lse[j].
Complete this kernel:

```python
merge_kernel(out_ptr, partial_ptr, lse_ptr, num_partitions, PARTS, HEAD_DIM)
```

* `partial`: float32 `[queries, num_partitions, HEAD_DIM]`, contiguous: the outputs of the
  partitions;
* `lse`: float32 `[queries, num_partitions]`, contiguous. It is -inf if a partition begins beyond
  the end of its sequence. Such a partition has **not written** its output, which is still NaN;
* `out`: float32 `[queries, HEAD_DIM]`.

(vLLM's CUDA kernel returns the largest score and the sum instead, from which the lse can be
computed.)

One program merges the partitions of one query. In Triton, the length of a range is a power of two.
So `part`, which is given, holds 0 to `PARTS - 1`, and `PARTS` may be more than `num_partitions`.

Example: the outputs 10 and 20 with lse 0 and 1 give (1 · 10 + 2 · 20) ÷ 3 = 16.67. The lse may be
in the hundreds, and 2^lse must not overflow.

Compute `out`, which has `HEAD_DIM` elements. The line that stores it is given. The launcher
`merge_partitions(out, partial, lse)` is complete, and `check` calls it.

## Hints
1. You need a softmax over partitions, to base 2, and a weighted sum of their outputs.
2. Load `lse` with `other=float("-inf")`, subtract the largest, and take `tl.exp2`. Load an output
   only where its lse is above -inf.
3. `row = query * num_partitions + part`. Element d of the output in row r is at `r * HEAD_DIM + d`.
   Then `out = tl.sum(weights[:, None] * partial, axis=0) / tl.sum(weights, axis=0)`.

## Wrong answers
* base_e (two partitions): exp is the inverse of a log-sum-exp, whatever its base.
* average (two partitions): The output is the average of the partitions' outputs.
* not_divided (two partitions): Every partition has already divided by its sum.
* first_query (two queries): The partitions of every query begin at the beginning of the tensor.
* parts_as_step (three partitions, not a power of two): A query has PARTS partitions in memory.
* no_mask (three partitions, not a power of two): There are PARTS partitions, so no mask is needed.
* unwritten (one that was never written): A weight of 0 cancels any output, even NaN.
* no_shift (large scores): Only the ratio of the weights matters, so the maximum need not be
  subtracted.

## vLLM
* csrc/attention/attention_kernels.cuh: paged_attention_v2_reduce_kernel
* vllm/attention/ops/paged_attn.py: PagedAttention.forward_decode
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from pagesim.exercises.kit import Case, Cases, Random, close, parted
from pagesim.exercises.launching import launched

Array = npt.NDArray[np.floating]
Lengths = list[list[int]]
"""The tokens in each partition of each query."""
same = close(1e-4, 1e-5)


def cases(rng: Random, hidden: bool) -> Cases:
    """One partition, more of them, some that are empty, and scores that overflow."""
    for given, sharpness, tag in (
        ([[3]], 1.0, "one partition"),
        ([[3, 5]], 1.0, "two partitions"),
        ([[3, 5], [4, 1]], 1.0, "two queries"),
        ([[4, 4, 2], [3, 2, 4]], 1.0, "three partitions, not a power of two"),
        ([[4, 2], [4, 0]], 1.0, "one that was never written"),
        ([[4, 4, 1], [2, 0, 0]], 200.0, "large scores"),
    ):
        more = rng.randint(0, 2) if hidden else 0
        other = [[*(3 + n if n else 0 for n in row), *[more][:more]] for row in given]
        lengths = other if hidden else given
        head_dim = rng.choice((8, 32)) if hidden else 4
        words = f"tokens in the partitions of each query: {lengths}, head_dim {head_dim}, {tag}"
        yield Case((lengths, head_dim, sharpness, rng.randint(0, 999)), words, tag)


def parts(lengths: Lengths, head_dim: int, sharpness: float, seed: int) -> list[Array]:
    """Outputs and lse of all partitions, and of the whole sequences, by the float64 reference."""
    from pagesim.kernels import reference

    rng = np.random.default_rng(seed)
    table = np.array([[0]])
    shape = len(lengths), len(lengths[0])
    partial, lse = np.full((*shape, head_dim), np.nan), np.full((*shape, 1, 1), -np.inf)
    whole = np.zeros((shape[0], head_dim))
    for query, counts in enumerate(lengths):
        q = rng.standard_normal((1, 1, head_dim)) * sharpness
        k, v = rng.standard_normal((2, 1, sum(counts), 1, head_dim))
        whole[query] = reference.online_softmax_attention(q, k, v, table, np.array([sum(counts)]))
        for part, count in enumerate(counts):
            if count:
                cache = k[:, :count], v[:, :count], table, np.array([count])
                found = reference.gather_attention(q, *cache, lse_out=lse[query, part])
                partial[query, part], k, v = found, k[:, count:], v[:, count:]
    return [partial, lse[..., 0, 0], whole]


def oracle(lengths: Lengths, head_dim: int, sharpness: float, seed: int) -> Array:
    """Attention over the whole sequence, never cut."""
    return parts(lengths, head_dim, sharpness, seed)[2]


def call(merge: Callable[..., None], *case: Any) -> Any:
    """What the kernel makes of the partitions, where NaN is not written."""
    import torch

    from pagesim import kernels

    device = kernels.backend.device()
    partial, lse, whole = (torch.from_numpy(x).float().to(device) for x in parts(*case))
    out = torch.full_like(whole, float("nan"))
    launched(merge, out=out, partial=partial, lse=lse)
    return out.cpu()


def why(yours: Array, right: Array, lengths: Lengths, *more: Any) -> str:
    query = parted(yours, right, same)
    lse = [round(float(x), 2) for x in parts(lengths, *more)[1][query]]
    rule = "A partition's weight is 2 ** (lse - the largest lse), divided by the sum of all these"
    if 0 in lengths[query]:
        rule = "A partition with lse -inf has weight 0, and its output must not even be read"
    return f"Query {query} has lse {lse}. {rule}."
