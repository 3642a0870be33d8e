"""8.2: the reduce of paged_attention_v2, as a Triton kernel."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

from pagesim.exercises import source
from pagesim.exercises.exercise import Case, Exercise, Wrong
from pagesim.exercises.launching import launched
from pagesim.exercises.source import variant
from pagesim.exercises.values import close

STATEMENT = """
`paged_attention_v2` cuts a sequence into partitions. Each program divides by its own sum, and hands
over a proper attention output and one number more, the **log-sum-exp** of its scores, to base 2:

lse = log2 Σ exp(score)

A second, small kernel puts them together: partition i weighs 2^lse[i] ÷ Σ 2^lse[j]. Complete it:

```python
merge_kernel(out_ptr, partial_ptr, lse_ptr, num_partitions, PARTS, HEAD_DIM)
```

* `partial`: float32 `[queries, num_partitions, HEAD_DIM]`, contiguous: the partitions' outputs;
* `lse`: float32 `[queries, num_partitions]`, contiguous. It is -inf for a partition that begins
  beyond the end of its sequence. Such a partition has **not written** its output: NaN is there;
* `out`: float32 `[queries, HEAD_DIM]`.

(vLLM's CUDA kernel hands over the largest score and the sum instead of the lse, which is made of
the two.)

One program merges the partitions of one query. A range in Triton has a power of two as its length:
`part` runs to `PARTS`, which may be more than `num_partitions`.

Example: outputs 10 and 20 with lse 0 and 1 give (1 · 10 + 2 · 20) ÷ 3 = 16.67. The lse may be in
the hundreds, and 2^lse must not overflow.

