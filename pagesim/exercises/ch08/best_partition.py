"""8.4: the partition size that keeps a chip busy, for a batch of unequal lengths."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import lru_cache
from heapq import heapify, heapreplace
from typing import Any

from pagesim.exercises.exercise import Case, Exercise, Wrong
from pagesim.exercises.goal import Goal

PAGE, LEAST, OVERHEAD = 16, 128, 4

STATEMENT = f"""
How should a ragged batch be cut? All sequences are cut into partitions of one `size`, and each
partition is a program for each KV head. The chip has `places` for programs. Write

```python
def best_size(lengths, kv_heads, places):
    return size
```

the size of a partition in tokens: a multiple of {PAGE}, at least {LEAST}, and at most the longest
sequence, rounded up to a page. Right is every size whose time is within 2 % of the best.

Time is measured in pages by `measure(lengths, kv_heads, places, size)`. Programs start in the order
sequence, KV head, partition; the next one takes the first place that becomes free. A program takes
as long as it reads pages, and {OVERHEAD} pages longer if its sequence has several partitions, for
what it hands over.

```python
from pagesim.exercises.ch08.best_partition import measure

measure([4096], kv_heads=1, places=8, size=4096)   # one program reads 256 pages
measure([4096], kv_heads=1, places=8, size=512)    # eight programs read 32 pages each
```

Think first: what becomes of a short sequence if the *number* of partitions is the same for all?
"""


def measure(lengths: list[int], kv_heads: int, places: int, size: int) -> int:
    """Pages of time until the last program of the batch is done."""
    busy = [0] * places
    heapify(busy)
    for length in lengths:
        partitions = -(-length // size)
        handed_over = OVERHEAD if partitions > 1 else 0
        for _ in range(kv_heads):
            for part in range(partitions):
                tokens = min(size, length - part * size)
                heapreplace(busy, busy[0] + -(-tokens // PAGE) + handed_over)
    return max(busy)


def sizes(lengths: list[int]) -> range:
    """All sizes that may be chosen."""
    longest = -(-max(lengths) // PAGE) * PAGE
    return range(LEAST, max(longest, LEAST) + 1, PAGE)


def best_size(lengths: list[int], kv_heads: int, places: int) -> int:
    """The partition size, in tokens, with which the batch is done first."""
    ### BEGIN SOLUTION
    from pagesim.exercises.ch08.best_partition import measure

    longest = -(-max(lengths) // 16) * 16
    allowed = range(128, max(longest, 128) + 1, 16)
    return min(allowed, key=lambda size: measure(lengths, kv_heads, places, size))
    ### END SOLUTION


@lru_cache(maxsize=64)
def _best(lengths: tuple[int, ...], kv_heads: int, places: int) -> tuple[int, int]:
    """The least time, and a size that takes it."""
    every = sizes(list(lengths))
    return min((measure(list(lengths), kv_heads, places, size), size) for size in every)


def fault(yours: Any, lengths: list[int], kv_heads: int, places: int) -> str:
    """What is wrong with a size; nothing if it is good enough."""
    every = sizes(lengths)
    if type(yours) is not int or yours not in every:
        return f"A size is a multiple of {PAGE} from {LEAST} to {every[-1]}."
    time, (best, size) = (
        measure(lengths, kv_heads, places, yours),
        _best(tuple(lengths), kv_heads, places),
    )
    if time <= 1.02 * best:
        return ""
    programs = [kv_heads * sum(-(-length // s) for length in lengths) for s in (yours, size)]
    return (
        f"Partitions of {yours} tokens make {_count(programs[0])}, done after {time} pages. "
        f"There is a size that makes {_count(programs[1])}, done after {best}."
    )


def _count(programs: int) -> str:
    return "1 program" if programs == 1 else f"{programs} programs"


def expected(lengths: list[int], kv_heads: int, places: int) -> Goal:
    time, _ = _best(tuple(lengths), kv_heads, places)
    return Goal(
        accepts=lambda yours: not fault(yours, lengths, kv_heads, places),
        like=LEAST,
        words=f"a size that is done after {int(1.02 * time)} pages of time",
    )


def cases(rng: random.Random, hidden: bool) -> Iterator[Case]:
    shown = (
        ([4096], 1, 8, "one long sequence"),
        ([1024] * 16, 4, 16, "as many sequences as places"),
        ([4096] + [256] * 7, 2, 64, "one long, seven short"),
        ([4000, 3000, 2000, 1000], 2, 24, "all different"),
        ([2048] * 8 + [128], 4, 8, "one short, eight long"),
    )
    for lengths, kv_heads, places, tag in shown:
        if hidden:
            lengths = [16 * (length // 16 * rng.randint(8, 12) // 10) + 7 for length in lengths]
        yield Case((lengths, kv_heads, places), tag=tag)


def why(case: Case, yours: Any, right: Any) -> str:
    return fault(yours, *case.args)


def _never(lengths: list[int], kv_heads: int, places: int) -> int:
    return sizes(lengths)[-1]


def _smallest(lengths: list[int], kv_heads: int, places: int) -> int:
    return LEAST


def _as_vllm(lengths: list[int], kv_heads: int, places: int) -> int:
    return min(512, sizes(lengths)[-1])


def _fill_once(lengths: list[int], kv_heads: int, places: int) -> int:
    partitions = max(1, places // (kv_heads * len(lengths)))
    return max(LEAST, -(-max(lengths) // partitions // PAGE) * PAGE)


EXERCISE = Exercise(
    number="8.4",
    title="The best partition size",
    stars=2,
    statement=STATEMENT,
    reference=best_size,
    cases=cases,
    expected=expected,
    why=why,
    mistakes={
        "never_split": Wrong(
            _never, "Splitting costs, so it is better not to.", "one long sequence"
        ),
        "as_small_as_possible": Wrong(
            _smallest, "The more programs, the better.", "one long sequence"
        ),
        "as_vllm": Wrong(_as_vllm, "512 tokens suit every batch.", "as many sequences as places"),
        "fill_the_chip_once": Wrong(
            _fill_once,
            "Every sequence gets the same number of partitions, as many as fill the chip.",
            "one long, seven short",
        ),
    },
    hints=(
        "With too few programs places stay empty; with too many every program adds its overhead.",
        "The longest sequence alone takes as long as its largest partition. What do the others do "
        "meanwhile?",
        "There are few sizes: measure each multiple of 16, and take the one with the least time.",
    ),
    vllm=(
        "vllm/attention/ops/paged_attn.py: PagedAttention.forward_decode",
        "vllm/attention/ops/paged_attn.py: _PARTITION_SIZE",
    ),
)
