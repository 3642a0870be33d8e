"""4.1: what a lane of vLLM's kernel reads, from the sizes alone."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from pagesim.exercises.acts import count
from pagesim.exercises.exercise import Case, Exercise, Wrong
from pagesim.exercises.source import variant

HEADS = (128, 64, 256, 80, 96, 112, 120)


def lane(
    head_size: int, block_size: int, query_bytes: int, cache_bytes: int, number: int
) -> tuple[int, int, int, list[int]]:
    """THREAD_GROUP_SIZE, VEC_SIZE, x, and the rows of V that lane `number` of a warp sums.

    query_bytes, cache_bytes: the size of one element of the query and of the caches.
    """
    ### BEGIN SOLUTION
    group_size = max(32 // block_size, 1)
    vec_size = max(16 // (group_size * query_bytes), 1)
    x = 16 // cache_bytes
    tokens_at_once = min(16 // query_bytes, block_size)
    lanes_of_a_row = block_size // tokens_at_once
    rows_at_once = 32 // lanes_of_a_row
    rows = list(range(number // lanes_of_a_row, head_size, rows_at_once))
    return group_size, vec_size, x, rows
    ### END SOLUTION


def cases(rng: random.Random, hidden: bool) -> Iterator[Case]:
    """Head size 128 in blocks of 16 first, then everything that varies, one by one.

    vLLM compiles its kernel for blocks of 8, 16 and 32: none of these needs its max and min.
    """
    yield _case(128, 16, 2, 2, 4 if hidden else 0, "half precision")
    yield _case(128, 16, 2, 2, 5 if hidden else 3, "half precision")
    yield _case(128, 8, 2, 2, 0, "another block size")
    yield _case(128, 32, 2, 2, 9 if hidden else 1, "another block size")
    yield _case(128, 16, 4, 4, 5, "float32")
    yield _case(128, 64, 2, 2, 7, "a block larger than a warp")
    yield _case(128, 4, 4, 4, 3, "less than an element for a lane")
    yield _case(128, 4, 2, 2, 3, "a row shorter than 16 bytes")
    yield _case(128, 16, 2, 1, 0, "an fp8 cache")
    yield _case(120, 16, 2, 2, 31 if hidden else 30, "rows beyond the head")
    for head_size in HEADS:
        for block_size in (4, 8, 16, 32, 64):
            for query_bytes, cache_bytes in ((2, 2), (2, 1), (4, 4), (4, 1)):
                if head_size % (16 // cache_bytes) == 0:
                    number = rng.randrange(32)
                    yield _case(head_size, block_size, query_bytes, cache_bytes, number, "any")


def _case(head: int, block: int, query: int, cache: int, number: int, tag: str) -> Case:
    told = (
        f"lane {number}; head size {head}, blocks of {block}, elements of {query} bytes in q and "
    )
    told += f"{count(cache, 'byte')} in the cache"
    return Case((head, block, query, cache, number), told, tag)


def expected(
    head_size: int, block_size: int, query_bytes: int, cache_bytes: int, number: int
) -> Any:
    """What the emulated kernel has: `simt.Config` and `v_rows`."""
    from pagesim.kernels import simt
    from pagesim.kernels.simt.indices import v_rows

    config = simt.Config(
        head_size, block_size, element_bytes=query_bytes, quantized=cache_bytes < query_bytes
    )
    rows = [row for row in v_rows(config)[0, number].tolist() if row < head_size]
    return config.thread_group_size, config.vec_size, config.x, rows


def why(case: Case, yours: Any, right: Any) -> str:
    """The first of the four that differs."""
    head_size, block_size, query_bytes, cache_bytes, number = case.args
    group, vec, x, rows = right
    if yours[0] != group:
        tokens = min(block_size, 32)
        return (
            f"A warp meets {tokens} tokens at once with 32 lanes: {count(group, 'lane')} for each."
        )
    if yours[1] != vec:
        return (
            f"A group of {count(group, 'lane')} reads 16 bytes of q together, so a lane reads "
            f"{16 // group} of them: {count(vec, 'element')}."
        )
    if yours[2] != x:
        return (
            f"x counts the elements in 16 bytes of the cache, at {count(cache_bytes, 'byte')} each."
        )
    tokens = min(16 // query_bytes, block_size)
    sharing = block_size // tokens
    if any(row >= head_size for row in yours[3]):
        return f"A head of {head_size} has the rows 0 to {head_size - 1}: beyond them is nothing."
    return (
        f"A lane takes {tokens} of the {block_size} tokens of a row at once, so a row has "
        f"{count(sharing, 'lane')} and a warp {32 // sharing} rows at a time: lane {number} begins "
        f"at row {rows[0]} and goes on in steps of {32 // sharing}."
    )


EXERCISE = Exercise(
    number="4.1",
    title="What a lane reads",
    stars=1,
    statement="""\