Compute `out`, an array of `HEAD_DIM` numbers; the line that stores it is there. The launcher
`merge_partitions(out, partial, lse)` is complete; it is what `check` calls.
"""

REFERENCE = source.cell(__file__, "merge_partitions", "merge_partitions")


def _parts(lengths: list[list[int]], head_dim: int, sharpness: float, seed: int) -> Any:
    """Outputs and lse of all partitions, and of the whole sequences, by the float64 reference."""
    import numpy as np

    from pagesim.kernels import reference

    rng = np.random.default_rng(seed)
    shape = len(lengths), len(lengths[0])
    partial, lse = np.full((*shape, head_dim), np.nan), np.full(shape, -np.inf)
    whole = np.zeros((shape[0], head_dim))
    for query, counts in enumerate(lengths):
        q = rng.standard_normal((1, 1, head_dim)) * sharpness
        k, v = rng.standard_normal((2, 1, sum(counts), 1, head_dim))
        start = 0
        for part, count in enumerate(counts):
            if count:
                piece, found = slice(start, start + count), np.zeros((1, 1))
                cache = k[:, piece], v[:, piece], np.array([[0]]), np.array([count])
                partial[query, part] = reference.gather_attention(q, *cache, lse_out=found)[0, 0]
                lse[query, part], start = found[0, 0], start + count
        cache = k, v, np.array([[0]]), np.array([start])
        whole[query] = reference.online_softmax_attention(q, *cache)[0, 0]
    return partial, lse, whole


def expected(*args: Any) -> Any:
    """Attention over the whole sequence, never cut."""
    return _parts(*args)[2]


def call(merge_partitions: Callable[..., Any], case: Case) -> Any:
    import torch

    from pagesim import kernels

    device = kernels.backend.device()
    partial, lse, whole = (torch.from_numpy(x).float().to(device) for x in _parts(*case.args))
    out = torch.full_like(whole, float("nan"))
    launched(merge_partitions, out=out, partial=partial, lse=lse)
    return out.cpu()


def cases(rng: random.Random, hidden: bool) -> Iterator[Case]:
    shown = [
        ([[3]], 1.0, "one partition"),
        ([[3, 5]], 1.0, "two partitions"),
        ([[3, 5], [4, 1]], 1.0, "two queries"),
        ([[4, 4, 2], [3, 2, 4]], 1.0, "three partitions, not a power of two"),
        ([[4, 2], [4, 0]], 1.0, "one that was never written"),
        ([[4, 4, 1], [2, 0, 0]], 200.0, "large scores"),
    ]
    for lengths, sharpness, tag in shown:
        if hidden:
            more = rng.randint(0, 2)
            lengths = [[*(3 + n if n else 0 for n in row), *[more][:more]] for row in lengths]
        head_dim = rng.choice((8, 32)) if hidden else 4
        told = f"tokens in the partitions of each query: {lengths}, head_dim {head_dim}, {tag}"
        yield Case((lengths, head_dim, sharpness, rng.randint(0, 999)), told, tag)


def why(case: Case, yours: Any, right: Any) -> str:
    lengths = case.args[0]
    rows = [i for i, (a, b) in enumerate(zip(yours, right, strict=True)) if not SAME(a, b)]
    _, lse, _ = _parts(*case.args)
    shift = [round(float(x), 2) for x in lse[rows[0]]]
    rule = "each partition weighs 2 ** (lse - the largest lse), and the weights add up to 1"
    if 0 in lengths[rows[0]]:
        rule = "a partition with lse -inf weighs nothing, and its output must not even be read"
    return f"Query {rows[0]} has lse {shift}: {rule}."


SAME = close(1e-4, 1e-5)

EXERCISE = Exercise(
    number="8.2",
    title="The reduce kernel",
    stars=3,
    statement=STATEMENT,
    reference=REFERENCE,
    cases=cases,
    expected=expected,
    why=why,
    mistakes={
        "base_e": Wrong(
            variant(REFERENCE, "tl.exp2(lse", "tl.exp(lse"),
            "A log-sum-exp is undone by exp.",
            "two partitions",
        ),
        "average": Wrong(
            variant(REFERENCE, "tl.exp2(lse - tl.max(lse, axis=0))", "tl.where(there, 1.0, 0.0)"),
            "The answer is the average of the partitions' answers.",
            "two partitions",
        ),
        "not_divided": Wrong(
            variant(REFERENCE, " / tl.sum(weights, axis=0)", ""),
            "Every partition has divided by its sum already.",
            "two partitions",
        ),
        "first_query": Wrong(
            variant(REFERENCE, "row = query * num_partitions + part", "row = part"),
            "The partitions of every query begin at the start of the array.",
            "two queries",
        ),
        "parts_as_step": Wrong(
            variant(REFERENCE, "query * num_partitions + part", "query * PARTS + part"),
            "A query has PARTS partitions in memory.",
            "three partitions, not a power of two",
        ),
        "no_mask": Wrong(
            variant(REFERENCE, "part < num_partitions", "part >= 0"),
            "There are as many partitions as the range is long.",
            "three partitions, not a power of two",
        ),
        "unwritten": Wrong(
            variant(REFERENCE, 'lse > float("-inf")', "there"),
            "A weight of 0 makes any output vanish, NaN too.",
            "one that was never written",
        ),
        "no_shift": Wrong(
            variant(REFERENCE, "tl.exp2(lse - tl.max(lse, axis=0))", "tl.exp2(lse)"),
            "Only the ratio of the weights matters, so the maximum need not be subtracted.",
            "large scores",
        ),
    },
    hints=(
        "It is a softmax over partitions, to base 2, and a weighted sum of their outputs.",
        "Load lse with other=-inf, subtract the largest, take tl.exp2. Load the outputs only "
        "where lse is above -inf.",
        "row = query * num_partitions + part; the output of row r, dim d is at r * HEAD_DIM + d; "
        "out = tl.sum(weights[:, None] * partial, axis=0) / tl.sum(weights, axis=0).",
    ),
    vllm=(
        "csrc/attention/attention_kernels.cuh: paged_attention_v2_reduce_kernel",
        "vllm/attention/ops/paged_attn.py: PagedAttention.forward_decode",
    ),
    same=SAME,
    call=call,
    seconds=30.0,
    needs_triton=True,
)
