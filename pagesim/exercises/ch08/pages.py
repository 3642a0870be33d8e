"""8.3: which pages a partition reads."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from pagesim.exercises.exercise import Case, Exercise, Wrong
from pagesim.exercises.source import variant
from pagesim.story import Story
from pagesim.timeline.run import Timeline

STATEMENT = """
A sequence of `num_tokens` tokens is cut into partitions of `size` tokens: partition i has the
tokens from `i * size` on, up to the next partition or to the end of the sequence. A page holds
`block_size` tokens. Write

```python
def pages_of_partition(i, size, block_size, num_tokens):
    return pages
```

the places in the block table that the program of partition i looks up, as a list in ascending
order: those with at least one of its tokens.

Example: `pages_of_partition(1, 6, 4, 11)` is `[1, 2]`. Partition 1 has the tokens 6 to 10; tokens 6
and 7 are in page 1, tokens 8 to 10 in page 2.

vLLM's partitions have 512 tokens, which is a multiple of its block sizes; here `size` may be any
number, so that a page can belong to two partitions. A partition beyond the end has no pages.
"""


def pages_of_partition(i: int, size: int, block_size: int, num_tokens: int) -> list[int]:
    """The places in the block table that partition i looks up, in ascending order."""
    ### BEGIN SOLUTION
    start, stop = i * size, min((i + 1) * size, num_tokens)
    if start >= stop:
        return []
    return list(range(start // block_size, (stop - 1) // block_size + 1))
    ### END SOLUTION


def expected(i: int, size: int, block_size: int, num_tokens: int) -> list[int]:
    """Slot by slot, over a table whose blocks are numbered as its pages are."""
    from pagesim.cache.slot_mapping import slots_of

    tokens = range(num_tokens)[i * size : (i + 1) * size]
    table = range(-(-num_tokens // block_size))
    slots = slots_of(list(table), tokens, block_size).tolist()
    return sorted({slot // block_size for slot in slots})


def cases(rng: random.Random, hidden: bool) -> Iterator[Case]:
    sizes = ((4, 8), (4, 4), (4, 6), (4, 2))
    for block_size, size in ((3, 6), (8, 12), (16, 64), (5, 3)) if hidden else sizes:
        for num_tokens in range(1, 3 * size + 2):
            for i in range(-(-num_tokens // size) + 1):
                yield Case(
                    (i, size, block_size, num_tokens), tag=_tag(i, size, block_size, num_tokens)
                )


def _tag(i: int, size: int, block_size: int, num_tokens: int) -> str:
    if i * size >= num_tokens:
        return "beyond the end"
    if i * size % block_size or (i + 1) * size % block_size:
        return "a page in two partitions"
    if num_tokens % block_size == 0:
        return "whole pages"
    return "a page that is not full"


def why(case: Case, yours: Any, right: Any) -> str:
    i, size, block_size, num_tokens = case.args
    start, stop = i * size, min((i + 1) * size, num_tokens)
    if start >= stop:
        return f"Partition {i} begins at token {start}, and there are only {num_tokens}."
    return (
        f"Partition {i} has the tokens {start} to {stop - 1}. Token {start} is in page "
        f"{start // block_size}, token {stop - 1} in page {(stop - 1) // block_size}."
    )


def play(case: Case) -> Timeline:
    i, size, block_size, num_tokens = case.args
    story = Story(gpu_blocks=-(-num_tokens // block_size), block_size=block_size)
    story.arrive(range(num_tokens))
    title = f"Tokens {i * size} to {min((i + 1) * size, num_tokens) - 1}: in which pages?"
    return story.run.annotate(title=title)


EXERCISE = Exercise(
    number="8.3",
    title="The pages of a partition",
    stars=2,
    statement=STATEMENT,
    reference=pages_of_partition,
    cases=cases,
    expected=expected,
    why=why,
    mistakes={
        "to_the_full_size": Wrong(
            variant(pages_of_partition, "min((i + 1) * size, num_tokens)", "(i + 1) * size"),
            "Every partition has `size` tokens.",
            "a page that is not full",
        ),
        "whole_pages_alone": Wrong(
            variant(pages_of_partition, "(stop - 1) // block_size + 1", "stop // block_size"),
            "The last page of a sequence is full.",
            "a page that is not full",
        ),
        "one_page_too_many": Wrong(
            variant(pages_of_partition, "(stop - 1) // block_size + 1", "stop // block_size + 1"),
            "The page of the token behind the last one belongs to it.",
            "whole pages",
        ),
        "begins_at_a_page": Wrong(
            variant(
                pages_of_partition, "range(start // block_size", "range(-(-start // block_size)"
            ),
            "A partition begins where a page begins.",
            "a page in two partitions",
        ),
        "size_in_pages": Wrong(
            variant(
                pages_of_partition,
                "start, stop = i * size, min((i + 1) * size, num_tokens)",
                "n = size // block_size; start, stop = i * n * block_size, "
                "min((i + 1) * n * block_size, num_tokens)",
            ),
            "A partition is a number of whole pages.",
            "a page in two partitions",
        ),
    },
    hints=(
        "First the tokens: from where to where? Then the pages of the first and the last of them.",
        "Tokens i * size up to min((i + 1) * size, num_tokens), the last one excluded.",
        "The first page is start // block_size, the last one (stop - 1) // block_size; none if "
        "start is not below stop.",
    ),
    vllm=(
        "csrc/attention/attention_kernels.cuh: paged_attention_kernel (start_block_idx)",
        "vllm/attention/ops/paged_attn.py: _PARTITION_SIZE",
    ),
    play=play,
)