In vLLM's CUDA kernel everything follows from a few sizes. Write
`lane(head_size, block_size, query_bytes, cache_bytes, number)`, which returns a tuple:

1. `THREAD_GROUP_SIZE`: how many neighbouring lanes of a warp share one key. A warp of 32 lanes
   takes as many tokens at once as a block has, at most 32, one lane for each.
2. `VEC_SIZE`: how many elements of the query a lane reads at once, when its group together reads 16
   bytes (at least one element).
3. `x`: the elements in the innermost axis of the key cache, 16 bytes of it.
4. the rows of V, 0 to `head_size - 1`, that lane `number` of a warp sums, as a list in ascending
   order. A row is one dimension of the head with the tokens of a block side by side. A lane reads
   16 bytes' worth of query elements of it at once (at most the row); the lanes of a warp take the
   rows in turn, those of one row side by side.

`query_bytes` and `cache_bytes` are the bytes of an element. Blocks are powers of two from 4 to 64
(vLLM compiles the kernel for 8, 16 and 32; its formulas go further). `lane(64, 16, 2, 2, 0)` is
`(2, 4, 8, [0, 16, 32, 48])`.""",
    reference=lane,
    cases=cases,
    expected=expected,
    why=why,
    mistakes={
        "a_row_for_each_lane": Wrong(
            variant(lane, "lanes_of_a_row = block_size // tokens_at_once", "lanes_of_a_row = 1"),
            "Each of the 32 lanes has a row to itself: lane 0 has 0, 32, 64 and so on.",
            "half precision",
        ),
        "sixteen_bytes_a_lane": Wrong(
            variant(lane, "16 // (group_size * query_bytes)", "16 // query_bytes"),
            "Every lane reads 16 bytes of the query at once.",
            "half precision",
        ),
        "x_of_the_query": Wrong(
            variant(lane, "x = 16 // cache_bytes", "x = 16 // query_bytes"),
            "x follows from the type of the query.",
            "an fp8 cache",
        ),
        "a_group_is_two": Wrong(
            variant(lane, "max(32 // block_size, 1)", "2"),
            "Two lanes share a key.",
            "another block size",
        ),
        "rows_beyond_the_head": Wrong(
            variant(
                lane, "lanes_of_a_row, head_size, rows_at_once", "lanes_of_a_row, 128, rows_at_once"
            ),
            "The rows go on up to the next multiple of what a warp takes at once.",
            "rows beyond the head",
        ),
    },
    hints=(
        "32 lanes, 16 tokens in a block: how many lanes for each key? And 16 bytes of one row of V "
        "are how many tokens?",
        "A row of V is block_size tokens long, and a lane takes 16 // query_bytes of them: divide "
        "for the lanes that share a row, and divide 32 by that for the rows of a warp at a time.",
        "With k lanes to a row, lane n begins at row n // k and goes on in steps of 32 // k, while "
        "the row is below head_size.",
    ),
    vllm=(
        "csrc/attention/attention_kernels.cuh: paged_attention_kernel, its constants "
        "THREAD_GROUP_SIZE, VEC_SIZE, NUM_ROWS_PER_ITER",
        "vllm/attention/ops/paged_attn.py: PagedAttention.split_kv_cache, which has x",
    ),
)
